//! The figures of the presets, each with its source.

use super::Preset;

macro_rules! text {
    ($sockets:literal, $threads:literal) => {
        concat!(
            "(mhz=2266 latency=363 remote=363 clean=cache bandwidth=8 package-link=15
            parallelism=10 streams=12.5 window=64 operation=1) pack:",
            $sockets,
            " l3:1(size=24MiB ways=24 latency=63 inclusion=inclusive) core:8
             l2:1(size=256KiB ways=8 latency=9) l1:1(size=32KiB ways=8 latency=4) pu:",
            $threads
        )
    };
}

/// Four sockets of Intel's Xeon X7560 (Nehalem-EX, 2010): the space-bounded study's machine.
///
/// | figure | value | source |
/// |---|---|---|
/// | L1, L2, L3 | 32 KiB 8-way, 256 KiB 8-way, 24 MiB 24-way inclusive | Intel 64 and IA-32 Optimization Reference Manual, Nehalem; Xeon 7500 datasheet vol. 2 |
/// | L1, L2, L3 latency | 4, 9, 63 cycles | AnandTech, "High-End x86: The Nehalem-EX Xeon 7500 and Dell R810" (2010), latency table |
/// | memory latency | 160 ns = 363 cycles | the same table |
/// | bandwidth | 18 GB/s a socket = 8 bytes a cycle | the same page: Intel expected 36 GB/s of STREAM from two sockets; 25 to 29 were measured with plain builds |
/// | remote latency | 363 cycles | estimate: on the two-socket Nehalem, a clean line in the other socket's L3 takes as long as local memory (63 against 65 ns; Molka et al., PACT 2009) |
/// | streams | 12.5 | 160 ns × the 5 GB/s that one thread gets (same page) / 64 bytes |
/// | package link | 34 GB/s = 15 bytes a cycle | three QPI links to the three other sockets at 6.4 GT/s × 2 bytes = 12.8 GB/s in each direction (Intel, "An Introduction to the Intel QuickPath Interconnect", 2009); of nine flits eight carry a line |
/// | clean lines | from the other cache | MESIF's forward state (the same introduction) |
/// | link, fabric | none | not known: the ring of an L3 passes far more than its memory and links |
/// | parallelism | 10 | the core's ten line-fill buffers; 10 × 64 bytes in 160 ns are 4 GB/s, against 5 GB/s measured on one thread (same page) |
/// | window | 64 operations | 128 instructions in flight (the manual), at about two an operation |
///
/// Operations cost the assumed 1 cycle ([`crate::assumed`]): a 4-wide core.
pub(super) const XEON_7560: Preset = Preset {
    name: "xeon-7560",
    about: "4 sockets × 8 cores, L3 24 MiB a socket (the space-bounded study's machine)",
    text: text!("4", "1"),
    beside: None,
};

pub(super) const XEON_7560_HT: Preset = Preset {
    name: "xeon-7560-ht",
    about: "the same with 2 hardware threads a core",
    text: text!("4", "2"),
    beside: None,
};

/// A machine with a single last-level cache: work stealing is all that it needs.
pub(super) const XEON_7560_1S: Preset = Preset {
    name: "xeon-7560-1s",
    about: "one socket of xeon-7560: a single last-level cache",
    text: text!("1", "1"),
    beside: None,
};

