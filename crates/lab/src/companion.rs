//! Programs beside the command that are built when they are first needed: what they are made of
//! takes long to build, and few need it.

use std::{
    env,
    path::{Path, PathBuf},
};

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

/// Whether there is a program that was installed. One that cargo built in a checkout may be older
/// than its sources: it lies in a folder with cargo's lock, wherever cargo was told to build.
fn is_installed(program: &Path) -> bool {
    program.is_file() && !program.with_file_name(".cargo-lock").exists()
}

/// The program `name`, whose sources are in `folder`: the one that is installed beside this
/// program, or else one that is built now.
fn find(
    name: &str,
    folder: &str,
    what: &str,
    progress: &dyn Progress,
) -> Result<PathBuf, LabError> {
    match beside(name).filter(|program| is_installed(program)) {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_in_one_of_cargos_folders_is_built_anew_and_any_other_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("befit-sweep");
        assert!(!is_installed(&program));
        fs::write(&program, "").unwrap();
        assert!(is_installed(&program));
        fs::write(folder.path().join(".cargo-lock"), "").unwrap();
        assert!(!is_installed(&program));
    }
}
