//! Statistics per ordered pair of tasks: as a table, JSON (`befit.footprint/1`), CSV, or a page
//! with a heat map of each cell.

use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};
use befit_sim::footprint::{Cells, Pairs};
use serde_json::{Value, json};

use crate::{Format, ReportError, Width, columns::Columns, csv};

/// The ordered pairs, each as the places of the previous and the current task among the leaf tasks,
/// and the numbers of frames.
fn rows(pairs: &Pairs) -> Vec<(usize, usize, &Cells)> {
    let (tasks, count) = (&pairs.tasks, pairs.tasks.len());
    let row = |(at, cells)| (tasks[at / count], tasks[at % count], cells);
    pairs.cells.iter().enumerate().map(row).collect()
}

/// The pairs as docs/json.md describes them.
fn documents(pairs: &Pairs) -> Vec<Value> {
    let pair = |(previous, current, cells): (usize, usize, &Cells)| {
        json!({
            "previous": previous,
            "current": current,
            "touched_hit": cells.touched_hit,
            "touched_missed": cells.touched_missed,
            "touched_untouched": cells.touched_untouched,
            "new_hit": cells.new_hit,
            "new_missed": cells.new_missed,
            "new_untouched": cells.new_untouched,
            "affinity": cells.affinity(),
        })
    };
    rows(pairs).into_iter().map(pair).collect()
}

/// Writes them as text that ends in a line feed; a row for each ordered pair.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(pairs: &Pairs, format: Format) -> Result<String, ReportError> {
    match format {
        Format::Table(width) => Ok(width.wrap(&table(pairs, width))),
        Format::Json => {
            let document = json!({
                "program": pairs.program,
                "machine": pairs.machine,
                "level": pairs.level.0,
                "leaf_tasks": pairs.of,
                "pairs": documents(pairs),
            });
            crate::json("befit.footprint/1", &document)
        }
        Format::Csv => csv::render(&documents(pairs)),
    }
}

/// The program and the cache that the numbers are of.
fn heading(pairs: &Pairs) -> String {
    let Pairs { program, machine, level, of, tasks, cells } = pairs;
    let frames = cells.first().map_or(0, Cells::frames);
    format!(
        "{program} on {machine}: {frames} frames of its {level}, {} of {of} leaf tasks",
        tasks.len()
    )
}

fn table(pairs: &Pairs, width: Width) -> String {
    let rows = rows(pairs);
    let mut columns = Columns::new(&rows, "previous", |(previous, ..)| previous.to_string());
    columns.add("current", |(_, current, _)| current.to_string());
    for (title, of) in &MAPS[1..] {
        columns.add(&title[..2], |(.., cells)| of(cells).to_string());
    }
    columns.add("shared hits - misses", |(.., cells)| cells.affinity().to_string());
    let legend = "T: touched by the previous task, N: not; H, M, U: hit, missed, untouched by the \
                  current one, by its first access to the frame";
    format!("{}\n\n{}\n\n{legend}\n", heading(pairs), columns.table(width))
}

/// The title of a heat map, which begins with the name of a cell, and its value.
type Map = (&'static str, fn(&Cells) -> i64);

const MAPS: [Map; 7] = [
    ("Shared Hits − Shared Misses (TH − TM)", |cells| cells.affinity()),
    ("TH: Shared Hit", |cells| cells.touched_hit as i64),
    ("TM: Shared Miss", |cells| cells.touched_missed as i64),
    ("TU: Unchanged", |cells| cells.touched_untouched as i64),
    ("NH: hit what an older task left", |cells| cells.new_hit as i64),
    ("NM: Overwritten", |cells| cells.new_missed as i64),
    ("NU: untouched by both", |cells| cells.new_untouched as i64),
];

/// Heat maps, with a row for each previous task and a column for each current one.
pub fn page(pairs: &Pairs) -> Page {
    let text = "<p>Numbers of frames, for each ordered pair of tasks.</p>\n".to_owned();
    let maps = MAPS.iter().map(|map| Part::Plot(heat_map(pairs, map)));
    Page { title: heading(pairs), parts: [Part::Html(text)].into_iter().chain(maps).collect() }
}

fn heat_map(pairs: &Pairs, (title, value): &Map) -> Plot {
    // With a letter, so that they are names and stand at equal distances.
    let name = |task: &usize| format!("t{task}");
    let row = |previous: usize| {
        let point = |current: usize| {
            Point::new(name(&pairs.tasks[current]), value(&pairs.cells(previous, current)) as f64)
        };
        Series::new(name(&pairs.tasks[previous]), (0..pairs.tasks.len()).map(point))
    };
    let rows = (0..pairs.tasks.len()).map(row);
    Plot::new(*title, PlotKind::HeatMap, Axis::linear("current task"), "previous task", rows)
}

#[cfg(test)]
mod tests {
    use befit_machine::Level;

    use super::*;

    fn pairs() -> Pairs {
        let cell =
            |hit: u64| Cells { touched_hit: hit, touched_missed: 256 - hit, ..Cells::default() };
        Pairs {
            program: "array-abc --n 1".to_owned(),
            machine: "gems-sparc".to_owned(),
            level: Level(1),
            of: 4,
            tasks: vec![0, 2],
            cells: vec![cell(256), cell(128), cell(128), cell(256)],
        }
    }

    #[test]
    fn each_pair_is_a_row_in_every_format() {
        let text = render(&pairs(), Format::Table(Width::ANY)).unwrap();
        assert!(
            text.starts_with(
                "array-abc --n 1 on gems-sparc: 256 frames of its L1, 2 of 4 leaf tasks\n"
            ),
            "{text}"
        );
        let csv = render(&pairs(), Format::Csv).unwrap();
        assert_eq!(csv.lines().count(), 5);
        assert!(csv.starts_with("previous,current,touched_hit,"), "{csv}");
        let json = render(&pairs(), Format::Json).unwrap();
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        let pair = |field: &str| report["pairs"][1][field].as_i64();
        assert_eq!((&report["schema"], pair("affinity")), (&"befit.footprint/1".into(), Some(0)));
        assert_eq!((pair("previous"), pair("current")), (Some(0), Some(2)));
    }

    #[test]
    fn the_page_has_a_heat_map_of_each_cell() {
        let parts = page(&pairs()).parts;
        let page = serde_json::to_string(&parts).unwrap();
        for title in ["Shared Hit", "Overwritten", "Shared Hits − Shared Misses"] {
            assert!(page.contains(title), "{title}");
        }
        assert_eq!(parts.len(), 8, "a text and seven maps");
    }
}
