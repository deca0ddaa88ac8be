//! What may help against a cause: the changes that are worth a simulation.

use std::{collections::HashSet, convert::Infallible};

use befit_machine::{Bytes, ClusterId, MOST_PAGES, Machine, Placement, WorkerId};
use befit_program::{Footprint, Program, TaskId};
use befit_sched::{Options, SchedulerKind, Thresholds};
use serde::Serialize;

use super::{
    Cause,
    change::{Private, Rewrite, rewritten, with_measured_sizes},
    find,
    writers::LineSize,
};
use crate::{
    SimulationPlan, Summary,
    parallel::{self, threads},
};

/// σ that are tried.
const SIGMAS: [f64; 3] = [1.0, 0.5, 0.25];
/// Policies that are tried, the most promising first.
const POLICIES: [SchedulerKind; 6] = [
    SchedulerKind::Homes,
    SchedulerKind::SbD,
    SchedulerKind::CatsS,
    SchedulerKind::Pws,
    SchedulerKind::Sb,
    SchedulerKind::Ws,
];

/// Something else to do.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// Another scheduler, the suggestion's.
    Scheduler,
    /// Another dilation.
    Sigma {
        /// The dilation.
        sigma: f64,
    },
    /// Sizes as they are measured.
    Sizes,
    /// Only one worker a core.
    OneWorkerACore,
    /// Only the workers of so many sockets.
    Sockets {
        /// How many.
        sockets: u32,
    },
    /// A copy of its own for each worker of the lines that go to and fro.
    OwnLines {
        /// How many.
        lines: u64,
    },
    /// Tasks of at least so many operations.
    Coarser {
        /// How many times longer those that fork nothing are.
        times: u64,
        /// Their operations (loads, stores and basic blocks).
        operations: u64,
    },
    /// Pages at the memory nearest to the worker that touches them first.
    FirstTouch,
    /// Pages of 2 MiB, of which a TLB holds as many as of those of 4 KiB.
    HugePages,
}

/// Whether the policy places tasks by their sizes on `machine`.
pub(super) fn is_sized(kind: SchedulerKind, machine: &Machine) -> bool {
    use SchedulerKind::{Homes, Sb, SbD};
    matches!(kind.on(machine, machine.workers().len()), Sb | SbD | Homes)
}

/// One change, ready to be simulated.
pub(super) struct Candidate {
    pub(super) change: Change,
    pub(super) scheduler: SchedulerKind,
    pub(super) options: Options,
    /// None: as in the comparison.
    pub(super) machine: Option<Machine>,
    pub(super) program: Option<Program>,
}

impl Candidate {
    /// Whether it is this change, under this scheduler.
    pub(super) fn is(&self, change: &Change, scheduler: SchedulerKind) -> bool {
        self.change == *change && self.scheduler == scheduler
    }
}

/// The comparison that changes are sought for.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a> {
    pub(super) plan: &'a SimulationPlan,
    pub(super) program: &'a Program,
    pub(super) machine: &'a Machine,
    pub(super) results: &'a [Summary],
    /// The recommended scheduler's.
    pub(super) best: &'a Summary,
}

