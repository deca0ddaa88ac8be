//! How a worker waits: it runs other work, then spins, then sleeps.

use std::time::Duration;

use befit_machine::ClusterId;
use befit_sched::{Finds, Ready, TaskInfo};

use super::Worker;
use crate::{
    Yield,
    threads::{
        engine::{Ancestor, JobRef, NoUnwind},
        latch::Latch,
        sleep::{self, relax},
    },
};

impl Worker {
    /// Runs other work until `latch` is set, within a job. `awaited` is what will set it, if that
    /// is a job or a scope, here or in another pool: what it needs of this one descends from it.
    pub(crate) fn wait(&self, latch: &Latch, awaited: Option<Ancestor>) {
        if !latch.probe() {
            self.prepare_and_wait(&[], |worker| worker.work_until(latch, awaited));
        }
    }

    /// Publishes all private forks, gives `jobs` to the policy, and runs other work until all
    /// `latches` of forks are set, within a job. With each latch comes its fork.
    ///
    /// For a moment it leaves `jobs` where the policy has just put them, if that is not here and an
    /// idle worker is awake, with a processor of its own. Else nobody is likely to begin them soon.
    pub(crate) fn give_and_wait(
        &self,
        jobs: &[(JobRef, TaskInfo)],
        latches: &[(&Latch, Ancestor)],
    ) {
        let sleep = &self.engine().sleep;
        let leaves_them = !jobs.is_empty() && sleep.is_roomy() && sleep.is_any_awake();
        self.prepare_and_wait(jobs, |worker| {
            for (latch, fork) in latches {
                let is_set = leaves_them && worker.waits_a_little(latch, *fork, true)
                    || worker.waits_a_little(latch, *fork, false);
                if !is_set {
                    worker.work_until(latch, Some(*fork));
                }
            }
        });
    }

    fn prepare_and_wait(&self, jobs: &[(JobRef, TaskInfo)], wait: impl FnOnce(&Self)) {
        // Others hold pointers into this stack until the latches are set.
        let no_unwind = NoUnwind;
        self.inlined_regions.waits();
        self.suspend();
        // A private fork would sleep with this worker, or wait below other work on its stack.
        while self.may_share() && self.publish_oldest() {}
        for (job, task) in jobs {
            self.add(*job, *task);
        }
        wait(self);
        self.resume();
        no_unwind.over();
    }

    /// Runs what the policy has for this worker until `latch` is set. `awaited` is what will set
    /// it. The worker runs only descendants of that if it is
    /// [narrowed](crate::threads::engine::Engine::narrowed) to them.
    pub(super) fn work_until(&self, latch: &Latch, awaited: Option<Ancestor>) {
        let awaited = self.engine().narrowed(awaited, self.is_deep());
        while !latch.probe() {
            // Without a look at the mail: what is found without stealing comes before.
            if awaited.is_none()
                && let Some(first) = self.take_back()
            {
                self.execute_own(&first, latch);
            } else if let Some(ready) = self.mail_after_own(awaited) {
                self.execute(&ready);
            } else if let Some(ready) = self.get(awaited) {
                self.execute(&ready);
            } else if !self.held_credits().is_empty() {
                // It may be what sets the latch.
                self.return_credits();
            } else if let Some(ready) = self.idle(latch, awaited) {
                self.execute(&ready);
            } else {
                return;
            }
        }
        self.return_credits();
    }

    /// Waits as long as a short task takes, and runs only descendants of `awaited`; returns whether
    /// the latch was set.
    ///
    /// Most stolen forks are short, or nearly done. A large task that the worker took up instead
    /// - would keep it from going on,
    /// - would keep it from giving back a lock that its task holds, and for which others may wait,
    /// - and would bury tasks on its stack for which others wait in turn.
    ///
    /// So for a moment the worker runs descendants of the fork only (*leapfrogging*: Wagner &
    /// Calder, PPoPP 1993). It does not wait where the policy cannot find them. This is for forks
    /// only: a worker that waits for a scope runs the scope's tasks, and others of its own queue in
    /// their order, as rayon does.
    ///
    /// `own`: only what it finds without stealing. Whoever asks for descendants alone is given them
    /// wherever they wait. So right after a fork was placed it would be taken back from the worker
    /// that the policy has given it to. That worker begins it meanwhile, unless it is asleep or
    /// busy.
    fn waits_a_little(&self, latch: &Latch, awaited: Ancestor, own: bool) -> bool {
        if self.engine().capabilities.finds == Finds::Nothing {
            return false;
        }
        let mut round = 0;
        while round < PATIENCE && !latch.probe() {
            let found = match round % 16 {
                0 if own => self.get_own_descendant(awaited),
                0 => self.get(Some(awaited)),
                _ => None,
            };
            match found {
                Some(ready) => {
                    self.execute(&ready);
                    self.return_credits();
                }
                None => relax(0),
            }
            round += 1;
        }
        latch.probe()
    }

