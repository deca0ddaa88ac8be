//! Whether calls from outside a pool are short, so that a fork is held back in the next.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use crate::threads::primitive::AtomicU32;

/// A worker may be so long at a call, and it is short: a second one, which had to be woken, had
/// gained nothing.
const SHORT: Duration = Duration::from_micros(50);

/// The same in a roomy pool, where the second one is likely to be awake.
const SHORT_IF_ROOMY: Duration = Duration::from_micros(20);

/// A long call outweighs so many short ones: in it a fork is held back for tens of microseconds in
/// vain, in a short one a wake-up is saved, which takes a few.
const LONG: u32 = 16;

/// So many calls in which a fork is held back must be short, beyond those that are outweighed, for
/// one to be held back in the next whatever comes.
const ENOUGH: u32 = 16;

/// More are not remembered.
const MOST: u32 = 48;

/// After so many calls in which none is held back, one is, and in the next as long as these are
/// short.
const PAUSE: u32 = 63;

/// The calls of a pool in which a fork was held back, or would have been.
///
/// Only those tell in which one was: others wake workers and wait for them, which takes long
/// whatever they do.
#[derive(Debug)]
pub(crate) struct Calls {
    short: Duration,
    /// Short ones, less those that long ones outweigh.
    score: AtomicU32,
    /// In how many none was held back since one was in vain.
    since: AtomicU32,
}

impl Calls {
    /// Of a pool that is roomy or not.
    pub(crate) fn new(is_roomy: bool) -> Self {
        let short = if is_roomy { SHORT_IF_ROOMY } else { SHORT };
        Self { short, score: AtomicU32::new(0), since: AtomicU32::new(0) }
    }

    /// Whether the next one is expected to be short.
    pub(crate) fn are_short(&self) -> bool {
        self.score.load(Relaxed) >= ENOUGH || self.since.load(Relaxed) >= PAUSE
    }

    /// The worker was so long at one, in which a fork was `held` back, or would have been if it was
    /// not. Of calls at the same time one may be forgotten.
    pub(crate) fn ended(&self, held: bool, worked: Duration) {
        let (score, since) = (self.score.load(Relaxed), self.since.load(Relaxed));
        let (new_score, new_since) = match held {
            // One among many changes nothing yet.
            true if worked > self.short && score >= ENOUGH => (score - LONG, since),
            true if worked > self.short => (0, 0),
            true => ((score + 1).min(MOST), since),
            false => (score, since.saturating_add(1).min(PAUSE)),
        };
        // A store takes the line from all who read it.
        if new_score != score {
            self.score.store(new_score, Relaxed);
        }
        if new_since != since {
            self.since.store(new_since, Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// In how many of `calls`, of which every `nth` is long, a fork is held back, and in how many
    /// of those that are long.
    fn held_back(calls: u32, nth: u32) -> (u32, u32) {
        let known = Calls::new(true);
        let (mut all, mut in_vain) = (0, 0);
        for call in 1..=calls {
            let held = known.are_short();
            let is_long = nth != 0 && call % nth == 0;
            all += u32::from(held);
            in_vain += u32::from(held && is_long);
            // What a worker that was not alone waits for takes long in any case.
            let long = is_long || !held;
            known.ended(held, Duration::from_micros(if long { 200 } else { 5 }));
        }
        (all, in_vain)
    }

    #[test]
    fn a_fork_is_held_back_where_nearly_all_calls_are_short() {
        assert_eq!(held_back(1000, 0), (1000 - PAUSE, 0));
        assert!(held_back(1000, 40).0 >= 880);
    }

    #[test]
    fn where_one_call_in_eight_is_long_hardly_any_long_one_is_taken_for_short() {
        for nth in [1, 2, 4, 8] {
            let (_, in_vain) = held_back(6400, nth);
            assert!((50..=100).contains(&in_vain), "{in_vain} with every {nth}th long");
        }
    }
}
