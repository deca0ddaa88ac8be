//! Feeds befit's readers and its simulator what nobody would write, and looks that each of them
//! ends in a result or an error, within its bound of memory.
//!
//! A [`Target`] takes any bytes. [`TARGETS`] lists them. Inputs come from [`Inputs`], by number,
//! the same on every machine, or from libFuzzer (`befit-fuzz-guided`), which follows coverage.
//! README.md beside the manifest has the commands.

mod environment;
mod inputs;
mod machine;
mod recording;
mod simulation;
mod sizes;
mod statistics;
mod stream;
mod watch;

pub use inputs::Inputs;
pub use watch::{Failure, watch};

/// Something that is tried.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Tries one input, and panics where a promise is broken. Returns whether befit took the input,
    /// so that all that the target looks at was looked at.
    pub run: fn(&[u8]) -> bool,
    /// Good inputs, which others are made from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target { name: "recording", run: recording::raw, seeds: recording::raw_seeds },
    Target { name: "forged", run: recording::forged, seeds: recording::forged_seeds },
    Target { name: "xml", run: machine::xml, seeds: machine::xml_seeds },
    Target { name: "synthetic", run: machine::synthetic, seeds: machine::synthetic_seeds },
    Target { name: "stream", run: stream::run, seeds: stream::seeds },
    Target { name: "sizes", run: sizes::run, seeds: sizes::seeds },
    Target { name: "statistics", run: statistics::run, seeds: statistics::seeds },
    Target { name: "environment", run: environment::run, seeds: environment::seeds },
    Target { name: "simulation", run: simulation::run, seeds: simulation::seeds },
];

impl Target {
    /// The target of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }
}

/// Runs `read` on `input`, and returns its result.
///
/// # Panics
/// Where more is allocated at a time than `constant` + `times` × the input, in bytes.
fn within<T>(times: u64, constant: u64, input: &[u8], read: impl FnOnce() -> T) -> T {
    let mut result = None;
    let held = allocation_counter::measure(|| result = Some(read())).bytes_max;
    let bound = constant + times * input.len() as u64;
    assert!(held <= bound, "{held} bytes are held for an input of {}", input.len());
    result.expect("it was run")
}
