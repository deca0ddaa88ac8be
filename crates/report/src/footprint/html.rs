//! Heat maps, a row for each previous task and a column for each current one.

use std::fmt::Write;

use befit_lab::reproduce::{Axis, Plot, PlotKind, Point, Series};
use befit_sim::footprint::{Cells, Pairs};

use super::heading;
use crate::reproduction::{STYLE, escape, plot};

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

/// Writes the page. Some 7 MB, nearly all of it the plotting script.
pub fn render(pairs: &Pairs) -> String {
    let mut page = String::new();
    let title = escape(&heading(pairs));
    // Writing to a String cannot fail.
    let _ = writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>"
    );
    page.push_str(&plotly::Plot::offline_js_sources());
    let _ = writeln!(page, "<h1>{title}</h1>\n<p>Numbers of frames, for each ordered pair of tasks.</p>");
    for (at, map) in MAPS.iter().enumerate() {
        let inline = plot::plot(&heat_map(pairs, map)).to_inline_html(Some(&format!("plot-{at}")));
        let _ = writeln!(page, "<div class=\"plot\">{inline}</div>");
    }
    page.push_str("</html>\n");
    page
}

fn heat_map(pairs: &Pairs, (title, value): &Map) -> Plot {
    // With a letter, so that they are names and stand at equal distances.
    let name = |task: &usize| format!("t{task}");
    let row = |previous: usize| {
        let point = |current: usize| Point::new(name(&pairs.tasks[current]), value(&pairs.cells(previous, current)));
        Series { name: name(&pairs.tasks[previous]), points: (0..pairs.tasks.len()).map(point).collect() }
    };
    Plot {
        title: (*title).to_owned(),
        kind: PlotKind::HeatMap,
        x: Axis::linear("current task"),
        y: Axis::linear("previous task"),
        series: (0..pairs.tasks.len()).map(row).collect(),
    }
}
