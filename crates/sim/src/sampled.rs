//! How a sample of a program stands for the whole of it.
//!
//! A [`Sample`] has all touches of one line in K. They run through caches with a Kth of the sets,
//! and find there what they would find in the whole caches. Each stands for K touches:
//!
//! - Counts of lines are K times those of the sample.
//! - A strand's operations are all charged, spread over the touches that the sample has of it. So
//!   these come K times further apart than the strand's.
//! - Therefore a core's window is K times longer, a latency is K times as long, and a line takes K
//!   times as long to pass a wire: what overlaps, and what queues, is as dense as it was, and the
//!   waits of one touch are those of K.
//! - Prefetchers are ahead of a stream by one latency of the machine, not K.
//! - The first touch of a page costs so many times more as the program has more pages than the
//!   sample has touches in.
//!
//! The *hot* lines, which workers take from one another again and again, are in all samples. Each
//! stands for itself: it has caches of its own beside the sample's, it takes the time of one line,
//! and workers come to it no further apart in time than they do without a sample.
//!
//! In the mean over all samples the counts are those of the whole program under the same schedule.
//! The times of strands vary with what a sample has of them, so that schedules differ.

use befit_cache::Hierarchy;
use befit_machine::{Bytes, Machine};
use befit_program::{LineGroups, Sample};

use crate::{SimError, hardware::PAGE_LINES, line_size, runs::TRAINED};

/// Lines of the program that one of a sample's stands for; 1 without a sample.
pub(crate) fn scale(sample: Option<&Sample>) -> u64 {
    sample.map_or(1, |sample| u64::from(sample.one_in()))
}

/// The groups of lines for samples of one line in `one_in` of a program recorded in lines of
/// `recorded` bytes, on `machine`. `None` where the sets of some cache cannot be divided so: each
/// group must have whole sets of all caches. A fully associative cache has one set, and a Kth of
/// its lines: that is right in the mean only (C. A. Waldspurger et al., "Efficient MRC construction
/// with SHARDS", FAST 2015). `None`, too, where a page has no line in some group.
pub fn groups(machine: &Machine, recorded: Bytes, one_in: u32) -> Option<LineGroups> {
    let (_, coarser) = line_size(machine, recorded).ok()?;
    let caches = machine.clusters().iter().filter_map(|cluster| cluster.cache);
    let sets = caches.map(|cache| cache.size.0 / cache.line.0 / u64::from(cache.ways.max(1)));
    let modulus = sets.map(|sets| 1 << sets.trailing_zeros().min(6)).min().unwrap_or(64);
    // A sample has a line of each page.
    let has_all_pages = u64::from(one_in) << coarser <= u64::from(PAGE_LINES);
    LineGroups::new(coarser, modulus, one_in).filter(|_| has_all_pages)
}

/// The largest K for which prefetchers that follow runs of neighbours (`runs=`) do so from the same
/// line on as without a sample: the first line of a run in a sample stands for the K before it.
pub fn most(machine: &Machine, recorded: Bytes) -> u32 {
    match line_size(machine, recorded) {
        Ok((_, coarser)) if machine.memory.runs > 0 => (TRAINED >> coarser).max(1),
        _ => u32::MAX,
    }
}

/// The caches of `machine`, or those of its sets that the sample's lines fall into.
pub(crate) fn caches(
    sample: Option<&Sample>,
    machine: &Machine,
    lines: u32,
    seed: u64,
) -> Result<Hierarchy, SimError> {
    let why = |why: String| SimError::Machine(why);
    let caches = match sample {
        None => Hierarchy::new(machine, lines, seed),
        Some(sample) => {
            let part = machine.clone().shrunk(sample.one_in());
            Hierarchy::new(&part.map_err(|e| why(e.to_string()))?, lines, seed)
        }
    };
    caches.map_err(|e| why(e.to_string()))
}