    #[inline]
    pub(super) fn get(&self, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        if self.keeps_spawned { self.get_with_outboxes(awaited) } else { self.ask(awaited) }
    }

    /// Asks the policy.
    #[inline]
    pub(super) fn ask(&self, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        let (within, owns_none) = (self.within(), self.requests().untaken() == 0);
        self.timed(|| self.engine().get(self.id, within, awaited, owns_none, &mut self.env()))
    }

    /// As [`Self::get`], of what is found without stealing.
    pub(super) fn get_own(&self) -> Option<Ready<JobRef>> {
        self.get_own_accepted(None)
    }

    /// As [`Self::get_own`], of what is accepted.
    pub(super) fn get_own_accepted(
        &self,
        accepts: Option<&dyn Fn(&JobRef) -> bool>,
    ) -> Option<Ready<JobRef>> {
        let ask = || self.engine().get_own(self.id, self.within(), accepts, &mut self.env());
        self.take_back().or_else(|| self.timed(ask))
    }

    /// Of `awaited` and its descendants, what is found without stealing.
    fn get_own_descendant(&self, awaited: Ancestor) -> Option<Ready<JobRef>> {
        self.empty_outbox();
        self.timed(|| self.engine().get_own_descendant(self.id, awaited, &mut self.env()))
    }

    // Always, and without a look at the result where nothing is measured: else that is copied.
    #[inline(always)]
    fn timed(&self, get: impl FnOnce() -> Option<Ready<JobRef>>) -> Option<Ready<JobRef>> {
        let times = &self.counters().times;
        let Some(start) = times.now() else { return get() };
        let ready = get();
        times.asked(start, ready.is_some());
        ready
    }

    /// Nothing was found: looks on, and sleeps, until there is something to run or `latch` is set
    /// (`None`).
    fn idle(&self, latch: &Latch, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        if self.is_in_no_job() {
            self.counters().times.rest();
        }
        self.catch_up();
        let search = Search { worker: self, awaited };
        self.engine().sleep.search(self.thread, latch, &search)
    }

    /// Looks for work as an idle worker does: heeds the alarm, asks the policy, then reads the
    /// mail.
    fn look_again(&self, awaited: Option<Ancestor>) -> Option<Ready<JobRef>> {
        self.heed_alarm();
        self.get(awaited).or_else(|| self.mail_after_own(awaited))
    }

    /// Runs one job, if there is one, within a job. `own`: only what this worker would find without
    /// stealing.
    pub(crate) fn run_one(&self, own: bool) -> Yield {
        // Others may come to hold pointers into this stack.
        let no_unwind = NoUnwind;
        self.inlined_regions.waits();
        self.suspend();
        // The pending forks of the running task are ready, too. This thread may be the only one
        // that can run them.
        while self.handler.get().is_none() && self.publish_oldest() {}
        self.catch_up();
        let get = || {
            if own { self.get_own() } else { self.get(None).or_else(|| self.get_if_stalled()) }
        };
        let found = self.mail_after_own(None).or_else(get);
        let outcome = if found.is_some() { Yield::Executed } else { Yield::Idle };
        if let Some(ready) = found {
            self.refused.no_longer();
            self.execute(&ready);
            self.return_credits();
        }
        self.resume();
        no_unwind.over();
        outcome
    }

    /// Nothing was found for a task that yields: what the policy has refused for long while nothing
    /// happened. The task may wait for just that, as may those of all other workers.
    fn get_if_stalled(&self) -> Option<Ready<JobRef>> {
        let engine = self.engine();
        if !engine.leaves_work() {
            self.refused.no_longer();
            return None;
        }
        let still_for = engine.sleep.still_for(&self.refused)?;
        self.timed(|| engine.get_stalled(self.id, still_for, &mut self.env()))
    }

    /// Whether there seems to be work that this worker would find without stealing.
    pub(crate) fn has_own_work(&self) -> bool {
        self.forks.has_private()
            || self.registry.mailboxes[self.thread].has_mail()
            || self.outbox.tasks.len() > 0
            || self.engine().policy.has_own(self.id)
    }
}

