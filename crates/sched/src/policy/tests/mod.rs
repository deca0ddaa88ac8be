//! The policies, without threads and without simulation: a test plays the engine.

mod baselines;
mod bitier;
mod space_bounded;
mod stealing;

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::{
    Ask, Capabilities, Finds, Options, Policy, QuietEnv, Ready, Scheduler, SchedulerKind, Stage,
    TaskInfo,
};

const W: [WorkerId; 4] = [WorkerId(0), WorkerId(1), WorkerId(2), WorkerId(3)];

/// Two sockets of two cores; L3 1 MiB, L2 64 KiB.
pub(super) fn two_sockets() -> Machine {
    "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) pu:1".parse().expect("a valid topology")
}

/// A policy, and what a test needs to call it.
struct Play {
    policy: Box<dyn Scheduler<u32>>,
    env: QuietEnv,
}

impl Play {
    /// `kind` with its usual options, on two sockets.
    fn of(kind: SchedulerKind) -> Self {
        Self::on(&two_sockets(), kind, Options::default())
    }

    fn on(machine: &Machine, kind: SchedulerKind, options: Options) -> Self {
        let env = QuietEnv(fastrand::Rng::with_seed(7));
        Self { policy: kind.build(machine, options), env }
    }

    /// `task` starts.
    fn start(&mut self, w: usize, job: u32, task: TaskInfo) -> ClusterId {
        self.policy.add(W[w], Ready { job, task, stage: Stage::Start }, &mut self.env)
    }

    /// A task without a parent starts.
    fn add(&mut self, w: usize, job: u32, size: Option<Bytes>) {
        self.start(w, job, TaskInfo::root(size, None));
    }

    fn ask(&mut self, w: usize, ask: Ask<'_, u32>) -> Option<Ready<u32>> {
        self.policy.get(WorkerId(w as u32), ask, &mut self.env)
    }

    fn get(&mut self, w: usize) -> Option<Ready<u32>> {
        self.ask(w, Ask::ANYTHING)
    }

    /// As [`Self::get`], which job it is.
    fn job(&mut self, w: usize) -> Option<u32> {
        self.get(w).map(|ready| ready.job)
    }

    /// Which of `jobs` it is given.
    fn one_of(&mut self, w: usize, jobs: &[u32]) -> Option<Ready<u32>> {
        self.ask(w, Ask { accepts: Some(&|job| jobs.contains(job)), ..Ask::ANYTHING })
    }

    fn done(&mut self, w: usize, ready: &Ready<u32>) {
        self.policy.done(WorkerId(w as u32), &ready.strand(), &mut self.env);
    }

    /// Its last strand, and the task with it.
    fn end(&mut self, w: usize, ready: &Ready<u32>) -> Option<ClusterId> {
        self.done(w, ready);
        self.policy.task_ended(W[w], &ready.task, &mut self.env)
    }
}

#[test]
fn names_and_kinds_match_one_to_one() {
    for kind in SchedulerKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(Play::of(kind).policy.name(), kind.name());
    }
    let unknown = "cfs".parse::<SchedulerKind>().unwrap_err().to_string();
    let expected = "unknown scheduler 'cfs'; known: ws, pws, sb, sb-d, ";
    assert!(unknown.starts_with(expected), "{unknown}");
}

/// Its promises on the machine of two sockets, before any task has a size.
#[test]
fn an_engine_is_told_what_each_policy_needs() {
    let kinds_of = |holds: fn(Capabilities) -> bool| {
        let holds = |kind: &SchedulerKind| holds(Play::of(*kind).policy.capabilities());
        let names = SchedulerKind::ALL.into_iter().filter(holds).map(SchedulerKind::name);
        names.collect::<Vec<_>>().join(" ")
    };
    let refuse = "sb sb-d cats cats-s cab hws mts cpdf batch static adws homes auto";
    assert_eq!(kinds_of(|it| it.may_refuse), refuse);
    assert_eq!(kinds_of(|it| it.sees_forks), "cats cats-s cpdf static adws homes auto");
    assert_eq!(kinds_of(|it| it.places_by_size), "sb sb-d");
    assert_eq!(kinds_of(|it| it.own_newest_first), "ws pws cilk-a");
    assert_eq!(kinds_of(|it| it.defers_spawned), "homes auto");
    assert_eq!(kinds_of(|it| !it.follows_tasks), "ws pws cilk-a central");
    assert_eq!(kinds_of(|it| !it.uses_sizes), "ws pws cilk-a hws mts pdf central batch static");
    assert_eq!(kinds_of(|it| it.finds == Finds::IfThereIsRoom), "");
    assert_eq!(kinds_of(|it| it.finds == Finds::Nothing), "cab hws mts batch static");
}
