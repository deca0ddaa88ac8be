//! AMD's EPYC 7742 (Rome, 2019) and 9654 (Genoa, 2022): many small last-level caches in one socket.
//!
//! | figure | 7742 | 9654 | source |
//! |---|---|---|---|
//! | L1, L2, L3 | 32 KiB 8-way, 512 KiB 8-way, 16 MiB 16-way | 32 KiB 8-way, 1 MiB 8-way, 32 MiB 16-way | AMD software optimization guides for Zen 2 (56305) and Zen 4 (57647) |
//! | L1, L2 latency | 4, 13 cycles | 4, 14 cycles | 7742: AnandTech, "AMD Rome Second Generation EPYC Review" (2019), latency table; 9654: the guide |
//! | L3 latency | 34 cycles | 50 cycles | the same table; the guide's average |
//! | memory latency | 122 ns = 275 cycles | 120 ns = 288 cycles | the same table (one NUMA node a socket); 9654: estimate, Rome's with DDR5 |
//! | bandwidth a socket | 154 GB/s = 68 bytes a cycle | 345 GB/s = 144 bytes a cycle | estimates: three quarters of the peak of 8 channels DDR4-3200 (204.8) and 12 channels DDR5-4800 (460.8), as STREAM usually attains |
//! | remote latency | as memory | as memory; 480 cycles with two sockets | estimates: another chiplet's answer passes the I/O die as memory's does; across sockets some 200 ns |
//! | parallelism | 22 | 24 | the cores' miss buffers (the guides) |
//! | window | 112 operations | 160 operations | 224 and 320 macro-ops in flight (the guides), at about two an operation |
//!
//! An L3 belongs to 4 cores (7742) or 8 (9654) and is filled by what their L2s evict: close to a
//! victim cache. It is non-inclusive here for the reason given at `opteron-8380`. Operations cost
//! the assumed 1 cycle ([`crate::assumed`]) on Zen 2, and 0.8 on Zen 4, whose front and back ends
//! are six instructions wide.
//!
//! One controller stands for a socket's channels, between which the hardware interleaves. Hardware
//! threads are left out: one worker a core.

use super::Preset;

pub(super) const EPYC_7742: Preset = Preset {
    name: "epyc-7742",
    about: "16 chiplet halves × 4 cores, L3 16 MiB each",
    text: "(mhz=2250 latency=275 remote=275 controllers=1 bandwidth=68 parallelism=22 window=112 operation=1)
           l3:16(size=16MiB ways=16 latency=34) core:4
           l2:1(size=512KiB ways=8 latency=13) l1:1(size=32KiB ways=8 latency=4) pu:1",
};

pub(super) const EPYC_9654: Preset = Preset {
    name: "epyc-9654",
    about: "12 chiplets × 8 cores, L3 32 MiB each",
    text: "(mhz=2400 latency=288 remote=288 controllers=1 bandwidth=144 parallelism=24 window=160 operation=0.8)
           l3:12(size=32MiB ways=16 latency=50) core:8
           l2:1(size=1MiB ways=8 latency=14) l1:1(size=32KiB ways=8 latency=4) pu:1",
};

pub(super) const EPYC_9654_2P: Preset = Preset {
    name: "epyc-9654-2p",
    about: "2 sockets of epyc-9654",
    text: "(mhz=2400 latency=288 remote=480 controllers=2 bandwidth=144 parallelism=24 window=160 operation=0.8) pack:2
           l3:12(size=32MiB ways=16 latency=50) core:8
           l2:1(size=1MiB ways=8 latency=14) l1:1(size=32KiB ways=8 latency=4) pu:1",
};
