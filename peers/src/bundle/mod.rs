//! A folder of static programs that measures a machine without Rust and without a network.
//!
//! The folder holds `befit`, `peers` and the kernels, linked statically for any x86-64 Linux; the
//! kernels once more for recording, which needs the system's C library; a recording of the kernel
//! `rrm`; a script that runs them all for ten minutes at most; and a README.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{self, Path, PathBuf},
    process::Command,
};

use crate::Error;

/// The checkout that this program was built from.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// What programs are linked for: the GNU C library, whose memory is as fast as in other builds.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Links it in.
const STATIC: &str = "-Ctarget-feature=+crt-static";
/// Package, program, and its place in the folder.
const PROGRAMS: [(&str, &str, &str); 4] = [
    ("befit-cli", "befit", "befit"),
    ("peers", "peers", "peers"),
    ("befit-calibrate", "befit-calibrate", "befit-calibrate"),
    ("befit-kernels", "befit-kernels", "built/plain/befit-kernels"),
];
/// Builds of the kernels that `befit record` makes: the folder under that for builds, and the place
/// in this one, where `befit` looks for them.
const RECORDERS: [(&str, &str); 2] =
    [("befit-record", "built/record/befit-kernels"), ("befit-work", "built/work/befit-kernels")];
/// Elements of the recorded `rrm`; `measure.sh` runs as many.
const ELEMENTS: &str = "1000000";

/// Writes the bundle into `folder`, which is new or empty; returns a line for the user.
///
/// # Errors
/// [`Error::Arguments`] for a folder that holds something; [`Error::Failed`] if a program cannot be
/// built or a file not be written. What has been written by then stays, without the script.
pub(crate) fn write(folder: &Path) -> Result<String, Error> {
    let is_free = fs::read_dir(folder).map(|mut entries| entries.next().is_none());
    if !is_free.unwrap_or(!folder.exists()) {
        return Err(Error::Arguments(format!("{} is not an empty folder", folder.display())));
    }
    let cannot = |what: &Path, error: &io::Error| {
        Error::Failed(format!("cannot write {}: {error}", what.display()))
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let put = |from: PathBuf, place: &str| {
        let to = folder.join(place);
        let above = to.parent().unwrap_or(folder);
        let copied = fs::create_dir_all(above).and_then(|()| fs::copy(from, &to));
        copied.map(drop).map_err(|error| cannot(&to, &error))
    };
    let target = target()?;
    let built = build(&target)?;
    // Before its builds of the kernels are beside it: it makes them.
    let mut record = Command::new(built.join("befit"));
    record.env("CARGO_TARGET_DIR", &target);
    record.args(["record", "rrm", "--n", ELEMENTS, "--output"]).arg(folder.join("rrm.befit"));
    succeed(&mut record, "befit record rrm")?;
    for (kind, place) in RECORDERS {
        put(target.join(kind).join(TARGET).join("release/befit-kernels"), place)?;
    }
    for (_, program, place) in PROGRAMS {
        put(built.join(program), place)?;
    }
    let texts =
        [("README.md", include_str!("README.md")), ("measure.sh", include_str!("measure.sh"))];
    for (name, text) in texts {
        let to = folder.join(name);
        fs::write(&to, text).map_err(|error| cannot(&to, &error))?;
    }
    let script = folder.join("measure.sh");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&script, executable).map_err(|error| cannot(&script, &error))?;
    Ok(format!(
        "{}: copy the folder to the machine, and run ./measure.sh there\n",
        folder.display()
    ))
}

/// The folder for builds of [`CHECKOUT`].
fn target() -> Result<PathBuf, Error> {
    let checkout = Path::new(CHECKOUT);
    if !checkout.join("Cargo.toml").is_file() {
        let gone = checkout.display();
        return Err(Error::Failed(format!(
            "the checkout that this was built from is gone: {gone}"
        )));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let failed = |error| Error::Failed(format!("cannot find the folder for builds: {error}"));
    path::absolute(checkout.join(target)).map_err(failed)
}

/// Builds the programs in a folder of their own in `target`; returns where they are.
fn build(target: &Path) -> Result<PathBuf, Error> {
    let target = target.join("bundle");
    let mut cargo = Command::new("cargo");
    cargo.current_dir(CHECKOUT).env("RUSTFLAGS", STATIC);
    cargo.args(["build", "--release", "--target", TARGET, "--target-dir"]).arg(&target);
    for (package, ..) in PROGRAMS {
        cargo.args(["--package", package]);
    }
    cargo.args(["--features", "befit-kernels/xml,befit-kernels/counters"]);
    succeed(&mut cargo, "cargo build")?;
    Ok(target.join(TARGET).join("release"))
}

/// Runs `command`, which tells its progress on stderr.
fn succeed(command: &mut Command, what: &str) -> Result<(), Error> {
    let status = command.stdout(io::stderr()).status();
    let status = status.map_err(|error| Error::Failed(format!("cannot start {what}: {error}")))?;
    if status.success() { Ok(()) } else { Err(Error::Failed(format!("{what} failed: {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_is_left_as_it_is() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let error = write(&folder).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("is not an empty folder"));
    }

    #[test]
    fn the_script_runs_what_was_recorded() {
        let script = include_str!("measure.sh");
        assert!(script.contains(&format!("rrm --n {ELEMENTS}")));
        let runs = |place: &str| script.contains(&format!("./{place} "));
        // By its name: of a command the whole process is measured, not what is recorded.
        assert!(script.contains(&format!("./befit run rrm --n {ELEMENTS} ")));
        let places = PROGRAMS.map(|(.., place)| place);
        let started_by_befit = ["befit-calibrate", "built/plain/befit-kernels"];
        assert!(places.iter().all(|place| runs(place) || started_by_befit.contains(place)));
    }
}
