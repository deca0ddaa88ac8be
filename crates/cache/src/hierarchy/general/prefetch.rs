//! Brings near, on the host, what a later access will look at.
//!
//! An access to a random line looks at some six places that the host's own caches do not hold: the
//! line's row in the directory, its set in the last-level cache, the rows of the lines that make
//! room in the outer caches, and, for a write, the sets of other copies. Waiting for them one after
//! another would be most of the time.

use befit_machine::WorkerId;

use super::{General, coherence::bits};
use crate::{hierarchy::layout::Layout, sets::Store};

impl General {
    /// The sets and the row of `line`.
    #[inline(always)]
    pub(in crate::hierarchy) fn prefetch(&self, layout: &Layout, worker: WorkerId, line: u32) {
        let Some(path) = layout.paths.get(worker.index()) else { return };
        self.directory.prefetch(line);
        for step in &layout.steps[path.far()] {
            self.store.prefetch(&step.geometry, line);
        }
    }

    /// The rows of the lines that will make room and, for a write, the sets of other copies. Looks
    /// at what [`Self::prefetch`] brought near.
    #[inline(always)]
    pub(in crate::hierarchy) fn prepare(
        &self,
        layout: &Layout,
        worker: WorkerId,
        line: u32,
        write: bool,
    ) {
        let Some(path) = layout.paths.get(worker.index()) else { return };
        if path.private > 0 && self.directory.glance(line, layout.steps[path.start as usize].chain)
        {
            // It will be found near, and little will have to make room.
            return;
        }
        for step in &layout.steps[path.far()] {
            self.directory.prefetch(Store::line_of(self.store.last_in(&step.geometry, line)));
        }
        if write && line < self.lines {
            self.prefetch_others(layout, worker, line);
        }
    }

    /// The set of the outermost cache of each chain that holds a copy.
    fn prefetch_others(&self, layout: &Layout, worker: WorkerId, line: u32) {
        let row = self.directory.row(line);
        let others = &layout.others[worker.index() * layout.words..][..layout.words];
        for (h, (word, mask)) in row.iter().zip(others).enumerate() {
            for bit in bits([word & mask]) {
                let chain = &layout.chains[h * 64 + bit as usize];
                self.store.prefetch(&chain.outermost, line);
            }
        }
    }
}
