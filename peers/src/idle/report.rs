//! The forms in which the figures of idle pools are printed.

use comfy_table::Table;
use serde::Serialize;

use super::IdleRow;
use crate::{
    args::Format,
    report::{STYLE, cells},
};

/// The rows in a format, ending with a line break.
pub(crate) fn render(rows: &[IdleRow], format: Format) -> String {
    match format {
        Format::Table => table(rows),
        Format::Json => json(rows),
    }
}

/// A document of the same contract as the programs' times.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    idle: &'a [IdleRow],
}

fn json(rows: &[IdleRow]) -> String {
    let document = Document { schema: "befit.peers/1", idle: rows };
    let text = serde_json::to_string_pretty(&document).expect("strings and numbers can be written");
    text + "\n"
}

/// For each workload a table: a row per runtime, a column per number of threads.
fn table(rows: &[IdleRow]) -> String {
    let mut text = String::new();
    for of_workload in rows.chunk_by(|a, b| a.workload == b.workload) {
        let first = &of_workload[0];
        let threads: Vec<_> = of_workload
            .chunk_by(|a, b| a.threads == b.threads)
            .map(|rows| rows[0].threads)
            .collect();
        let what = if first.workload == "wake" { "until it begins" } else { "until it returns" };
        text += &format!(
            "{}: microseconds a call, medians of {} interleaved runs of {} calls\n",
            first.workload, first.repeats, first.calls
        );
        text += &matrix(&format!("{what}, threads"), &threads, of_workload, |row| {
            format!("{:.1}", row.seconds.median * 1e6)
        });
        text += &matrix("of the processor, threads", &threads, of_workload, |row| {
            format!("{:.1}", row.cpu_seconds.median * 1e6)
        });
        if first.instructions.is_some() {
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
    let runtimes = rows.iter().take_while(|row| row.threads == rows[0].threads);
    for runtime in runtimes.map(|row| &row.runtime) {
        let of_runtime = rows.iter().filter(|row| row.runtime == *runtime).map(&figure);
        table.add_row(cells([runtime.clone()].into_iter().chain(of_runtime)));
    }
    format!("\n{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Spread;

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
        let text = table(&rows());
        let words: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [["befit-ws", "10.0", "30.0"], ["rayon", "20.0", "40.0"]] {
            assert!(words.contains(&row.to_vec()), "{text}");
        }
        assert!(words.contains(&vec!["rayon", "40.0", "80.0"]), "{text}");
    }

    #[test]
    fn the_document_has_an_entry_per_run() {
        let document: serde_json::Value = serde_json::from_str(&json(&rows())).unwrap();
        assert_eq!(document["schema"], "befit.peers/1");
        assert_eq!(document["idle"][3]["runtime"], "rayon");
        assert_eq!(document["idle"][3]["cpu_seconds"]["median"], 8e-5);
        assert!(document["idle"][0]["instructions"].is_null());
    }
}
