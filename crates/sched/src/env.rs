//! How a policy speaks to its engine.

use std::{
    fmt,
    sync::{Mutex, TryLockError},
    time::Duration,
};

use befit_machine::WorkerId;

/// Names one lock of a policy, densely from 0, so that an engine can keep a table of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockId(pub u32);

/// What a policy may ask of its engine while one worker is inside one of its methods.
///
/// On threads most of it does nothing. In the simulator every call has a price in virtual time,
/// waiting for a lock included, so that the overheads of a policy are modelled, not guessed.
pub trait Env {
    /// A number below `bound` (> 0), uniformly at random, from the worker's own seeded generator.
    fn random(&mut self, bound: u32) -> u32;

    /// The worker is about to take lock `lock`. [`Guarded`] calls this.
    fn acquire(&mut self, lock: LockId);

    /// Whether another worker has lock `lock`, where that is not seen in the lock itself: in
    /// virtual time. [`Guarded::try_with`] asks this.
    #[expect(unused_variables, reason = "threads see it in the lock itself")]
    fn is_held(&mut self, lock: LockId) -> bool {
        false
    }

    /// The worker gave `lock` back.
    fn release(&mut self, lock: LockId);

    /// The worker looked for work in `victim`'s queue, and found some or none.
    fn steal(&mut self, victim: WorkerId, found: bool);

    /// What the worker has done since the last call, or since it began; for policies that measure.
    /// `None` where nothing counts.
    fn counts(&mut self) -> Option<WorkerCounts> {
        None
    }

    /// Where [`Self::counts`] come from.
    fn count_source(&self) -> Option<CountSource> {
        None
    }

    /// Where the sizes of tasks come from that [`TaskInfo`](crate::TaskInfo) has.
    fn size_source(&self) -> CountSource {
        CountSource::Declared
    }

    /// The time since some start; `None` where nothing tells it.
    fn now(&mut self) -> Option<Duration> {
        None
    }

    /// Shows the user one line from the policy, once.
    #[expect(unused_variables, reason = "nothing is shown by default")]
    fn tell(&mut self, what: &'static str) {}
}

/// An [`Env`] that only knows random numbers: for tests, and for engines that charge nothing.
#[derive(Debug)]
pub struct QuietEnv(pub fastrand::Rng);

impl Env for QuietEnv {
    fn random(&mut self, bound: u32) -> u32 {
        self.0.u32(..bound)
    }
    fn acquire(&mut self, _: LockId) {}
    fn release(&mut self, _: LockId) {}
    fn steal(&mut self, _: WorkerId, _: bool) {}
}

/// Data behind a mutex. Each use is reported to the [`Env`], so that waiting for it can be priced.
#[derive(Debug)]
pub struct Guarded<D> {
    id: LockId,
    data: Mutex<D>,
}

impl<D> Guarded<D> {
    /// Puts `data` behind a lock named `id`.
    pub const fn new(id: LockId, data: D) -> Self {
        Self { id, data: Mutex::new(data) }
    }

    /// Runs `f` on the data while holding the lock. `f` must not panic: policies only move entries
    /// about.
    // Always: else what `f` moves would go through memory, and wait there.
    #[inline(always)]
    pub fn with<R>(&self, env: &mut dyn Env, f: impl FnOnce(&mut D, &mut dyn Env) -> R) -> R {
        env.acquire(self.id);
        let result = {
            let mut data = self.data.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            f(&mut data, env)
        };
        env.release(self.id);
        result
    }

    /// As [`Self::with`]; `None`, without `f`, if that would have to wait for another worker.
    pub fn try_with<R>(
        &self,
        env: &mut dyn Env,
        f: impl FnOnce(&mut D, &mut dyn Env) -> R,
    ) -> Option<R> {
        if env.is_held(self.id) {
            return None;
        }
        let mut data = match self.data.try_lock() {
            Ok(data) => data,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        env.acquire(self.id);
        let result = f(&mut data, env);
        drop(data);
        env.release(self.id);
        Some(result)
    }
}

/// What one worker has done in some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerCounts {
    /// Lines brought into its last private cache.
    pub private_misses: u64,
    /// Those of them that the last-level cache did not have either.
    pub llc_misses: u64,
    /// Instructions (in the simulator: operations). 0 where they are not counted.
    pub instructions: u64,
}

impl WorkerCounts {
    /// What was counted from `earlier` to here.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            private_misses: self.private_misses.saturating_sub(earlier.private_misses),
            llc_misses: self.llc_misses.saturating_sub(earlier.llc_misses),
            instructions: self.instructions.saturating_sub(earlier.instructions),
        }
    }
}

