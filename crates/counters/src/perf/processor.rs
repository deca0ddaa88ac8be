//! Which processor this is, from /proc/cpuinfo.

use std::{fs, path::Path};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_processors_are_known_by_family_and_model() {
        let intel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n";
        assert_eq!(Processor::parse(intel), Some(Processor::Intel { family: 6, model: 143 }));
        let amd = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n";
        assert_eq!(Processor::parse(amd), Some(Processor::Amd { family: 25 }));
    }

    #[test]
    fn arm_processors_are_known_by_implementer_and_part() {
        let core = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(Processor::parse(core), Some(Processor::Arm { implementer: 0x41, part: 0xd0c }));
    }

    #[test]
    fn cores_of_several_kinds_are_no_one_processor() {
        let mixed = "CPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd0a\n";
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
}
