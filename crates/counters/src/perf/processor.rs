//! Which processor this is (from /proc/cpuinfo), and which of its raw events count the misses that
//! the kernel has no generic name for.
//!
//! The kernel's generic events name the level-1 and the last-level cache, and not the level-2 cache
//! between them, which is the last private one of all x86 servers. Where the table has no entry,
//! the generic events must do, and [`Event::level`] says which level they are of.
//!
//! Sources:
//!
//! - the processors' event lists as published by Intel (perfmon), AMD (Processor Programming
//!   References) and Arm (Architecture Reference Manual, "PMU events"), in the form that the kernel
//!   ships: tools/perf/pmu-events/arch, with the models from its mapfile.csv;
//! - arch/x86/events/amd/core.c, for what the generic events stand for.

use std::{fs, path::Path};

use befit_machine::Level;

use crate::{Event, Quantity};

/// A processor, in its maker's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Processor {
    /// Intel, by family and model.
    Intel { family: u32, model: u32 },
    /// AMD, and Hygon's licensed Zen 1 (family 18h), by family.
    Amd { family: u32 },
    /// ARMv8 and later, by the maker of the core and its part number.
    Arm { implementer: u32, part: u32 },
}

impl Processor {
    /// The processor that this program runs on; `None` if it is another kind, or has cores of
    /// several kinds.
    pub(super) fn here() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/cpuinfo").ok()?)
    }

    fn parse(cpuinfo: &str) -> Option<Self> {
        let mut all = cpuinfo.split("\n\n").filter_map(Self::parse_core);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    fn parse_core(core: &str) -> Option<Self> {
        let field = |name: &str| {
            core.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim())
            })
        };
        let decimal = |name| field(name)?.parse().ok();
        let hexadecimal = |name| u32::from_str_radix(field(name)?.strip_prefix("0x")?, 16).ok();
        match field("vendor_id") {
            Some("GenuineIntel") => {
                Some(Self::Intel { family: decimal("cpu family")?, model: decimal("model")? })
            }
            Some("AuthenticAMD" | "HygonGenuine") => {
                Some(Self::Amd { family: decimal("cpu family")? })
            }
            Some(_) => None,
            None => Some(Self::Arm {
                implementer: hexadecimal("CPU implementer")?,
                part: hexadecimal("CPU part")?,
            }),
        }
    }
}

/// Whether the processor's cores are of several kinds, each kind with counters of its own (Intel's
/// P- and E-cores).
pub(super) fn is_hybrid() -> bool {
    Path::new("/sys/bus/event_source/devices/cpu_atom").exists()
}

/// A raw event of one family of processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RawEvent {
    pub(super) event: Event,
    /// As the kernel wants it: the event's code, and its unit mask times 256.
    pub(super) config: u64,
}

fn private(name: &'static str, config: u64) -> Option<RawEvent> {
    let event = Event { quantity: Quantity::PrivateMisses, level: Some(Level(2)), name };
    Some(RawEvent { event, config })
}

fn last_level(name: &'static str, config: u64) -> Option<RawEvent> {
    let event = Event { quantity: Quantity::LlcMisses, level: Some(Level(3)), name };
    Some(RawEvent { event, config })
}

/// The raw event for misses of the last private cache of `processor`, if that is L2.
///
/// - Intel: lines filled into L2, those that its prefetchers asked for included: the amount of a
///   task's data. L2_RQSTS.MISS would be nearer by name, but does not exist on Ice Lake.
/// - AMD: data-cache requests that miss L2. Lines that L2's own prefetchers bring in are left out:
///   streams come out too small.
/// - Arm: an event that the architecture defines.
pub(super) fn private_misses(processor: Processor) -> Option<RawEvent> {
    match processor {
        Processor::Intel { family: 6, model } => intel(model),
        Processor::Amd { family: 0x10 } => private("L2 Cache Misses: DC fill", 0x027e),
        Processor::Amd { family: 0x17..=0x1a } => private("l2_cache_req_stat.ls_rd_blk_c", 0x0864),
        // Neoverse N1, V1, N2, V2, V3, N3: L2 is the core's own. In many other cores of Arm's it is
        // shared, or optional.
        Processor::Arm {
            implementer: 0x41,
            part: 0xd0c | 0xd40 | 0xd49 | 0xd4f | 0xd84 | 0xd8e,
        } => private("L2D_CACHE_REFILL", 0x17),
        _ => None,
    }
}

