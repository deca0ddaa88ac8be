//! Machines known by name.
//!
//! Each is a synthetic string ([`crate::synthetic`]) beside the sources of its figures, in
//! [`known`]. To add one, write it like its neighbours and list it in [`ALL`].
//!
//! Figures whose source is a manual, a datasheet or Molka et al. were written down from memory and
//! not compared with the text again; those of web pages were.
//!
//! Clocks are base clocks, which a machine keeps up with all cores at work. Times published in
//! nanoseconds are turned into cycles of that clock, and bandwidths into bytes per such cycle.

mod known;

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::{Machine, MachineError, calibration, synthetic};

struct Preset {
    name: &'static str,
    about: &'static str,
    /// A synthetic string.
    text: &'static str,
    /// Another, whose parts stand beside those of `text`: synthetic strings describe equal parts
    /// only.
    beside: Option<&'static str>,
}

impl Preset {
    fn machine(&self) -> Result<Machine, MachineError> {
        let mut spec = synthetic::read(self.text, self.name.to_owned())?;
        if let Some(text) = self.beside {
            spec.parts.extend(synthetic::read(text, self.name.to_owned())?.parts);
        }
        spec.build()
    }
}

const ALL: [&Preset; 9] = [
    &known::XEON_7560,
    &known::XEON_7560_HT,
    &known::XEON_7560_1S,
    &known::OPTERON_8380,
    &known::GEMS_SPARC,
    &known::EPYC_7742,
    &known::EPYC_9654,
    &known::EPYC_9654_2P,
    &known::RYZEN_HX_370,
];

const HOST: (&str, &str) =
    ("host", "this machine, within the process's affinity mask and CPU quota");

/// The machine known as `name`; `host` is the machine that this runs on ([`crate::Host`]),
/// with the figures of its calibration file ([`crate::calibration_file`]) where there is one.
///
/// # Errors
/// [`MachineError::Unknown`], listing the known names; for `host`, as [`crate::Host::detect`], and
/// where its calibration file cannot be read.
pub fn preset(name: &str) -> Result<Machine, MachineError> {
    if name == HOST.0 {
        return crate::calibration::apply(crate::Host::here().detect()?);
    }
    let Some(preset) = ALL.into_iter().find(|p| p.name == name) else {
        let known = presets().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(MachineError::Unknown { name: shorten(name), known });
    };
    preset.machine()
}

/// All names that [`preset`] knows, each with one line about it.
pub fn presets() -> Vec<(&'static str, &'static str)> {
    ALL.into_iter().map(|p| (p.name, p.about)).chain([HOST]).collect()
}

/// At most 80 characters, so that a file pasted by mistake does not fill the terminal.
fn shorten(name: &str) -> String {
    let mut short: String = name.chars().take(80).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}

impl Machine {
    /// The machine that `spec` names: a preset ([`crate::presets`]), `host`, the path of a file
    /// that `lstopo machine.xml` or `befit calibrate` wrote, or a synthetic string. Tried in this
    /// order. Of files those are XML whose name ends so, or whose text begins so.
    ///
    /// ```
    /// use befit_machine::Machine;
    ///
    /// assert_eq!(Machine::find("xeon-7560").unwrap().workers().len(), 32);
    /// assert_eq!(Machine::find("l3:2 core:4 l1:1 pu:1").unwrap().workers().len(), 8);
    /// assert!(Machine::find("xeon").unwrap_err().to_string().contains("xeon-7560"));
    /// ```
    ///
    /// # Errors
    /// [`MachineError`]; a text that is none of these gets [`MachineError::Unknown`], listing the
    /// known names.
    pub fn find(spec: &str) -> Result<Self, MachineError> {
        let spec = spec.trim();
        let path = Path::new(spec);
        match preset(spec) {
            Err(MachineError::Unknown { .. }) if path.is_file() || spec.ends_with(".xml") => {
                file(path)
            }
            Err(MachineError::Unknown { .. }) if path.is_dir() => Err(MachineError::Read {
                path: path.to_owned(),
                source: io::ErrorKind::IsADirectory.into(),
            }),
            Err(MachineError::Unknown { .. }) if synthetic::is_likely(spec) => spec.parse(),
            result => result,
        }
    }
}

/// The machine that the file at `path` describes.
fn file(path: &Path) -> Result<Machine, MachineError> {
    if path.extension().is_some_and(|end| end == "xml") || begins_as_xml(path).unwrap_or(false) {
        xml(path)
    } else {
        calibration::read_file(path)
    }
}

fn begins_as_xml(path: &Path) -> io::Result<bool> {
    // Behind what says that it is UTF-8, and blank lines.
    let mut begin = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut begin)?;
    let begin = begin.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&begin);
    Ok(begin.trim_ascii_start().starts_with(b"<"))
}

