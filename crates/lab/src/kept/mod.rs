//! What befit keeps between its runs: recordings, results of simulations, instrumented builds. It
//! is a cache: losing it costs time. Recordings and results have a bound, beyond which those that
//! were used longest ago are removed.

mod footprints;
mod results;
mod spreads;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use befit_machine::Bytes;
use befit_program::Program;
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use footprints::{footprints, footprints_alone};
pub(crate) use results::Results;
pub(crate) use spreads::Spreads;

use crate::{LabError, OutputFile, matrix, recording};

/// Recordings and results together have no more, unless [`Kept::bound`] is told otherwise.
pub const MOST: Bytes = Bytes(16 << 30);

/// An unfinished file that is older was left by a process that has ended, and counts as a
/// recording.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeptKind {
    /// Recordings of programs.
    Recordings,
    /// What simulations have found, cells of the matrix, and what passes through all touches have.
    Results,
    /// Programs that were built with instrumentation, or to be timed.
    Builds,
}

impl KeptKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Recordings, Self::Results, Self::Builds];

    /// Its name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recordings => "recordings",
            Self::Results => "results",
            Self::Builds => "builds",
        }
    }
}

/// One thing that is kept: a file, or the folder of a build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptThing {
    /// What it is.
    pub kind: KeptKind,
    /// Where it lies.
    pub path: PathBuf,
    /// Its size on disk.
    pub size: Bytes,
    /// When it was last written or found again.
    pub used: SystemTime,
}

/// A folder of things that are kept.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// The folder of befit's own kernels, or the one in the target folder `target` of a crate; in
    /// any case the one that the variable `BEFIT_CACHE` names, if it names one.
    ///
    /// # Errors
    /// Where befit's sources cannot be found, or `target` is no folder.
    pub fn open(target: Option<&Path>) -> Result<Self, LabError> {
        let folder = match target {
            Some(target) if !target.is_dir() => {
                let target = target.display();
                return Err(LabError::Usage(format!(
                    "{target}: no such folder; --target-dir names the target folder of a crate"
                )));
            }
            Some(target) => recording::kept_folder_in(target),
            None => recording::kept_folder()?,
        };
        Ok(Self { folder })
    }

    /// Where things are kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All that is kept, by kind, the largest first. Builds are told of where they stand beside:
    /// those with instrumentation around the folder, and those to be timed in `befit-work`.
    ///
    /// # Errors
    /// Where a folder cannot be read.
    pub fn things(&self) -> Result<Vec<KeptThing>, LabError> {
        let read = || -> io::Result<Vec<KeptThing>> {
            let mut things = Vec::new();
            for path in entries(&self.folder)? {
                let is_kept = path.extension().is_some_and(|end| end == "befit");
                if is_kept || is_unfinished(&path) {
                    let thing = KeptThing::of(KeptKind::Recordings, path)?;
                    if is_kept || thing.used < SystemTime::now() - ABANDONED {
                        things.push(thing);
                    }
                }
            }
            for folder in ["footprints", "matrix", "results", "spreads"] {
                for path in entries(&self.folder.join(folder))? {
                    things.push(KeptThing::of(KeptKind::Results, path)?);
                }
            }
            let beside = self.folder.parent().filter(|folder| folder.ends_with("befit-record"));
            if let Some(beside) = beside {
                let timed = entries(&beside.with_file_name("befit-work"))?;
                let builds = entries(beside)?.into_iter().chain(timed);
                for path in builds.filter(|path| path.is_dir() && *path != self.folder) {
                    things.push(KeptThing::of(KeptKind::Builds, path)?);
                }
            }
            Ok(things)
        };
        let mut things = read().map_err(|why| LabError::cannot_read(&self.folder, why))?;
        things.sort_by_key(|thing| (thing.kind, std::cmp::Reverse(thing.size)));
        Ok(things)
    }

    /// Removes all of these kinds. Returns what was removed.
    ///
    /// # Errors
    /// Where something cannot be read or removed.
    pub fn clear(&self, kinds: &[KeptKind]) -> Result<Vec<KeptThing>, LabError> {
        let things = self.things()?.into_iter();
        let gone: Vec<_> = things.filter(|thing| kinds.contains(&thing.kind)).collect();
        gone.iter().try_for_each(KeptThing::remove)?;
        Ok(gone)
    }

    /// Removes recordings and results, those that were used longest ago first, until the rest has
    /// `most` bytes. Returns what was removed.
    ///
    /// # Errors
    /// Where something cannot be read or removed.
    pub fn bound(&self, most: Bytes) -> Result<Vec<KeptThing>, LabError> {
        let mut things = self.things()?;
        things.retain(|thing| thing.kind != KeptKind::Builds);
        things.sort_by_key(|thing| thing.used);
        let mut size: u64 = things.iter().map(|thing| thing.size.0).sum();
        let mut gone = Vec::new();
        for thing in things {
            if size <= most.0 {
                break;
            }
            size -= thing.size.0;
            gone.push(thing);
        }
        gone.iter().try_for_each(KeptThing::remove)?;
        Ok(gone)
    }
}

/// Keeps `folder` within [`MOST`], now that something was added. Never fails: that what is kept is
/// too large stops nothing.
pub(crate) fn bound(folder: &Path) {
    let _ = Kept { folder: folder.to_owned() }.bound(MOST);
}

/// Notes that a file was used just now.
pub(crate) fn used(file: &Path) {
    // Where it cannot be noted, the file is removed earlier than others.
    let _ = fs::File::options()
        .append(true)
        .open(file)
        .and_then(|file| file.set_modified(SystemTime::now()));
}