/// Four sockets of AMD's Opteron 8380 (Shanghai, 2008): CATS's machine.
///
/// | figure | value | source |
/// |---|---|---|
/// | L1, L2, L3 | 64 KiB 2-way, 512 KiB 16-way, 6 MiB 48-way | AMD Family 10h software optimization guide (40546), BKDG (31116) |
/// | L1, L2, L3 latency | 3, 16, 56 cycles | AnandTech, "AMD's 12-core Magny-Cours Opteron 6174 vs Intel's 6-core Xeon" (2010), latency table, Opteron 2435: the same core and L3 design at 2.6 GHz |
/// | memory latency | 100 ns = 250 cycles | estimate: J. McCalpin, "AMD Opteron Local Memory Latency Chart" (2010), has 74 ns for Shanghai in two sockets and 100 to 130 ns for its forerunner in four, which like it must ask all sockets |
/// | bandwidth | 10 GB/s a socket = 4 bytes a cycle | estimate: the AnandTech page puts the 2435, which has the same two DDR2-800 channels, at 21 GB/s of STREAM for two sockets; peak 12.8 a socket |
/// | remote latency | 300 cycles | estimate: memory's, and a hop of 20 ns |
/// | parallelism | 8 | estimate: eight misses of a core in flight |
/// | streams | 8 | not known: taken as the parallelism, with which one thread gets 5 GB/s |
/// | package link | 7.1 GB/s = 2.8 bytes a cycle | estimate: two coherent HyperTransport links a socket (four in a square) at 2 GT/s × 2 bytes = 4 GB/s in each direction; eight bytes of header a line |
/// | clean lines | from memory | in AMD's MOESI only an owner, whose copy is modified, supplies a line (AMD64 Architecture Programmer's Manual 2, 24593, section 7.3) |
/// | link, fabric | none | not known: the crossbar passes more than memory and links |
/// | window | 36 operations | 72 macro-ops in flight (the guide), at about two an operation |
///
/// Operations cost 1.2 cycles: a 3-wide core, against the assumed 1 cycle of 4-wide ones
/// ([`crate::assumed`]).
///
/// In the hardware L2 and L3 are victim caches, and the L3 keeps lines that several cores share. It
/// is non-inclusive here: a strict victim cache hands a line over on every hit, so that a sibling
/// core's read of shared data would look like an L3 miss, which the hardware avoids and CATS's
/// counts do not show; and with 2 MiB of L2 a socket against 6 MiB of L3 the capacity that
/// exclusion adds is small. `inclusion=exclusive` in a copy of the string below gives the other.
pub(super) const OPTERON_8380: Preset = Preset {
    name: "opteron-8380",
    about: "4 sockets × 4 cores, L3 6 MiB a socket (CATS's machine)",
    text: "(mhz=2500 latency=250 remote=300 clean=memory controllers=4 bandwidth=4 package-link=2.8
            parallelism=8 streams=8 window=36 operation=1.2) pack:4
           l3:1(size=6MiB ways=48 latency=56 inclusion=noninclusive) core:4
           l2:1(size=512KiB ways=16 latency=16) l1:1(size=64KiB ways=2 latency=3) pu:1",
    beside: None,
};

/// The simulated SPARC core of the footprint-based scheduling study (GEMS on Simics).
///
/// Sizes, associativity and latencies are the study's own table: L1 16 KiB direct-mapped 1 cycle,
/// L2 1 MiB direct-mapped 13 cycles, memory 200 cycles, lines of 64 bytes.
///
/// The rest makes it the in-order core that the study simulates: one miss at a time (parallelism 1,
/// window 0); two issue slots (`issue=2`); and two instructions per recorded operation
/// (`instructions=2`: its array loop has 4 for one load and one basic block), so 1 cycle an
/// operation. Its memory has no bandwidth limit; 64 bytes a cycle never binds with one miss at a
/// time. There is no other last-level cache, so the remote latency is memory's.
pub(super) const GEMS_SPARC: Preset = Preset {
    name: "gems-sparc",
    about: "1 core, L1 16 KiB and L2 1 MiB, both direct-mapped (the footprint study's simulated \
            machine)",
    text: "(mhz=1000 latency=200 remote=200 controllers=1 bandwidth=64 parallelism=1 window=0
            instructions=2 issue=2)
           l2:1(size=1MiB ways=1 latency=13) l1:1(size=16KiB ways=1 latency=1) core:1 pu:1",
    beside: None,
};

