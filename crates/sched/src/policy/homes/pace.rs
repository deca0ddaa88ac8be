//! How long a program takes for each line of its data, found by timing its rounds.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use befit_machine::WorkerId;
use crossbeam_utils::CachePadded;

/// What a round took is forgotten by this share with each further one.
const FORGOTTEN: f64 = 0.1;
/// Another power of two stands for the pace when it is so far from the old one: a little more than
/// half a step, as all homes change with it.
const FAR: f64 = 0.75;

/// The workers' busy times, and what follows from them.
#[derive(Debug)]
pub(super) struct Pace {
    workers: Vec<CachePadded<Busy>>,
    /// The lines of the round that runs; 0 before the first.
    lines: AtomicU64,
    /// Cycles of a worker of full speed for each line, as bits of a float.
    found: AtomicU64,
    /// That of the last round.
    last: AtomicU64,
    /// The power of two of cycles that stands for what was found.
    step: AtomicU32,
    usual: f64,
    /// Cycles in a nanosecond.
    gigahertz: f64,
}

#[derive(Debug)]
struct Busy {
    /// Of full speed, which is 1.
    speed: f64,
    /// When it began what it runs, in nanoseconds.
    since: AtomicU64,
    /// How long it has been busy in this round.
    total: AtomicU64,
}

impl Pace {
    /// Of workers with these speeds, which is `usual` until a round has ended.
    pub(super) fn new(speeds: impl Iterator<Item = f64>, usual: f64, gigahertz: f64) -> Self {
        let busy = |speed| Busy { speed, since: AtomicU64::new(0), total: AtomicU64::new(0) };
        Self {
            workers: speeds.map(busy).map(CachePadded::new).collect(),
            lines: AtomicU64::new(0),
            found: AtomicU64::new(usual.to_bits()),
            last: AtomicU64::new(f64::INFINITY.to_bits()),
            step: AtomicU32::new(usual.log2().round() as u32),
            usual,
            gigahertz,
        }
    }

    /// `w`, which had nothing, begins something.
    pub(super) fn begins(&self, w: WorkerId, now: u64) {
        self.workers[w.index()].since.store(now, Relaxed);
    }

    /// `w` has nothing any more.
    pub(super) fn ends(&self, w: WorkerId, now: u64) {
        let busy = &self.workers[w.index()];
        busy.total.fetch_add(now.saturating_sub(busy.since.load(Relaxed)), Relaxed);
    }

    /// A round begins that goes through so many lines.
    ///
    /// What the last one took has in it what it waited for lines that were not in the caches. So it
    /// is too much at first, and the less so the better the rounds are divided. Two rounds must
    /// agree, as another may do something else with the same data. The best of the last ones
    /// counts, as the first one after a change brings in what is moved.
    pub(super) fn round(&self, lines: u64) {
        let total = |it: &CachePadded<Busy>| it.total.swap(0, Relaxed) as f64 * it.speed;
        let busy: f64 = self.workers.iter().map(total).sum();
        let length = self.lines.swap(lines, Relaxed);
        let pace = busy * self.gigahertz / length.max(1) as f64;
        let last = f64::from_bits(self.last.swap(pace.to_bits(), Relaxed));
        if length != lines {
            self.last.store(f64::INFINITY.to_bits(), Relaxed);
            self.found.store(self.usual.to_bits(), Relaxed);
        } else if last.is_finite() {
            let before = self.cycles() * (1.0 + FORGOTTEN);
            self.found.store(pace.max(last).min(before).to_bits(), Relaxed);
        }
        let log = self.cycles().max(1.0).log2();
        if (log - f64::from(self.step())).abs() > FAR {
            self.step.store(log.round() as u32, Relaxed);
        }
    }

    /// The power of two of cycles for each line.
    pub(super) fn step(&self) -> u32 {
        self.step.load(Relaxed)
    }

    /// Cycles for each line.
    fn cycles(&self) -> f64 {
        f64::from_bits(self.found.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_two_rounds_that_agree_counts() {
        let pace = Pace::new([1.0, 0.5].into_iter(), 64.0, 2.0);
        let round = |nanoseconds: u64, lines: u64| {
            for w in [0, 1] {
                pace.begins(WorkerId(w), 100);
                pace.ends(WorkerId(w), 100 + nanoseconds);
            }
            pace.round(lines);
            pace.cycles()
        };
        let is = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        is(round(1000, 300), 64.0);
        is(round(1000, 300), 64.0);
        is(round(1000, 300), 10.0);
        is(round(9000, 300), 11.0);
        // One round alone may do something else with the same data.
        is(round(200, 300), 11.0 * (1.0 + FORGOTTEN));
        is(round(200, 300), 2.0);
        is(round(200, 299), 64.0);
    }

    #[test]
    fn homes_stay_where_the_pace_lies_between_two_steps() {
        let pace = Pace::new([1.0].into_iter(), 32.0, 1.0);
        let mut step = |cycles: u64| {
            for _ in 0..3 {
                pace.begins(WorkerId(0), 0);
                pace.ends(WorkerId(0), cycles * 100);
                pace.round(100);
            }
            pace.step()
        };
        // The half between them is 45.
        assert_eq!([30, 44, 47, 44, 47].map(&mut step), [5; 5]);
        assert_eq!([16, 22, 24, 16].map(&mut step), [4; 4]);
    }
}
