//! Statistics per ordered pair of tasks: as a table, JSON (`befit.footprint/1`), CSV, or a page
//! with a heat map of each cell.

use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};
use befit_sim::footprint::{Cells, Pairs};
use serde::Serialize;

use crate::{Format, ReportError, columns::Columns, csv, json, reproduction::head};

/// The document `befit.footprint/1`; docs/json.md says the same in prose.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FootprintReport {
    /// Always `befit.footprint/1`.
    pub schema: &'static str,
    /// The recorded command.
    pub program: String,
    /// The simulated machine.
    pub machine: String,
    /// Level of the cache whose frames are counted, from 1.
    pub level: u8,
    /// Leaf tasks of the program.
    pub leaf_tasks: u64,
    /// Each ordered pair of the chosen tasks.
    pub pairs: Vec<PairRow>,
}

/// One ordered pair: numbers of frames.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PairRow {
    /// The previous task, by its place among the leaf tasks in serial order, from 0.
    pub previous: u64,
    /// The current one.
    pub current: u64,
    /// TH: touched by the previous task, hit by the current one's first access.
    pub touched_hit: u64,
    /// TM: touched by the previous task, missed by the current one's first access.
    pub touched_missed: u64,
    /// TU: touched by the previous task only.
    pub touched_untouched: u64,
    /// NH: not touched by the previous task, hit by the current one.
    pub new_hit: u64,
    /// NM: not touched by the previous task, missed by the current one.
    pub new_missed: u64,
    /// NU: touched by neither.
    pub new_untouched: u64,
    /// Shared hits less shared misses.
    pub affinity: i64,
}

impl From<&Pairs> for FootprintReport {
    fn from(from: &Pairs) -> Self {
        let count = from.tasks.len();
        let pair = |(at, cells): (usize, &Cells)| PairRow {
            previous: from.tasks[at / count] as u64,
            current: from.tasks[at % count] as u64,
            touched_hit: cells.touched_hit,
            touched_missed: cells.touched_missed,
            touched_untouched: cells.touched_untouched,
            new_hit: cells.new_hit,
            new_missed: cells.new_missed,
            new_untouched: cells.new_untouched,
            affinity: cells.affinity(),
        };
        Self {
            schema: "befit.footprint/1",
            program: from.program.clone(),
            machine: from.machine.clone(),
            level: from.level.0,
            leaf_tasks: from.of as u64,
            pairs: from.cells.iter().enumerate().map(pair).collect(),
        }
    }
}

/// Writes them as text that ends in a line feed; a row for each ordered pair.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(pairs: &Pairs, format: Format) -> Result<String, ReportError> {
    let report = FootprintReport::from(pairs);
    match format {
        Format::Table => Ok(table(pairs, &report)),
        Format::Json => json(&report),
        Format::Csv => csv::render(&report.pairs),
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

fn table(pairs: &Pairs, report: &FootprintReport) -> String {
    let mut columns = Columns::new(&report.pairs, "previous", |pair| pair.previous.to_string());
    type Of = fn(&PairRow) -> u64;
    let counts: [(&str, Of); 7] = [
        ("current", |pair| pair.current),
        ("TH", |pair| pair.touched_hit),
        ("TM", |pair| pair.touched_missed),
        ("TU", |pair| pair.touched_untouched),
        ("NH", |pair| pair.new_hit),
        ("NM", |pair| pair.new_missed),
        ("NU", |pair| pair.new_untouched),
    ];
    for (title, of) in counts {
        columns.add(title, |pair| of(pair).to_string());
    }
    columns.add("shared hits - misses", |pair| pair.affinity.to_string());
    let legend = "T: touched by the previous task, N: not; H, M, U: hit, missed, untouched by the \
                  current one, by its first access to the frame";
    format!("{}\n\n{}\n\n{legend}\n", heading(pairs), columns.table())
}

/// The title of a heat map, and its value.
type Map = (&'static str, fn(&Cells) -> f64);

const MAPS: [Map; 7] = [
    ("Shared Hits − Shared Misses (TH − TM)", |cells| cells.affinity() as f64),
    ("TH: Shared Hit", |cells| cells.touched_hit as f64),
    ("TM: Shared Miss", |cells| cells.touched_missed as f64),
    ("TU: Unchanged", |cells| cells.touched_untouched as f64),
    ("NH: hit what an older task left", |cells| cells.new_hit as f64),
    ("NM: Overwritten", |cells| cells.new_missed as f64),
    ("NU: untouched by both", |cells| cells.new_untouched as f64),
];

/// Heat maps, with a row for each previous task and a column for each current one.
pub fn page(pairs: &Pairs) -> Page {
    let page =
        head(&heading(pairs)) + "<p>Numbers of frames, for each ordered pair of tasks.</p>\n";
    let maps = MAPS.iter().map(|map| Part::Plot(heat_map(pairs, map)));
    [Part::Html(page)].into_iter().chain(maps).chain([Part::Html("</html>\n".to_owned())]).collect()
}

fn heat_map(pairs: &Pairs, (title, value): &Map) -> Plot {
    // With a letter, so that they are names and stand at equal distances.
    let name = |task: &usize| format!("t{task}");
    let row = |previous: usize| {
        let point = |current: usize| {
            Point::new(name(&pairs.tasks[current]), value(&pairs.cells(previous, current)))
        };
        Series {
            name: name(&pairs.tasks[previous]),
            points: (0..pairs.tasks.len()).map(point).collect(),
        }
    };
    Plot {
        title: (*title).to_owned(),
        kind: PlotKind::HeatMap,
        x: Axis::linear("current task"),
        y: Axis::linear("previous task"),
        series: (0..pairs.tasks.len()).map(row).collect(),
    }
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
        let text = render(&pairs(), Format::Table).unwrap();
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
        let parts = page(&pairs());
        let page = serde_json::to_string(&parts).unwrap();
        for title in ["Shared Hit", "Overwritten", "Shared Hits − Shared Misses"] {
            assert!(page.contains(title), "{title}");
        }
        assert_eq!(parts.last(), Some(&Part::Html("</html>\n".to_owned())));
        assert_eq!(parts.len(), 9, "seven maps");
    }
}
