//! Programs beside the command that are built when they are first needed: what they are made of
//! takes long to build, and few need it.

use std::{env, path::PathBuf};

use befit_record::{Build, Target};

use crate::{LabError, Progress, recording, sources::checkout};

/// The program whose sources are in `folder` of befit's own. Takes a minute the first time.
///
/// # Errors
/// When its sources are gone, or cannot be built.
pub(crate) fn build(
    folder: &str,
    what: &str,
    progress: &dyn Progress,
) -> Result<PathBuf, LabError> {
    let manifest_path = Some(checkout(folder)?.join("Cargo.toml"));
    progress.building(what, false);
    let target = Target { manifest_path, ..Target::default() };
    recording::build(&Build { plain: true, target, ..Build::default() }, progress)
}

/// Where a program of this name would be beside this program.
fn beside(name: &str) -> Option<PathBuf> {
    Some(env::current_exe().ok()?.with_file_name(name))
}

/// The program `name`, whose sources are in `folder`: the one that is installed beside this
/// program, or else one that is built now.
fn find(
    name: &str,
    folder: &str,
    what: &str,
    progress: &dyn Progress,
) -> Result<PathBuf, LabError> {
    // One in a checkout may be older than its sources.
    let installed = |path: &PathBuf| {
        path.is_file() && !checkout("target").is_ok_and(|target| path.starts_with(target))
    };
    match beside(name).filter(installed) {
        Some(installed) => Ok(installed),
        None => build(folder, what, progress),
    }
}

/// The program `befit-sweep`, which runs sweeps.
///
/// # Errors
/// When it is not there and cannot be built.
pub fn sweep_program(progress: &dyn Progress) -> Result<PathBuf, LabError> {
    find("befit-sweep", "crates/sweep", "what runs sweeps", progress)
}

/// The program `befit-calibrate`, if it was built or installed beside this program.
pub(crate) fn calibrate_program_if_there() -> Option<PathBuf> {
    beside("befit-calibrate").filter(|program| program.is_file())
}

/// The program `befit-calibrate`, which measures this machine.
pub(crate) fn calibrate_program(progress: &dyn Progress) -> Result<PathBuf, LabError> {
    find("befit-calibrate", "crates/calibrate", "what measures this machine", progress)
}
