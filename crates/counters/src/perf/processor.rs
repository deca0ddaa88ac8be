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

const fn private(name: &'static str, code: u64, mask: u64) -> RawEvent {
    let event = Event { quantity: Quantity::PrivateMisses, level: Some(Level(2)), name };
    RawEvent { event, config: code | mask << 8 }
}

const fn last_level(name: &'static str, code: u64, mask: u64) -> RawEvent {
    let event = Event { quantity: Quantity::LlcMisses, level: Some(Level(3)), name };
    RawEvent { event, config: code | mask << 8 }
}

// Intel: lines filled into L2, those that its prefetchers asked for included: the amount of a
// task's data. L2_RQSTS.MISS would be nearer by name, but does not exist on Ice Lake.
const L2_LINES_IN_ANY: RawEvent = private("L2_LINES_IN.ANY", 0xf1, 0x07); // Nehalem, Westmere
const L2_LINES_IN_TO_BROADWELL: RawEvent = private("L2_LINES_IN.ALL", 0xf1, 0x07);
const L2_LINES_IN_TO_TIGER_LAKE: RawEvent = private("L2_LINES_IN.ALL", 0xf1, 0x1f);
const L2_LINES_IN_SINCE_GOLDEN_COVE: RawEvent = private("L2_LINES_IN.ALL", 0x25, 0x1f);

// AMD: data-cache requests that miss L2. Lines that L2's own prefetchers bring in are left out:
// streams come out too small.
const L2_MISS_K10: RawEvent = private("L2 Cache Misses: DC fill", 0x7e, 0x02);
const L2_MISS_ZEN: RawEvent = private("l2_cache_req_stat.ls_rd_blk_c", 0x64, 0x08);
// The counters of AMD's L3 belong to no thread. Fills of the data cache from beyond the core's own
// L3 do.
const FROM_BEYOND_ZEN_1: RawEvent =
    last_level("ls_refills_from_sys: lcl_dram, rmt_cache, rmt_dram", 0x43, 0x58);
const FROM_BEYOND_ZEN_3: RawEvent =
    last_level("ls_any_fills_from_sys: all but local_l2, local_ccx", 0x44, 0xdc);

// Arm: an event that the architecture defines.
const L2_REFILL_ARM: RawEvent = private("L2D_CACHE_REFILL", 0x17, 0);

/// The raw event for misses of the last private cache of `processor`, if that is L2.
pub(super) fn private_misses(processor: Processor) -> Option<RawEvent> {
    match processor {
        Processor::Intel { family: 6, model } => intel(model),
        Processor::Intel { .. } => None,
        Processor::Amd { family: 0x10 } => Some(L2_MISS_K10),
        Processor::Amd { family: 0x17..=0x1a } => Some(L2_MISS_ZEN),
        Processor::Amd { .. } => None,
        // Neoverse N1, V1, N2, V2, V3, N3: L2 is the core's own. In many other cores of Arm's it is
        // shared, or optional.
        Processor::Arm {
            implementer: 0x41,
            part: 0xd0c | 0xd40 | 0xd49 | 0xd4f | 0xd84 | 0xd8e,
        } => Some(L2_REFILL_ARM),
        Processor::Arm { .. } => None,
    }
}

/// The raw event for misses of the last-level cache of `processor`, if the kernel's generic one
/// counts something else.
pub(super) fn llc_misses(processor: Processor) -> Option<RawEvent> {
    match processor {
        Processor::Amd { family: 0x17 | 0x18 } => Some(FROM_BEYOND_ZEN_1),
        Processor::Amd { family: 0x19 | 0x1a } => Some(FROM_BEYOND_ZEN_3),
        _ => None,
    }
}

/// Whether the kernel's generic events for last-level misses count those of another cache: AMD's
/// are its L2's.
pub(super) fn generic_llc_is_another(processor: Processor) -> bool {
    matches!(processor, Processor::Amd { .. })
}

