//! Tests of how a repeated study is written.

use befit_lab::reproduce::{Figure, Range, Reproduction, Study, Table};
use befit_page::{Axis, Part, Plot, PlotKind, Point, Series};

use super::{page, render};
use crate::Format;

fn reproduction() -> Reproduction {
    let figure = |id: &str, value| {
        Figure::new(id, "L3 misses <sb>", "-42 %", Range::new(-65.0, -25.0), value, "%")
    };
    let mut table = Table::new("misses", ["scheduler", "millions"]);
    table.row(["ws", "47.2"]);
    let (x, points) = (
        Axis::linear("scheduler"),
        [Point::new("ws", 47.2), Point::with_range("sb", 29.2, 28.0, 30.0)],
    );
    let series = [Series::new("rrm", points)];
    Reproduction {
        study: Study::SpaceBounded,
        machine: "xeon-7560".to_owned(),
        quick: true,
        notes: vec!["three seeds".to_owned()],
        figures: vec![figure("near", -38.0), figure("far", 3.0).because("it fits")],
        tables: vec![table],
        plots: vec![Plot::new("misses", PlotKind::Bars, x, "millions", series)],
    }
}

#[test]
fn the_json_is_what_the_contract_says() {
    let text = render(&reproduction(), Format::Json).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "befit.reproduce/1");
    let [near, far] = [&value["figures"][0], &value["figures"][1]];
    assert_eq!((&near["verdict"], &near["why"]), (&"in range".into(), &serde_json::Value::Null));
    assert_eq!((&far["verdict"], &far["why"]), (&"out of range".into(), &"it fits".into()));
    assert_eq!((&near["reported"], &near["measured"]), (&"-42 %".into(), &"-38.0 %".into()));
    let mut expected = serde_json::to_value(reproduction()).unwrap();
    expected["schema"] = value["schema"].clone();
    assert_eq!(value, expected);
}

#[test]
fn the_table_shows_each_figure_and_why_it_is_out_of_range() {
    let text = render(&reproduction(), Format::Table).unwrap();
    assert!(text.contains("1 of 2 figures in range"), "{text}");
    assert!(text.contains("- far: it fits"), "{text}");
    assert!(text.contains("47.2"), "{text}");
}

#[test]
fn csv_has_a_row_for_each_figure() {
    let text = render(&reproduction(), Format::Csv).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(text.starts_with("id,what,reported,measured,verdict,why"), "{text}");
}

#[test]
fn the_page_has_plots_then_figures_then_tables_and_shows_text_as_it_is() {
    let parts = page(&reproduction());
    let [Part::Html(head), Part::Plot(plot), Part::Html(tables)] = &parts[..] else {
        panic!("{parts:?}")
    };
    assert_eq!(*plot, reproduction().plots[0]);
    assert!(head.contains("1 of 2 figures"), "{head}");
    assert!(
        tables.contains("L3 misses &lt;sb&gt;") && tables.contains("class=\"out\""),
        "{tables}"
    );
    assert!(tables.contains("47.2") && tables.ends_with("</html>\n"), "{tables}");
}
