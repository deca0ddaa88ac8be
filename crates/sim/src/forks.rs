//! What a virtual worker does where the task that it runs forks, waits and ends.
//!
//! The rules are those of threads: `crates/runtime/src/threads/fork/README.md` specifies them, and
//! `befit_sched::forks` decides for both. Spawns go to the policy, or to an
//! [outbox](crate::outbox). A `join` (two forks and a sync that waits for just these) is inlined,
//! pending, or placed by the policy.

use befit_machine::{ClusterId, WorkerId};
use befit_program::{Op, TaskId};
use befit_sched::{
    ForkOrder, Stage, Strand,
    forks::{self, SiteId},
};

use crate::{
    clock::Ticks, engine::Engine, entry::Entry, execution::Execution, idle::Runs, jobs::Before,
    ledger::Codes, tasks::Step,
};

/// Operations of a task that tell whether it forks.
const FIRST: usize = 8;

impl Engine<'_> {
    /// Worker `w` goes on with its entry, where a strand of it has ended or before its first.
    pub(crate) fn advance(&mut self, w: WorkerId) {
        let Some(mut entry) = self.workers[w.index()].entry.take() else { return };
        match self.tasks.step(entry.current) {
            Step::Run(strand) => {
                self.workers[w.index()].strand =
                    Some(Execution::new(self.program, self.sample, strand));
                if self.hardware.booking.is_some() {
                    let codes = Codes::of(self.program, entry.current, strand);
                    if let Some(strand) = &mut self.workers[w.index()].strand {
                        strand.book(codes);
                    }
                }
                let runs = if self.forks(entry.current) { Runs::Forking } else { Runs::Leaf };
                let worker = &mut self.workers[w.index()];
                self.reasons.changes(worker.clock, worker.runs, runs);
                worker.runs = runs;
                self.workers[w.index()].entry = Some(entry);
            }
            Step::Forked => {
                self.spawn(w, &mut entry);
                self.workers[w.index()].entry = Some(entry);
            }
            Step::Joins(first, second) => self.join(w, entry, first, second),
            Step::Waits => {
                self.spawn(w, &mut entry);
                self.wait(w, entry, &[]);
            }
            Step::Ends if entry.frames.is_empty() => {
                self.leave(w);
                self.suspend(w, &entry);
                self.end(w, entry.task);
            }
            Step::Ends => self.half_ended(w, entry),
        }
    }

    /// Gives what the running task has just spawned to the policy. The task goes on.
    fn spawn(&mut self, w: WorkerId, entry: &mut Entry) {
        let spawned = std::mem::take(&mut self.tasks.forks);
        for task in &spawned {
            self.pay(w, self.prices.costs.spawn / 2.0);
            let (block, before) = self.jobs.spawned(w);
            self.tasks.progress_mut(*task).spawned = Some((w, block));
            match before {
                Before::Own => {}
                Before::From(other) => self.pay_handover(w, other),
                Before::New => self.pay(w, self.prices.costs.job),
            }
            // The prices have what it takes to write the block.
            self.hardware.touch_block(w, block, true, self.workers[w.index()].clock);
            let index = self.tasks.notes(*task).index;
            if forks::may_keep_spawned(&self.capabilities)
                && forks::keeps_spawned(&self.capabilities, index, self.workers.len())
            {
                self.put_out(w, *task);
                continue;
            }
            self.suspend(w, entry);
            self.add(w, *task);
            self.resume(w, entry);
        }
        self.tasks.forks = spawned;
    }

    fn join(&mut self, w: WorkerId, mut entry: Box<Entry>, first: TaskId, second: TaskId) {
        let parent = entry.current;
        if entry.is_inlined() && !self.is_raised(w) {
            self.pay(w, self.prices.costs.inlined);
            entry.push(parent, second, true);
        } else if self.is_placed(w, &entry, [first, second]) {
            let halves = match self.scheduler.fork_order(self.tasks.notes(parent)) {
                ForkOrder::ChildFirst => [second, first],
                ForkOrder::ParentFirst => [first, second],
            };
            for half in halves {
                self.is_published(w, half, entry.depth + 1);
            }
            return self.wait(w, entry, &halves);
        } else {
            self.pay(w, self.prices.costs.pending);
            entry.push(parent, second, false);
            let early = forks::is_early(entry.depth, self.workers.len());
            let site = self.may_be_inlined(w, [first, second]).then(|| self.site(second));
            // As on threads: the early ones are never kept.
            self.serve(w, &mut entry, usize::from(early), site.filter(|_| !early));
            let worker = &mut self.workers[w.index()];
            if entry.begin(site, &mut worker.habits, worker.clock, self.stopwatch) {
                self.pay(w, self.prices.costs.region);
            }
        }
        self.start(w, &mut entry, first);
        self.workers[w.index()].entry = Some(entry);
    }

    /// A half of the youngest fork has ended, and with it the task that ran. Goes on with the other
    /// half or after both, or waits for what another worker runs.
    fn half_ended(&mut self, w: WorkerId, mut entry: Box<Entry>) {
        let woken = self.tasks.body_ended(entry.current);
        self.let_go(w, entry.current);
        let now = self.workers[w.index()].clock;
        if let Some((second, was_listed)) = entry.first_has_ended(now) {
            if was_listed {
                // Another worker may have requested a fork: older ones may be private, and the
                // second half may make none.
                let site = entry.site();
                self.serve(w, &mut entry, 0, site);
            }
            self.start(w, &mut entry, second);
        } else if let Some(parent) = woken {
            assert_eq!(entry.frames.last().map(|f| f.parent), Some(parent), "whose halves ended");
            self.pop(w, &mut entry);
        } else {
            if let Some(frame) = entry.frames.last() {
                entry.current = frame.parent;
            }
            return self.wait(w, entry, &[]);
        }
        self.workers[w.index()].entry = Some(entry);
    }

    /// The entry's task waits for what others run. What is private goes to the policy, and then
    /// `halves`.
    fn wait(&mut self, w: WorkerId, mut entry: Box<Entry>, halves: &[TaskId]) {
        entry.has_waited();
        self.leave(w);
        self.suspend(w, &entry);
        while entry.shared && self.publish_oldest(w, &mut entry) {}
        for half in halves {
            self.add(w, *half);
        }
        self.waiting.insert(entry.current, entry);
    }

    /// Worker `w` goes on with an entry that has waited.
    pub(crate) fn go_on(&mut self, w: WorkerId, waiting: TaskId) -> Box<Entry> {
        let mut entry = self.waiting.remove(&waiting).expect("an entry waits");
        entry.stage = Stage::Continuation;
        if entry.frames.last().is_some_and(|frame| frame.parent == waiting) {
            self.pop(w, &mut entry);
        }
        entry
    }

    fn start(&mut self, w: WorkerId, entry: &mut Entry, task: TaskId) {
        entry.current = task;
        self.tasks.progress_mut(task).started_on = w;
    }

    fn pop(&mut self, w: WorkerId, entry: &mut Entry) {
        let worker = &self.workers[w.index()];
        entry.pop(&worker.habits.grain, worker.clock, self.stopwatch);
    }

    fn is_raised(&self, w: WorkerId) -> bool {
        let worker = &self.workers[w.index()];
        worker.habits.is_raised(self.idle > 0, worker.clock, self.stopwatch)
    }

    /// Publishes the oldest private forks, as many as `befit_sched::forks` says, and `at_least` so
    /// many; or none, so soon after the last ones, where `site` makes short tasks.
    fn serve(&mut self, w: WorkerId, entry: &mut Entry, at_least: usize, site: Option<SiteId>) {
        let habits = &mut self.workers[w.index()].habits;
        let missing = forks::missing(habits.untaken(), self.idle, at_least);
        if !habits.requested && missing == 0 {
            habits.pauses = false;
            return;
        }
        let now = self.workers[w.index()].clock;
        let habits = &mut self.workers[w.index()].habits;
        if !entry.shared {
            habits.requested = false;
        } else if entry.has_private() && !habits.keeps_forks(site, entry.depth, now, self.stopwatch)
        {
            let requested = std::mem::take(&mut habits.requested);
            let batch = habits.batch.next(missing, requested);
            self.suspend(w, entry);
            for _ in 0..batch {
                if !self.publish_oldest(w, entry) {
                    break;
                }
            }
            self.resume(w, entry);
        }
    }

    /// Gives the oldest private fork to the policy; returns whether there was one. The entry is
    /// suspended.
    fn publish_oldest(&mut self, w: WorkerId, entry: &mut Entry) -> bool {
        let Some((second, depth)) = entry.publish_oldest() else { return false };
        self.is_published(w, second, depth);
        self.pay(w, self.prices.costs.published);
        self.add(w, second);
        true
    }

    fn is_published(&mut self, w: WorkerId, half: TaskId, depth: u32) {
        self.workers[w.index()].habits.published += 1;
        self.tasks.progress_mut(half).published = Some((w, depth));
    }

    /// Worker `w` takes `task` from the policy. Returns how many pending forks enclose it. The
    /// worker that published it is requested to publish the next.
    pub(crate) fn is_taken(&mut self, w: WorkerId, task: TaskId) -> u32 {
        let Some((publisher, depth)) = self.tasks.progress_mut(task).published else { return 0 };
        let habits = &mut self.workers[publisher.index()].habits;
        habits.taken += 1;
        (habits.requested, habits.raised) = (true, true);
        if publisher == w {
            habits.batch.came_back();
        } else {
            self.pay_time(w, self.prices.stolen(w, publisher));
        }
        depth
    }

    /// Reports to the policy that the entry's strand has ended.
    fn suspend(&mut self, w: WorkerId, entry: &Entry) {
        if self.capabilities.follows_tasks {
            let strand = Strand { task: *self.tasks.notes(entry.task), stage: entry.stage };
            self.finish(w, |scheduler, env| scheduler.done(w, &strand, env));
        }
    }

    /// Reports to the policy that the suspended entry goes on here.
    fn resume(&mut self, w: WorkerId, entry: &mut Entry) {
        if self.capabilities.follows_tasks {
            entry.stage = Stage::Continuation;
            let start = self.workers[w.index()].clock;
            let notes = *self.tasks.notes(entry.task);
            self.in_policy(w, |scheduler, env| scheduler.resume(w, &notes, env));
            let worker = &mut self.workers[w.index()];
            worker.spent.get += worker.clock.since(start);
        }
    }

    /// What a fork costs that the policy does not see. As on threads, it is part of the work.
    fn pay(&mut self, w: WorkerId, price: f64) {
        self.pay_time(w, Ticks::fractional(price));
    }

    fn pay_time(&mut self, w: WorkerId, price: Ticks) {
        let worker = &mut self.workers[w.index()];
        worker.clock += price;
        worker.spent.active += price;
        worker.forking += price;
    }

    /// Worker `w` starts `task`. Where another one spawned it, its lines come from there.
    pub(crate) fn starts_spawned(&mut self, w: WorkerId, task: TaskId) {
        let Some((spawner, block)) = self.tasks.progress_mut(task).spawned else { return };
        self.jobs.started(w, block);
        let now = self.workers[w.index()].clock;
        let time = self.hardware.touch_block(w, block, false, now);
        self.pay_time(w, time);
        // Half of the price is that of making the task, half that of starting it.
        self.pay(w, self.prices.costs.spawn / 2.0);
        if spawner != w {
            self.pay_handover(w, spawner);
        }
    }

    /// Lines of a task that `other` wrote come to worker `w`: together, in the time of one.
    pub(crate) fn pay_handover(&mut self, w: WorkerId, other: WorkerId) {
        let way = self.handover(w, other);
        self.pay_time(w, way);
    }

    /// The same for a worker that looks for work.
    pub(crate) fn look_handover(&mut self, w: WorkerId, other: WorkerId) {
        let way = self.handover(w, other);
        self.workers[w.index()].clock += way;
    }

    fn handover(&self, w: WorkerId, other: WorkerId) -> Ticks {
        let mut above = self.machine.path(w);
        let common = above.find(|cluster| self.machine.cluster(*cluster).has(other));
        // A task is no line of a sample.
        let way = self.hardware.handover(w, other, common.unwrap_or(ClusterId::ROOT));
        Ticks(way.0 / u64::from(self.prices.costs.scale))
    }

    /// Whether the task forks. A task that does has a fork among its first operations: between two
    /// strands there is one, or a sync.
    fn forks(&self, task: TaskId) -> bool {
        let mut first = self.program.ops(task).take(FIRST);
        first.any(|op| matches!(op, Op::Fork { .. }))
    }

    /// Whether several workers may run what is bound to `anchor`.
    pub(crate) fn is_shared(&self, anchor: ClusterId) -> bool {
        self.machine.cluster(anchor).workers.len() > 1
    }

    /// Whether the policy must decide where at least one half runs, or must see both.
    fn is_placed(&self, w: WorkerId, entry: &Entry, halves: [TaskId; 2]) -> bool {
        let parent = self.tasks.notes(entry.current);
        let order = || self.scheduler.fork_order(parent);
        if forks::shows_forks(&self.capabilities, order, || entry.shared) {
            return true;
        }
        let Some(thresholds) = self.thresholds.get(w.index()) else { return false };
        let size = |half: TaskId| self.tasks.notes(half).size;
        self.is_shared(parent.anchor)
            && halves
                .iter()
                .any(|half| thresholds.is_anchored_at_a_shared_cache(size(*half), parent.size))
    }

    /// Whether both halves may run without forks if they take little time, by the sizes that they
    /// declare.
    fn may_be_inlined(&self, w: WorkerId, halves: [TaskId; 2]) -> bool {
        let Some(thresholds) = self.thresholds.get(w.index()) else { return true };
        let declare = halves.iter().any(|half| self.program.declared(*half).size.is_some());
        !declare
            || halves.iter().all(|half| thresholds.may_be_inlined(self.tasks.notes(*half).size))
    }

    /// The `join` of the source whose second half this is: the place that its first strand begins
    /// at.
    fn site(&self, second: TaskId) -> SiteId {
        let class = self.program.ops(second).find_map(|op| match op {
            Op::Strand(strand) => Some(self.program.class(strand)),
            _ => None,
        });
        let class = class.and_then(|class| self.program.classes().get(class.0 as usize));
        // Spread as addresses are.
        SiteId((class.map_or(0, |class| class.begin.place().0) as usize + 1) << 4)
    }
}
