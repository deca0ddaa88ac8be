//! Programs × machines × schedulers: as tables, JSON (`befit.matrix/1`), CSV, or a page.

use std::fmt::Write;

use befit_lab::{Cell, Matrix, NEAR_BEST, NO_SLOWER, Selection, Standing};
use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};

use crate::{
    Format, ReportError, Width,
    columns::{Columns, percent},
    csv, json,
    page::{escape, table},
};

/// Writes it as text that ends in a line feed. CSV has a row for each cell.
///
/// # Errors
/// As [`crate::render`].
pub fn render(matrix: &Matrix, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&text(matrix, width))),
        Format::Json => json("befit.matrix/1", matrix),
        Format::Csv => csv::render(&matrix.cells),
    }
}

/// The cells of one program at one size on one machine, the baseline first.
type Row<'a> = &'a [Cell];

/// The rows of each machine, machines in the order in which they come first.
fn machines(matrix: &Matrix) -> Vec<(&str, Vec<Row<'_>>)> {
    let mut machines: Vec<(&str, Vec<Row<'_>>)> = Vec::new();
    for row in matrix.cells.chunk_by(are_of_one_row) {
        let name = &row[0].machine[..];
        match machines.iter_mut().find(|(machine, _)| *machine == name) {
            Some((_, rows)) => rows.push(row),
            None => machines.push((name, vec![row])),
        }
    }
    machines
}

/// Whether they differ in the scheduler alone. Two sizes of a program may be the same command.
fn are_of_one_row(a: &Cell, b: &Cell) -> bool {
    (&a.program, a.size, &a.machine) == (&b.program, b.size, &b.machine)
}

/// The schedulers, the baseline first.
fn schedulers(matrix: &Matrix) -> impl Iterator<Item = &str> {
    let first = matrix.cells.first();
    let of_first = matrix
        .cells
        .iter()
        .take_while(move |cell| first.is_some_and(|first| are_of_one_row(cell, first)));
    of_first.map(|cell| &cell.measured.scheduler[..])
}

fn text(matrix: &Matrix, width: Width) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for (machine, rows) in machines(matrix) {
        let _ = writeln!(text, "{machine}: time over ws's\n\n{}\n", ratios(&rows, matrix, width));
    }
    let _ = writeln!(text, "{}", legend(matrix).join("\n"));
    for selection in Selection::ALL {
        let standings: Vec<_> = of(matrix, selection).collect();
        if let Some(first) = standings.first() {
            let _ = writeln!(text, "\n{}: {}\n", selection.name(), first.cells);
            let _ = writeln!(text, "{}", standing_columns(&standings, width));
        }
    }
    text
}

/// What stands in the tables.
fn legend(matrix: &Matrix) -> [String; 4] {
    let bound = percent(matrix.memory_bound_from);
    let (best, slower) = (percent(NEAR_BEST - 1.0), percent(NO_SLOWER - 1.0));
    [
        "data below, at, above: a quarter of what the machine's last-level caches hold together, \
         as much, four times as much; fixed: the same on every machine"
            .to_owned(),
        format!(
            "memory-bound (m): at least {bound} of ws's time is gone where memory and other \
             last-level caches are as quick as the worker's own"
        ),
        "kept apart (k): nobody looked at the program while our own policy was designed".to_owned(),
        format!(
            "time and misses over ws's are geometric means; near the best: within {best} of the \
             best scheduler of the cell; slower: by more than {slower} than ws"
        ),
    ]
}

fn name(cell: &Cell) -> String {
    format!("{} {}", cell.name, cell.size)
}