/// Intel's family 6, by model. Its small cores (Atom) share L2, and are left out.
fn intel(model: u32) -> Option<RawEvent> {
    match model {
        // Nehalem and Westmere, among them the Xeon 7560 (2Eh).
        0x1a | 0x1e | 0x1f | 0x2e | 0x25 | 0x2c | 0x2f => private("L2_LINES_IN.ANY", 0x07f1),
        // Sandy Bridge, Ivy Bridge, Haswell, Broadwell.
        0x2a | 0x2d | 0x3a | 0x3e | 0x3c | 0x3f | 0x45 | 0x46 | 0x3d | 0x47 | 0x4f | 0x56 => {
            private("L2_LINES_IN.ALL", 0x07f1)
        }
        // Skylake to Comet Lake, Skylake-X to Cooper Lake; Ice Lake, Ice Lake-X, Rocket Lake, Tiger
        // Lake.
        0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6 | 0x55 | 0x7d | 0x7e | 0x6a | 0x6c | 0xa7
        | 0x8c | 0x8d => private("L2_LINES_IN.ALL", 0x1ff1),
        // Alder Lake and Raptor Lake (P-cores), Sapphire, Emerald and Granite Rapids.
        0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0x8f | 0xcf | 0xad | 0xae => {
            private("L2_LINES_IN.ALL", 0x1f25)
        }
        _ => None,
    }
}

/// The raw event for misses of the last-level cache of `processor`, if the kernel's generic one
/// counts something else. The counters of AMD's L3 belong to no thread. Fills of the data cache
/// from beyond the core's own L3 do.
pub(super) fn llc_misses(processor: Processor) -> Option<RawEvent> {
    match processor {
        Processor::Amd { family: 0x17 | 0x18 } => {
            last_level("ls_refills_from_sys: lcl_dram, rmt_cache, rmt_dram", 0x5843)
        }
        Processor::Amd { family: 0x19 | 0x1a } => {
            last_level("ls_any_fills_from_sys: all but local_l2, local_ccx", 0xdc44)
        }
        _ => None,
    }
}

/// Whether the kernel's generic events for last-level misses count those of another cache: AMD's
/// are its L2's.
pub(super) fn generic_llc_is_another(processor: Processor) -> bool {
    matches!(processor, Processor::Amd { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_known_by_their_makers_numbers_if_all_cores_are_of_one_kind() {
        let intel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                     model name\t: Xeon\n";
        assert_eq!(Processor::parse(intel), Some(Processor::Intel { family: 6, model: 143 }));
        let amd = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\n\
                   vendor_id\t: AuthenticAMD\ncpu family\t: 25\n";
        assert_eq!(Processor::parse(amd), Some(Processor::Amd { family: 25 }));
        let core = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(Processor::parse(core), Some(Processor::Arm { implementer: 0x41, part: 0xd0c }));
        let mixed = "CPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n\
                     CPU implementer\t: 0x41\nCPU part\t: 0xd0a\n";
        assert_eq!(Processor::parse(mixed), None);
    }

    #[test]
    fn text_that_is_no_cpuinfo_names_no_processor() {
        let lines = ["vendor_id", "vendor_id : GenuineIntel", "vendor_id : VIA", "CPU part : 0xzz"];
        for text in ["", "\n\n"].into_iter().chain(lines) {
            assert_eq!(Processor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn servers_have_events_for_l2_and_the_last_level_by_their_makers_code() {
        let (intel, amd) =
            (|model| Processor::Intel { family: 6, model }, |family| Processor::Amd { family });
        let arm = |part| Processor::Arm { implementer: 0x41, part };
        for (processor, private, last) in [
            (intel(0x2e), Some(0x07f1), None),       // Xeon 7560
            (intel(0x55), Some(0x1ff1), None),       // Skylake-X
            (intel(0x8f), Some(0x1f25), None),       // Sapphire Rapids
            (amd(0x10), Some(0x027e), None),         // Opteron 8380
            (amd(0x17), Some(0x0864), Some(0x5843)), // EPYC 7742
            (amd(0x19), Some(0x0864), Some(0xdc44)), // EPYC 9654
            (amd(0x1a), Some(0x0864), Some(0xdc44)),
            (arm(0xd0c), Some(0x17), None), // Neoverse N1
            // Their L2 is shared or unknown.
            (intel(0x37), None, None), // Silvermont
            (Processor::Intel { family: 15, model: 4 }, None, None),
            (arm(0xd03), None, None), // Cortex-A53
        ] {
            assert_eq!(private_misses(processor).map(|raw| raw.config), private, "{processor:?}");
            assert_eq!(llc_misses(processor).map(|raw| raw.config), last, "{processor:?}");
        }
        assert!(generic_llc_is_another(amd(0x10)));
    }
}
