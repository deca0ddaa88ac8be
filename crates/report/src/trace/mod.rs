//! Runs as a trace that Perfetto and Chrome open: the JSON of Google's Trace Event Format, times in
//! microseconds.
//!
//! Each last-level cache under each scheduler is a process, its workers are the threads. A flow
//! goes from a victim of a steal to its thief.

mod native;
mod simulated;

pub use self::{native::trace as native_trace, simulated::trace};

use serde_json::{Value, json};

use crate::ReportError;

/// A trace that is being written.
#[derive(Default)]
struct Events {
    events: Vec<Value>,
    processes: u32,
    flows: u64,
}

/// The place of a worker, and a time in microseconds.
#[derive(Clone, Copy)]
struct At {
    process: u32,
    worker: u32,
    micros: f64,
}

impl Events {
    /// A further process; returns its number.
    fn process(&mut self, name: &str) -> u32 {
        let pid = self.processes;
        self.processes += 1;
        self.events
            .push(json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}));
        self.events.push(json!({
            "ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid},
        }));
        pid
    }

    /// A worker in a process.
    fn worker(&mut self, process: u32, worker: u32) {
        let name = format!("worker {worker}");
        self.events.push(json!({
            "ph": "M", "name": "thread_name", "pid": process, "tid": worker,
            "args": {"name": name},
        }));
    }

    /// Something that lasts, from `at` on.
    fn slice(&mut self, at: At, micros: f64, (category, name): (&str, &str), about: &Value) {
        self.events.push(json!({
            "ph": "X", "name": name, "cat": category, "pid": at.process, "tid": at.worker,
            "ts": at.micros, "dur": micros, "args": about,
        }));
    }

    /// A task that went from one worker to another.
    fn steal(&mut self, victim: At, thief: At) {
        for (phase, at) in [("s", victim), ("f", thief)] {
            self.events.push(json!({
                "ph": phase, "bp": "e", "name": "steal", "cat": "steal", "id": self.flows,
                "pid": at.process, "tid": at.worker, "ts": at.micros,
            }));
        }
        self.flows += 1;
    }

    /// The value of a counter of a process from now on.
    fn counter(&mut self, process: u32, micros: f64, name: &str, (unit, value): (&str, u64)) {
        self.events.push(json!({
            "ph": "C", "name": name, "pid": process, "ts": micros, "args": {unit: value},
        }));
    }

    /// As text that ends in a line feed.
    fn text(self) -> Result<String, ReportError> {
        let document = json!({"displayTimeUnit": "ns", "traceEvents": self.events});
        Ok(serde_json::to_string(&document)? + "\n")
    }
}

#[cfg(test)]
mod testing {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    /// Reads a trace as the Trace Event Format has it, and checks what it demands of each event;
    /// returns the events by their phase.
    pub(super) fn read(text: &str) -> BTreeMap<String, Vec<Value>> {
        let document: Value = serde_json::from_str(text).unwrap();
        let mut by_phase: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in document["traceEvents"].as_array().unwrap() {
            let phase = event["ph"].as_str().unwrap();
            assert!(event["name"].is_string() && event["pid"].is_u64(), "{event}");
            let time = |field: &str| event[field].as_f64().is_some_and(|time| time >= 0.0);
            let thread = event["tid"].is_u64();
            let right = match phase {
                "M" => event["args"].is_object(),
                "X" => thread && time("ts") && time("dur") && event["cat"].is_string(),
                "s" | "f" => thread && time("ts") && event["id"].is_u64() && event["bp"] == "e",
                "C" => time("ts") && event["args"].as_object().is_some_and(|args| args.len() == 1),
                _ => false,
            };
            assert!(right, "{event}");
            by_phase.entry(phase.to_owned()).or_default().push(event.clone());
        }
        let of = |phase: &str| by_phase.get(phase).cloned().unwrap_or_default();
        // Each process and thread has a name, each flow both its ends.
        let place = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
        let named = of("M").iter().map(place).collect::<BTreeSet<_>>();
        assert!(
            ["X", "s", "f"].iter().flat_map(|phase| of(phase)).all(|e| named.contains(&place(&e)))
        );
        let ids =
            |phase| of(phase).iter().map(|event| event["id"].as_u64()).collect::<BTreeSet<_>>();
        assert_eq!((ids("s"), ids("s").len()), (ids("f"), of("f").len()));
        by_phase
    }
}
