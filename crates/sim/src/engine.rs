//! The virtual-time engine: workers in time order, and what happens where strands begin and end.

use std::{cmp::Reverse, collections::BinaryHeap};

use befit_machine::{ClusterId, Cycles, Lines, Machine, WorkerId};
use befit_program::{Program, TaskId};
use befit_sched::{Ask, Breakdown, ForkOrder, Policy, Ready, Scheduler, Stage, Strand};

use crate::{
    LevelCounts, Outcome, Settings, SimError,
    clock::Ticks,
    env::{Prices, SimEnv},
    execution::{Execution, Hardware},
    occupancy::Claims,
    tasks::{Step, Tasks},
};

/// How far a worker may run ahead of the next one. Shorter interleaves more finely and simulates
/// more slowly.
const SLICE: Ticks = Ticks::cycles(500);
/// Touches between two reports of progress.
const REPORT: u64 = 1 << 20;
/// Strands between two checks of all of the policy's invariants (the cheap ones are checked at
/// every step).
const CHECK: u64 = 1024;

/// One virtual worker.
struct Worker<'a> {
    clock: Ticks,
    running: Option<Running<'a>>,
    /// Found nothing, and waits for the policy to have something.
    parked: bool,
    random: fastrand::Rng,
    /// Idle time is not booked: it is what is left.
    spent: Breakdown<Ticks>,
}

/// What a worker runs.
struct Running<'a> {
    task: TaskId,
    stage: Stage,
    /// None before a step of the task: at its start, and where its strand has ended.
    strand: Option<Execution<'a>>,
}