/// AMD's EPYC 7742 (Rome, 2019) and 9654 (Genoa, 2022): many small last-level caches in one socket.
///
/// | figure | 7742 | 9654 | source |
/// |---|---|---|---|
/// | L1, L2, L3 | 32 KiB 8-way, 512 KiB 8-way, 16 MiB 16-way | 32 KiB 8-way, 1 MiB 8-way, 32 MiB 16-way | AMD software optimization guides for Zen 2 (56305) and Zen 4 (57647) |
/// | L1, L2 latency | 4, 13 cycles | 4, 14 cycles | 7742: AnandTech, "AMD Rome Second Generation EPYC Review" (2019), latency table; 9654: the guide |
/// | L3 latency | 34 cycles | 50 cycles | the same table; the guide's average |
/// | memory latency | 122 ns = 275 cycles | 120 ns = 288 cycles | the same table (one NUMA node a socket); 9654: estimate, Rome's with DDR5 |
/// | bandwidth a socket | 154 GB/s = 68 bytes a cycle | 345 GB/s = 144 bytes a cycle | estimates: three quarters of the peak of 8 channels DDR4-3200 (204.8) and 12 channels DDR5-4800 (460.8), as STREAM usually attains |
/// | remote latency | as memory | as memory; 480 cycles from the other socket | estimates: another chiplet's data passes the I/O die as memory's does; across sockets some 200 ns |
/// | link of an L3 | 23.5 GB/s in, 11.7 out = 10.4 and 5.2 bytes a cycle | 57.6 GB/s in, 28.8 out = 24 and 12 bytes a cycle | 32 bytes in and 16 out per cycle of the fabric's clock for each chiplet (AMD's Zen 2 presentation at Hot Chips 31, 2019; Zen 4's narrow mode, from memory), which is 1467 MHz on Rome and 1800 on Genoa. Two L3s of Rome share a chiplet's: each is given half, which is too little for one alone |
/// | fabric | none | none | not known: the I/O die is not told to pass less than memory and links |
/// | package link | | 192 GB/s = 80 bytes a cycle | estimate: three of the at most four xGMI links, 16 lanes at 32 GT/s = 64 GB/s in each direction |
/// | clean lines | from memory | from memory | the probe filter knows owners, and only a modified copy is asked for (AMD's MOESI, as at `opteron-8380`); estimate for Zen 4 |
/// | streams | 40 | 50 | estimates: 122 ns × 21 GB/s and 120 ns × 27 GB/s of one core / 64 bytes |
/// | parallelism | 22 | 24 | the cores' miss buffers (the guides) |
/// | window | 112 operations | 160 operations | 224 and 320 macro-ops in flight (the guides), at about two an operation |
///
/// An L3 belongs to 4 cores (7742) or 8 (9654) and is filled by the victims of their L2s: close to
/// a victim cache. It is non-inclusive here for the reason given at `opteron-8380`. Operations cost
/// the assumed 1 cycle ([`crate::assumed`]) on Zen 2, and 0.8 on Zen 4, whose front and back ends
/// are six instructions wide.
///
/// One controller stands for a socket's channels, between which the hardware interleaves. Hardware
/// threads are left out: one worker a core.
pub(super) const EPYC_7742: Preset = Preset {
    name: "epyc-7742",
    about: "16 chiplet halves × 4 cores, L3 16 MiB each",
    text: "(mhz=2250 latency=275 remote=275 clean=memory controllers=1 bandwidth=68 parallelism=22
            streams=40 window=112 operation=1)
           l3:16(size=16MiB ways=16 latency=34 link=10.4 link-write=5.2) core:4
           l2:1(size=512KiB ways=8 latency=13) l1:1(size=32KiB ways=8 latency=4) pu:1",
    beside: None,
};

pub(super) const EPYC_9654: Preset = Preset {
    name: "epyc-9654",
    about: "12 chiplets × 8 cores, L3 32 MiB each",
    text: "(mhz=2400 latency=288 remote=288 clean=memory controllers=1 bandwidth=144 parallelism=24
            streams=50 window=160 operation=0.8)
           l3:12(size=32MiB ways=16 latency=50 link=24 link-write=12) core:8
           l2:1(size=1MiB ways=8 latency=14) l1:1(size=32KiB ways=8 latency=4) pu:1",
    beside: None,
};

