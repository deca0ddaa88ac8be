//! Results as CSV: the JSON's fields, a row a result.
//!
//! Columns are named by the way to the field, joined by dots (`misses.L3.median`), and made from
//! the JSON itself, so that the two cannot come apart. Machines with different cache levels share
//! one table: a level that a machine lacks is empty in its rows.

use serde_json::Value;

use serde::Serialize;

use crate::ReportError;

pub(crate) fn render(results: &[impl Serialize]) -> Result<String, ReportError> {
    let mut rows = Vec::with_capacity(results.len());
    let mut columns: Vec<String> = Vec::new();
    for result in results {
        let mut row = Vec::new();
        flatten(&serde_json::to_value(result)?, String::new(), &mut row);
        add_columns(&mut columns, &row);
        rows.push(row);
    }
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    if !columns.is_empty() {
        writer.write_record(&columns)?;
    }
    for row in &rows {
        let cell = |column: &String| {
            row.iter().find(|(name, _)| name == column).map_or("", |(_, value)| value)
        };
        writer.write_record(columns.iter().map(cell))?;
    }
    let bytes = writer.into_inner().map_err(|e| ::csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Puts the new columns of `row` behind the column that precedes them in `row`.
fn add_columns(columns: &mut Vec<String>, row: &[(String, String)]) {
    let mut place = 0;
    for (name, _) in row {
        match columns.iter().position(|c| c == name) {
            Some(found) => place = found + 1,
            None => {
                columns.insert(place, name.clone());
                place += 1;
            }
        }
    }
}

fn flatten(value: &Value, name: String, row: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(field, name, row);
            }
        }
        // A list's entries are named by their places, from 0.
        Value::Array(entries) => {
            for (at, entry) in entries.iter().enumerate() {
                flatten(entry, format!("{name}.{at}"), row);
            }
        }
        Value::Null => row.push((name, String::new())),
        Value::String(text) => row.push((name, text.clone())),
        scalar => row.push((name, scalar.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|n| (n.to_string(), String::new())).collect()
    }

    #[test]
    fn a_level_that_only_a_later_machine_has_stands_beside_its_neighbours() {
        let mut columns = Vec::new();
        add_columns(&mut columns, &row(&["misses.L1", "misses.L2", "steals"]));
        add_columns(&mut columns, &row(&["misses.L1", "misses.L2", "misses.L3", "steals"]));
        assert_eq!(columns, ["misses.L1", "misses.L2", "misses.L3", "steals"]);
    }

    #[test]
    fn a_column_is_named_by_the_way_to_its_field() {
        let mut row = Vec::new();
        flatten(&serde_json::json!({"misses": {"L3": {"median": 5}}}), String::new(), &mut row);
        assert_eq!(row, [("misses.L3.median".to_owned(), "5".to_owned())]);
        let mut row = Vec::new();
        flatten(
            &serde_json::json!({"workers": [{"forks": 1}, {"forks": null}]}),
            String::new(),
            &mut row,
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(row, [pair("workers.0.forks", "1"), pair("workers.1.forks", "")]);
    }
}
