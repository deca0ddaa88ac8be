//! The virtual-time engine: workers in time order, and what happens where strands begin and end.

mod found;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_program::{Program, Sample, TaskId};
use befit_sched::{
    Ask, Breakdown, Capabilities, Policy, Ready, Scheduler, Stage, forks::ForkThresholds,
};

use crate::{
    Ledger, Outcome, Settings, SimError,
    clock::Ticks,
    entry::{Entry, Habits, Stopwatch},
    env::{Prices, SimEnv},
    execution::Execution,
    hardware::Hardware,
    herd::Herd,
    idle::{Idle, Runs},
    jobs::Jobs,
    occupancy::Claims,
    outbox::Outboxes,
    sampled::scale,
    tasks::Tasks,
    trace::{Trace, Tracing},
};

/// How far a worker may run ahead of the next one. Shorter interleaves more finely and simulates
/// more slowly.
pub(crate) const SLICE: Ticks = Ticks::cycles(500);
/// How many times further on a machine of so many workers, from 512 on: since its last turn, what
/// belongs to a worker has left the caches of the simulating machine.
fn further(workers: usize) -> u64 {
    (workers as u64 / 256).clamp(1, 8)
}

/// Touches between two reports of progress; few in tests.
pub(crate) const REPORT: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Strands between two checks of all of the policy's invariants (the cheap ones are checked at
/// every step).
const CHECK: u64 = 1024;

/// One virtual worker.
pub(crate) struct Worker<'a> {
    pub(crate) clock: Ticks,
    /// What it runs; idle without.
    pub(crate) entry: Option<Box<Entry>>,
    /// The strand that it runs. None at the start of an entry, and where a strand has ended.
    pub(crate) strand: Option<Execution<'a>>,
    pub(crate) habits: Habits,
    /// Found nothing, and waits for the policy to have something.
    parked: bool,
    /// When it asks again, if nothing calls it before.
    due: Option<Ticks>,
    pub(crate) runs: Runs,
    /// The cluster that what it runs is bound to.
    anchor: ClusterId,
    /// Was woken, and has not looked for work yet.
    woken: bool,
    random: fastrand::Rng,
    /// Idle time is not booked: it is what is left.
    pub(crate) spent: Breakdown<Ticks>,
    /// Of it: locks that another worker held, and what forks cost.
    pub(crate) locks: Ticks,
    pub(crate) forking: Ticks,
}

