//! Programs beside the command that are built when they are first needed: what they are made of
//! takes long to build, and few need it.

use std::{
    env,
    path::{Path, PathBuf},
};

use befit_record::Build;

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
    recording::build(&Build { plain: true, manifest_path, ..Build::default() }, progress)
}

/// The program `name`, whose sources are in `folder`: the one that is installed beside this
/// program, or else one that is built now.
fn find(
    name: &str,
    folder: &str,
    what: &str,
    progress: &dyn Progress,
) -> Result<PathBuf, LabError> {
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(name));
    // One in a checkout may be older than its sources.
    let installed = |path: &PathBuf| {
        path.is_file() && !checkout("target").is_ok_and(|target| path.starts_with(target))
    };
    match beside.filter(installed) {
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
    let program = env::current_exe().ok()?.with_file_name("befit-calibrate");
    program.is_file().then_some(program)
}

/// The program `befit-calibrate`, which measures this machine.
pub(crate) fn calibrate_program(progress: &dyn Progress) -> Result<PathBuf, LabError> {
    find("befit-calibrate", "crates/calibrate", "what measures this machine", progress)
}
