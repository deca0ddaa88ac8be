//! The forms in which results are printed: a table, or JSON (`befit.peers/1`, a contract that
//! `docs/peers.md` describes).

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use serde::Serialize;

use crate::{
    args::Format,
    contest::{Conditions, Entry, NoTimes, Results, Spread},
    runtime::RuntimeKind,
};

/// The results in a format, ending with a line break.
pub(crate) fn render(results: &Results, format: Format) -> String {
    match format {
        Format::Table => table(results),
        Format::Json => json(results),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    conditions: Conditions,
    results: Vec<PeersRow<'a>>,
    not_built: Vec<Missing<'a>>,
    failed: Vec<Missing<'a>>,
}

#[derive(Serialize)]
struct PeersRow<'a> {
    program: &'a str,
    runtime: String,
    threads: usize,
    n: usize,
    repeats: usize,
    seconds: Spread,
}

#[derive(Serialize)]
struct Missing<'a> {
    runtime: String,
    reason: &'a str,
}

fn json(results: &Results) -> String {
    let mut document = Document {
        schema: "befit.peers/1",
        conditions: results.conditions,
        results: Vec::new(),
        not_built: Vec::new(),
        failed: Vec::new(),
    };
    for entry in &results.entries {
        let runtime = entry.runtime.to_string();
        match &entry.outcome {
            Ok(seconds) => document.results.push(PeersRow {
                program: &results.program,
                threads: if entry.runtime.is_serial() { 1 } else { results.threads },
                runtime,
                n: results.n,
                repeats: results.repeats,
                seconds: *seconds,
            }),
            Err(NoTimes::NotBuilt(reason)) => document.not_built.push(Missing { runtime, reason }),
            Err(NoTimes::Failed(reason)) => document.failed.push(Missing { runtime, reason }),
        }
    }
    let text = serde_json::to_string_pretty(&document).expect("strings and numbers can be written");
    text + "\n"
}

pub(crate) const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A row per runtime, with the ratios of its median to those of others.
fn table(results: &Results) -> String {
    let base = Base::of(&results.entries);
    let mut table = Table::new();
    let header = ["runtime", "median, ms", "min", "max", "/ serial", "/ rayon", "/ fastest"];
    table.load_style(STYLE).set_header(cells(header.map(str::to_owned)));
    let mut missing = String::new();
    for Entry { runtime, outcome } in &results.entries {
        match outcome {
            Ok(s) => {
                let against = |base: Option<f64>| {
                    base.map_or("-".to_owned(), |base| format!("{:.2}", s.median / base))
                };
                let fastest = if runtime.is_serial() { None } else { base.fastest };
                let ratios = [base.serial, base.rayon, fastest].map(against);
                let times = [s.median, s.min, s.max].map(milliseconds);
                table.add_row(cells([runtime.to_string()].into_iter().chain(times).chain(ratios)));
            }
            Err(NoTimes::NotBuilt(reason)) => {
                missing += &format!("{runtime}: not built: {reason}\n");
            }
            // It begins with the runtime's name.
            Err(NoTimes::Failed(reason)) => missing += &format!("{reason}\n"),
        }
    }
    let Results { program, n, threads, repeats, conditions, .. } = results;
    let title = format!("{program}, n = {n}, threads = {threads}");
    let table = table.trim_fmt();
    let note = conditions.note();
    format!("{title}, medians of {repeats} interleaved runs{note}\n\n{table}\n{missing}")
}

/// The medians that others are compared with.
struct Base {
    serial: Option<f64>,
    rayon: Option<f64>,
    /// Of those that are parallel.
    fastest: Option<f64>,
}

impl Base {
    fn of(entries: &[Entry]) -> Self {
        let medians = |of: fn(RuntimeKind) -> bool| {
            let ran = entries.iter().filter(move |entry| of(entry.runtime));
            ran.filter_map(|entry| Some(entry.outcome.as_ref().ok()?.median))
        };
        Self {
            serial: medians(|runtime| runtime == RuntimeKind::Serial).next(),
            rayon: medians(|runtime| runtime == RuntimeKind::Rayon).next(),
            fastest: medians(|runtime| !runtime.is_serial()).min_by(f64::total_cmp),
        }
    }
}

