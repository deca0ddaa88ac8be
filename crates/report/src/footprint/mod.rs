//! Statistics per ordered pair of tasks: as a table, JSON (`befit.footprint/1`), CSV, or a page
//! with heat maps.

pub mod json;
mod page;

use befit_sim::footprint::{Cells, Pairs};

pub use self::page::page;
use crate::{Format, ReportError, csv, table::Columns};

/// Writes them as text that ends in a line feed; a row for each ordered pair.
///
/// # Errors
/// When a value cannot be expressed in the format; none of `befit-lab` is of that kind.
pub fn render(pairs: &Pairs, format: Format) -> Result<String, ReportError> {
    let report = json::Report::from(pairs);
    match format {
        Format::Table => Ok(table(pairs, &report)),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&report)?;
            text.push('\n');
            Ok(text)
        }
        Format::Csv => csv::render(&report.pairs),
    }
}

/// What the numbers are of.
fn heading(pairs: &Pairs) -> String {
    let Pairs { program, machine, level, of, tasks, cells } = pairs;
    let frames = cells.first().map_or(0, Cells::frames);
    format!(
        "{program} on {machine}: {frames} frames of its {level}, {} of {of} leaf tasks",
        tasks.len()
    )
}

fn table(pairs: &Pairs, report: &json::Report) -> String {
    let mut columns = Columns::new(&report.pairs, "previous", |pair| pair.previous.to_string());
    columns.add("current", |pair| pair.current.to_string());
    columns.add("TH", |pair| pair.touched_hit.to_string());
    columns.add("TM", |pair| pair.touched_missed.to_string());
    columns.add("TU", |pair| pair.touched_untouched.to_string());
    columns.add("NH", |pair| pair.new_hit.to_string());
    columns.add("NM", |pair| pair.new_missed.to_string());
    columns.add("NU", |pair| pair.new_untouched.to_string());
    columns.add("shared hits - misses", |pair| pair.affinity.to_string());
    format!(
        "{}\n\n{}\n\nT: touched by the previous task, N: not; H, M, U: hit, missed, untouched by the current one, by its first access to the frame\n",
        heading(pairs),
        columns.table()
    )
}

#[cfg(test)]
mod tests {
    use befit_machine::Level;
    use befit_page::Part;

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
        let report: json::Report = serde_json::from_str(&json).unwrap();
        assert_eq!((report.schema.as_str(), report.pairs[1].affinity), ("befit.footprint/1", 0));
        assert_eq!((report.pairs[1].previous, report.pairs[1].current), (0, 2));
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
