//! The simulator's [`Env`]: every lock and steal has a price in virtual time.

use std::time::Duration;

use befit_machine::{Machine, WorkerId};
use befit_sched::{CountSource, Env, LockId, WorkerCounts};

use crate::{Costs, clock::Ticks, trace::Steal};

/// What all workers' calls of the policy share.
#[derive(Debug)]
pub(crate) struct Prices {
    pub(crate) costs: Costs,
    pub(crate) steals: Steals,
    /// Of the machine's clock.
    mhz: u32,
    /// Per lock: when its last holder gave it back, and who that was.
    locks: Vec<(Ticks, Option<WorkerId>)>,
    /// Per worker: its last-level cluster, for telling near from far victims.
    socket: Vec<u32>,
    /// Per worker: what it had done when the policy asked last.
    asked: Vec<WorkerCounts>,
    /// Every steal that found something, where that was asked for.
    pub(crate) traced: Option<Vec<Steal>>,
}

/// Counts of steals over the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steals {
    pub(crate) near: u64,
    pub(crate) far: u64,
    pub(crate) failed: u64,
}

impl Prices {
    /// So much time, and a nanosecond, so that a policy's clock has passed it.
    pub(crate) fn past(&self, time: Duration) -> Ticks {
        Ticks::fractional((time.as_nanos() as f64 + 1.0) * f64::from(self.mhz) / 1e3)
    }

    pub(crate) fn new(machine: &Machine, costs: Costs) -> Self {
        let workers = machine.workers().len();
        Self {
            costs,
            steals: Steals::default(),
            mhz: machine.mhz.max(1),
            locks: Vec::new(),
            socket: (0..workers as u32).map(|w| machine.last_level(WorkerId(w)).0).collect(),
            asked: vec![WorkerCounts::default(); workers],
            traced: None,
        }
    }

    fn are_near(&self, one: WorkerId, other: WorkerId) -> bool {
        self.socket[one.index()] == self.socket[other.index()]
    }

    /// What it takes `thief` to run a fork of `victim`, beyond what is priced elsewhere: lines
    /// again, so from afar it is as many times more as one of them is.
    pub(crate) fn stolen(&self, thief: WorkerId, victim: WorkerId) -> Ticks {
        let ways = self.handover(thief, victim) as f64 / self.costs.near_steal.max(1) as f64;
        Ticks::fractional(self.costs.stolen * ways.max(1.0))
    }

    /// Cycles that a line takes from one worker to another.
    fn handover(&self, one: WorkerId, other: WorkerId) -> u64 {
        if self.are_near(one, other) { self.costs.near_steal } else { self.costs.far_steal }
    }
}

/// One worker inside the policy.
pub(crate) struct SimEnv<'a> {
    pub(crate) worker: WorkerId,
    /// The worker's clock; it runs on while the worker pays.
    pub(crate) now: &'a mut Ticks,
    /// What looks in vain have taken, which the clock is behind. All calls of the policy are made
    /// one after another, those of a worker's turn before those of the next. Had the clock run on,
    /// a lock that a long search ends with would be held at a time that other workers come to much
    /// later, and they would wait for all of the search.
    pub(crate) searched: Ticks,
    pub(crate) random: &'a mut fastrand::Rng,
    pub(crate) prices: &'a mut Prices,
    /// What the worker has done so far.
    pub(crate) counts: WorkerCounts,
    /// How long it has waited for locks.
    pub(crate) locks: &'a mut Ticks,
    /// Whether it had the lock that it took last before, and nobody since.
    pub(crate) had_lock: bool,
}

impl Env for SimEnv<'_> {
    fn random(&mut self, bound: u32) -> u32 {
        self.random.u32(..bound)
    }

    /// Waits until the last holder, in virtual time, has given the lock back, and for its line to
    /// come from there. That holder's turn may have begun earlier and gone on to a later time: what
    /// it added last is not there before it has given the lock back.
    fn acquire(&mut self, lock: LockId) {
        let i = lock.0 as usize;
        if self.prices.locks.len() <= i {
            self.prices.locks.resize(i + 1, Default::default());
        }
        let (free_at, holder) = self.prices.locks[i];
        let held = free_at.since(*self.now);
        self.had_lock = holder == Some(self.worker);
        let way = holder.filter(|holder| *holder != self.worker);
        let way = way.map_or(0, |holder| self.prices.handover(self.worker, holder));
        *self.locks += held;
        *self.now += held + Ticks::cycles(self.prices.costs.lock + way);
    }

    fn is_held(&mut self, lock: LockId) -> bool {
        self.prices.locks.get(lock.0 as usize).is_some_and(|(free_at, _)| free_at > self.now)
    }

    fn release(&mut self, lock: LockId) {
        self.prices.locks[lock.0 as usize] = (*self.now, Some(self.worker));
    }

    /// What is found comes from the victim, but for the lines of a queue that the worker itself was
    /// the last to lock: it has these.
    fn steal(&mut self, victim: WorkerId, found: bool) {
        if let (Some(traced), true) = (&mut self.prices.traced, found) {
            let at = (*self.now + self.searched).whole();
            traced.push(Steal { thief: self.worker, victim, at });
        }
        let handover = Ticks::cycles(self.prices.handover(self.worker, victim));
        if !found {
            self.searched += handover;
        } else if !self.had_lock {
            *self.now += handover;
        }
        let near = self.prices.are_near(self.worker, victim);
        let steals = &mut self.prices.steals;
        match (found, near) {
            (false, _) => steals.failed += 1,
            (true, true) => steals.near += 1,
            (true, false) => steals.far += 1,
        }
    }

    fn counts(&mut self) -> Option<WorkerCounts> {
        let before = std::mem::replace(&mut self.prices.asked[self.worker.index()], self.counts);
        Some(self.counts.since(before))
    }

    fn now(&mut self) -> Option<Duration> {
        let now = *self.now + self.searched;
        let nanoseconds = now.whole().0 as f64 * 1e3 / f64::from(self.prices.mhz);
        Some(Duration::from_nanos(nanoseconds as u64))
    }

    fn count_source(&self) -> Option<CountSource> {
        Some(CountSource::Simulated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_a_lock_does_not_wait_for_the_search_of_who_had_it() {
        let machine = "pack:2 l3:1(size=64KiB) core:4 pu:1".parse().unwrap();
        let mut prices = Prices::new(&machine, Costs::default());
        let mut take = |worker: u32, looks: u32, start: u64| {
            let (mut now, mut locks) = (Ticks::cycles(start), Ticks::default());
            let mut random = fastrand::Rng::with_seed(1);
            let mut env = SimEnv {
                worker: WorkerId(worker),
                now: &mut now,
                searched: Ticks::default(),
                random: &mut random,
                prices: &mut prices,
                counts: WorkerCounts::default(),
                locks: &mut locks,
                had_lock: false,
            };
            for _ in 0..looks {
                env.steal(WorkerId(1), false);
            }
            let held = env.is_held(LockId(0));
            env.acquire(LockId(0));
            env.release(LockId(0));
            (env.searched.whole().0, held, locks.whole().0)
        };
        let Costs { near_steal, lock, .. } = Costs::default();
        assert_eq!(take(0, 50, 1000), (50 * near_steal, false, 0));
        // It comes when the first one still has the lock.
        assert_eq!(take(1, 0, 1000), (0, true, lock));
        assert_eq!(take(2, 0, 1000 + 10 * (lock + near_steal)), (0, false, 0));
    }
}
