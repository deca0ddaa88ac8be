//! The simulated SPARC core of the footprint-based scheduling study (GEMS on Simics).
//!
//! Sizes, associativity and latencies are the study's own table: L1 16 KiB direct-mapped 1 cycle,
//! L2 1 MiB direct-mapped 13 cycles, memory 200 cycles, lines of 64 bytes.
//!
//! The rest makes it the in-order core that the study simulates: one miss at a time (parallelism 1,
//! window 0); two issue slots (`issue=2`); and two instructions per recorded operation
//! (`instructions=2`: its array loop has 4 for one load and one basic block), so 1 cycle an
//! operation. Its memory has no bandwidth limit; 64 bytes a cycle never binds with one miss at a
//! time. There is no other last-level cache, so the remote latency is memory's.

use super::Preset;

pub(super) const GEMS_SPARC: Preset = Preset {
    name: "gems-sparc",
    about: "1 core, L1 16 KiB and L2 1 MiB, both direct-mapped (the footprint study's simulated machine)",
    text: "(mhz=1000 latency=200 remote=200 controllers=1 bandwidth=64 parallelism=1 window=0 instructions=2 issue=2)
           l2:1(size=1MiB ways=1 latency=13) l1:1(size=16KiB ways=1 latency=1) core:1 pu:1",
};