/// A simulation under way.
pub(crate) struct Engine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) sample: Option<&'a Sample>,
    /// How far a worker may run ahead, of what a sample stands for.
    slice: Ticks,
    pub(crate) machine: &'a Machine,
    pub(crate) scheduler: Box<dyn Scheduler<TaskId>>,
    pub(crate) capabilities: Capabilities,
    /// Per worker, under a policy that places by size.
    pub(crate) thresholds: Vec<ForkThresholds>,
    pub(crate) tasks: Tasks<'a>,
    /// Entries that wait, by the task that waits in them.
    pub(crate) waiting: HashMap<TaskId, Box<Entry>>,
    pub(crate) hardware: Hardware,
    pub(crate) prices: Prices,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) jobs: Jobs,
    /// Where the policy lets workers keep what they spawn.
    pub(crate) outboxes: Outboxes,
    pub(crate) workers: Vec<Worker<'a>>,
    /// Workers that run nothing.
    pub(crate) idle: usize,
    pub(crate) reasons: Idle,
    /// Who looks for work on a large machine.
    herd: Option<Herd>,
    /// Workers that are not parked, by clock.
    queue: BinaryHeap<Reverse<(Ticks, u32)>>,
    /// When parked workers ask again. Those that have been called since have other plans.
    due: BinaryHeap<Reverse<(Ticks, u32)>>,
    anchors: Vec<u64>,
    claims: Claims,
    ready: u64,
    strands: u64,
    /// When the latest strand so far ended, its bookkeeping included. A strand's end is seen up to
    /// a slice before its time: the last to end is not always the last seen.
    last_end: Ticks,
    ended: bool,
    progress: &'a dyn Fn(u64),
    unreported: u64,
    accounted: bool,
    /// What the run looks like, if that was asked for.
    tracing: Option<Tracing>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        program: &'a Program,
        sample: Option<&'a Sample>,
        machine: &'a Machine,
        settings: &Settings<impl Policy>,
        progress: &'a dyn Fn(u64),
    ) -> Result<Self, SimError> {
        let mut seeds = fastrand::Rng::with_seed(settings.seed);
        let workers = machine.workers().iter().map(|_| Worker {
            clock: Ticks::default(),
            entry: None,
            strand: None,
            habits: Habits::default(),
            parked: true,
            due: None,
            runs: Runs::Between,
            anchor: ClusterId::ROOT,
            woken: false,
            random: seeds.fork(),
            spent: Breakdown::default(),
            locks: Ticks::default(),
            forking: Ticks::default(),
        });
        let scheduler = settings.scheduler.build(machine, settings.options);
        scheduler.has_threads(machine.workers().len() as u32);
        let capabilities = scheduler.capabilities();
        let places = machine.workers().iter().filter(|_| capabilities.places_by_size);
        let thresholds = (0..).map(WorkerId).zip(places).map(|(w, _)| {
            let under = |id| machine.cluster(id).worker_count() as usize;
            ForkThresholds::new(machine, w, settings.options.sigma, under)
        });
        let workers: Vec<_> = workers.collect();
        let mut hardware =
            Hardware::new(program, sample, machine, seeds.u64(..), settings.accounted)?;
        if settings.prepared {
            hardware.prepare(program);
        }
        Ok(Self {
            reasons: Idle::new(machine, capabilities.places_by_size, settings.accounted),
            capabilities,
            thresholds: thresholds.collect(),
            program,
            sample,
            slice: Ticks(SLICE.0 * scale(sample) * further(machine.workers().len())),
            machine,
            claims: Claims::new(machine, &*scheduler),
            scheduler,
            tasks: Tasks::new(program),
            waiting: HashMap::new(),
            stopwatch: Stopwatch::new(machine.mhz, settings.costs.scale),
            jobs: Jobs::new(machine.workers().len()),
            outboxes: Outboxes::new(machine.workers().len()),
            idle: machine.workers().len(),
            workers,
            hardware,
            prices: Prices::new(machine, settings.costs),
            herd: Herd::new(machine.workers().len(), seeds.fork()),
            queue: BinaryHeap::new(),
            due: BinaryHeap::new(),
            anchors: vec![0; machine.clusters().len()],
            ready: 0,
            strands: 0,
            last_end: Ticks::default(),
            ended: false,
            progress,
            unreported: 0,
            accounted: settings.accounted,
            tracing: None,
        })
    }

    /// Writes down what the run looks like.
    pub(crate) fn traced(mut self) -> Self {
        self.tracing = Some(Tracing::new(self.workers.len()));
        self.prices.traced = Some(Vec::new());
        self.claims.trace(self.machine);
        self
    }

    /// As [`run`](Self::run), with what the hardware has booked.
    pub(crate) fn run_booked(mut self) -> Result<(Outcome, Ledger), SimError> {
        self.run_all()?;
        let booking = self.hardware.booking.take();
        let ledger = booking.map(|booking| booking.finish()).unwrap_or_default();
        Ok((self.outcome(), ledger))
    }

    /// Worker 0 begins with the root task; the others look for work.
    pub(crate) fn run(mut self) -> Result<(Outcome, Option<Trace>), SimError> {
        self.run_all()?;
        let trace = self.trace();
        Ok((self.outcome(), trace))
    }

    fn run_all(&mut self) -> Result<(), SimError> {
        let first = WorkerId(0);
        self.workers[0].parked = false;
        self.add(first, TaskId(0));
        self.queue.push(Reverse((self.workers[0].clock, 0)));
        let mut clock = Ticks::default();
        while let Some((now, w)) = self.next() {
            let worker = WorkerId(w);
            clock = now;
            match self.workers[worker.index()].entry {
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
        Ok(())
    }

    /// The next worker to do something, and when. Those for whom it is time to ask again wake.
    fn next(&mut self) -> Option<(Ticks, u32)> {
        while let Some(Reverse((due, w))) = self.due.peek().copied()
            && self.queue.peek().is_none_or(|Reverse(next)| due <= next.0)
        {
            self.due.pop();
            if self.workers[w as usize].due == Some(due) {
                self.unpark(WorkerId(w), due);
                if let Some(herd) = &mut self.herd {
                    herd.unpark(WorkerId(w));
                }
            }
        }
        self.queue.pop().map(|Reverse(next)| next)
    }

    /// When the next of the others does something, or it is time for one of them to ask again.
    fn next_at(&self) -> Ticks {
        let next = self.queue.peek().into_iter().chain(self.due.peek()).map(|next| next.0.0);
        next.min().unwrap_or(Ticks(u64::MAX - 2 * self.slice.0))
    }

    /// Parked worker `w` asks again, at this time if it was parked before.
    fn unpark(&mut self, w: WorkerId, at: Ticks) {
        let worker = &mut self.workers[w.index()];
        (worker.parked, worker.due) = (false, None);
        worker.clock = worker.clock.max(at);
        self.queue.push(Reverse((worker.clock, w.0)));
    }

    /// Idle worker `w` was given nothing: it asks again when something is due. As on threads only
    /// policies that may refuse keep anything from it.
    fn waits(&mut self, w: WorkerId) {
        if !self.capabilities.may_refuse {
            return;
        }
        let Worker { clock, locks, .. } = self.workers[w.index()];
        let due = self.in_policy(w, |scheduler, env| scheduler.due(w, env));
        let worker = &mut self.workers[w.index()];
        (worker.clock, worker.locks) = (clock, locks);
        // What is due beyond all time never is.
        let at = due.and_then(|due| clock.0.checked_add(self.prices.past(due).0));
        worker.due = at.filter(|at| *at < u64::MAX / 2).map(Ticks);
        self.due.extend(worker.due.map(|due| Reverse((due, w.0))));
    }

    /// Worker `w` runs what it has until it has passed the next worker by a slice, or has nothing.
    fn slice(&mut self, w: WorkerId) {
        while self.workers[w.index()].entry.is_some() && !self.ended {
            let next = self.next_at();
            let worker = &mut self.workers[w.index()];
            if let Some(strand) = &mut worker.strand {
                let (clock, strand_ended, made) =
                    strand.run(&mut self.hardware, w, worker.clock, next, next + self.slice);
                worker.spent.active += clock.since(worker.clock);
                worker.clock = clock;
                self.unreported += made;
                if self.unreported >= REPORT {
                    (self.progress)(std::mem::take(&mut self.unreported));
                }
                if !strand_ended {
                    return;
                }
                worker.strand = None;
                self.reasons.changes(clock, worker.runs, Runs::Between);
                worker.runs = Runs::Between;
                self.last_end = self.last_end.max(clock);
                self.strands += 1;
                if self.strands.is_multiple_of(CHECK) {
                    self.scheduler.check();
                }
                if clock > next {
                    // What follows may call the policy: that waits for the worker's turn, so that
                    // calls come in the order of time.
                    return;
                }
            }
            self.advance(w);
            self.last_end = self.last_end.max(self.workers[w.index()].clock);
        }
    }

    /// Worker `w` runs nothing any more. It waits for what it has in flight.
    pub(crate) fn leave(&mut self, w: WorkerId) {
        let worker = &mut self.workers[w.index()];
        let wait = self.hardware.leave(w, worker.clock);
        worker.clock += wait;
        worker.spent.active += wait;
        self.idle += 1;
        if let Some(tracing) = &mut self.tracing {
            tracing.ends(w, worker.clock);
        }
        self.reasons.stops(worker.clock, w, worker.anchor, worker.runs);
    }

    /// An entry is over with the body of its `task`. Ends the task and every ancestor that lived
    /// only for it, and wakes what waited. A woken task that has nothing left to run is carried
    /// through here, without the policy: on threads it is a return.
    pub(crate) fn end(&mut self, w: WorkerId, task: TaskId) {
        let mut ending = Some(task);
        while let Some(task) = ending.take() {
            let woken = self.tasks.body_ended(task);
            self.let_go(w, task);
            let Some(waiting) = woken else { return };
            let entry = &self.waiting[&waiting];
            let known = entry.task;
            if entry.frames.is_empty() && self.tasks.is_at_end(waiting) {
                self.waiting.remove(&waiting);
                ending = Some(waiting);
            } else {
                let task = *self.tasks.notes(known);
                self.make_ready(w, Ready { job: waiting, task, stage: Stage::Continuation });
            }
        }
    }

    /// The body of `task` has ended: so have the task and its ancestors that lived only for it.
    pub(crate) fn let_go(&mut self, w: WorkerId, task: TaskId) {
        let mut gone = Some(task);
        while let Some(task) = gone.take() {
            let (has_ended, parent) = self.tasks.let_go(task);
            if has_ended {
                if self.capabilities.follows_tasks && self.tasks.progress_mut(task).given {
                    let notes = *self.tasks.notes(task);
                    self.finish(w, |scheduler, env| scheduler.task_ended(w, &notes, env));
                }
                self.tasks.forget(task);
                self.ended = parent.is_none();
                gone = parent;
            }
        }
    }

    /// Idle worker `w` asks the policy for work.
    fn look(&mut self, w: WorkerId) {
        let Worker { clock: start, locks, .. } = self.workers[w.index()];
        let was_woken = std::mem::take(&mut self.workers[w.index()].woken);
        if let Some(herd) = self.herd.as_mut().filter(|_| was_woken) {
            herd.looks();
        }
        // A policy that may refuse learns from each look how long a worker has waited.
        let in_vain = self.ready == 0 && self.herd.is_some() && !self.capabilities.may_refuse;
        let found = if in_vain { None } else { self.get(w) };
        let worker = &mut self.workers[w.index()];
        let now = worker.clock;
        let Some(Ready { job, task: notes, stage }) = found else {
            (worker.parked, worker.locks) = (true, locks);
            if let Some(herd) = &mut self.herd {
                herd.park(w);
            }
            self.wake_herd(now);
            if self.ready > 0 {
                self.waits(w);
            }
            return;
        };
        worker.spent.get += now.since(start);
        (worker.anchor, worker.runs) = (notes.anchor, Runs::Between);
        self.ready -= 1;
        self.wake_herd(now);
        self.idle -= 1;
        self.hardware.enter(w, now);
        assert!(
            self.machine.cluster(notes.anchor).has(w),
            "anchored property: {} gave task {job:?} of cluster {:?} to worker {w:?}",
            self.scheduler.name(),
            notes.anchor
        );
        let entry = match stage {
            Stage::Start => {
                self.anchors[notes.anchor.index()] += u64::from(notes.maximal);
                self.tasks.progress_mut(job).started_on = w;
                let depth = self.is_taken(w, job);
                self.starts_spawned(w, job);
                Box::new(Entry::new(job, self.is_shared(notes.anchor), depth))
            }
            Stage::Continuation => self.go_on(w, job),
        };
        if let Some(tracing) = &mut self.tracing {
            tracing.begins(w, now, job, self.scheduler.place(&notes));
        }
        let was = std::mem::replace(&mut self.tasks.progress_mut(entry.task).notes, notes).anchor;
        self.reasons.starts(now, w, was, notes.anchor);
        let Worker { habits, entry: running, .. } = &mut self.workers[w.index()];
        (habits.requested, habits.raised) = (entry.shared, entry.shared);
        *running = Some(entry);
    }

    /// What worker `w` runs next: of its own outbox, or from the policy.
    fn get(&mut self, w: WorkerId) -> Option<Ready<TaskId>> {
        let ask = |engine: &mut Self| {
            engine.in_policy(w, |scheduler, env| scheduler.get(w, Ask::ANYTHING, env))
        };
        let found = self.take_back(w).or_else(|| ask(self));
        if found.is_none() && self.move_from_others(w) { ask(self) } else { found }
    }

    /// Gives the policy a task to start.
    pub(crate) fn add(&mut self, w: WorkerId, task: TaskId) {
        self.tasks.progress_mut(task).given = true;
        let ready = self.ready_to_start(task);
        self.make_ready(w, ready);
    }

    /// What the policy gets of a task to start.
    pub(crate) fn ready_to_start(&self, task: TaskId) -> Ready<TaskId> {
        Ready { job: task, task: *self.tasks.notes(task), stage: Stage::Start }
    }

    /// Something bound to `anchor` becomes ready on worker `w`. Returns when.
    pub(crate) fn becomes_ready(&mut self, w: WorkerId, anchor: ClusterId) -> Ticks {
        self.ready += 1;
        let now = self.workers[w.index()].clock;
        self.reasons.ready(now, anchor);
        now
    }

    fn make_ready(&mut self, w: WorkerId, ready: Ready<TaskId>) {
        let start = self.workers[w.index()].clock;
        self.empty_outbox(w);
        self.becomes_ready(w, ready.task.anchor);
        let cluster = self.in_policy(w, |scheduler, env| scheduler.add(w, ready, env));
        let now = self.workers[w.index()].clock;
        self.workers[w.index()].spent.add += now.since(start);
        self.wake(cluster, now);
    }

    /// Gives the policy back what has ended.
    pub(crate) fn finish(
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
    pub(crate) fn in_policy<R>(
        &mut self,
        w: WorkerId,
        call: impl FnOnce(&dyn Scheduler<TaskId>, &mut SimEnv) -> R,
    ) -> R {
        let worker = &mut self.workers[w.index()];
        let mut env = SimEnv {
            worker: w,
            now: &mut worker.clock,
            searched: Ticks::default(),
            random: &mut worker.random,
            prices: &mut self.prices,
            counts: self.hardware.counts[w.index()],
            locks: &mut worker.locks,
            had_lock: false,
        };
        *env.now += Ticks::cycles(env.prices.costs.call);
        let result = call(&*self.scheduler, &mut env);
        let searched = env.searched;
        self.workers[w.index()].clock += searched;
        self.claims.note(w, self.workers[w.index()].clock, &*self.scheduler);
        result
    }

    /// Parked workers under `cluster` look again, each at some point of its polling period.
    pub(crate) fn wake(&mut self, cluster: ClusterId, now: Ticks) {
        let workers = self.machine.cluster(cluster).workers.clone();
        if let Some(herd) = &mut self.herd {
            herd.call(workers);
            return self.wake_herd(now);
        }
        for w in workers {
            let worker = &mut self.workers[w as usize];
            if worker.parked {
                let later = Ticks::cycles(worker.random.u64(..self.prices.costs.poll.max(1)));
                self.unpark(WorkerId(w), now + later);
            }
        }
    }

    /// On a large machine, wakes as many of the workers that are to look as may look at a time;
    /// none where nothing is ready.
    fn wake_herd(&mut self, now: Ticks) {
        let Some(herd) = &mut self.herd else { return };
        if self.ready == 0 {
            return herd.dismiss();
        }
        let period = Ticks::cycles(self.prices.costs.poll).0 as f64;
        for (w, point) in herd.wake() {
            self.workers[w.index()].woken = true;
            self.unpark(w, now + Ticks((point * period) as u64));
        }
    }
}
