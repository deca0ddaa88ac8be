//! The file that statistics go to: it appears whole or not at all, and no process takes another's
//! away unseen.

use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

/// Where the statistics of this process go.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    process: u32,
    /// Since when the process may have written.
    began: SystemTime,
    /// What this process wrote last.
    own: Option<Identity>,
}

/// Tells a file from another that takes its name.
type Identity = (u64, u64);

/// Something that whoever asked for the statistics should know.
pub(super) type Note = String;

impl Target {
    /// The file that `value` names; `%p` in it stands for the number of the process.
    ///
    /// # Errors
    /// A folder that is not there, or is the file itself: said now, not at the end of the work.
    pub(super) fn new(value: &str, process: u32) -> Result<Self, String> {
        let path = PathBuf::from(value.replace("%p", &process.to_string()));
        if path.is_dir() {
            return Err(format!("{} is a folder; name a file", path.display()));
        }
        if !folder(&path).is_dir() {
            return Err(format!("there is no folder {}", folder(&path).display()));
        }
        Ok(Self { path, process, began: SystemTime::now(), own: None })
    }

    /// Whether it may be written again and again: a file, and no terminal, say.
    pub(super) fn is_file(&self) -> bool {
        !is_special(&self.path)
    }

    /// Writes `text`; what was written before goes.
    ///
    /// A file that another process wrote *meanwhile* stays, and this process takes one of its own
    /// beside it; an older one is replaced. Either is told.
    pub(super) fn write(&mut self, text: &str) -> Result<Option<Note>, String> {
        let failed =
            |path: &Path, error: io::Error| format!("cannot write {}: {error}", path.display());
        if is_special(&self.path) {
            let file = OpenOptions::new().write(true).open(&self.path);
            let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
            return written.map(|()| None).map_err(|error| failed(&self.path, error));
        }
        // Between the look at the file and its replacement no other process of ours may write it.
        let _lock = lock(folder(&self.path));
        let note = self.make_way();
        let temporary = beside(&self.path, &format!("{}.part", self.process));
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.path));
        if let Err(error) = written {
            // It may not be there.
            let _ = fs::remove_file(&temporary);
            return Err(failed(&self.path, error));
        }
        self.own = self.path.metadata().ok().map(|file| identity(&file));
        Ok(note)
    }

    /// Sees to it that the path is free, or holds what may be replaced.
    fn make_way(&mut self) -> Option<Note> {
        let present = self.path.metadata().ok()?;
        let own = self.own.take();
        if own == Some(identity(&present)) {
            return None;
        }
        let meanwhile = own.is_some() || present.modified().is_ok_and(|time| time >= self.began);
        let old = std::mem::take(&mut self.path);
        self.path = if meanwhile { beside(&old, &self.process.to_string()) } else { old.clone() };
        let what = if meanwhile {
            format!("is another process's; this one's statistics go to {}", self.path.display())
        } else {
            "was there from before and has been replaced".to_owned()
        };
        Some(format!(
            "{} {what} (with %p in BEFIT_STATS each process has a file of its own)",
            old.display()
        ))
    }
}

/// `path` with `.more` at the end of its name.
fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(more);
    name.into()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether something is there that is no file: nothing could take its place.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_file())
}

#[cfg(unix)]
fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// All files are the same: the process that wrote last is not noticed.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {
    (0, 0)
}

/// Holds the folder's lock until the answer is dropped. After a second, or where the system knows
/// no such locks, goes on without: the end of a process must not wait for ever.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..100 {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

#[cfg(all(test, unix, not(loom)))]
mod tests {
    use super::*;

    /// A folder that goes when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("befit-stats-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn target(&self, name: &str, process: u32) -> Target {
            Target::new(self.0.join(name).to_str().unwrap(), process).unwrap()
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.0.join(name)).unwrap()
        }

        fn files(&self) -> usize {
            fs::read_dir(&self.0).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_process_writes_its_file_again_and_again() {
        let folder = Folder::new("again");
        let mut target = folder.target("s.json", 7);
        assert_eq!(target.write("one"), Ok(None));
        assert_eq!(target.write("two"), Ok(None));
        assert_eq!((folder.read("s.json"), folder.files()), ("two".to_owned(), 1));
    }

    #[test]
    fn a_file_that_another_process_wrote_meanwhile_stays() {
        let folder = Folder::new("meanwhile");
        let (mut one, mut two) = (folder.target("s.json", 7), folder.target("s.json", 8));
        one.began -= Duration::from_secs(1);
        two.began -= Duration::from_secs(1);
        assert_eq!(one.write("one"), Ok(None));
        let note = two.write("two").unwrap().unwrap();
        assert!(
            note.contains("s.json is another process's") && note.contains("s.json.8"),
            "{note}"
        );
        assert_eq!(two.write("two again"), Ok(None));
        assert_eq!(
            (folder.read("s.json"), folder.read("s.json.8")),
            ("one".to_owned(), "two again".to_owned())
        );
    }

    #[test]
    fn an_older_file_is_replaced_and_that_is_said() {
        let folder = Folder::new("older");
        fs::write(folder.0.join("s.json"), "old").unwrap();
        let mut target = folder.target("s.json", 7);
        target.began += Duration::from_secs(1);
        let note = target.write("new").unwrap().unwrap();
        assert!(note.contains("replaced"), "{note}");
        assert_eq!((folder.read("s.json"), folder.files()), ("new".to_owned(), 1));
    }

    #[test]
    fn a_file_that_someone_else_replaced_is_left_to_them() {
        let folder = Folder::new("taken");
        let mut target = folder.target("s.json", 7);
        target.write("ours").unwrap();
        fs::write(folder.0.join("other"), "theirs").unwrap();
        fs::rename(folder.0.join("other"), folder.0.join("s.json")).unwrap();
        assert!(target.write("ours").unwrap().is_some());
        assert_eq!(
            (folder.read("s.json"), folder.read("s.json.7")),
            ("theirs".to_owned(), "ours".to_owned())
        );
    }

    #[test]
    fn the_number_of_the_process_stands_for_percent_p() {
        let folder = Folder::new("number");
        folder.target("s-%p.json", 7).write("x").unwrap();
        assert_eq!(folder.read("s-7.json"), "x");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_at_once() {
        assert_eq!(Target::new("/nowhere/s.json", 7).unwrap_err(), "there is no folder /nowhere");
        assert_eq!(Target::new("/tmp", 7).unwrap_err(), "/tmp is a folder; name a file");
        assert!(!Target::new("/dev/null", 7).unwrap().is_file());
    }
}