/// With three significant digits, or all before the point.
fn milliseconds(seconds: f64) -> String {
    let ms = seconds * 1e3;
    match ms {
        ..1.0 => format!("{ms:.4}"),
        ..10.0 => format!("{ms:.2}"),
        ..100.0 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

pub(crate) fn cells(row: impl IntoIterator<Item = String>) -> Vec<Cell> {
    let align = |i: usize| if i == 0 { CellAlignment::Left } else { CellAlignment::Right };
    row.into_iter().enumerate().map(|(i, text)| Cell::new(text).set_alignment(align(i))).collect()
}

#[cfg(test)]
mod tests {
    use befit::SchedulerKind;

    use super::*;
    use crate::{contest::Pin, cpp::CppRuntime};

    fn example() -> Results {
        let ran =
            |runtime, min, median, max| Entry { runtime, outcome: Ok(Spread { min, median, max }) };
        Results {
            program: "fib".to_owned(),
            n: 38,
            threads: 2,
            repeats: 7,
            conditions: Conditions { optimised: true, pin: None },
            entries: vec![
                ran(RuntimeKind::Serial, 0.098, 0.1, 0.125),
                ran(RuntimeKind::Befit(SchedulerKind::Ws), 0.24, 0.25, 0.26),
                ran(RuntimeKind::Rayon, 0.99, 1.0, 1.01),
                Entry {
                    runtime: RuntimeKind::Cpp(CppRuntime::Tbb),
                    outcome: Err(NoTimes::NotBuilt(
                        "oneTBB (Debian: libtbb-dev) was not found".to_owned(),
                    )),
                },
                Entry {
                    runtime: RuntimeKind::Chili,
                    outcome: Err(NoTimes::Failed("chili failed (signal: 6): no memory".to_owned())),
                },
            ],
        }
    }

    #[test]
    fn the_document_is_the_documented_one() {
        assert_eq!(json(&example()), include_str!("golden.json"));
    }

    #[test]
    fn ratios_stand_beside_the_times_and_what_is_missing_below() {
        let text = table(&example());
        let line = |name: &str| text.lines().find(|l| l.trim_start().starts_with(name)).unwrap();
        let words =
            |name: &str| line(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words("serial"), ["serial", "100", "98.0", "125", "1.00", "0.10", "-"]);
        assert_eq!(words("befit-ws"), ["befit-ws", "250", "240", "260", "2.50", "0.25", "1.00"]);
        assert_eq!(words("rayon"), ["rayon", "1000", "990", "1010", "10.00", "1.00", "4.00"]);
        assert_eq!(line("tbb"), "tbb: not built: oneTBB (Debian: libtbb-dev) was not found");
        assert_eq!(line("chili"), "chili failed (signal: 6): no memory");
    }

    #[test]
    fn a_build_without_optimisation_and_a_choice_of_pinning_stand_in_the_title() {
        let titled = |conditions| {
            let text = table(&Results { conditions, ..example() });
            text.lines().next().unwrap().to_owned()
        };
        let title = "fib, n = 38, threads = 2, medians of 7 interleaved runs";
        assert_eq!(titled(Conditions { optimised: true, pin: None }), title);
        let pinned = format!("{title}; befit's threads pinned: never");
        assert_eq!(titled(Conditions { optimised: true, pin: Some(Pin::Never) }), pinned);
        let debug = format!("{title}; not optimised: times mean nothing");
        assert_eq!(titled(Conditions { optimised: false, pin: None }), debug);
    }

    #[test]
    fn without_rayon_there_is_no_ratio_to_it() {
        let mut results = example();
        results.entries.retain(|e| e.runtime != RuntimeKind::Rayon);
        assert!(table(&results).lines().any(|l| l.contains("befit-ws") && l.contains(" - ")));
    }
}