/// Intel's family 6, by model. Its small cores (Atom) share L2, and are left out.
fn intel(model: u32) -> Option<RawEvent> {
    match model {
        // Nehalem and Westmere, among them the Xeon 7560 (2Eh).
        0x1a | 0x1e | 0x1f | 0x2e | 0x25 | 0x2c | 0x2f => Some(L2_LINES_IN_ANY),
        // Sandy Bridge, Ivy Bridge, Haswell, Broadwell.
        0x2a | 0x2d | 0x3a | 0x3e | 0x3c | 0x3f | 0x45 | 0x46 | 0x3d | 0x47 | 0x4f | 0x56 => {
            Some(L2_LINES_IN_TO_BROADWELL)
        }
        // Skylake to Comet Lake, Skylake-X to Cooper Lake.
        0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6 | 0x55 => Some(L2_LINES_IN_TO_TIGER_LAKE),
        // Ice Lake, Ice Lake-X, Rocket Lake, Tiger Lake.
        0x7d | 0x7e | 0x6a | 0x6c | 0xa7 | 0x8c | 0x8d => Some(L2_LINES_IN_TO_TIGER_LAKE),
        // Alder Lake and Raptor Lake (P-cores), Sapphire, Emerald and Granite Rapids.
        0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0x8f | 0xcf | 0xad | 0xae => {
            Some(L2_LINES_IN_SINCE_GOLDEN_COVE)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_processors_are_known_by_family_and_model() {
        let intel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                     model name\t: Xeon\n";
        assert_eq!(Processor::parse(intel), Some(Processor::Intel { family: 6, model: 143 }));
        let amd = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\n\
                   vendor_id\t: AuthenticAMD\ncpu family\t: 25\n";
        assert_eq!(Processor::parse(amd), Some(Processor::Amd { family: 25 }));
    }

    #[test]
    fn arm_processors_are_known_by_implementer_and_part() {
        let core = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(Processor::parse(core), Some(Processor::Arm { implementer: 0x41, part: 0xd0c }));
    }

    #[test]
    fn cores_of_several_kinds_are_no_one_processor() {
        let mixed = "CPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n\
                     CPU implementer\t: 0x41\nCPU part\t: 0xd0a\n";
        assert_eq!(Processor::parse(mixed), None);
    }

    #[test]
    fn text_that_is_no_cpuinfo_names_no_processor() {
        for text in [
            "",
            "\n\n",
            "vendor_id",
            "vendor_id : GenuineIntel",
            "vendor_id : VIA",
            "CPU part : 0xzz",
        ] {
            assert_eq!(Processor::parse(text), None, "{text}");
        }
    }

    fn config(raw: Option<RawEvent>) -> u64 {
        raw.unwrap().config
    }

    #[test]
    fn servers_have_an_event_for_l2_by_their_makers_code() {
        // Xeon 7560
        assert_eq!(config(private_misses(Processor::Intel { family: 6, model: 0x2e })), 0x07f1);
        // Skylake-X
        assert_eq!(config(private_misses(Processor::Intel { family: 6, model: 0x55 })), 0x1ff1);
        // Sapphire Rapids
        assert_eq!(config(private_misses(Processor::Intel { family: 6, model: 0x8f })), 0x1f25);
        assert_eq!(config(private_misses(Processor::Amd { family: 0x10 })), 0x027e); // Opteron 8380
        assert_eq!(config(private_misses(Processor::Amd { family: 0x19 })), 0x0864); // EPYC 9654
        // Neoverse N1
        assert_eq!(config(private_misses(Processor::Arm { implementer: 0x41, part: 0xd0c })), 0x17);
    }

    #[test]
    fn the_last_level_of_zen_is_counted_from_the_core() {
        assert_eq!(config(llc_misses(Processor::Amd { family: 0x17 })), 0x5843); // EPYC 7742
        assert_eq!(config(llc_misses(Processor::Amd { family: 0x1a })), 0xdc44);
        assert!(generic_llc_is_another(Processor::Amd { family: 0x10 }));
    }

    #[test]
    fn processors_whose_l2_is_shared_or_unknown_have_no_entry() {
        assert_eq!(private_misses(Processor::Intel { family: 6, model: 0x37 }), None); // Silvermont
        assert_eq!(private_misses(Processor::Intel { family: 15, model: 4 }), None);
        // Cortex-A53
        assert_eq!(private_misses(Processor::Arm { implementer: 0x41, part: 0xd03 }), None);
    }
}
