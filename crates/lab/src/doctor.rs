//! Looks whether all is there that befit needs of this machine.

use std::{
    env,
    path::{Path, PathBuf, absolute},
    process::{Command, Stdio},
    thread::available_parallelism,
};

use befit_counters::Children;
use befit_machine::{Machine, calibration_file};
use rustix::fs::{Access, access, statvfs};

use crate::{recording, sources::checkout};

/// The room that recordings and builds need on a disk: below it a note, and below a twentieth of it
/// nothing can be built.
const ROOM: u64 = 4 << 30;

/// How it stands with something that befit needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It is there.
    Good,
    /// Something works less well without it.
    Note,
    /// Programs cannot be recorded without it.
    Missing,
}

/// One thing that befit needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Its name, in a word or two.
    pub what: &'static str,
    /// How it stands with it.
    pub state: State,
    /// What was found, or what is missing and what to do about it, in a line.
    pub text: String,
}

/// Looks at the tools, the sources, the machine and its disks. Takes a second.
pub fn doctor() -> Vec<Finding> {
    let temporary = env::temp_dir();
    vec![
        tool("rust compiler", "RUSTC", "rustc", "install it from https://rustup.rs"),
        tool("cargo", "CARGO", "cargo", "install it from https://rustup.rs"),
        tool("C compiler", "CC", "cc", "install gcc or clang"),
        needed("instrumentation", befit_record::instruments().map_err(|e| e.to_string()), |()| {
            "rustc calls the recorder before loads and stores".to_owned()
        }),
        needed("sources", checkout("kernels").map_err(|e| e.to_string()), |folder| {
            format!("programs are built with {}", folder.display())
        }),
        caches(),
        calibration(),
        processors(),
        counters(),
        match recording::kept_folder() {
            Ok(folder) => disk("recordings", &folder),
            Err(why) => finding("recordings", State::Missing, why.to_string()),
        },
        disk("temporary files", &temporary),
    ]
}

fn finding(what: &'static str, state: State, text: String) -> Finding {
    Finding { what, state, text: text.lines().collect::<Vec<_>>().join(" ") }
}

fn needed<T>(
    what: &'static str,
    found: Result<T, String>,
    said: impl FnOnce(T) -> String,
) -> Finding {
    match found {
        Ok(found) => finding(what, State::Good, said(found)),
        Err(why) => finding(what, State::Missing, why),
    }
}

/// A tool that says its version.
fn tool(what: &'static str, variable: &str, usual: &str, otherwise: &str) -> Finding {
    let name = env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let version = |program: &str, words: &[&str]| {
        Command::new(program).args(words).arg("--version").stdin(Stdio::null()).output()
    };
    // `CC` may tell options of the compiler, too, or a program that starts it.
    let words: Vec<_> = name.split_whitespace().collect();
    let output = version(&name, &[]).or_else(|why| match &words[..] {
        [program, options @ ..] if !options.is_empty() => version(program, options),
        _ => Err(why),
    });
    match output {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            finding(what, State::Good, said.lines().next().unwrap_or(&name).to_owned())
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            finding(what, State::Missing, format!("{name} --version fails: {said}; {otherwise}"))
        }
        Err(why) => {
            finding(what, State::Missing, format!("cannot start {name}: {why}; {otherwise}"))
        }
    }
}

fn caches() -> Finding {
    match Machine::find("host") {
        Ok(machine) => {
            let levels = machine.levels().into_iter().map(|level| {
                let caches = machine.clusters().iter().filter_map(|cluster| cluster.cache);
                let sizes: Vec<_> =
                    caches.filter(|cache| cache.level == level).map(|cache| cache.size.0).collect();
                let largest = sizes.iter().max().copied().unwrap_or(0);
                format!("{level} {} × {} KiB", sizes.len(), largest >> 10)
            });
            let levels: Vec<_> = levels.collect();
            finding("caches", State::Good, format!("{} (befit topo)", levels.join(", ")))
        }
        Err(why) => finding("caches", State::Note, format!("`host` cannot be simulated: {why}")),
    }
}

fn calibration() -> Finding {
    match calibration_file().filter(|file| file.is_file()) {
        Some(file) => finding("calibration", State::Good, file.display().to_string()),
        None => {
            let text = "`host` has the sizes that the system claims; `befit calibrate` measures";
            finding("calibration", State::Note, text.to_owned())
        }
    }
}

fn processors() -> Finding {
    let usable = available_parallelism().map_or(1, usize::from);
    let text = format!("this process may use {usable}");
    let state = if usable > 1 { State::Good } else { State::Note };
    finding("processors", state, text)
}

fn counters() -> Finding {
    match Children::hardware() {
        Ok(children) => {
            let names: Vec<_> = children.events().iter().map(|event| event.name).collect();
            finding("perf events", State::Good, names.join(", "))
        }
        Err(why) => {
            let text = format!("`befit run` counts no misses: {why}");
            finding("perf events", State::Note, text)
        }
    }
}

/// The folder itself, or the nearest one above, where it is not there yet.
fn nearest(folder: &Path) -> PathBuf {
    // Else no folder is above a relative one.
    let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = folder.ancestors().find(|folder| folder.is_dir());
    there.unwrap_or(Path::new("/")).to_owned()
}

fn disk(what: &'static str, folder: &Path) -> Finding {
    let there = nearest(folder);
    let free = match statvfs(&there) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(why) => return finding(what, State::Note, format!("{}: {why}", folder.display())),
    };
    let state = match free {
        ROOM.. => State::Good,
        free if free >= ROOM / 20 => State::Note,
        _ => State::Missing,
    };
    let writable = access(&there, Access::WRITE_OK).is_ok();
    let access = if writable { "" } else { "; it cannot be written to" };
    let state = if writable { state } else { State::Missing };
    let text =
        format!("{}: {:.1} GiB free{access}", folder.display(), free as f64 / f64::from(1 << 30));
    finding(what, state, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_not_there_is_missing_and_one_that_is_says_its_version() {
        let missing = tool("tool", "BEFIT_NO_SUCH_VARIABLE", "/nowhere/tool", "install it");
        assert_eq!(missing.state, State::Missing);
        assert!(missing.text.ends_with("install it"), "{}", missing.text);
        assert_eq!(tool("cargo", "CARGO", "cargo", "").state, State::Good);
        let with_options = tool("compiler", "BEFIT_NO_SUCH_VARIABLE", "env cc -O2", "");
        assert_eq!(with_options.state, State::Good, "{}", with_options.text);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_room_of_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        let [here, below] = [folder.path().to_owned(), folder.path().join("a/b")].map(|path| {
            let found = disk("disk", &path);
            (found.state, found.text.contains("GiB free"))
        });
        assert_eq!(here, below);
    }

    #[test]
    fn a_relative_folder_that_is_not_there_yet_has_the_room_of_the_current_one() {
        let here = env::current_dir().unwrap();
        for folder in [".", "not-there", "not/there"] {
            assert_eq!(nearest(Path::new(folder)), here, "{folder}");
        }
        let [here, below] = [".", "not-there"].map(|folder| disk("disk", Path::new(folder)).state);
        assert_eq!(here, below);
    }
}
