//! Figures that are assumed where a machine's description does not tell them.
//!
//! Descriptions of real machines (sysfs, hwloc) tell the tree of caches and their sizes, never
//! their speeds. The figures here fill that in. They are typical of x86 servers of 2018 to 2024 and
//! meant for comparing schedulers, not for predicting times; where times matter, use a preset or
//! give the figures in a synthetic string.

use crate::{
    Bytes, Cache, CleanSource, Cycles, Frames, Inclusion, Level, Memory, Pages, Placement, Prices,
    Replacement,
};

/// The line length of x86 and of most Arm cores.
pub const LINE: Bytes = Bytes(64);

/// A server's sustained clock, where no other is known.
pub const MHZ: u32 = 2500;

/// One recorded operation stands for two to three machine instructions (itself, its address, its
/// arithmetic), of which a 4-wide out-of-order core retires about two and a half a cycle. To be
/// replaced by calibration against native time where a machine is at hand.
pub const CYCLES_PER_OPERATION: f64 = 1.0;

/// Load to use: L1 4 and L2 14 cycles as on Zen 2 and Skylake-SP; L3 50, between Zen's chiplets (39
/// to 50) and Intel's meshes (70); anything outside of it 80 (an estimate: few machines have one).
pub fn latency(level: Level) -> Cycles {
    Cycles(match level.0 {
        0 | 1 => 4,
        2 => 14,
        3 => 50,
        _ => 80,
    })
}

/// 100 ns and, of one controller, 100 GB/s, as cycles of a clock of `mhz`: about a socket of eight
/// DDR4-3200 channels at half its peak.
///
/// Parallelism 10: the line-fill buffers of an Intel core from Nehalem to Skylake; a streaming run
/// keeps them full. Window 112: half of the 224 instructions that Skylake and Zen 2 have in flight,
/// as an operation stands for about two. A cache of another socket takes 1.4 times the time of
/// local memory, as on two-socket Xeons and EPYCs. Wires of which nothing is known do not bind.
pub fn memory(mhz: u32) -> Memory {
    let cycles = |at_2500: u64| Cycles((at_2500 * u64::from(mhz) + 1250) / 2500);
    Memory {
        latency: cycles(250),
        controllers: 1,
        bandwidth: 40.0 * 2500.0 / f64::from(mhz),
        placement: Placement::default(),
        parallelism: 10.0,
        streams: None,
        window: 112,
        runs: 0,
        remote_latency: cycles(350),
        far_latency: cycles(350),
        clean: CleanSource::default(),
        fabric: None,
        package_link: None,
        pages: None,
    }
}

/// How pages are found where only a part of it is told: 1536 entries and two walks at once, as on
/// Skylake-SP and Zen 2; 50 cycles a walk.
pub(crate) const PAGES: Pages =
    Pages { tlb: 1536, walk: 50.0, walks: 2.0, tables: 1, frames: Frames::SideBySide };

/// What scheduling costs where it was not measured: figures of befit's own threads on x86 servers
/// of 2020 to 2024, rounded. A sleeping worker is awake 5 µs after the call that wakes it; a page
/// fault on fresh memory takes about 0.7 µs at 3.5 GHz.
pub fn prices(mhz: u32) -> Prices {
    Prices {
        inlined: 2.0,
        spawn: 100.0,
        job: 0.0,
        pending: 70.0,
        region: 180.0,
        published: 350.0,
        stolen: 1800.0,
        call: 50.0,
        lock: 50.0,
        steal: 100.0,
        far_steal: 300.0,
        poll: 200.0,
        wake: 5.0 * f64::from(mhz),
        fault: 2500.0,
    }
}

/// hwloc's own default for a synthetic cache without `size=`: L1 32 KiB, each further level
/// fourfold, L2 4 MiB.
pub(crate) fn size(level: Level) -> Bytes {
    if level.0 <= 1 { Bytes::kib(32) } else { Bytes::kib(256 << (2 * u64::from(level.0.min(16)))) }
}

/// The size of a real cache whose size is not told, as on boards whose device tree leaves it out:
/// small, so that more is not promised than is there. See [`holding`].
pub(crate) fn untold_size(level: Level) -> Bytes {
    match level.0 {
        0 | 1 => Bytes::kib(32),
        2 => Bytes::kib(512),
        _ => Bytes::mib(4),
    }
}

/// A cache of which only the level is known, or some of the rest. `line` and `ways` of `None` are
/// filled in.
pub(crate) fn cache(level: Level, size: Bytes, line: Option<Bytes>, ways: Option<u32>) -> Cache {
    let line = line.unwrap_or(LINE);
    Cache {
        level,
        size,
        line,
        ways: ways.unwrap_or_else(|| self::ways(level, size, line)),
        replacement: Replacement::default(),
        inclusion: Inclusion::default(),
        latency: latency(level),
        transfer: None,
        stream: None,
        link: None,
    }
}

/// A cache as real hardware's description tells it, and whether its size had to be assumed.
/// Associativity that contradicts size and line counts as not told: some firmware's does (a 32 MiB
/// L3 of 128-byte lines in 15 ways on HiSilicon's Kunpeng 920).
pub(crate) fn completed(
    level: Level,
    size: Option<Bytes>,
    line: Option<Bytes>,
    ways: Option<u32>,
) -> (Cache, bool) {
    let known = size.unwrap_or_else(|| untold_size(level));
    let set = |ways: u32| line.unwrap_or(LINE).0.saturating_mul(u64::from(ways.max(1))).max(1);
    let ways = ways.filter(|ways| known.0.is_multiple_of(set(*ways)));
    (cache(level, known, line, ways), size.is_none())
}

/// `cache`, whose size is assumed, with room for the `largest` of those below it, in whole sets: no
/// cache is smaller than one below.
pub(crate) fn holding(cache: Cache, largest: Bytes) -> Cache {
    let set = cache.line.0.saturating_mul(u64::from(cache.ways.max(1))).max(1);
    let least = largest.0.checked_next_multiple_of(set).map_or(largest, Bytes);
    Cache { size: cache.size.max(least), ..cache }
}

/// The associativity where it is not told: the largest up to 16 (8 for L1) that divides the number
/// of lines.
pub(crate) fn ways(level: Level, size: Bytes, line: Bytes) -> u32 {
    let most = if level.0 <= 1 { 8 } else { 16 };
    let lines = size.0.checked_div(line.0).unwrap_or(0);
    (1..=most).rev().find(|w| lines.is_multiple_of(u64::from(*w))).unwrap_or(1)
}

/// The speed of a core with `percent` of the fastest core's. From 90 up it counts as equal:
/// favoured cores, which may clock a few percent higher than their neighbours while few are busy,
/// are no other kind of core.
pub(crate) fn speed(percent: f64) -> u32 {
    if percent >= 90.0 { 100 } else { percent.round().max(1.0) as u32 }
}
