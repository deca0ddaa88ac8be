//! How long a worker looks on before it sleeps.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use super::search::SPINS;
use crate::threads::primitive::AtomicU32;

/// The most looks before a sleep. The later ones let other threads have the processor, and take
/// about as long as [`BRIEF`] in all.
const LONGEST: u32 = 4 * SPINS;

/// A sleep for which the worker had better looked on: it is not much longer than the two of them
/// take that send a worker to sleep and wake it.
const BRIEF: Duration = Duration::from_micros(100);

/// After a sleep that is so much longer than [`BRIEF`] the worker looks on for less.
const LONG: u32 = 10;

/// How many looks in vain send a worker to sleep.
///
/// Whoever looks on as long as it would take to sleep and to be woken takes at most twice what the
/// better of the two would have taken; who learns from the waits before does better: A. R. Karlin,
/// K. Li, M. S. Manasse, S. Owicki, *Empirical studies of competitive spinning for a
/// shared-memory multiprocessor*, SOSP 1991.
#[derive(Debug)]
pub(super) struct Patience {
    /// Written by the worker that it belongs to, and read by nobody else.
    looks: AtomicU32,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { looks: AtomicU32::new(SPINS) }
    }

    pub(super) fn looks(&self) -> u32 {
        self.looks.load(Relaxed)
    }

    /// The worker has slept for so long. Returns whether it had better looked on.
    pub(super) fn slept(&self, time: Duration) -> bool {
        let looks = self.looks();
        let was_brief = time < BRIEF;
        if was_brief {
            self.looks.store((2 * looks).min(LONGEST), Relaxed);
        } else if time > LONG * BRIEF {
            self.looks.store((looks / 2).max(SPINS), Relaxed);
        }
        was_brief
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn brief_sleeps_make_patient_and_long_ones_impatient() {
        let patience = Patience::new();
        let after = |micros| {
            let was_brief = patience.slept(Duration::from_micros(micros));
            (was_brief, patience.looks() / SPINS)
        };
        let sleeps = [50, 500, 99, 99, 100, 1000, 1001, 1001, 1_000_000];
        let expected = [2, 2, 4, 4, 4, 4, 2, 1, 1];
        for (micros, looks) in sleeps.into_iter().zip(expected) {
            assert_eq!(after(micros), (micros < 100, looks), "{micros} µs");
        }
    }
}
