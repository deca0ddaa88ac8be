//! The page of native runs.

use befit_lab::{NativeResults, NativeSummary, Seconds, Spread};
use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};
use befit_sched::Breakdown;

use super::{heading, pair, paragraph};

/// Times, where they went, and what workers did.
pub fn page(results: &NativeResults) -> Page {
    let block = &results.summaries[..];
    let title = block.first().map_or("native runs", |first| &first.command).to_owned();
    let mut parts: Vec<Part> = Vec::new();
    if let Some(first) = block.first() {
        parts.push(paragraph(&format!(
            "On {}, {} threads; medians of {} runs of each scheduler, in turn. Bars show the \
             range.",
            first.machine, first.threads, first.repeats
        )));
        parts.extend(pair([times(block), shares(block)]));
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

fn shares(block: &[NativeSummary]) -> Plot {
    let names = Breakdown::<f64>::NAMES;
    let series = names.iter().enumerate().map(|(part, name)| {
        let points = block.iter().map(|s| {
            let time = s.total.time.map(|part| part.median);
            let whole = time.total().number().max(f64::MIN_POSITIVE);
            (s.scheduler.name(), 100.0 * time.parts()[part].number() / whole)
        });
        Series::new(*name, points)
    });
    let title = "Where the workers' time went";
    Plot::new(title, PlotKind::Stacked, Axis::linear("scheduler"), "% of it", series)
}

/// How long each worker was in the program's own code.
fn workers(block: &[NativeSummary]) -> Plot {
    let series = block.iter().map(|s| {
        let points = s.workers.iter().enumerate();
        let points = points.map(|(at, did)| ms(&at.to_string(), &did.time.parts()[0]));
        Series::new(s.scheduler.name(), points)
    });
    Plot::new("Active time", PlotKind::Bars, Axis::linear("worker"), "ms", series)
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
