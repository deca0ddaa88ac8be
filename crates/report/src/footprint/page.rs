//! Heat maps, a row for each previous task and a column for each current one.

use befit_page::{Axis, Page, Part, Plot, PlotKind, Point, Series};
use befit_sim::footprint::{Cells, Pairs};

use super::heading;
use crate::reproduction::head;

/// What is drawn: its title, and its value.
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

/// The page.
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