/// What an idle worker may run.
struct Search<'a> {
    worker: &'a Worker,
    awaited: Option<Ancestor>,
}

impl sleep::Search for Search<'_> {
    type Found = Ready<JobRef>;

    fn look(&self) -> Option<Ready<JobRef>> {
        self.worker.look_again(self.awaited)
    }

    fn due(&self) -> Option<Duration> {
        self.worker.engine().due(self.worker.id, self.awaited, &mut self.worker.env())
    }

    fn falls_asleep(&self) {
        self.worker.counters().sleeps.bump();
    }

    fn look_stalled(&self, still_for: Duration) -> Option<Ready<JobRef>> {
        let worker = self.worker;
        worker.timed(|| worker.engine().get_stalled(worker.id, still_for, &mut worker.env()))
    }

    fn is_held(&self) -> bool {
        self.awaited.is_some() || self.worker.within() != ClusterId::ROOT
    }

    fn gives_way(&self) -> bool {
        self.worker.gives_way.take()
    }

    fn leaves_work(&self) -> bool {
        self.worker.engine().leaves_work()
    }

    fn may_watch(&self) -> bool {
        self.awaited.is_none()
    }

    fn pass_on(&self, cluster: ClusterId) {
        self.worker.engine().pass_on(self.worker.id, cluster);
    }

    fn urge(&self) -> bool {
        self.worker.urge_others()
    }

    fn wake_next(&self) {
        self.worker.engine().wake_next(self.worker.id);
    }

    fn is_stuck(&self) -> bool {
        self.worker.engine().is_stuck()
    }

    fn raise_alarm(&self) {
        self.worker.engine().raise_alarm();
    }
}

/// Looks at the latch before a waiting worker runs other work than descendants of what it waits
/// for: some ten microseconds.
const PATIENCE: u32 = 64;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::{thread, time::Duration};

    use befit_machine::ClusterId;

    use super::Search;
    use crate::{
        SchedulerKind, ThreadPool,
        threads::{sleep::Search as _, testing::*, worker::Worker},
    };

    /// How often the pool's workers have gone to sleep, once none does any more.
    fn sleeps(pool: &ThreadPool) -> u64 {
        sleeps_after(pool, Duration::from_millis(30))
    }

    /// The same, once none has done so for so long.
    fn sleeps_after(pool: &ThreadPool, quiet: Duration) -> u64 {
        loop {
            let before = pool.statistics().total().sleeps;
            thread::sleep(quiet);
            if before > 0 && before == pool.statistics().total().sleeps {
                return before;
            }
        }
    }

    /// The other worker of a pool of two sleeps; `wake`, called on a worker's search, must have it
    /// look for work.
    fn wakes_the_other(wake: impl Fn(&Search<'_>) + Sync) {
        let _watchdog = watchdog(MINUTE);
        let pool = pool(SchedulerKind::Sb, "pu:2", 2);
        pool.install(|| {
            let before = sleeps(&pool);
            Worker::with_current(|worker| {
                wake(&Search { worker: worker.expect("this is one"), awaited: None });
            });
            wait_until(|| pool.statistics().total().sleeps != before);
        });
    }

    #[test]
    fn a_notification_that_is_passed_on_reaches_a_sleeper() {
        wakes_the_other(|search| search.pass_on(ClusterId::ROOT));
    }

    #[test]
    fn an_alarm_reaches_a_sleeper() {
        wakes_the_other(|search| search.raise_alarm());
    }

    #[test]
    fn nobody_is_awake_once_all_that_are_idle_sleep() {
        let _watchdog = watchdog(MINUTE);
        let pool = pool(SchedulerKind::Ws, "pu:2", 2);
        pool.install(|| {
            Worker::with_current(|worker| {
                let worker = worker.expect("this is one");
                let (sleep, other) = (&worker.engine().sleep, 1 - worker.thread);
                // In the end: the watchdog says if not.
                wait_until(|| sleep.is_asleep(other) && !sleep.is_any_awake());
            });
        });
    }

    #[test]
    fn workers_with_nothing_to_do_sleep_until_there_is_something() {
        on_each_scheduler("pu:2", 2, |pool| {
            pool.install(|| ());
            // If they slept for 50 ms at a time, this would never return.
            let _ = sleeps_after(pool, Duration::from_millis(200));
        });
    }
}
