//! Lines on which a program makes atomic read-modify-writes.
//!
//! An ordinary store waits in a buffer for its line, and the core goes on. A read-modify-write
//! needs the line at once, and nothing behind it begins before. So where workers change a common
//! word, each change waits for the line's way from the core that had it last, and the line makes
//! one way at a time. That takes no less than the machine's `steal` or `far-steal`, which is what a
//! word takes that two cores change by turns.

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_program::{Program, Sample};

use crate::clock::Ticks;

/// The lines of atomics, and who uses them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atomics {
    /// A bit for each line of this machine; none where the program has no atomics.
    known: Vec<u64>,
    /// Ascending.
    lines: Vec<u32>,
    /// By line.
    uses: Vec<Use>,
    /// Per worker: the clusters above it, from the innermost.
    paths: Vec<Vec<ClusterId>>,
    /// What a line takes that workers under one last-level cache hand to and fro, and any others.
    near: Ticks,
    far: Ticks,
}

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// The worker that touched it last, and the last of the others.
    by: [Option<WorkerId>; 2],
    /// When the worker that took it last has it.
    taken: Ticks,
}

impl Atomics {
    /// Of `program`, whose lines are 2^`coarser` to a line of `machine`; those of them that are hot
    /// in a sample, if there is one.
    pub(crate) fn new(
        program: &Program,
        machine: &Machine,
        sample: Option<&Sample>,
        coarser: u32,
    ) -> Self {
        let coarser = sample.map_or(coarser, Sample::coarser);
        let mut lines: Vec<u32> = program.atomics().iter().map(|line| line >> coarser).collect();
        lines.dedup();
        if let Some(sample) = sample {
            let (hot, first) = (sample.hot(), sample.lines() - sample.hot().len() as u32);
            let number = |line| Some(first + hot.binary_search(line).ok()? as u32);
            lines = lines.iter().filter_map(number).collect();
        }
        let mut known = vec![0; lines.last().map_or(0, |line| *line as usize / 64 + 1)];
        for line in &lines {
            known[*line as usize / 64] |= 1 << (line % 64);
        }
        let workers = if lines.is_empty() { 0 } else { machine.workers().len() as u32 };
        Self {
            known,
            uses: vec![Use::default(); lines.len()],
            lines,
            paths: (0..workers).map(|w| machine.path(WorkerId(w)).collect()).collect(),
            near: Ticks::fractional(machine.prices.steal),
            far: Ticks::fractional(machine.prices.far_steal),
        }
    }

    /// Whether the program makes atomic read-modify-writes on `line`.
    #[inline]
    pub(crate) fn has(&self, line: u32) -> bool {
        self.known.get(line as usize / 64).is_some_and(|word| word >> (line % 64) & 1 != 0)
    }

    /// Notes that `worker` touches such a line.
    pub(crate) fn note(&mut self, worker: WorkerId, line: u32) {
        let Some(used) = self.find(line) else { return };
        if used.by[0] != Some(worker) {
            used.by = [Some(worker), used.by[0]];
        }
    }

    /// The smallest cluster of `worker` and of the other that touched the line last.
    pub(crate) fn common(&mut self, worker: WorkerId, line: u32) -> Option<(ClusterId, WorkerId)> {
        let other = self.find(line)?.by[1]?;
        let (mine, theirs) = (&self.paths[worker.index()], &self.paths[other.index()]);
        mine.iter().find(|cluster| theirs.contains(cluster)).map(|cluster| (*cluster, other))
    }

    /// The least that the line takes from another worker of the same `cluster`: a core that has
    /// just changed it does not give it away at once.
    pub(crate) fn handed(&self, cluster: ClusterId) -> Ticks {
        if cluster == ClusterId::ROOT { self.far } else { self.near }
    }

    /// A worker takes the line from `now` on, which takes so long. Returns when it has it.
    pub(crate) fn take(&mut self, line: u32, now: Ticks, way: Ticks) -> Ticks {
        let Some(used) = self.find(line) else { return now + way };
        used.taken = now.max(used.taken) + way;
        used.taken
    }

    fn find(&mut self, line: u32) -> Option<&mut Use> {
        let at = self.lines.binary_search(&line).ok()?;
        self.uses.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{fight_for, program, samples};

    /// Two caches, each above two cores.
    const CORES: &str =
        "(steal=20 far-steal=90.5) pack:2 l2:1(size=64KiB) core:2 l1:1(size=8KiB) pu:1";

    /// Of a program of 200 lines that changes words in three of them.
    fn atomics(coarser: u32) -> Atomics {
        let program = program(|b| {
            (0..200).for_each(|line| b.touch(line, true, false));
            [100, 101, 199].into_iter().for_each(|line| b.atomic(line));
        });
        Atomics::new(&program, &CORES.parse().unwrap(), None, coarser)
    }

    #[test]
    fn a_line_is_of_atomics_if_a_recorded_one_in_it_is() {
        for (coarser, expected) in [(0, &[100, 101, 199][..]), (1, &[50, 99]), (3, &[12, 24])] {
            let atomics = atomics(coarser);
            let known: Vec<u32> = (0..300).filter(|line| atomics.has(*line)).collect();
            assert_eq!(known, expected);
        }
    }

    #[test]
    fn a_line_of_atomics_comes_from_the_other_worker_that_touched_it_last() {
        let mut atomics = atomics(0);
        let [first, second, _, far] = [0, 1, 2, 3].map(WorkerId);
        for worker in [first, first] {
            atomics.note(worker, 100);
            assert_eq!(atomics.common(worker, 100), None, "nobody else has touched it");
        }
        for _ in 0..2 {
            atomics.note(second, 100);
            assert_eq!(atomics.common(second, 100), Some((ClusterId(1), first)));
        }
        atomics.note(far, 100);
        assert_eq!(atomics.common(far, 100), Some((ClusterId::ROOT, second)));
        // Other lines have their own.
        for line in [101, 102] {
            atomics.note(first, line);
            assert_eq!(atomics.common(first, line), None);
        }
    }

    #[test]
    fn between_caches_a_line_takes_no_less_than_a_far_steal_and_below_one_than_a_steal() {
        let atomics = atomics(0);
        assert_eq!(atomics.handed(ClusterId::ROOT), Ticks::fractional(90.5));
        assert_eq!(atomics.handed(ClusterId(1)), Ticks::cycles(20));
    }

    #[test]
    fn a_line_of_atomics_makes_one_way_at_a_time() {
        let mut atomics = atomics(0);
        let mut take = |line, now| atomics.take(line, Ticks(now), Ticks(30));
        assert_eq!([take(100, 100), take(100, 110), take(100, 500)], [130, 160, 530].map(Ticks));
        // Another line, and one that is not of atomics.
        assert_eq!([take(101, 110), take(7, 110), take(7, 110)], [Ticks(140); 3]);
    }

    #[test]
    fn a_sample_numbers_hot_lines_of_atomics_behind_its_own() {
        let program = program(|b| {
            fight_for(b, &[5, 7, 9]);
            [2, 7, 9].into_iter().for_each(|line| b.atomic(line));
        });
        let sample = &samples(&program, &CORES.parse().unwrap(), 2)[0];
        assert_eq!(sample.hot(), [5, 7, 9]);
        let atomics = Atomics::new(&program, &CORES.parse().unwrap(), Some(sample), 0);
        let known: Vec<u32> = (0..sample.lines() + 64).filter(|line| atomics.has(*line)).collect();
        assert_eq!(known, [sample.lines() - 2, sample.lines() - 1]);
    }
}
