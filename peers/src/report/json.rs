//! The results as JSON: `befit.peers/1`, a contract (`docs/peers.md`).

use serde::Serialize;

use crate::contest::{Results, Spread};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    results: Vec<Row<'a>>,
    not_built: Vec<Missing<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    program: &'a str,
    runtime: String,
    threads: usize,
    n: usize,
    repeats: usize,
    seconds: Seconds,
}

#[derive(Serialize)]
struct Seconds {
    min: f64,
    median: f64,
    max: f64,
}

#[derive(Serialize)]
struct Missing<'a> {
    runtime: String,
    reason: &'a str,
}

pub(super) fn render(results: &Results) -> String {
    let mut document =
        Document { schema: "befit.peers/1", results: Vec::new(), not_built: Vec::new() };
    for entry in &results.entries {
        let runtime = entry.runtime.to_string();
        match &entry.outcome {
            Ok(Spread { min, median, max }) => document.results.push(Row {
                program: results.program,
                threads: if entry.runtime.is_serial() { 1 } else { results.threads },
                runtime,
                n: results.n,
                repeats: results.repeats,
                seconds: Seconds { min: *min, median: *median, max: *max },
            }),
            Err(reason) => document.not_built.push(Missing { runtime, reason }),
        }
    }
    let text = serde_json::to_string_pretty(&document).expect("strings and numbers can be written");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::example;

    #[test]
    fn the_document_is_the_documented_one() {
        assert_eq!(super::render(&example()), include_str!("golden.json"));
    }
}