#[cfg(feature = "xml")]
use crate::xml::read_file as xml;

#[cfg(not(feature = "xml"))]
fn xml(path: &Path) -> Result<Machine, MachineError> {
    Err(MachineError::NoXml(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, ClusterId, Inclusion, Level, invariants};

    /// Caches per level, from the inside out: how many, and how large.
    fn caches(name: &str) -> Vec<(usize, Bytes)> {
        let m = preset(name).unwrap();
        invariants::check(&m);
        let of = |level: Level| {
            m.clusters().iter().filter_map(|c| c.cache).filter(move |c| c.level == level)
        };
        m.levels().into_iter().map(|l| (of(l).count(), of(l).next().unwrap().size)).collect()
    }

    #[test]
    fn presets_have_the_published_shapes() {
        let (kib, mib) = (Bytes::kib, Bytes::mib);
        assert_eq!(caches("xeon-7560"), [(32, kib(32)), (32, kib(256)), (4, mib(24))]);
        assert_eq!(caches("xeon-7560-ht"), caches("xeon-7560"));
        assert_eq!(caches("xeon-7560-1s"), [(8, kib(32)), (8, kib(256)), (1, mib(24))]);
        assert_eq!(caches("opteron-8380"), [(16, kib(64)), (16, kib(512)), (4, mib(6))]);
        assert_eq!(caches("gems-sparc"), [(1, kib(16)), (1, mib(1))]);
        assert_eq!(caches("epyc-7742"), [(64, kib(32)), (64, kib(512)), (16, mib(16))]);
        assert_eq!(caches("epyc-9654"), [(96, kib(32)), (96, mib(1)), (12, mib(32))]);
        assert_eq!(caches("epyc-9654-2p"), [(192, kib(32)), (192, mib(1)), (24, mib(32))]);
        assert_eq!(caches("ryzen-hx-370"), [(12, kib(48)), (12, mib(1)), (2, mib(16))]);
    }

    #[test]
    fn unequal_cores_stand_under_last_level_caches_of_their_own() {
        let m = preset("ryzen-hx-370").unwrap();
        let of = |id: ClusterId| {
            let cluster = m.cluster(id);
            let speeds = cluster.workers.clone().map(|w| m.workers()[w as usize].speed);
            (cluster.size(), speeds.collect::<Vec<_>>())
        };
        let found: Vec<_> = m.cluster(ClusterId::ROOT).children.iter().copied().map(of).collect();
        assert_eq!(found, [(Bytes::mib(16), vec![100; 4]), (Bytes::mib(8), vec![64; 8])]);
    }

    #[test]
    fn hardware_threads_share_a_core() {
        let m = preset("xeon-7560-ht").unwrap();
        let cores: Vec<u32> = m.workers().iter().map(|w| w.core).collect();
        assert_eq!((cores.len(), cores.iter().max(), cores[2]), (64, Some(&31), 1));
    }

    #[test]
    fn the_xeon_s_l3_is_inclusive_and_the_opteron_s_is_not() {
        let l3 = |name| preset(name).unwrap().clusters()[1].cache.unwrap().inclusion;
        let both = ["xeon-7560", "opteron-8380"].map(l3);
        assert_eq!(both, [Inclusion::Inclusive, Inclusion::NonInclusive]);
    }

    #[test]
    fn every_listed_name_is_known_and_carried_by_its_machine() {
        for (name, about) in presets() {
            let machine = preset(name).unwrap();
            assert!(machine.name.starts_with(name), "{name}");
            assert!(!about.is_empty() && !about.contains('\n'));
            let cache = machine.clusters()[1].cache.map_or(0, |c| c.latency.0);
            assert!(machine.memory.latency.0 > cache, "{name}");
        }
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_the_known_ones() {
        let message = preset("xeon").unwrap_err().to_string();
        for (name, _) in presets() {
            assert!(message.contains(name), "{name} in {message}");
        }
        assert!(preset(&"x".repeat(100_000)).unwrap_err().to_string().len() < 1000);
    }

    #[test]
    fn an_operation_costs_its_instructions_over_the_issue_slots() {
        let m = preset("gems-sparc").unwrap();
        let issue = m.issue.unwrap();
        assert_eq!((issue.instructions, issue.width, m.cycles_per_operation), (2.0, 2.0, 1.0));
        let m: Machine = "(instructions=3 issue=4) l1:1(size=1024) pu:1".parse().unwrap();
        assert_eq!(m.cycles_per_operation, 0.75);
        assert!("(issue=0) l1:1(size=1024) pu:1".parse::<Machine>().is_err());
    }
}