pub(super) const EPYC_9654_2P: Preset = Preset {
    name: "epyc-9654-2p",
    about: "2 sockets of epyc-9654",
    text: "(mhz=2400 latency=288 remote=288 far=480 clean=memory controllers=2 bandwidth=144
            package-link=80 parallelism=24 streams=50 window=160 operation=0.8) pack:2
           l3:12(size=32MiB ways=16 latency=50 link=24 link-write=12) core:8
           l2:1(size=1MiB ways=8 latency=14) l1:1(size=32KiB ways=8 latency=4) pu:1",
    beside: None,
};

/// AMD's Ryzen AI 9 HX 370 (Strix Point, 2024): four fast cores and eight slower ones, each kind
/// under a last-level cache of its own.
///
/// | figure | value | source |
/// |---|---|---|
/// | clusters | 4 Zen 5 cores with 16 MiB of L3, at up to 5.15 GHz; 8 Zen 5c cores with 8 MiB, at up to 3.3 GHz | Chips and Cheese, "AMD's Strix Point: Zen 5 Hits Mobile" (2024) |
/// | L1, L2, L3 | 48 KiB 12-way, 1 MiB 16-way, 16-way | AMD software optimization guide for Zen 5 (58455) |
/// | speed of the slower cores | 64 % | 3.3 / 5.15: both kinds do the same in a cycle |
/// | L1, L2, L3 latency | 4, 14, 46 cycles of the core's own clock | L1, L2: the guide; L3: estimate, between Zen 4's 50 and Zen 3's 46. Of the slower cores, in cycles of the faster: 6, 22, 72 |
/// | memory latency | 130 ns = 670 cycles | estimate: some 10 ns above desktops' DDR5, as LPDDR5X is |
/// | bandwidth | 90 GB/s = 17.5 bytes a cycle | estimate: three quarters of the peak of 128 bits of LPDDR5X-7500 (120) |
/// | remote latency | 930 cycles | estimate: a line that the other cluster has modified takes some 180 ns |
/// | link of an L3 | 64 GB/s in, 32 out = 12.4 and 6.2 bytes a cycle | estimate: as on Zen 4 (`epyc-9654`), with a fabric at 2 GHz |
/// | fabric | none | not known |
/// | clean lines | from memory | as `epyc-7742` |
/// | streams | 60 | estimate: 130 ns × 30 GB/s of one core / 64 bytes |
/// | parallelism | 24 | estimate: as Zen 4 |
/// | window | 224 operations | 448 macro-ops in flight (the guide), at about two an operation |
///
/// The clocks are the highest ones: the base clock of both kinds is the same 2 GHz, which would
/// make them equal. Operations cost 0.7 cycles: eight macro-ops wide, against Zen 4's six.
/// Hardware threads are left out: one worker a core.
pub(super) const RYZEN_HX_370: Preset = Preset {
    name: "ryzen-hx-370",
    about: "4 cores with 16 MiB of L3 beside 8 slower ones with 8 MiB",
    text: "(mhz=5150 latency=670 remote=930 clean=memory controllers=1 bandwidth=17.5
            parallelism=24 streams=60 window=224 operation=0.7)
           l3:1(size=16MiB ways=16 latency=46 link=12.4 link-write=6.2) core:4
           l2:1(size=1MiB ways=16 latency=14) l1:1(size=48KiB ways=12 latency=4) pu:1",
    beside: Some(
        "l3:1(size=8MiB ways=16 latency=72 link=12.4 link-write=6.2) core:8(speed=64)
         l2:1(size=1MiB ways=16 latency=22) l1:1(size=48KiB ways=12 latency=6) pu:1",
    ),
};
