//! The forms in which the figures of idle pools are printed.

use comfy_table::Table;
use serde::Serialize;

use super::{IdleFailure, IdleRow, Measured};
use crate::{
    args::Format,
    contest::Conditions,
    report::{STYLE, cells},
};

/// The rows in a format, ending with a line break.
pub(crate) fn render(measured: &Measured, format: Format) -> String {
    match format {
        Format::Table => table(measured) + &failures(&measured.failed),
        Format::Json => json(measured),
    }
}

/// What failed, a line each.
fn failures(failed: &[IdleFailure]) -> String {
    let line = |IdleFailure { workload, threads, reason, .. }: &IdleFailure| {
        format!("{workload}, threads = {threads}: {reason}\n")
    };
    failed.iter().map(line).collect()
}

/// A document of the same contract as the programs' times.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    conditions: Conditions,
    idle: &'a [IdleRow],
    failed: &'a [IdleFailure],
}

fn json(Measured { conditions, rows, failed }: &Measured) -> String {
    let (schema, conditions) = ("befit.peers/1", *conditions);
    let document = Document { schema, conditions, idle: rows, failed };
    let text = serde_json::to_string_pretty(&document).expect("strings and numbers can be written");
    text + "\n"
}

/// For each workload a table: a row per runtime, a column per number of threads.
fn table(Measured { conditions, rows, .. }: &Measured) -> String {
    let note = conditions.note();
    let mut text = String::new();
    for of_workload in rows.chunk_by(|a, b| a.workload == b.workload) {
        let first = &of_workload[0];
        let threads = distinct(of_workload.iter().map(|row| row.threads));
        let what = if first.workload == "wake" { "until it begins" } else { "until it returns" };
        text += &format!(
            "{}: microseconds a call, medians of {} interleaved runs of {} calls{note}\n",
            first.workload, first.repeats, first.calls
        );
        text += &matrix(&format!("{what}, threads"), &threads, of_workload, |row| {
            format!("{:.1}", row.seconds.median * 1e6)
        });
        text += &matrix("of the processor, threads", &threads, of_workload, |row| {
            format!("{:.1}", row.cpu_seconds.median * 1e6)
        });
        if of_workload.iter().any(|row| row.instructions.is_some()) {
            text += &matrix("thousand instructions, threads", &threads, of_workload, |row| {
                row.instructions.map_or("-".to_owned(), |n| format!("{:.1}", n as f64 / 1e3))
            });
        }
    }
    text
}

fn matrix(
    title: &str,
    threads: &[usize],
    rows: &[IdleRow],
    figure: impl Fn(&IdleRow) -> String,
) -> String {
    let mut table = Table::new();
    let header = threads.iter().map(ToString::to_string);
    table.load_style(STYLE).set_header(cells([title.to_owned()].into_iter().chain(header)));
    for runtime in distinct(rows.iter().map(|row| &row.runtime)) {
        let cell = |threads: &usize| {
            let is_its = |row: &&IdleRow| row.runtime == *runtime && row.threads == *threads;
            rows.iter().find(is_its).map_or("-".to_owned(), &figure)
        };
        let of_runtime = threads.iter().map(cell);
        table.add_row(cells([runtime.clone()].into_iter().chain(of_runtime)));
    }
    format!("\n{}\n", table.trim_fmt())
}

/// The first of equal ones, in their order.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Spread;

    fn measured() -> Measured {
        let conditions = Conditions { optimised: false, pin: None };
        Measured { conditions, rows: rows(), failed: Vec::new() }
    }

    fn rows() -> Vec<IdleRow> {
        let row = |runtime: &str, threads, median| IdleRow {
            workload: "gap-1ms".to_owned(),
            runtime: runtime.to_owned(),
            threads,
            calls: 400,
            repeats: 3,
            cpu_seconds: Spread { min: median, median: 2.0 * median, max: 3.0 * median },
            seconds: Spread { min: median, median, max: median },
            instructions: None,
        };
        vec![
            row("befit-ws", 2, 1e-5),
            row("rayon", 2, 2e-5),
            row("befit-ws", 64, 3e-5),
            row("rayon", 64, 4e-5),
        ]
    }

    #[test]
    fn each_runtime_has_a_row_with_a_column_for_each_number_of_threads() {
        let text = table(&measured());
        let words: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [["befit-ws", "10.0", "30.0"], ["rayon", "20.0", "40.0"]] {
            assert!(words.contains(&row.to_vec()), "{text}");
        }
        assert!(words.contains(&vec!["rayon", "40.0", "80.0"]), "{text}");
        let title = text.lines().next().unwrap();
        assert!(title.ends_with(" calls; not optimised: times mean nothing"), "{title}");
    }

    #[test]
    fn a_run_that_failed_has_no_figure_and_the_others_stay_in_their_columns() {
        let mut measured = measured();
        let failed = measured.rows.remove(0);
        measured.failed.push(IdleFailure {
            workload: failed.workload,
            runtime: failed.runtime,
            threads: failed.threads,
            reason: "befit-ws failed (signal: 6)".to_owned(),
        });
        let text = render(&measured, Format::Table);
        let words: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [["befit-ws", "-", "30.0"], ["rayon", "20.0", "40.0"]] {
            assert!(words.contains(&row.to_vec()), "{text}");
        }
        let last = "gap-1ms, threads = 2: befit-ws failed (signal: 6)";
        assert_eq!(text.lines().last(), Some(last));
        let document: serde_json::Value = serde_json::from_str(&json(&measured)).unwrap();
        assert_eq!(document["failed"][0]["threads"], 2);
        assert_eq!(document["idle"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn the_document_has_an_entry_per_run() {
        let document: serde_json::Value = serde_json::from_str(&json(&measured())).unwrap();
        assert_eq!(document["schema"], "befit.peers/1");
        assert_eq!(document["idle"][3]["runtime"], "rayon");
        assert_eq!(document["idle"][3]["cpu_seconds"]["median"], 8e-5);
        assert!(document["idle"][0]["instructions"].is_null());
        assert_eq!((&document["optimised"], &document["pin"]), (&false.into(), &().into()));
    }
}
