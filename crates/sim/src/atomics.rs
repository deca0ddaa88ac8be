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
