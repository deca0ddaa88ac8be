//! Machines known by name.
//!
//! Each is a synthetic string ([`crate::synthetic`]) beside the sources of its figures; to add one,
//! write a file like its neighbours and list it in [`ALL`].
//!
//! Where a source is a manual, a datasheet or Molka et al., its figure was written down from memory
//! and has not been compared with the text again; the web pages were. A correction is a one-line
//! change.
//!
//! Clocks are base clocks: what a machine keeps up with all cores at work. Times published in
//! nanoseconds are turned into cycles of that clock, and bandwidths into bytes per such cycle.

mod epyc;
mod gems_sparc;
mod opteron_8380;
#[cfg(test)]
mod tests;
mod xeon_7560;

use crate::{Machine, MachineError, synthetic};

/// A machine known by name.
struct Preset {
    name: &'static str,
    about: &'static str,
    /// A synthetic string.
    text: &'static str,
}

const ALL: [&Preset; 7] = [
    &xeon_7560::XEON_7560,
    &xeon_7560::XEON_7560_HT,
    &opteron_8380::OPTERON_8380,
    &gems_sparc::GEMS_SPARC,
    &epyc::EPYC_7742,
    &epyc::EPYC_9654,
    &epyc::EPYC_9654_2P,
];

const HOST: (&str, &str) =
    ("host", "this machine, within the process's affinity mask and CPU quota");

/// The machine known as `name`; `host` is the machine that this runs on ([`crate::Host`]).
///
/// # Errors
/// [`MachineError::Unknown`], listing the known names; for `host`, what [`crate::Host::detect`]
/// gives.
pub fn preset(name: &str) -> Result<Machine, MachineError> {
    if name == HOST.0 {
        return crate::Host::here().detect();
    }
    let known = || presets().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let preset = ALL.into_iter().find(|p| p.name == name);
    let preset =
        preset.ok_or_else(|| MachineError::Unknown { name: shorten(name), known: known() })?;
    synthetic::read(preset.text, preset.name.to_owned())?.build()
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