/// Where the sizes that a policy measures come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CountSource {
    /// The processor's counters.
    Hardware,
    /// A function of the program that the engine calls.
    Given,
    /// The simulated caches.
    Simulated,
    /// Nothing counts: the program declares its tasks' sizes.
    Declared,
    /// Nothing counts: a [table](crate::sizes::SizeTable) has the sizes that the program does not
    /// declare.
    Learned,
}

impl fmt::Display for CountSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hardware => "hardware counters",
            Self::Given => "the program's own counts",
            Self::Simulated => "simulated caches",
            Self::Declared => "declared sizes",
            Self::Learned => "learned sizes",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_source_of_counts_says_what_it_is() {
        use CountSource::*;
        let all = [Hardware, Given, Simulated, Declared, Learned].map(|source| source.to_string());
        assert_eq!(
            all,
            [
                "hardware counters",
                "the program's own counts",
                "simulated caches",
                "declared sizes",
                "learned sizes",
            ]
        );
        assert_eq!(format!("{Learned:>15}"), "  learned sizes");
    }

    #[test]
    fn what_was_counted_between_two_times_is_what_came_later_and_never_below_0() {
        let counts = |private_misses, llc_misses, instructions| WorkerCounts {
            private_misses,
            llc_misses,
            instructions,
        };
        assert_eq!(counts(10, 7, 100).since(counts(4, 2, 1)), counts(6, 5, 99));
        assert_eq!(counts(1, 1, 1).since(counts(2, 2, 2)), counts(0, 0, 0));
    }

    /// Notes the locks that are taken and given back; and whether all are held.
    #[derive(Default)]
    struct Noting(Vec<(u32, bool)>, bool);

    impl Env for Noting {
        fn random(&mut self, _: u32) -> u32 {
            0
        }
        fn acquire(&mut self, lock: LockId) {
            self.0.push((lock.0, true));
        }
        fn is_held(&mut self, _: LockId) -> bool {
            self.1
        }
        fn release(&mut self, lock: LockId) {
            self.0.push((lock.0, false));
        }
        fn steal(&mut self, _: WorkerId, _: bool) {}
    }

    #[test]
    fn a_lock_is_reported_when_it_is_taken_and_given_back() {
        let (outer, inner) = (Guarded::new(LockId(7), 1), Guarded::new(LockId(3), 2));
        let mut env = Noting::default();
        let sum = outer.with(&mut env, |a, env| *a + inner.with(env, |b, _| *b));
        assert_eq!((sum, env.0), (3, vec![(7, true), (3, true), (3, false), (7, false)]));
    }

    #[test]
    fn who_tries_does_not_wait_for_a_lock_that_is_held_by_a_thread_or_in_virtual_time() {
        let (data, mut env) = (Guarded::new(LockId(4), 5), Noting::default());
        let nested = data.with(&mut env, |_, env| data.try_with(env, |data, _| *data));
        assert_eq!((nested, env.0.len()), (None, 2));
        assert_eq!(data.try_with(&mut env, |data, _| *data), Some(5));
        assert_eq!(env.0[2..], [(4, true), (4, false)]);
        env.1 = true;
        assert_eq!(data.try_with(&mut env, |data, _| *data), None);
    }

    #[test]
    fn an_env_that_counts_nothing_has_sizes_from_what_is_declared_and_no_clock() {
        let mut env = Noting::default();
        assert_eq!((env.counts(), env.count_source(), env.now()), (None, None, None));
        assert_eq!(env.size_source(), CountSource::Declared);
    }

    #[test]
    fn data_that_a_panic_has_left_behind_can_still_be_used() {
        let (data, mut env) = (Guarded::new(LockId(0), 5), Noting::default());
        let panics = catch_unwind(AssertUnwindSafe(|| {
            data.with(&mut env, |data, _| {
                *data = 6;
                panic!("on purpose")
            })
        }));
        assert!(panics.is_err());
        assert_eq!(data.with(&mut env, |data, _| *data), 6);
    }
}
