//! What each strand moved, from what the engine counts of its worker.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use befit_machine::WorkerId;
use crossbeam_utils::CachePadded;

use crate::{CountSource, Env, WorkerCounts};

/// Of one strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sample {
    /// Lines brought into the private caches.
    pub(super) lines: u64,
    /// Those that came from further than the shared one.
    pub(super) llc_misses: u64,
    pub(super) instructions: u64,
}

/// Per worker, the counts at the beginning of its strand.
#[derive(Debug)]
pub(super) struct Meters {
    begun: Vec<CachePadded<[AtomicU64; 3]>>,
    source: Mutex<Option<CountSource>>,
}

impl Meters {
    pub(super) fn new(workers: usize) -> Self {
        Self { begun: (0..workers).map(|_| CachePadded::default()).collect(), source: Mutex::new(None) }
    }

    /// A strand begins on `w`.
    pub(super) fn begin(&self, w: WorkerId, env: &mut dyn Env) {
        if let Some(counts) = env.counts() {
            let begun = &self.begun[w.index()];
            begun[0].store(counts.private_misses, Relaxed);
            begun[1].store(counts.llc_misses, Relaxed);
            begun[2].store(counts.instructions, Relaxed);
        }
    }

    /// A strand ends on `w`: what it did, where something counts.
    pub(super) fn end(&self, w: WorkerId, env: &mut dyn Env) -> Option<Sample> {
        let counts = env.counts()?;
        let [private_misses, llc_misses, instructions] = [0, 1, 2].map(|i| self.begun[w.index()][i].load(Relaxed));
        let strand = counts.since(WorkerCounts { private_misses, llc_misses, instructions });
        Some(Sample { lines: strand.private_misses, llc_misses: strand.llc_misses, instructions: strand.instructions })
    }

    /// Sizes came from `source`.
    pub(super) fn note(&self, source: Option<CountSource>) {
        *self.source.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = source;
    }

    pub(super) fn source(&self) -> Option<CountSource> {
        *self.source.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
