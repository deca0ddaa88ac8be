//! The results as JSON: `befit.peers/1`, a contract (`docs/peers.md`).

use serde::Serialize;

use crate::contest::{Results, Spread};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    results: Vec<PeersRow<'a>>,
    not_built: Vec<Missing<'a>>,
}

#[derive(Serialize)]
struct PeersRow<'a> {
    program: &'a str,
    runtime: String,
    threads: usize,
    n: usize,
    repeats: usize,
    seconds: Spread,
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
            Ok(seconds) => document.results.push(PeersRow {
                program: results.program,
                threads: if entry.runtime.is_serial() { 1 } else { results.threads },
                runtime,
                n: results.n,
                repeats: results.repeats,
                seconds: *seconds,
            }),
            Err(reason) => document.not_built.push(Missing { runtime, reason }),
        }
    }
    let text = serde_json::to_string_pretty(&document).expect("strings and numbers can be written");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use crate::report::example;

    #[test]
    fn the_document_is_the_documented_one() {
        assert_eq!(super::render(&example()), include_str!("golden.json"));
    }
}
