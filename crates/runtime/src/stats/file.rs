//! The file of the statistics: it appears whole or not at all, and no process takes another's away
//! unseen.

use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

/// The file that the statistics of this process go to.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    process: u32,
    /// The file that was there before this process had written anything.
    older: Option<Identity>,
    /// The file that this process wrote last.
    own: Option<Identity>,
}

/// Tells a file from another that takes its name: where it lies, and when it was last written. A
/// time alone would not do, as files have that of the clock's last tick.
type Identity = ((u64, u64), Option<SystemTime>);

impl Target {
    /// The file that `value` names; `%p` in it stands for the number of the process.
    ///
    /// # Errors
    /// A folder that is not there, or is the file itself: an error now, not at the end of the work.
    pub(super) fn new(value: &str, process: u32) -> Result<Self, String> {
        let path = PathBuf::from(value.replace("%p", &process.to_string()));
        if path.is_dir() {
            return Err(format!("{} is a folder; name a file", path.display()));
        }
        if !folder(&path).is_dir() {
            return Err(format!("there is no folder {}", folder(&path).display()));
        }
        let older = identity(&path);
        Ok(Self { path, process, older, own: None })
    }

    /// Whether it may be written again and again: a file, and not, say, a terminal.
    pub(super) fn is_file(&self) -> bool {
        !is_special(&self.path)
    }

    /// Writes `text` in place of the last.
    ///
    /// A file that another process wrote *meanwhile* stays, and this process takes one of its own
    /// beside it; an older one is replaced. Either is a note for the user.
    pub(super) fn write(&mut self, text: &str) -> Result<Option<String>, String> {
        if is_special(&self.path) {
            let file = OpenOptions::new().write(true).open(&self.path);
            let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
            return written.map(|()| None).map_err(|error| self.failed(&error));
        }
        // Between the look at the file and its replacement no other process of ours may write it.
        let _lock = lock(folder(&self.path));
        let note = self.make_way();
        let temporary = beside(&self.path, &format!("{}.part", self.process));
        let written = create(&temporary).and_then(|mut file| file.write_all(text.as_bytes()));
        let written = written.and_then(|()| fs::rename(&temporary, &self.path));
        if let Err(error) = written {
            // It may not be there.
            let _ = fs::remove_file(&temporary);
            return Err(self.failed(&error));
        }
        self.own = identity(&self.path);
        Ok(note)
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("cannot write {}: {error}", self.path.display())
    }

    /// Sees to it that the path is free, or holds a file that may be replaced.
    fn make_way(&mut self) -> Option<String> {
        let present = identity(&self.path)?;
        if self.own.take() == Some(present) {
            return None;
        }
        let meanwhile = self.older != Some(present);
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

/// Makes a new file. A link that lies at this path, which anyone can guess, is removed, not
/// followed.
fn create(path: &Path) -> io::Result<File> {
    let new = || OpenOptions::new().write(true).create_new(true).open(path);
    match new() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            new()
        }
        made => made,
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether the path is that of something other than a file, which nothing could replace.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_file())
}

/// Which file the path names; none if there is none.
fn identity(path: &Path) -> Option<Identity> {
    let file = path.metadata().ok()?;
    Some((place(&file), file.modified().ok()))
}

#[cfg(unix)]
fn place(file: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// Only their times tell files apart here.
#[cfg(not(unix))]
fn place(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// Holds the folder's lock until the result is dropped. After a second, or where the system knows
/// no such locks, it goes on without: the end of a process must not wait for ever.
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

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// The target of a process that begins now.
        fn target(&self, name: &str, process: u32) -> Target {
            Target::new(self.path(name).to_str().unwrap(), process).unwrap()
        }

        /// The files of these names, and how many there are in all.
        fn read<const N: usize>(&self, names: [&str; N]) -> ([String; N], usize) {
            let files = fs::read_dir(&self.0).unwrap().count();
            (names.map(|name| fs::read_to_string(self.path(name)).unwrap()), files)
        }
    }

    #[test]
    fn a_process_writes_its_file_again_and_again() {
        let folder = Folder::new();
        let mut target = folder.target("s-%p.json", 7);
        assert_eq!(target.write("one"), Ok(None));
        assert_eq!(target.write("two"), Ok(None));
        assert_eq!(folder.read(["s-7.json"]), (["two".to_owned()], 1));
    }

    #[test]
    fn a_file_that_another_process_wrote_meanwhile_stays() {
        let folder = Folder::new();
        let (mut one, mut two) = (folder.target("s.json", 7), folder.target("s.json", 8));
        assert_eq!(one.write("one"), Ok(None));
        let note = two.write("two").unwrap().unwrap();
        let said = ["s.json is another process's", "s.json.8"];
        assert!(said.iter().all(|part| note.contains(part)), "{note}");
        assert_eq!(two.write("two again"), Ok(None));
        assert_eq!(folder.read(["s.json", "s.json.8"]).0, ["one", "two again"]);
    }

    /// It was taken for an older one, and lost, if its time was that of the clock's last tick.
    #[test]
    fn regression_a_file_that_was_written_meanwhile_stays_whatever_its_time() {
        let folder = Folder::new();
        fs::write(folder.path("s.json"), "old").unwrap();
        let (mut one, mut two) = (folder.target("s.json", 7), folder.target("s.json", 8));
        assert!(one.write("one").unwrap().unwrap().contains("replaced"));
        let file = File::options().write(true).open(folder.path("s.json")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1)).unwrap();
        assert!(two.write("two").unwrap().unwrap().contains("is another process's"));
        assert_eq!(folder.read(["s.json", "s.json.8"]).0, ["one", "two"]);
    }

    #[test]
    fn an_older_file_is_replaced_and_that_is_said() {
        let folder = Folder::new();
        fs::write(folder.path("s.json"), "old").unwrap();
        let note = folder.target("s.json", 7).write("new").unwrap().unwrap();
        assert!(note.contains("replaced"), "{note}");
        assert_eq!(folder.read(["s.json"]), (["new".to_owned()], 1));
    }

    #[test]
    fn a_file_that_someone_else_replaced_is_left_to_them() {
        let folder = Folder::new();
        let mut target = folder.target("s.json", 7);
        target.write("ours").unwrap();
        fs::write(folder.path("other"), "theirs").unwrap();
        fs::rename(folder.path("other"), folder.path("s.json")).unwrap();
        assert!(target.write("ours").unwrap().is_some());
        assert_eq!(folder.read(["s.json", "s.json.7"]).0, ["theirs", "ours"]);
    }

    #[test]
    fn regression_a_link_in_the_place_of_the_temporary_file_is_not_followed() {
        let folder = Folder::new();
        fs::write(folder.path("precious"), "precious").unwrap();
        std::os::unix::fs::symlink(folder.path("precious"), folder.path("s.json.7.part")).unwrap();
        assert_eq!(folder.target("s.json", 7).write("one"), Ok(None));
        assert_eq!(folder.read(["precious", "s.json"]).0, ["precious", "one"]);
        assert!(!folder.path("s.json").is_symlink());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_at_once() {
        assert_eq!(Target::new("/nowhere/s.json", 7).unwrap_err(), "there is no folder /nowhere");
        assert_eq!(Target::new("/tmp", 7).unwrap_err(), "/tmp is a folder; name a file");
        assert!(!Target::new("/dev/null", 7).unwrap().is_file());
    }
}