impl Comparison<'_> {
    /// What may help against a cause.
    pub(super) fn against(&self, cause: Cause) -> Vec<Candidate> {
        match cause {
            Cause::FalseSharing | Cause::HotLine => self.own_lines(),
            Cause::InputTooSmall | Cause::Serial => self.fewer_sockets(),
            Cause::IdleCaches => [self.sigmas(), self.policies()].into_iter().flatten().collect(),
            Cause::Bandwidth | Cause::Memory | Cause::OtherCaches => {
                let all = [self.policies(), self.sigmas(), self.first_touch()];
                all.into_iter().flatten().collect()
            }
            Cause::Walks => self.huge_pages(),
            Cause::Imbalance | Cause::Caches => self.policies(),
            // Of these, what can be tried has been.
            Cause::WrongSizes
            | Cause::GrainTooSmall
            | Cause::Oversubscription
            | Cause::Strides
            | Cause::PageFaults => Vec::new(),
        }
    }

    /// What `kind` is on this machine: two that are the same need not both be tried.
    fn is(&self, kind: SchedulerKind) -> SchedulerKind {
        kind.on(self.machine, self.machine.workers().len())
    }

    /// Whether the policy places tasks by their sizes on this machine.
    pub(super) fn is_sized(&self, kind: SchedulerKind) -> bool {
        is_sized(kind, self.machine)
    }

    pub(super) fn has_shared_cores(&self) -> bool {
        self.machine.clone().with_one_worker_a_core().workers().len() < self.machine.workers().len()
    }

    /// As simulated, under `scheduler`.
    pub(super) fn candidate(&self, change: Change, scheduler: SchedulerKind) -> Candidate {
        Candidate { change, scheduler, options: self.plan.options, machine: None, program: None }
    }

    pub(super) fn one_worker_a_core(&self) -> Candidate {
        let machine = self.machine.clone().with_one_worker_a_core();
        let change = self.candidate(Change::OneWorkerACore, self.best.scheduler);
        Candidate { machine: Some(machine), ..change }
    }

    /// The program with sizes as measured; none where tasks befit the same caches by both.
    pub(super) fn with_sizes(
        &self,
        footprints: &[Footprint],
        scheduler: SchedulerKind,
    ) -> Option<Candidate> {
        let caches = self.machine.path(WorkerId(0));
        let sizes = caches.filter(|id| *id != ClusterId::ROOT);
        let mut sizes: Vec<_> = sizes.map(|id| self.machine.cluster(id).size()).collect();
        sizes.sort_unstable();
        let thresholds = Thresholds::new(sizes, self.plan.options.sigma);
        let line = self.program.meta().line_size.0;
        let differs = (0..self.program.tasks()).any(|task| {
            let declared = self.program.declared(TaskId(task)).size;
            let measured = Bytes(footprints[task as usize].task.0 * line);
            declared.is_some_and(|size| {
                thresholds.too_small_for(size) != thresholds.too_small_for(measured)
            })
        });
        differs.then(|| {
            let program = Some(with_measured_sizes(self.program, footprints));
            Candidate { program, ..self.candidate(Change::Sizes, scheduler) }
        })
    }

    pub(super) fn own_lines(&self) -> Vec<Candidate> {
        let lines: HashSet<u32> = self.best.contended.iter().map(|line| line.line).collect();
        if lines.is_empty() {
            // Only other schedulers let lines go to and fro.
            return Vec::new();
        }
        let private = Private { lines: &lines, size: LineSize::of(self.program, self.machine) };
        let program = rewritten(self.program, &Rewrite::Private(private));
        let change = Change::OwnLines { lines: lines.len() as u64 };
        let with = |program| Candidate {
            program: Some(program),
            ..self.candidate(change.clone(), self.best.scheduler)
        };
        program.map(with).into_iter().collect()
    }

    /// With tasks as long as scheduling asks for, but at least twice as long, or as the number of
    /// workers allows; and with less long ones.
    pub(super) fn coarser(&self) -> Vec<Candidate> {
        let leaves = find::leaves(self.program);
        let most = find::longest_grain(self.best, leaves["tasks"]);
        let times = find::least_grain(self.best).max(2.0).min(most);
        let mut each = vec![times, times.sqrt()];
        each.retain(|times| *times >= 2.0);
        let with = |times: &f64| -> Result<_, Infallible> {
            let operations = (times * leaves["operations"]) as u64;
            let program = rewritten(self.program, &Rewrite::Coarser(operations));
            let change = Change::Coarser { times: *times as u64, operations };
            let candidate = self.candidate(change, self.best.scheduler);
            Ok(program.map(|program| Candidate { program: Some(program), ..candidate }))
        };
        let Ok(candidates) = parallel::map(&each, threads(), |_| 1, with);
        candidates.into_iter().flatten().collect()
    }

    fn fewer_sockets(&self) -> Vec<Candidate> {
        let all = self.machine.cluster(ClusterId::ROOT).children.len() as u32;
        let halves = std::iter::successors(Some(all / 2), |n| Some(n / 2));
        let each = halves.take_while(|sockets| *sockets > 0).filter_map(|sockets| {
            Some(Candidate {
                machine: Some(self.machine.clone().with_sockets(sockets).ok()?),
                ..self.candidate(Change::Sockets { sockets }, self.best.scheduler)
            })
        });
        each.collect()
    }

    fn policies(&self) -> Vec<Candidate> {
        let has = |kind: SchedulerKind| {
            self.results.iter().any(|result| self.is(result.scheduler) == self.is(kind))
        };
        let new = POLICIES.into_iter().filter(|kind| !has(*kind));
        new.map(|kind| self.candidate(Change::Scheduler, kind)).collect()
    }

    /// Other dilations for the best of the policies that have one.
    fn sigmas(&self) -> Vec<Candidate> {
        let has_sigma = |kind| matches!(kind, SchedulerKind::Sb | SchedulerKind::SbD);
        let bounded = self.results.iter().filter(|result| has_sigma(result.scheduler));
        let Some(best) = bounded.min_by_key(|result| result.time.median) else { return Vec::new() };
        let new = SIGMAS.into_iter().filter(|sigma| *sigma != self.plan.options.sigma);
        let with = |sigma| Candidate {
            options: Options { sigma, ..self.plan.options },
            ..self.candidate(Change::Sigma { sigma }, best.scheduler)
        };
        new.map(with).collect()
    }

    fn first_touch(&self) -> Vec<Candidate> {
        let memory = &self.machine.memory;
        if memory.placement == Placement::FirstTouch || memory.controllers < 2 {
            return Vec::new();
        }
        let mut machine = self.machine.clone();
        machine.memory.placement = Placement::FirstTouch;
        let change = self.candidate(Change::FirstTouch, self.best.scheduler);
        vec![Candidate { machine: Some(machine), ..change }]
    }

    fn huge_pages(&self) -> Vec<Candidate> {
        const TIMES: u32 = 512;
        let mut machine = self.machine.clone();
        let Some(pages) = &mut machine.memory.pages else { return Vec::new() };
        pages.tlb = pages.tlb.saturating_mul(TIMES).min(MOST_PAGES);
        let change = self.candidate(Change::HugePages, self.best.scheduler);
        vec![Candidate { machine: Some(machine), ..change }]
    }

    /// All but sizes as measured.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<Candidate> {
        let all = [
            self.own_lines(),
            self.coarser(),
            self.fewer_sockets(),
            self.policies(),
            self.sigmas(),
            self.first_touch(),
            self.huge_pages(),
            vec![self.one_worker_a_core()],
        ];
        all.into_iter().flatten().collect()
    }
}
