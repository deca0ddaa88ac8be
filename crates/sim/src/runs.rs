//! Runs of neighbouring lines that a core's prefetchers follow.
//!
//! A recording marks lines as of a stream if their neighbour is among the last few dozen lines
//! ([`befit_program::Touch`]). Programs that scatter to many places go on in hundreds of runs at
//! once, such as a radix sort, which appends to one part for each digit. Prefetchers follow these
//! too where they remember, by page, where each run is: as many as the machine's `runs=`.
//!
//! Only touches that leave the innermost cache are seen, as by prefetchers into the second level.
//! (J. W. C. Fu, J. H. Patel and B. L. Janssens, "Stride directed prefetching in scalar
//! processors", MICRO 1992, has tables by instruction; recordings do not tell these.)

use befit_machine::{Machine, WorkerId};
use befit_program::Touch;

use crate::hardware::{Hardware, PAGE_LINES};

/// So many neighbours in a row before a line is brought in ahead. Where 256 runs are written by
/// turns, those of 8 lines gain little, those of 16 about half of what there is to gain, and those
/// of 64 nearly all (docs/measurements/calibrate.md).
pub(crate) const TRAINED: u32 = 16;
/// Entries of a set; each set is in the order of use.
const WAYS: usize = 8;

/// Where a run is.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The line that was touched last.
    line: u32,
    /// Neighbours in a row before it, up to [`TRAINED`].
    length: u32,
}

/// No line has this number.
const NONE: Run = Run { line: u32::MAX, length: 0 };

/// The runs that all cores follow.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Per core, set after set: runs, the one used last first.
    entries: Vec<[Run; WAYS]>,
    /// Sets of a core: a power of two.
    sets: usize,
    /// Lines of a page, as a power of two.
    page_shift: u32,
    /// Neighbours in a row that make a run.
    trained: u32,
}

impl Runs {
    /// `None` on machines whose prefetchers follow none. For lines `1 << coarser` recorded ones
    /// long, of which one stands for `sampled` ([`crate::sampled`]): neighbours in a sample's
    /// numbers are so many lines apart.
    pub(crate) fn new(machine: &Machine, cores: usize, coarser: u32, sampled: u64) -> Option<Self> {
        let runs = machine.memory.runs as usize;
        let shift = coarser + sampled.trailing_zeros();
        let sets = runs.div_ceil(WAYS).next_power_of_two();
        (runs > 0).then(|| Self {
            entries: vec![[NONE; WAYS]; cores * sets],
            sets,
            page_shift: PAGE_LINES.trailing_zeros().saturating_sub(shift),
            trained: (TRAINED >> shift.min(31)).max(1),
        })
    }

    /// A touch of `line` by `core` that has left the innermost cache: whether it goes on in a run.
    fn follows(&mut self, core: u32, line: u32) -> bool {
        let sets = &mut self.entries[core as usize * self.sets..][..self.sets];
        let (mask, shift) = (sets.len() - 1, self.page_shift);
        let set = |line: u32| ((line >> shift).wrapping_mul(0x9e37_79b9) >> 8) as usize & mask;
        // Mostly all three are in the same page, and so in the same set.
        let lines = [Some(line), line.checked_sub(1), line.checked_add(1)];
        let found = lines.into_iter().flatten().find_map(|last| {
            let from = set(last);
            Some((from, sets[from].iter().position(|run| run.line == last)?))
        });
        let (to, mut end) = (set(line), WAYS - 1);
        let before = found.map(|(from, at)| {
            if from == to {
                end = at;
                sets[to][at]
            } else {
                std::mem::replace(&mut sets[from][at], NONE)
            }
        });
        let moves = before.is_some_and(|run| run.line != line);
        let length = before.map_or(0, |run| (run.length + u32::from(moves)).min(TRAINED));
        sets[to][..=end].rotate_right(1);
        sets[to][0] = Run { line, length };
        moves && length >= self.trained
    }
}

