//! Four sockets of Intel's Xeon X7560 (Nehalem-EX, 2010): the space-bounded study's machine.
//!
//! | figure | value | source |
//! |---|---|---|
//! | L1, L2, L3 | 32 KiB 8-way, 256 KiB 8-way, 24 MiB 24-way inclusive | Intel 64 and IA-32 Optimization Reference Manual, Nehalem; Xeon 7500 datasheet vol. 2 |
//! | L1, L2, L3 latency | 4, 9, 63 cycles | AnandTech, "High-End x86: The Nehalem-EX Xeon 7500 and Dell R810" (2010), latency table |
//! | memory latency | 160 ns = 363 cycles | the same table |
//! | bandwidth | 18 GB/s a socket = 8 bytes a cycle | the same page: Intel expected 36 GB/s of STREAM from two sockets; 25 to 29 were measured with plain builds |
//! | remote latency | 363 cycles | estimate: on the two-socket Nehalem, a clean line in the other socket's L3 takes as long as local memory (63 against 65 ns; Molka et al., PACT 2009) |
//! | parallelism | 10 | the core's ten line-fill buffers; 10 × 64 bytes in 160 ns are 4 GB/s, against 5 GB/s measured on one thread (same page) |
//! | window | 64 operations | 128 instructions in flight (the manual), at about two an operation |
//!
//! Operations cost the assumed 1 cycle ([`crate::assumed`]): a 4-wide core.

use super::Preset;

macro_rules! text {
    ($threads:literal) => {
        concat!(
            "(mhz=2266 latency=363 remote=363 controllers=4 bandwidth=8 parallelism=10 window=64 operation=1) pack:4
             l3:1(size=24MiB ways=24 latency=63 inclusion=inclusive) core:8
             l2:1(size=256KiB ways=8 latency=9) l1:1(size=32KiB ways=8 latency=4) pu:",
            $threads
        )
    };
}

pub(super) const XEON_7560: Preset = Preset {
    name: "xeon-7560",
    about: "4 sockets × 8 cores, L3 24 MiB a socket (the space-bounded study's machine)",
    text: text!("1"),
};

pub(super) const XEON_7560_HT: Preset = Preset {
    name: "xeon-7560-ht",
    about: "the same with 2 hardware threads a core",
    text: text!("2"),
};
