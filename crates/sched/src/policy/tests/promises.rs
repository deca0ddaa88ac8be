//! What every policy promises, held against random computations on random machines: the test is a
//! small engine.

use befit_machine::{Bytes, Machine, WorkerId};
use proptest::prelude::*;

use super::env;
use crate::{Options, QuietEnv, Ready, Scheduler, SchedulerKind, Stage, Strand, TaskInfo};

/// A task that is running or waiting for its children.
struct Live {
    notes: TaskInfo,
    parent: Option<usize>,
    children: u32,
    forks_left: u32,
}

/// Runs a random tree of tasks to its end, one strand of a random worker at a time, and counts the
/// strands.
struct Engine {
    scheduler: Box<dyn Scheduler<usize>>,
    machine: Machine,
    tasks: Vec<Live>,
    /// Per worker: what it runs.
    running: Vec<Option<Ready<usize>>>,
    random: fastrand::Rng,
    env: QuietEnv,
}

impl Engine {
    fn new(kind: SchedulerKind, machine: Machine, options: Options, seed: u64) -> Self {
        let scheduler = kind.build(&machine, options);
        let running = machine.workers().iter().map(|_| None).collect();
        Self {
            scheduler,
            machine,
            tasks: Vec::new(),
            running,
            random: fastrand::Rng::with_seed(seed),
            env: env(),
        }
    }

    fn start(&mut self, w: WorkerId, parent: Option<usize>, notes: TaskInfo) {
        let forks_left = self.random.u32(0..3);
        self.tasks.push(Live { notes, parent, children: 0, forks_left });
        let ready = Ready { job: self.tasks.len() - 1, task: notes, stage: Stage::Start };
        self.scheduler.add(w, ready, &mut self.env);
    }

    /// Answers how many tasks ran. Panics where a promise is broken or nothing moves while tasks
    /// are left.
    fn run(mut self, size: Bytes, most: usize) -> usize {
        self.start(WorkerId(0), None, TaskInfo::root(Some(size), None));
        let mut still = 0;
        while !self.tasks.is_empty() && self.tasks[0].children != u32::MAX {
            let w = WorkerId(self.random.u32(..self.running.len() as u32));
            let moved = match self.running[w.index()].take() {
                Some(ready) => self.end_strand(w, ready, most),
                None => self.look(w),
            };
            still = if moved { 0 } else { still + 1 };
            assert!(still < 100 * self.running.len() + 1000, "{} got stuck", self.scheduler.name());
            self.scheduler.check();
        }
        assert!(self.running.iter().all(Option::is_none), "nothing runs after the root has ended");
        self.tasks.len()
    }

    fn look(&mut self, w: WorkerId) -> bool {
        let Some(ready) = self.scheduler.get(w, &mut self.env) else { return false };
        assert!(self.machine.cluster(ready.task.anchor).has(w), "anchored property");
        self.tasks[ready.job].notes = ready.task;
        self.running[w.index()] = Some(ready);
        true
    }

    fn end_strand(&mut self, w: WorkerId, ready: Ready<usize>, most: usize) -> bool {
        self.scheduler.done(w, &Strand { task: ready.task, stage: ready.stage }, &mut self.env);
        let id = ready.job;
        if self.tasks[id].forks_left > 0 && self.tasks.len() < most {
            self.tasks[id].forks_left -= 1;
            let children = self.random.u32(1..4);
            self.tasks[id].children = children;
            for index in 0..children {
                let shrunk = Bytes(self.tasks[id].notes.size.0 / self.random.u64(1..5));
                let declared = if self.random.bool() { Some(shrunk) } else { None };
                let child = self.tasks[id].notes.child(index, declared, None);
                self.start(w, Some(id), child);
            }
        } else {
            self.end_task(w, id);
        }
        true
    }

    fn end_task(&mut self, w: WorkerId, id: usize) {
        let notes = self.tasks[id].notes;
        self.scheduler.task_ended(w, &notes, &mut self.env);
        match self.tasks[id].parent {
            None => self.tasks[id].children = u32::MAX,
            Some(parent) => {
                self.tasks[parent].children -= 1;
                if self.tasks[parent].children == 0 {
                    let notes = self.tasks[parent].notes;
                    let ready = Ready { job: parent, task: notes, stage: Stage::Continuation };
                    self.scheduler.add(w, ready, &mut self.env);
                }
            }
        }
    }
}

fn machines() -> impl Strategy<Value = Machine> {
    let texts = [
        "core:1 l1:1(size=32768) pu:1",
        "core:3 pu:2",
        "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) pu:1",
        "pack:3 l3:1(size=262144) l2:2(size=65536) core:1 l1:1(size=16384) pu:2",
        "pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) l1:1(size=32768) pu:1",
    ];
    proptest::sample::select(texts.to_vec())
        .prop_map(|text| text.parse().expect("a valid topology"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_policy_ends_every_computation_anchored_and_bounded(
        kind in proptest::sample::select(SchedulerKind::ALL.to_vec()),
        machine in machines(),
        sigma in 0.1..=1.0f64,
        mu in 0.01..=1.0f64,
        size in 1u64..200_000_000,
        seed: u64,
    ) {
        let engine = Engine::new(kind, machine, Options { sigma, mu, ..Options::default() }, seed);
        prop_assert!(engine.run(Bytes(size), 400) >= 1);
    }
}

#[test]
fn names_and_kinds_match_one_to_one() {
    let machine = super::two_sockets();
    for kind in SchedulerKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(kind.build::<u32>(&machine, Options::default()).name(), kind.name());
    }
    let unknown = "cfs".parse::<SchedulerKind>().unwrap_err();
    assert!(
        unknown.to_string().starts_with("unknown scheduler 'cfs'; known: ws, pws, sb, sb-d, "),
        "{unknown}"
    );
}
