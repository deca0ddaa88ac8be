//! Simulated runs as a trace that Perfetto and Chrome open: the JSON of Google's Trace Event
//! Format, times in microseconds.
//!
//! Each last-level cache under each scheduler is a process, its workers are the threads. A slice is
//! the time from when a worker took a task from the policy to when it had nothing left; a flow goes
//! from a victim to its thief; a counter shows how much of a cache the policy had given out.

use std::collections::BTreeMap;

use befit_lab::{Look, Looked};
use befit_machine::{ClusterId, Cycles, Level, Machine, WorkerId};
use serde_json::{Value, json};

use crate::ReportError;

/// The runs of `looks`, as text that ends in a line feed.
///
/// # Errors
/// As [`crate::render`].
pub fn trace(looks: &[Look]) -> Result<String, ReportError> {
    let mut events = Vec::new();
    let mut processes = 0;
    for look in looks {
        for run in &look.runs {
            let caches = look.machine.cluster(ClusterId::ROOT).children.len() as u32;
            Traced { machine: &look.machine, run, first: processes }.add_to(&mut events);
            processes += caches.max(1);
        }
    }
    let document = json!({"displayTimeUnit": "ns", "traceEvents": events});
    Ok(serde_json::to_string(&document)? + "\n")
}

/// One run, whose last-level caches are the processes from `first` on.
struct Traced<'a> {
    machine: &'a Machine,
    run: &'a Looked,
    first: u32,
}

impl Traced<'_> {
    fn add_to(&self, events: &mut Vec<Value>) {
        for (at, name) in self.caches().into_iter().enumerate() {
            let pid = self.first + at as u32;
            let name = format!("{} on {}: {name}", self.run.scheduler, self.machine.name);
            events.push(
                json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}),
            );
            events.push(json!({
                "ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid},
            }));
        }
        for worker in (0..self.machine.workers().len() as u32).map(WorkerId) {
            let name = format!("worker {}", worker.0);
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": self.process(worker), "tid": worker.0,
                "args": {"name": name},
            }));
        }
        let names = self.names();
        for stay in &self.run.trace.stays {
            let anchor = names.get(&stay.anchor).map_or("memory", String::as_str);
            events.push(json!({
                "ph": "X", "name": anchor, "cat": "strand",
                "pid": self.process(stay.worker), "tid": stay.worker.0,
                "ts": self.micros(stay.begin),
                "dur": self.micros(Cycles(stay.end.0 - stay.begin.0)),
                "args": {"task": stay.task.0, "bound to": anchor},
            }));
        }
        for (id, steal) in (u64::from(self.first) << 32..).zip(&self.run.trace.steals) {
            for (phase, worker) in [("s", steal.victim), ("f", steal.thief)] {
                events.push(json!({
                    "ph": phase, "bp": "e", "name": "steal", "cat": "steal", "id": id,
                    "pid": self.process(worker), "tid": worker.0, "ts": self.micros(steal.at),
                }));
            }
        }
        for claim in &self.run.trace.claims {
            let worker = WorkerId(self.machine.cluster(claim.cluster).workers.start);
            events.push(json!({
                "ph": "C", "name": "given out, bytes", "pid": self.process(worker),
                "ts": self.micros(claim.at), "args": {"bytes": claim.bytes.0},
            }));
        }
    }

    fn micros(&self, time: Cycles) -> f64 {
        time.0 as f64 / f64::from(self.machine.mhz.max(1))
    }

    /// The names of the last-level caches; of memory where there are none.
    fn caches(&self) -> Vec<String> {
        let names = self.names();
        let children = &self.machine.cluster(ClusterId::ROOT).children;
        let of: Vec<_> = children.iter().filter_map(|id| names.get(id).cloned()).collect();
        if of.is_empty() { vec!["memory".to_owned()] } else { of }
    }

    /// The process of a worker's last-level cache.
    fn process(&self, worker: WorkerId) -> u32 {
        let children = &self.machine.cluster(ClusterId::ROOT).children;
        let has = |id: &ClusterId| self.machine.cluster(*id).has(worker);
        self.first + children.iter().position(has).unwrap_or(0) as u32
    }

    /// Each cache by its level and its number among those of the level.
    fn names(&self) -> BTreeMap<ClusterId, String> {
        let mut numbers: BTreeMap<Option<Level>, u32> = BTreeMap::new();
        let clusters = (0..).map(ClusterId).zip(self.machine.clusters());
        let name = clusters.map(|(id, cluster)| {
            let level = cluster.cache.map(|cache| cache.level);
            let number = numbers.entry(level).or_default();
            *number += 1;
            let name = level.map(|level| format!("{level} {}", *number - 1));
            (id, name.unwrap_or_else(|| "memory".to_owned()))
        });
        name.collect()
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;
    use befit_program::TaskId;
    use befit_sched::SchedulerKind;
    use befit_sim::{Claimed, Stay, Steal, Trace};

    use super::*;

    #[test]
    fn a_trace_has_slices_flows_and_counters_under_the_caches() {
        let machine = Machine::find("(mhz=1000) pack:2 l3:1 core:2 l1:1 pu:1").unwrap();
        let last = machine.cluster(ClusterId::ROOT).children[1];
        let stay = Stay {
            worker: WorkerId(3),
            begin: Cycles(1000),
            end: Cycles(3500),
            task: TaskId(7),
            anchor: last,
        };
        let trace = Trace {
            stays: vec![stay],
            steals: vec![Steal { thief: WorkerId(3), victim: WorkerId(0), at: Cycles(1000) }],
            claims: vec![Claimed { cluster: last, at: Cycles(1000), bytes: Bytes(64) }],
            misses: Vec::new(),
        };
        let run = Looked { scheduler: SchedulerKind::Sb, time: Cycles(4000), trace };
        let looks = [Look { machine, speed: Vec::new(), runs: vec![run.clone(), run] }];
        let text = super::trace(&looks).unwrap();
        let events: Value = serde_json::from_str(&text).unwrap();
        let of = |phase: &str| -> Vec<Value> {
            let all = events["traceEvents"].as_array().unwrap().iter();
            all.filter(|event| event["ph"] == phase).cloned().collect()
        };
        let slices = of("X");
        assert_eq!(slices.len(), 2);
        assert_eq!((&slices[0]["ts"], &slices[0]["dur"]), (&1.0.into(), &2.5.into()));
        assert_eq!((&slices[0]["pid"], &slices[1]["pid"]), (&1.into(), &3.into()));
        assert_eq!(slices[0]["args"]["bound to"], "L3 1");
        let (from, to) = (of("s"), of("f"));
        assert_eq!((&from[0]["tid"], &to[0]["tid"]), (&0.into(), &3.into()));
        assert!(from[0]["id"] == to[0]["id"] && from[0]["id"] != from[1]["id"]);
        assert_eq!(of("C")[0]["args"]["bytes"], 64);
    }
}