/// A simulation under way.
pub(crate) struct Engine<'a> {
    program: &'a Program,
    machine: &'a Machine,
    scheduler: Box<dyn Scheduler<TaskId>>,
    tasks: Tasks<'a>,
    hardware: Hardware,
    prices: Prices,
    workers: Vec<Worker<'a>>,
    /// Workers that are not parked, by clock.
    queue: BinaryHeap<Reverse<(Ticks, u32)>>,
    anchors: Vec<u64>,
    started_on: Vec<u32>,
    claims: Claims,
    ready: u64,
    strands: u64,
    /// When the latest strand so far ended, its bookkeeping included. A strand's end is seen up to
    /// a slice before its time: the last to end is not always the last seen.
    last_end: Ticks,
    ended: bool,
    progress: &'a dyn Fn(u64),
    unreported: u64,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        program: &'a Program,
        machine: &'a Machine,
        settings: &Settings<impl Policy>,
        progress: &'a dyn Fn(u64),
    ) -> Result<Self, SimError> {
        let mut seeds = fastrand::Rng::with_seed(settings.seed);
        let workers = machine.workers().iter().map(|_| Worker {
            clock: Ticks::default(),
            running: None,
            parked: true,
            random: seeds.fork(),
            spent: Breakdown::default(),
        });
        let scheduler = settings.scheduler.build(machine, settings.options);
        Ok(Self {
            program,
            machine,
            claims: Claims::new(machine, &*scheduler),
            scheduler,
            tasks: Tasks::new(program),
            workers: workers.collect(),
            hardware: Hardware::new(program, machine, seeds.u64(..))?,
            prices: Prices::new(machine, settings.costs),
            queue: BinaryHeap::new(),
            anchors: vec![0; machine.clusters().len()],
            started_on: vec![0; program.tasks() as usize],
            ready: 0,
            strands: 0,
            last_end: Ticks::default(),
            ended: false,
            progress,
            unreported: 0,
        })
    }

    /// Worker 0 begins with the root task; the others look for work.
    pub(crate) fn run(mut self) -> Result<Outcome, SimError> {
        let first = WorkerId(0);
        self.workers[0].parked = false;
        self.add(first, TaskId(0), Stage::Start);
        self.queue.push(Reverse((self.workers[0].clock, 0)));
        let mut clock = Ticks::default();
        while let Some(Reverse((now, w))) = self.queue.pop() {
            let worker = WorkerId(w);
            clock = now;
            match self.workers[worker.index()].running {
                Some(_) => self.slice(worker),
                None => self.look(worker),
            }
            if self.ended {
                break;
            }
            let Worker { parked, clock, .. } = self.workers[worker.index()];
            if !parked {
                self.queue.push(Reverse((clock, w)));
            }
        }
        if !self.ended {
            let (scheduler, cycle) = (self.scheduler.name(), clock.whole().0);
            return Err(SimError::Stuck { scheduler, ready: self.ready, cycle });
        }
        self.scheduler.check();
        (self.progress)(self.unreported);
        Ok(self.outcome())
    }

    /// Runs worker `w`'s strand for a slice or, where it has ended, goes on to what follows.
    fn slice(&mut self, w: WorkerId) {
        let until =
            self.queue.peek().map_or(Ticks(u64::MAX - SLICE.0), |Reverse((next, _))| *next) + SLICE;
        let worker = &mut self.workers[w.index()];
        let Some(running) = &mut worker.running else { return };
        if let Some(strand) = &mut running.strand {
            let (clock, strand_ended, made) =
                strand.run(&mut self.hardware, w, worker.clock, until);
            worker.spent.active += clock.since(worker.clock);
            worker.clock = clock;
            self.unreported += made;
            if self.unreported >= REPORT {
                (self.progress)(std::mem::take(&mut self.unreported));
            }
            if strand_ended {
                // What follows calls the policy: that waits for the worker's turn, so that calls
                // come in the order of time.
                running.strand = None;
            }
            return;
        }
        let (task, stage) = (running.task, running.stage);
        let step = self.tasks.step(task);
        if let Step::Run(strand) = step {
            running.strand = Some(Execution::new(self.program, strand));
            return;
        }
        worker.running = None;
        let wait = self.hardware.leave(w, worker.clock);
        worker.clock += wait;
        worker.spent.active += wait;
        self.strands += 1;
        if self.strands.is_multiple_of(CHECK) {
            self.scheduler.check();
        }
        let strand = Strand { task: *self.tasks.notes(task), stage };
        self.finish(w, |scheduler, env| scheduler.done(w, &strand, env));
        match step {
            Step::Run(_) => {}
            Step::Forked => self.fork(w, task, true),
            Step::Waits => self.fork(w, task, false),
            Step::Ends => self.end(w, task),
        }
        self.last_end = self.last_end.max(self.workers[w.index()].clock);
    }

    /// Makes the children that `parent` has just forked ready, and its continuation where it goes
    /// on beside them. The newest entry is what one worker alone would run next.
    fn fork(&mut self, w: WorkerId, parent: TaskId, goes_on: bool) {
        let mut ready = std::mem::take(&mut self.tasks.forks);
        ready.extend(goes_on.then_some(parent));
        if self.scheduler.fork_order(self.tasks.notes(parent)) == ForkOrder::ChildFirst {
            ready.reverse();
        }
        for task in &ready {
            let stage = if *task == parent { Stage::Continuation } else { Stage::Start };
            self.add(w, *task, stage);
        }
        self.tasks.forks = ready;
    }

    /// The body of `task` is at its end: ends it and every ancestor that lived only for it, and
    /// wakes what waited. A woken continuation that has nothing left to run is carried through
    /// here, without the policy: on threads it is a return.
    fn end(&mut self, w: WorkerId, task: TaskId) {
        let mut ending = Some(task);
        while let Some(task) = ending.take() {
            let woken = self.tasks.body_ended(task);
            let mut gone = Some(task);
            while let Some(task) = gone.take() {
                let (has_ended, parent) = self.tasks.let_go(task);
                if has_ended {
                    let notes = *self.tasks.notes(task);
                    self.finish(w, |scheduler, env| scheduler.task_ended(w, &notes, env));
                    self.ended = parent.is_none();
                    gone = parent;
                }
            }
            if let Some(waiting) = woken {
                if self.tasks.is_at_end(waiting) {
                    ending = Some(waiting);
                } else {
                    self.add(w, waiting, Stage::Continuation);
                }
            }
        }
    }

    /// Idle worker `w` asks the policy for work.
    fn look(&mut self, w: WorkerId) {
        let start = self.workers[w.index()].clock;
        let found = self.in_policy(w, |scheduler, env| scheduler.get(w, Ask::ANYTHING, env));
        let worker = &mut self.workers[w.index()];
        let Some(Ready { job: task, task: notes, stage }) = found else {
            worker.parked = true;
            return;
        };
        worker.spent.get += worker.clock.since(start);
        worker.running = Some(Running { task, stage, strand: None });
        self.ready -= 1;
        self.hardware.enter(w);
        assert!(
            self.machine.cluster(notes.anchor).has(w),
            "anchored property: {} gave task {task:?} of cluster {:?} to worker {w:?}",
            self.scheduler.name(),
            notes.anchor
        );
        if stage == Stage::Start {
            self.anchors[notes.anchor.index()] += u64::from(notes.maximal);
            self.started_on[task.0 as usize] = w.0;
        }
        *self.tasks.notes_mut(task) = notes;
    }

    fn add(&mut self, w: WorkerId, task: TaskId, stage: Stage) {
        let ready = Ready { job: task, task: *self.tasks.notes(task), stage };
        self.ready += 1;
        let start = self.workers[w.index()].clock;
        let cluster = self.in_policy(w, |scheduler, env| scheduler.add(w, ready, env));
        let now = self.workers[w.index()].clock;
        self.workers[w.index()].spent.add += now.since(start);
        self.wake(cluster, now);
    }

    /// Gives the policy back what has ended.
    fn finish(
        &mut self,
        w: WorkerId,
        call: impl FnOnce(&dyn Scheduler<TaskId>, &mut SimEnv) -> Option<ClusterId>,
    ) {
        let start = self.workers[w.index()].clock;
        let freed = self.in_policy(w, call);
        let now = self.workers[w.index()].clock;
        self.workers[w.index()].spent.done += now.since(start);
        if let Some(cluster) = freed.filter(|_| self.ready > 0) {
            self.wake(cluster, now);
        }
    }

    /// Calls the policy on behalf of worker `w`, whose clock pays for it.
    fn in_policy<R>(
        &mut self,
        w: WorkerId,
        call: impl FnOnce(&dyn Scheduler<TaskId>, &mut SimEnv) -> R,
    ) -> R {
        let worker = &mut self.workers[w.index()];
        let mut env = SimEnv {
            worker: w,
            now: &mut worker.clock,
            random: &mut worker.random,
            prices: &mut self.prices,
            counts: self.hardware.counts[w.index()],
        };
        *env.now += Ticks::cycles(env.prices.costs.call);
        let result = call(&*self.scheduler, &mut env);
        self.claims.note(w, self.workers[w.index()].clock, &*self.scheduler);
        result
    }

    /// Parked workers under `cluster` look again, each at some point of its polling period.
    fn wake(&mut self, cluster: ClusterId, now: Ticks) {
        for w in self.machine.cluster(cluster).workers.clone() {
            let worker = &mut self.workers[w as usize];
            if worker.parked {
                worker.parked = false;
                let later = Ticks::cycles(worker.random.u64(..self.prices.costs.poll.max(1)));
                worker.clock = worker.clock.max(now + later);
                self.queue.push(Reverse((worker.clock, w)));
            }
        }
    }

    fn outcome(self) -> Outcome {
        let (caches, time, steals) = (&self.hardware.caches, self.last_end, self.prices.steals);
        let levels = self.machine.levels().into_iter().map(|level| {
            let none = Lines(0);
            let mut sum =
                LevelCounts { level, accesses: none, misses: none, coherence_misses: none };
            for (i, cluster) in (0..).zip(self.machine.clusters()) {
                if cluster.cache.is_some_and(|c| c.level == level) {
                    let counts = caches.counts(ClusterId(i));
                    sum.accesses += counts.accesses;
                    sum.misses += counts.misses;
                    sum.coherence_misses += counts.coherence_misses;
                }
            }
            sum
        });
        let workers = self.workers.iter().map(|worker| {
            let mut parts = worker.spent.map(Ticks::whole);
            // Idle is what is left: rounding included, so that the parts sum to the whole.
            parts.idle = Cycles(time.whole().0.saturating_sub(parts.total().0));
            parts
        });
        Outcome {
            time: time.whole(),
            work: Cycles(0),
            span: Cycles(0),
            levels: levels.collect(),
            memory_reads: caches.memory_reads(),
            memory_writes: caches.memory_writes(),
            remote_hits: caches.remote_hits(),
            sibling_hits: caches.sibling_hits(),
            workers: workers.collect(),
            steals: steals.near + steals.far,
            near_steals: steals.near,
            failed_steals: steals.failed,
            anchors: self.anchors,
            occupancy: self.claims.finish(time),
            tasks: u64::from(self.program.tasks()),
            strands: self.strands,
            started_on: self.started_on,
            tiers: self.scheduler.tiers(),
        }
    }
}