impl Hardware {
    /// Whether prefetchers saw the touch of `line` by `worker` coming, which has left the innermost
    /// cache.
    #[inline]
    pub(crate) fn is_followed(&mut self, worker: WorkerId, touch: Touch, line: u32) -> bool {
        let Some(runs) = self.runs.as_mut().filter(|_| !touch.stack) else {
            return touch.streaming;
        };
        let (core, _) = self.cores[worker.index()];
        runs.follows(core, line) || touch.streaming
    }
}

#[cfg(test)]
mod tests {
    use befit_sched::SchedulerKind;

    use super::*;
    use crate::tests::{program, simulate};

    fn runs(runs: u32, sampled: u64) -> Runs {
        let machine: Machine = format!("(runs={runs}) l1:1 core:2 pu:1").parse().unwrap();
        Runs::new(&machine, 2, 0, sampled).unwrap()
    }

    /// The share of lines that are followed where each of `count` runs goes on by a line in turn.
    fn share(mut table: Runs, count: u32, step: i32) -> f64 {
        let mut followed = 0;
        for at in 0..200 {
            for run in 0..count {
                let begin = 1_000_000 + run * 1000 + run * run % 64;
                let line = begin.wrapping_add_signed(at * step);
                followed += u32::from(table.follows(1, line));
            }
        }
        f64::from(followed) / f64::from(200 * count)
    }

    #[test]
    fn as_many_runs_are_followed_as_the_machine_says_and_not_many_more() {
        for step in [1, -1] {
            assert!(share(runs(256, 1), 16, step) > 0.9);
            assert!(share(runs(256, 1), 128, step) > 0.8);
            assert!(share(runs(256, 1), 1024, step) < 0.1);
        }
        assert!(share(runs(256, 1), 16, 2) == 0.0);
    }

    #[test]
    fn a_run_is_followed_once_it_is_long_enough_and_each_core_has_its_own() {
        let mut runs = runs(64, 1);
        let found: Vec<_> = (70..90).map(|line| runs.follows(0, line)).collect();
        assert_eq!(found.iter().position(|followed| *followed), Some(16));
        // A line that is touched again does not end its run; one far from it is of none.
        assert_eq!([89, 90, 92].map(|line| runs.follows(0, line)), [false, true, false]);
        assert!(!runs.follows(1, 91));
    }

    #[test]
    fn neighbours_in_a_sample_are_a_run() {
        let mut runs = runs(64, 16);
        // One is as good as 16 of all lines.
        assert_eq!([10, 11, 12].map(|line| runs.follows(0, line)), [false, true, true]);
    }

    /// Cycles a line of a program that writes 300 runs of 200 lines by turns.
    fn cycles_a_line(runs: u32) -> f64 {
        let (count, lines) = (300, 200);
        let program = program(|b| {
            for at in 0..lines {
                for run in 0..count {
                    b.touch(run * 1000 + run * run % 64 + at, true, false);
                    b.work(0, 8, 0);
                }
            }
        });
        let machine = format!(
            "(latency=300 bandwidth=64 parallelism=4 streams=20 window=400 runs={runs} operation=1)
             l1:1(size=4096 ways=8) core:1 pu:1"
        );
        let time = simulate(&program, &machine.parse().unwrap(), SchedulerKind::Ws, 1).time;
        time.0 as f64 / (count * lines) as f64
    }

    #[test]
    fn what_prefetchers_follow_comes_at_the_pace_of_a_stream() {
        // Four misses at once, or a line every 15 cycles.
        let (anywhere, followed) = (cycles_a_line(0), cycles_a_line(1024));
        assert!((anywhere / 75.0 - 1.0).abs() < 0.05, "{anywhere}");
        assert!((followed / (15.0 + 16.0 / 200.0 * 60.0) - 1.0).abs() < 0.1, "{followed}");
    }
}
