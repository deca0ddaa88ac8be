//! Simulated runs as traces.
//!
//! A slice is the time from when a worker took a task from the policy to when it had nothing left;
//! a counter shows how much of a cache the policy had given out.

use std::collections::BTreeMap;

use befit_lab::{Look, Looked};
use befit_machine::{ClusterId, Cycles, Level, Machine, WorkerId};
use serde_json::json;

use super::{At, Events};
use crate::ReportError;

/// The runs of `looks`, as text that ends in a line feed.
///
/// # Errors
/// As [`crate::render`].
pub fn trace(looks: &[Look]) -> Result<String, ReportError> {
    let mut events = Events::default();
    for look in looks {
        for run in &look.runs {
            Traced { machine: &look.machine, run, first: events.processes }.add_to(&mut events);
        }
    }
    events.text()
}

/// One run, whose last-level caches are the processes from `first` on.
struct Traced<'a> {
    machine: &'a Machine,
    run: &'a Looked,
    first: u32,
}

impl Traced<'_> {
    fn add_to(&self, events: &mut Events) {
        for name in self.caches() {
            events.process(&format!("{} on {}: {name}", self.run.scheduler, self.machine.name));
        }
        for worker in (0..self.machine.workers().len() as u32).map(WorkerId) {
            events.worker(self.process(worker), worker.0);
        }
        let names = self.names();
        for stay in &self.run.trace.stays {
            let anchor = names.get(&stay.anchor).map_or("memory", String::as_str);
            let about = json!({"task": stay.task.0, "bound to": anchor});
            let lasts = self.micros(Cycles(stay.end.0 - stay.begin.0));
            events.slice(self.at(stay.worker, stay.begin), lasts, ("strand", anchor), &about);
        }
        for steal in &self.run.trace.steals {
            events.steal(self.at(steal.victim, steal.at), self.at(steal.thief, steal.at));
        }
        for claim in &self.run.trace.claims {
            let worker = WorkerId(self.machine.cluster(claim.cluster).workers.start);
            let (process, at) = (self.process(worker), self.micros(claim.at));
            events.counter(process, at, "given out, bytes", ("bytes", claim.bytes.0));
        }
    }

    fn at(&self, worker: WorkerId, at: Cycles) -> At {
        At { process: self.process(worker), worker: worker.0, micros: self.micros(at) }
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

    use super::{super::testing::read, *};

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
        let events = read(&super::trace(&looks).unwrap());
        let slices = &events["X"];
        assert_eq!(slices.len(), 2);
        assert_eq!((&slices[0]["ts"], &slices[0]["dur"]), (&1.0.into(), &2.5.into()));
        assert_eq!((&slices[0]["pid"], &slices[1]["pid"]), (&1.into(), &3.into()));
        assert_eq!(slices[0]["args"]["bound to"], "L3 1");
        let (from, to) = (&events["s"], &events["f"]);
        assert_eq!((&from[0]["tid"], &to[0]["tid"]), (&0.into(), &3.into()));
        assert!(from[0]["id"] == to[0]["id"] && from[0]["id"] != from[1]["id"]);
        assert_eq!(events["C"][0]["args"]["bytes"], 64);
    }
}
