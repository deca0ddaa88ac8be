//! Idle workers of a large machine: few of them look for work at a time.
//!
//! Whenever something becomes ready, every parked worker that could run it looks again, at a random
//! point of its polling period. The first to look takes it, and the others look in vain. So on
//! machines of more than [`MOST`] workers only so many are woken, those whose points come first;
//! each that has looked in vain wakes another while something is ready. Smaller machines wake all.
//! Workers for whom something is due are not among them: these look then.

use std::ops::Range;

use befit_machine::WorkerId;

/// So many woken workers look for work at a time.
pub(crate) const MOST: usize = 64;

/// The parked workers of a machine of more than [`MOST`] workers.
#[derive(Debug)]
pub(crate) struct Herd {
    parked: Vec<u64>,
    /// Those of them that are to look, and have not been woken.
    due: Vec<u64>,
    /// How many were woken, and have not looked.
    looking: usize,
    random: fastrand::Rng,
}

impl Herd {
    /// For so many workers, all parked but the first; `None` where they are few.
    pub(crate) fn new(workers: usize, random: fastrand::Rng) -> Option<Self> {
        if workers <= MOST {
            return None;
        }
        let words = workers.div_ceil(64);
        let mut herd = Self { parked: vec![0; words], due: vec![0; words], looking: 0, random };
        (1..workers as u32).for_each(|w| herd.park(WorkerId(w)));
        Some(herd)
    }

    pub(crate) fn park(&mut self, w: WorkerId) {
        self.parked[w.index() / 64] |= 1 << (w.0 % 64);
    }

    /// It looks without having been called.
    pub(crate) fn unpark(&mut self, w: WorkerId) {
        self.parked[w.index() / 64] &= !(1 << (w.0 % 64));
        self.due[w.index() / 64] &= !(1 << (w.0 % 64));
    }

    /// A woken worker looks.
    pub(crate) fn looks(&mut self) {
        self.looking -= 1;
    }

    /// The parked ones of these workers are to look.
    pub(crate) fn call(&mut self, workers: Range<u32>) {
        for word in workers.start / 64..workers.end.div_ceil(64) {
            let first = workers.start.saturating_sub(word * 64).min(63);
            let last = (workers.end - 1 - word * 64).min(63);
            let mask = u64::MAX << first & u64::MAX >> (63 - last);
            self.due[word as usize] |= self.parked[word as usize] & mask;
        }
    }

    /// Nothing is ready: nobody need look.
    pub(crate) fn dismiss(&mut self) {
        self.due.fill(0);
    }

    /// The workers to be woken now, each with the point of its polling period at which it looks, as
    /// a share of the period: the smallest of as many random points as workers are due.
    pub(crate) fn wake(&mut self) -> Vec<(WorkerId, f64)> {
        let mut due: u32 = self.due.iter().map(|word| word.count_ones()).sum();
        let (mut woken, mut later) = (Vec::new(), 1.0);
        while self.looking < MOST && due > 0 {
            let w = self.pick();
            self.due[w.index() / 64] &= !(1 << (w.0 % 64));
            self.parked[w.index() / 64] &= !(1 << (w.0 % 64));
            later *= self.random.f64().powf(1.0 / f64::from(due));
            woken.push((w, 1.0 - later));
            self.looking += 1;
            due -= 1;
        }
        woken
    }

    /// One of those that are due: the first from a random one on.
    fn pick(&mut self) -> WorkerId {
        let count = self.due.len();
        let start = self.random.usize(..count * 64);
        let (word, bit) = (start / 64, start as u32 % 64);
        let here = self.due[word] & u64::MAX << bit;
        let rest = (1..=count).map(|i| (word + i) % count).map(|word| (word, self.due[word]));
        let (word, bits) = std::iter::once((word, here))
            .chain(rest)
            .find(|(_, bits)| *bits != 0)
            .unwrap_or((0, 1));
        WorkerId(word as u32 * 64 + bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_most_look_at_a_time_and_all_that_are_due_in_the_end() {
        let mut herd = Herd::new(300, fastrand::Rng::with_seed(1)).unwrap();
        assert!(Herd::new(MOST, fastrand::Rng::with_seed(1)).is_none());
        herd.call(60..260);
        let first = herd.wake();
        assert_eq!(first.len(), MOST);
        assert!(first.is_sorted_by(|a, b| a.1 <= b.1) && first.iter().all(|w| w.1 < 1.0));
        let mut seen: Vec<u32> = first.iter().map(|(w, _)| w.0).collect();
        for i in 0.. {
            let Some(w) = seen.get(i).copied() else { break };
            herd.looks();
            herd.park(WorkerId(w));
            seen.extend(herd.wake().iter().map(|(w, _)| w.0));
        }
        seen.sort_unstable();
        assert_eq!(seen, (60..260).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_is_woken_who_was_dismissed_or_is_not_parked() {
        let mut herd = Herd::new(100, fastrand::Rng::with_seed(2)).unwrap();
        herd.call(0..100);
        herd.dismiss();
        assert!(herd.wake().is_empty());
        // The first runs.
        herd.call(0..2);
        assert_eq!(herd.wake().iter().map(|(w, _)| w.0).collect::<Vec<_>>(), [1]);
        herd.call(0..2);
        assert!(herd.wake().is_empty());
    }
}