fn marks(cell: &Cell) -> String {
    [(cell.memory_bound, "m"), (cell.kept_apart, "k")]
        .into_iter()
        .filter_map(|(is, mark)| is.then_some(mark))
        .collect()
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// A row for each program and size, a column for each scheduler but the baseline.
fn ratios(rows: &[Row<'_>], matrix: &Matrix, width: Width) -> String {
    let mut columns = Columns::new(rows, "program", |row| name(&row[0]));
    columns.name("", |row| marks(&row[0]));
    for (at, scheduler) in schedulers(matrix).enumerate().skip(1) {
        columns.add(scheduler, |row| ratio(row[at].measured.time_vs_ws));
    }
    columns.narrow(width)
}

fn of(matrix: &Matrix, selection: Selection) -> impl Iterator<Item = &Standing> {
    matrix.standings.iter().filter(move |standing| standing.selection == selection)
}

/// The titles of a table of standings, and the cells of one.
const STANDING: [&str; 7] =
    ["scheduler", "time", "misses", "near the best", "slower", "worst", "worst cell"];

fn standing_cells(s: &Standing) -> [String; 7] {
    [
        s.scheduler.clone(),
        ratio(s.time_vs_ws),
        s.l3_vs_ws.map_or("-".to_owned(), ratio),
        percent(s.near_best),
        s.slower.to_string(),
        ratio(s.worst),
        s.worst_at.join(" on "),
    ]
}

fn standing_columns(standings: &[&Standing], width: Width) -> String {
    let mut columns = Columns::new(standings, STANDING[0], |s| standing_cells(s)[0].clone());
    for (at, title) in STANDING.into_iter().enumerate().skip(1) {
        columns.add(title, |s| standing_cells(s)[at].clone());
    }
    columns.table(width)
}

/// The page: how the schedulers stand, then the cells of each machine as colours.
pub fn page(matrix: &Matrix) -> Page {
    let mut page = String::new();
    for line in legend(matrix) {
        let _ = writeln!(page, "<p>{}</p>", escape(&line)); // writing to a String cannot fail
    }
    for selection in Selection::ALL {
        let standings: Vec<_> = of(matrix, selection).collect();
        if let Some(first) = standings.first() {
            let title = format!("{}: {}", selection.name(), first.cells);
            let rows = standings.iter().map(|s| ("", standing_cells(s).to_vec()));
            page += &table(&title, STANDING, rows);
        }
    }
    let plots = machines(matrix).into_iter().map(|(machine, rows)| {
        let rows = rows.into_iter().map(|row| {
            let points = row[1..].iter().map(|cell| {
                let measured = &cell.measured;
                Point::new(&measured.scheduler, measured.time_vs_ws)
            });
            Series::new(format!("{} {}", name(&row[0]), marks(&row[0])).trim_end(), points)
        });
        let title = format!("{machine}: time over ws's");
        Part::Plot(Plot::new(title, PlotKind::Ratios, Axis::linear("scheduler"), "program", rows))
    });
    let parts = [Part::Html(page)].into_iter().chain(plots).collect();
    Page { title: "programs × machines × schedulers".to_owned(), parts }
}

#[cfg(test)]
mod tests {
    use befit_lab::{DataSize, MeasuredCell};

    use super::*;

    fn cell(program: &str, machine: &str, scheduler: &str, time: f64) -> Cell {
        Cell {
            program: format!("{program} --n 5"),
            name: program.to_owned(),
            size: DataSize::At,
            kept_apart: program == "ge",
            machine: machine.to_owned(),
            shrink: 8,
            memory_bound: true,
            memory_share: 0.5,
            measured: MeasuredCell {
                scheduler: scheduler.to_owned(),
                seeds: 3,
                time_cycles: 100,
                time_vs_ws: time,
                time_interval: [time - 0.01, time + 0.01],
                l3_vs_ws: Some(0.5),
                idle: 0.25,
            },
        }
    }

    fn matrix() -> Matrix {
        let standing = Standing {
            selection: Selection::Apart,
            scheduler: "sb".to_owned(),
            cells: 2,
            time_vs_ws: 0.875,
            l3_vs_ws: None,
            near_best: 0.5,
            slower: 1,
            worst: 1.5,
            worst_at: ["ge --n 5".to_owned(), "two".to_owned()],
        };
        let pair = |program, machine, time| {
            [cell(program, machine, "ws", 1.0), cell(program, machine, "sb", time)]
        };
        Matrix {
            quick: false,
            memory_bound_from: 0.2,
            cells: [pair("rrm", "one", 0.75), pair("rrm", "two", 0.5), pair("ge", "one", 1.25)]
                .concat(),
            standings: vec![standing],
        }
    }

    #[test]
    fn each_machine_has_a_table_of_programs_and_schedulers() {
        let text = render(&matrix(), Format::Table(Width::ANY)).unwrap();
        let [one, two] = ["one", "two"].map(|name| text.find(&format!("{name}: time")).unwrap());
        let (first, rest) = (&text[one..two], &text[two..]);
        for row in ["rrm at   m   0.75", "ge at    mk  1.25"] {
            assert!(first.contains(row), "{first}");
        }
        assert!(rest.contains("0.50") && rest.contains("programs kept apart: 2"), "{rest}");
        assert!(rest.contains("ge --n 5 on two") && rest.contains("50.0%"), "{rest}");
    }

    #[test]
    fn two_sizes_that_are_the_same_command_are_two_rows() {
        let mut matrix = matrix();
        let mut above = matrix.cells[..2].to_vec();
        above.iter_mut().for_each(|cell| cell.size = DataSize::Above);
        matrix.cells.splice(2..2, above);
        let text = render(&matrix, Format::Table(Width::ANY)).unwrap();
        for row in ["rrm at     m   0.75", "rrm above  m   0.75"] {
            assert!(text.contains(row), "{text}");
        }
        let parts = page(&matrix).parts;
        let Part::Plot(one) = &parts[1] else { panic!("{parts:?}") };
        let points: Vec<_> = one.series.iter().map(|row| row.points.len()).collect();
        assert_eq!(points, [1, 1, 1]);
    }

    #[test]
    fn the_json_is_what_the_contract_says() {
        let text = render(&matrix(), Format::Json).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["schema"], &value["quick"]), (&"befit.matrix/1".into(), &false.into()));
        let sb = &value["cells"][1];
        for (field, expected) in [
            ("program", serde_json::json!("rrm --n 5")),
            ("name", "rrm".into()),
            ("size", "at".into()),
            ("kept_apart", false.into()),
            ("machine", "one".into()),
            ("scheduler", "sb".into()),
            ("time_vs_ws", 0.75.into()),
            ("time_interval", serde_json::json!([0.74, 0.76])),
            ("l3_vs_ws", 0.5.into()),
            ("idle", 0.25.into()),
            ("memory_bound", true.into()),
        ] {
            assert_eq!(sb[field], expected, "{field}");
        }
        assert_eq!(value["standings"][0]["selection"], "apart");
        assert_eq!(render(&matrix(), Format::Csv).unwrap().lines().count(), 7);
    }

    #[test]
    fn the_page_has_standings_and_a_plot_for_each_machine() {
        let parts = page(&matrix()).parts;
        let [Part::Html(head), Part::Plot(one), Part::Plot(two)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert!(head.contains("programs kept apart") && head.contains("0.88"), "{head}");
        assert_eq!((one.series.len(), two.series.len()), (2, 1));
        assert_eq!(one.series[1].name, "ge at mk");
    }
}
