//! The page of native runs.

use befit_lab::{NativeResults, NativeSummary, Seconds, Spread};
use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};

use super::{heading, pair, paragraph};

/// Times, where they went, and what workers did.
pub fn page(results: &NativeResults) -> Page {
    let block = &results.summaries[..];
    let title = block.first().map_or("native runs", |first| &first.command).to_owned();
    let mut parts: Vec<Part> = Vec::new();
    if let Some(first) = block.first() {
        parts.push(paragraph(&format!(
            "On {}, {} threads; medians of {} runs of each scheduler, in turn. Thin lines at \
             the bars' ends show the range.",
            first.machine, first.threads, first.repeats
        )));
        parts.extend(pair([times(block), spent(block)]));
        parts.push(heading("workers"));
        parts.extend(pair([workers(block), tasks(block)]));
    }
    let notes = results.notes.iter().map(|note| format!("Note: {note}."));
    let notes = notes.chain(results.not_counted.iter().map(|why| format!("Not counted: {why}.")));
    parts.extend(notes.map(|note| paragraph(&note)));
    Page { title, parts }
}

fn ms(x: &str, time: &Spread<Seconds>) -> Point {
    let ms = |time: Seconds| time.number() * 1e3;
    Point::with_range(x, ms(time.median), ms(time.min), ms(time.max))
}

fn times(block: &[NativeSummary]) -> Plot {
    let points = block.iter().map(|s| ms(s.scheduler.name(), &s.time));
    let series = [Series::new("time", points)];
    Plot::new("Time", PlotKind::Bars, Axis::linear("scheduler"), "ms", series)
}

/// What the time of all workers together went on: parts of it, in the order of `Breakdown::NAMES`.
const PARTS: [&str; 5] = ["program", "adding tasks", "getting tasks", "ending tasks", "idle"];

fn spent(block: &[NativeSummary]) -> Plot {
    let series = block.iter().map(|s| {
        let points = PARTS.iter().zip(s.total.time.parts());
        Series::new(s.scheduler.name(), points.map(|(name, time)| ms(name, &time)))
    });
    let title = "What the time of all workers went on";
    Plot::new(title, PlotKind::Bars, Axis::linear(""), "ms", series)
}

/// How long each worker was in the program's own code.
fn workers(block: &[NativeSummary]) -> Plot {
    let series = block.iter().map(|s| {
        let points = s.workers.iter().enumerate();
        let points = points.map(|(at, did)| ms(&at.to_string(), &did.time.parts()[0]));
        Series::new(s.scheduler.name(), points)
    });
    Plot::new("Time in the program", PlotKind::Bars, Axis::linear("worker"), "ms", series)
}

fn tasks(block: &[NativeSummary]) -> Plot {
    let series = block.iter().map(|s| {
        let points = s.workers.iter().enumerate().map(|(at, did)| {
            let ran = did.executed;
            let number = |n: u64| n as f64;
            Point::with_range(at, number(ran.median), number(ran.min), number(ran.max))
        });
        Series::new(s.scheduler.name(), points)
    });
    Plot::new("Tasks from the scheduler", PlotKind::Bars, Axis::linear("worker"), "tasks", series)
}
