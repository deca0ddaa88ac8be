//! Four sockets of AMD's Opteron 8380 (Shanghai, 2008): CATS's machine.
//!
//! | figure | value | source |
//! |---|---|---|
//! | L1, L2, L3 | 64 KiB 2-way, 512 KiB 16-way, 6 MiB 48-way | AMD Family 10h software optimization guide (40546), BKDG (31116) |
//! | L1, L2, L3 latency | 3, 16, 56 cycles | AnandTech, "AMD's 12-core Magny-Cours Opteron 6174 vs Intel's 6-core Xeon" (2010), latency table, Opteron 2435: the same core and L3 design at 2.6 GHz |
//! | memory latency | 100 ns = 250 cycles | estimate: J. McCalpin, "AMD Opteron Local Memory Latency Chart" (2010), has 74 ns for Shanghai in two sockets and 100 to 130 ns for its forerunner in four, which like it must ask all sockets |
//! | bandwidth | 10 GB/s a socket = 4 bytes a cycle | estimate: the AnandTech page puts the 2435, which has the same two DDR2-800 channels, at 21 GB/s of STREAM for two sockets; peak 12.8 a socket |
//! | remote latency | 300 cycles | estimate: memory's, and a hop of 20 ns |
//! | parallelism | 8 | estimate: eight misses of a core in flight |
//! | window | 36 operations | 72 macro-ops in flight (the guide), at about two an operation |
//!
//! Operations cost 1.2 cycles: a 3-wide core, against the assumed 1 cycle of 4-wide ones
//! ([`crate::assumed`]).
//!
//! In the hardware L2 and L3 are victim caches, and the L3 keeps lines that several cores share. It
//! is non-inclusive here: a strict victim cache hands a line over on every hit, so that a sibling
//! core's read of shared data would look like an L3 miss, which the hardware avoids and CATS's
//! counts do not show; and with 2 MiB of L2 a socket against 6 MiB of L3 the capacity that
//! exclusion adds is small. `inclusion=exclusive` in a copy of the string below gives the other.

use super::Preset;

pub(super) const OPTERON_8380: Preset = Preset {
    name: "opteron-8380",
    about: "4 sockets × 4 cores, L3 6 MiB a socket (CATS's machine)",
    text: "(mhz=2500 latency=250 remote=300 controllers=4 bandwidth=4 parallelism=8 window=36 operation=1.2) pack:4
           l3:1(size=6MiB ways=48 latency=56 inclusion=noninclusive) core:4
           l2:1(size=512KiB ways=16 latency=16) l1:1(size=64KiB ways=2 latency=3) pu:1",
};
