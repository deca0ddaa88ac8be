//! The results as a table: a row per runtime, with the ratios of its median to those of others.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use crate::{
    contest::{Entry, Results},
    runtime::RuntimeKind,
};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

pub(super) fn render(results: &Results) -> String {
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
            Err(reason) => missing += &format!("{runtime}: not built: {reason}\n"),
        }
    }
    let Results { program, n, threads, repeats, .. } = results;
    let title = format!("{program}, n = {n}, threads = {threads}");
    let table = table.trim_fmt();
    format!("{title}, medians of {repeats} interleaved runs\n\n{table}\n{missing}")
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
        let medians = || {
            entries.iter().filter_map(|e| e.outcome.as_ref().ok().map(|s| (e.runtime, s.median)))
        };
        let find = |kind: RuntimeKind| {
            medians().find(|(runtime, _)| *runtime == kind).map(|(_, median)| median)
        };
        let parallel = medians().filter(|(runtime, _)| !runtime.is_serial());
        Self {
            serial: find(RuntimeKind::Serial),
            rayon: find(RuntimeKind::Rayon),
            fastest: parallel.map(|(_, median)| median).min_by(f64::total_cmp),
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

fn cells(row: impl IntoIterator<Item = String>) -> Vec<Cell> {
    let align = |i: usize| if i == 0 { CellAlignment::Left } else { CellAlignment::Right };
    row.into_iter().enumerate().map(|(i, text)| Cell::new(text).set_alignment(align(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn ratios_stand_beside_the_times_and_what_is_missing_below() {
        let text = render(&example());
        let line = |name: &str| text.lines().find(|l| l.trim_start().starts_with(name)).unwrap();
        let words =
            |name: &str| line(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words("serial"), ["serial", "100", "98.0", "125", "1.00", "0.10", "-"]);
        assert_eq!(words("befit-ws"), ["befit-ws", "250", "240", "260", "2.50", "0.25", "1.00"]);
        assert_eq!(words("rayon"), ["rayon", "1000", "990", "1010", "10.00", "1.00", "4.00"]);
        assert_eq!(line("tbb"), "tbb: not built: oneTBB (Debian: libtbb-dev) was not found");
    }

    #[test]
    fn without_rayon_there_is_no_ratio_to_it() {
        let mut results = example();
        results.entries.retain(|e| e.runtime != RuntimeKind::Rayon);
        assert!(render(&results).lines().any(|l| l.contains("befit-ws") && l.contains(" - ")));
    }
}
