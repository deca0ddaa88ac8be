//! A folder of static programs that measures a machine without Rust and without a network.
//!
//! The folder holds `befit`, `peers` and the kernels, linked statically for any x86-64 Linux; a
//! recording of the kernel `rrm`; a script that runs them all for ten minutes at most; and a
//! README.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Error;

/// What programs are linked for.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// Package and program.
const PROGRAMS: [(&str, &str); 3] =
    [("befit-cli", "befit"), ("peers", "peers"), ("befit-kernels", "befit-kernels")];
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
    let built = build()?;
    for (_, program) in PROGRAMS {
        let to = folder.join(program);
        fs::copy(built.join(program), &to).map_err(|error| cannot(&to, &error))?;
    }
    let mut record = Command::new(built.join("befit"));
    record.args(["record", "rrm", "--n", ELEMENTS, "--output"]).arg(folder.join("rrm.befit"));
    succeed(&mut record, "befit record rrm")?;
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

/// Builds the programs from the checkout that this one was built from; returns their folder.
fn build() -> Result<PathBuf, Error> {
    let checkout = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if !checkout.join("Cargo.toml").is_file() {
        let gone = checkout.display();
        return Err(Error::Failed(format!(
            "the checkout that this was built from is gone: {gone}"
        )));
    }
    let mut cargo = Command::new("cargo");
    cargo.current_dir(checkout).args(["build", "--release", "--target", TARGET]);
    for (package, _) in PROGRAMS {
        cargo.args(["--package", package]);
    }
    succeed(&mut cargo, &format!("cargo build (is there `rustup target add {TARGET}`?)"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    Ok(checkout.join(target).join(TARGET).join("release"))
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
        assert!(PROGRAMS.iter().all(|(_, program)| script.contains(&format!("./{program} "))));
    }
}
