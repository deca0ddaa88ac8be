//! How a policy speaks to its engine.

use befit_machine::WorkerId;

use crate::{CountSource, WorkerCounts};

/// Names one lock of a policy, densely from 0, so that an engine can keep a table of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockId(pub u32);

/// What a policy may ask of its engine while one worker is inside `add`, `get` or `done`.
///
/// On threads most of it does nothing. In the simulator every call has a price in virtual time,
/// waiting for a lock included, so that the overheads of a policy are modelled, not guessed.
pub trait Env {
    /// A number below `bound` (> 0), uniformly at random, from the worker's own seeded generator.
    fn random(&mut self, bound: u32) -> u32;

    /// The worker takes lock `lock`; called before the lock is really taken. [`crate::Guarded`]
    /// calls this.
    fn acquire(&mut self, lock: LockId);

    /// The worker gave `lock` back.
    fn release(&mut self, lock: LockId);

    /// The worker looked for work in `victim`'s queue, and found some or none.
    fn steal(&mut self, victim: WorkerId, found: bool);

    /// What the worker has done since it was last asked, or since it began; for policies that
    /// measure. None where nothing counts.
    fn counts(&mut self) -> Option<WorkerCounts> {
        None
    }

    /// Where [`Self::counts`] come from.
    fn count_source(&self) -> Option<CountSource> {
        None
    }

    /// The policy has something to tell the user, in one line. Said once.
    fn tell(&mut self, what: &'static str) {
        let _ = what;
    }
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
