//! The [`Env`] of real threads: random numbers, and counters for steals.

use std::{
    cell::Cell,
    io::Write,
    sync::LazyLock,
    time::{Duration, Instant},
};

use befit_machine::WorkerId;
use befit_sched::{CountSource, Env, LockId, WorkerCounts};

use super::Meter;
use crate::stats::Counters;

/// A small generator, good enough for victims: xorshift64* (Vigna, *An experimental exploration of
/// Marsaglia's xorshift generators*, 2016).
#[derive(Debug)]
pub(crate) struct Random(Cell<u64>);

impl Random {
    /// Generator number `stream` of those that `seed` gives.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // SplitMix64 spreads neighbouring seeds; the state must not be 0.
        let mut z = seed.wrapping_add((stream + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(Cell::new((z ^ (z >> 31)) | 1))
    }

    /// Uniform below `bound`, up to a bias of bound / 2³².
    pub(crate) fn below(&self, bound: u32) -> u32 {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        let high = x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }
}

/// The [`Env`] of one call into the policy.
pub(crate) struct ThreadEnv<'a> {
    pub(crate) random: &'a Random,
    /// The calling worker's counters; none for a thread outside the pool.
    pub(crate) counters: Option<&'a Counters>,
    /// What the processor counts of the calling worker.
    pub(crate) meter: Option<&'a Meter>,
    /// Where sizes come from.
    pub(crate) sizes: CountSource,
}

impl Env for ThreadEnv<'_> {
    fn random(&mut self, bound: u32) -> u32 {
        self.random.below(bound)
    }

    fn acquire(&mut self, _: LockId) {}

    fn release(&mut self, _: LockId) {}

    fn steal(&mut self, victim: WorkerId, found: bool) {
        match self.counters {
            Some(counters) if found => counters.stolen_from(victim),
            Some(counters) => counters.failed_steals.bump(),
            None => {}
        }
    }

    fn counts(&mut self) -> Option<WorkerCounts> {
        self.meter?.read()
    }

    fn now(&mut self) -> Option<Duration> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Some(START.elapsed())
    }

    fn count_source(&self) -> Option<CountSource> {
        self.meter.map(Meter::source)
    }

    fn size_source(&self) -> CountSource {
        self.sizes
    }

    fn tell(&mut self, what: &'static str) {
        static TOLD: std::sync::Once = std::sync::Once::new();
        TOLD.call_once(|| {
            // A failure to write to stderr has nowhere to be reported.
            writeln!(std::io::stderr(), "befit: {what}").ok();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_stay_below_the_bound_and_reach_every_value() {
        let random = Random::new(1, 2);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |stream| Random::new(0, stream).below(u32::MAX);
        assert_ne!(first(0), first(1));
        assert_ne!(first(1), first(2));
    }
}
