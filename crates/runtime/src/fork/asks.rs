//! How others make a worker hand out a fork.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::primitive::{AtomicBool, AtomicUsize, fence};

/// What others write to a worker: that a fork of its should be handed out.
///
/// Two words, because plain stretches (see [`super::stretch`]) look at nothing but the second, the
/// *floor*; that look is what remains of a fork's price there. The order of the writes is the
/// protocol: who asks sets `wanted` and then raises the floor; the owner lowers the floor and then
/// looks at `wanted`; between the two lies a fence on both sides. So no ask is lost to a stretch
/// that begins at the same moment.
#[derive(Debug)]
pub(crate) struct Asks {
    /// None of the worker's forks lies with the policy: the next that it opens, or an older one,
    /// should.
    wanted: AtomicBool,
    /// Counts the forks that were handed out and have been taken, by whomever.
    taken: AtomicUsize,
    /// Code whose stack frame lies above this address may call instead of forking.
    floor: AtomicUsize,
}

/// No stack lies above it.
const NO_STRETCH: usize = usize::MAX;

impl Asks {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            wanted: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            floor: AtomicUsize::new(NO_STRETCH),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            wanted: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            floor: AtomicUsize::new(NO_STRETCH),
        }
    }

    /// Anyone: a fork of the worker's has been taken; another is wanted.
    pub(crate) fn take_one(&self) {
        self.taken.fetch_add(1, Relaxed);
        self.wanted.store(true, Relaxed);
        fence(SeqCst);
        self.floor.store(NO_STRETCH, Relaxed);
    }

    /// The owner: whether a fork should be handed out.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    /// The owner: how many forks have been taken, modulo 2⁶⁴.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// The owner: whether one should be handed out from now on.
    pub(crate) fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Relaxed);
    }

    /// The owner: whether code with a stack frame at `address` is in a plain stretch, and nobody
    /// asks.
    #[inline(always)]
    pub(crate) fn is_plain(&self, address: usize) -> bool {
        address > self.floor.load(Relaxed)
    }

    /// The owner: a plain stretch begins, or goes on, for all stack frames above `floor`, unless a
    /// fork is wanted.
    pub(crate) fn lower_floor(&self, floor: usize) {
        self.lower_floor_unasked(floor);
        fence(SeqCst);
        if self.is_wanted() {
            self.raise_floor();
        }
    }

    /// The owner: as [`Self::lower_floor`], whether or not a fork is wanted.
    pub(crate) fn lower_floor_unasked(&self, floor: usize) {
        self.floor.store(floor, Relaxed);
    }

    /// The owner: from now on forks are forks.
    pub(crate) fn raise_floor(&self) {
        self.floor.store(NO_STRETCH, Relaxed);
    }
}
