//! How a policy speaks to its engine.

use std::{fmt, sync::Mutex, time::Duration};

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