/// What is kept in `file` as JSON. A damaged file counts as none.
pub(crate) fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Keeps `what` in `file` as JSON.
fn write(file: &Path, what: &impl Serialize) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    OutputFile::create(file)?.commit(&serde_json::to_vec(what)?)
}

/// The content of a program, by which things about it are kept; `None` of a small one, of which
/// nothing is. Takes a pass through the whole recording.
pub(crate) fn content(program: &Program) -> Option<String> {
    (program.total_touches() >= results::LEAST).then(|| matrix::content(program))
}

/// Where in `folder` something about a program of this content is kept, as found by that
/// `generation` of the code.
fn file_of(content: &str, folder: &str, generation: u32) -> Option<PathBuf> {
    let folder = recording::kept_folder().ok()?.join(folder);
    Some(folder.join(name_of(content, generation)))
}

fn name_of(content: &str, generation: u32) -> String {
    format!("{content}-{generation}.json")
}

/// Keeps `what` in `file` as JSON, and all that is kept within its bound.
pub(crate) fn add(file: &Path, what: &impl Serialize) -> io::Result<()> {
    write(file, what)?;
    if let Some(kept) = file.parent().and_then(Path::parent) {
        bound(kept);
    }
    Ok(())
}

/// Whether it has the name of a file that a process has not finished: `befit_program::write_whole`
/// gives it.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".befit-") && name.ends_with(".part")
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
    }
}

/// Bytes of a file, or of all files in a folder. What disappears meanwhile has none.
fn size(path: &Path) -> io::Result<u64> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        found => found?,
    };
    if !found.is_dir() {
        return Ok(found.len());
    }
    entries(path)?.iter().map(|path| size(path)).sum()
}

impl KeptThing {
    fn of(kind: KeptKind, path: PathBuf) -> io::Result<Self> {
        let used = path.metadata().and_then(|meta| meta.modified());
        let size = Bytes(size(&path)?);
        Ok(Self { kind, size, used: used.unwrap_or(SystemTime::UNIX_EPOCH), path })
    }

    fn remove(&self) -> Result<(), LabError> {
        let removed = match self.kind {
            KeptKind::Builds => fs::remove_dir_all(&self.path),
            _ => fs::remove_file(&self.path),
        };
        match removed {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                Err(LabError::Failed(format!("cannot remove {}: {why}", self.path.display())))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with two recordings, a result and two builds.
    fn filled() -> (tempfile::TempDir, Kept) {
        let target = tempfile::tempdir().unwrap();
        let folder = target.path().join("befit-record/cache");
        let write = |name: &str, bytes: usize, age: u64| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![0; bytes]).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
        };
        write("old.befit", 1000, 300);
        write("results/1.json", 10, 200);
        write("new.befit", 100, 100);
        write("notes.txt", 7, 400);
        write("../release/deps/kernel", 5000, 500);
        write("../../befit-work/release/deps/kernel", 4000, 500);
        (target, Kept { folder })
    }

    fn sizes(things: &[KeptThing]) -> Vec<(&'static str, u64)> {
        things.iter().map(|thing| (thing.kind.name(), thing.size.0)).collect()
    }

    #[test]
    fn all_that_is_kept_is_told_by_kind_the_largest_first() {
        let (_target, kept) = filled();
        let all = [
            ("recordings", 1000),
            ("recordings", 100),
            ("results", 10),
            ("builds", 5000),
            ("builds", 4000),
        ];
        assert_eq!(sizes(&kept.things().unwrap()), all);
        let nothing = Kept { folder: kept.folder.join("not/there") };
        assert_eq!(nothing.things().unwrap(), []);
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_builds_stay() {
        let (_target, kept) = filled();
        assert_eq!(kept.bound(Bytes(1110)).unwrap(), []);
        assert_eq!(sizes(&kept.bound(Bytes(1109)).unwrap()), [("recordings", 1000)]);
        used(&kept.folder.join("results/1.json"));
        assert_eq!(sizes(&kept.bound(Bytes(10)).unwrap()), [("recordings", 100)]);
        let left = [("results", 10), ("builds", 5000), ("builds", 4000)];
        assert_eq!(sizes(&kept.things().unwrap()), left);
    }

    #[test]
    fn what_was_left_unfinished_is_told_and_removed_once_it_is_a_day_old() {
        let (_target, kept) = filled();
        let part = |name: &str, hours: u64| {
            let path = kept.folder.join(name);
            fs::write(&path, vec![0; 3]).unwrap();
            let then = SystemTime::now() - Duration::from_secs(hours * 60 * 60);
            fs::File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
            path
        };
        let old = part(".befit-0123456789abcdef.part", 25);
        let (new, foreign) = (part(".befit-a1b2c3.part", 23), part("mine.part", 25));
        let recordings = [("recordings", 1000), ("recordings", 100), ("recordings", 3)];
        assert_eq!(sizes(&kept.clear(&[KeptKind::Recordings]).unwrap()), recordings);
        assert!(!old.exists() && new.exists() && foreign.exists());
    }

    #[test]
    fn only_the_kinds_that_are_named_are_cleared() {
        let (_target, kept) = filled();
        let gone = kept.clear(&[KeptKind::Results, KeptKind::Builds]).unwrap();
        assert_eq!(sizes(&gone), [("results", 10), ("builds", 5000), ("builds", 4000)]);
        assert_eq!(kept.things().unwrap().len(), 2);
        assert!(kept.folder.join("notes.txt").exists());
    }

    #[test]
    fn what_other_code_has_found_is_kept_apart() {
        assert_ne!(name_of("a", 1), name_of("a", 2));
        assert_ne!(name_of("a", 1), name_of("b", 1));
    }

    #[test]
    fn a_target_folder_that_is_not_there_is_named() {
        let error = Kept::open(Some(Path::new("/no/such"))).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("/no/such"), "{error}");
    }
}
