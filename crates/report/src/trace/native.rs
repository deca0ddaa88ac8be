//! Native runs as traces.
//!
//! A slice is a phase of a worker; where there is none, it is idle. A counter shows how many of the
//! workers under a cache are in the program's own code.

use std::collections::BTreeMap;

use befit_lab::{NativeTrace, PoolTrace};
use serde_json::json;

use super::{At, Events};
use crate::ReportError;

const ACTIVE: &str = "active";
const IDLE: &str = "idle";

/// The runs of `traces`, as text that ends in a line feed.
///
/// # Errors
/// As [`crate::render`].
pub fn trace(traces: &[NativeTrace]) -> Result<String, ReportError> {
    let mut events = Events::default();
    for traced in traces {
        // The runs lie over one another, though they came one after the other.
        let start = traced.pools.iter().map(|pool| pool.begin).min().unwrap_or(0);
        for (number, pool) in traced.pools.iter().enumerate() {
            let mut about = format!("{} on {}", traced.scheduler, traced.machine);
            if traced.pools.len() > 1 {
                about += &format!(", pool {number}");
            }
            Traced { pool, start, processes: processes(&mut events, &about, pool) }
                .add_to(&mut events);
        }
    }
    events.text()
}

/// Makes a process for each last-level cache of a pool's workers; returns each worker's.
fn processes(events: &mut Events, about: &str, pool: &PoolTrace) -> Vec<u32> {
    let mut caches: BTreeMap<u32, &str> = BTreeMap::new();
    caches.extend(pool.workers.iter().map(|worker| (worker.cluster, &*worker.level)));
    let name = |number: usize, level: &str| match level {
        "memory" => format!("{about}: memory"),
        level => format!("{about}: {level} {number}"),
    };
    let of: BTreeMap<u32, u32> = caches
        .into_iter()
        .enumerate()
        .map(|(number, (cache, level))| (cache, events.process(&name(number, level))))
        .collect();
    let workers: Vec<u32> = pool.workers.iter().map(|worker| of[&worker.cluster]).collect();
    for (worker, process) in (0..).zip(&workers) {
        events.worker(*process, worker);
    }
    workers
}

/// One pool, whose workers are in `processes`.
struct Traced<'a> {
    pool: &'a PoolTrace,
    start: u64,
    processes: Vec<u32>,
}

impl Traced<'_> {
    fn add_to(&self, events: &mut Events) {
        // How many workers become active, or cease to be, in each process at each moment.
        let mut changes: BTreeMap<(u32, u64), i64> = BTreeMap::new();
        for (number, worker) in self.pool.workers.iter().enumerate() {
            let begins = worker.phases.iter().map(|(at, phase)| (*at, &**phase));
            // When the last phase ended is not known where events are missing.
            let end = (worker.left_out == 0).then_some(self.pool.end);
            let ends = worker.phases.iter().skip(1).map(|(at, _)| *at).chain(end);
            for ((from, phase), to) in begins.zip(ends) {
                if phase == IDLE || to <= from || to <= self.pool.begin {
                    continue;
                }
                let about = json!({});
                // The trace begins with the first job, in the middle of what each worker did then.
                let from = from.max(self.start);
                let micros = (to - from) as f64 / 1e3;
                events.slice(self.at(number, from), micros, ("phase", phase), &about);
                if phase == ACTIVE {
                    *changes.entry((self.processes[number], from)).or_default() += 1;
                    *changes.entry((self.processes[number], to)).or_default() -= 1;
                }
            }
            for (at, victim) in &worker.steals {
                let victim = *victim as usize;
                // A pool may have fewer threads than its machine has workers.
                if victim < self.processes.len() {
                    events.steal(self.at(victim, *at), self.at(number, *at));
                }
            }
        }
        let (mut process, mut active) = (None, 0);
        for ((of, at), change) in changes.into_iter().filter(|(_, change)| *change != 0) {
            if process.replace(of) != Some(of) {
                active = 0;
            }
            active += change;
            let value = ("workers", active.unsigned_abs());
            events.counter(of, self.micros(at), "workers that are active", value);
        }
    }

    fn at(&self, worker: usize, at: u64) -> At {
        let process = self.processes[worker];
        At { process, worker: worker as u32, micros: self.micros(at) }
    }

    fn micros(&self, at: u64) -> f64 {
        at.saturating_sub(self.start) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use befit_lab::WorkerTrace;
    use befit_sched::SchedulerKind;

    use super::{super::testing::read, *};

    fn worker(cluster: u32, phases: &[(u64, &str)], steals: &[(u64, u32)]) -> WorkerTrace {
        WorkerTrace {
            cluster,
            level: "L3".to_owned(),
            left_out: 0,
            phases: phases.iter().map(|(at, phase)| (*at, (*phase).to_owned())).collect(),
            steals: steals.to_vec(),
        }
    }

    fn two_workers() -> PoolTrace {
        let one = worker(4, &[(900, "idle"), (1000, "active"), (3000, "idle")], &[]);
        let two = worker(9, &[(1400, "get"), (1600, "active"), (2600, "get")], &[(1500, 0)]);
        PoolTrace { begin: 1000, end: 3000, workers: vec![one, two] }
    }

    fn traced(pools: Vec<PoolTrace>) -> NativeTrace {
        NativeTrace { scheduler: SchedulerKind::Ws, machine: "host".to_owned(), pools }
    }

    #[test]
    fn phases_are_slices_and_steals_are_flows_between_the_caches_workers() {
        let events = read(&trace(&[traced(vec![two_workers()])]).unwrap());
        let names = events["M"].iter().filter(|event| event["name"] == "process_name");
        let names: Vec<_> = names.map(|event| event["args"]["name"].clone()).collect();
        assert_eq!(names, ["ws on host: L3 0", "ws on host: L3 1"]);
        let slices = events["X"].iter().map(|slice| {
            let number = |field: &str| slice[field].as_f64().unwrap();
            (number("pid"), slice["name"].as_str().unwrap(), number("ts"), number("dur"))
        });
        let expected = [
            (0.0, "active", 0.0, 2.0),
            (1.0, "get", 0.4, 0.2),
            (1.0, "active", 0.6, 1.0),
            (1.0, "get", 1.6, 0.4),
        ];
        assert_eq!(slices.collect::<Vec<_>>(), expected);
        let (from, to) = (&events["s"][0], &events["f"][0]);
        assert_eq!((&from["tid"], &to["tid"], &to["ts"]), (&0.into(), &1.into(), &0.5.into()));
        let active = events["C"].iter().map(|event| event["args"]["workers"].as_u64().unwrap());
        assert_eq!(active.collect::<Vec<_>>(), [1, 0, 1, 0]);
    }

    #[test]
    fn what_was_not_kept_is_not_drawn() {
        let mut pool = two_workers();
        pool.workers[1].left_out = 3;
        let events = read(&trace(&[traced(vec![pool.clone(), pool])]).unwrap());
        assert_eq!(events["X"].len(), 6);
        let names = events["M"].iter().map(|event| event["args"]["name"].to_string());
        assert!(names.into_iter().any(|name| name == "\"ws on host, pool 1: L3 1\""));
        assert!(read(&trace(&[]).unwrap()).is_empty());
    }
}
