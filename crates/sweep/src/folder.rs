//! The folder of a sweep that is under way, in which one process at a time works.
//!
//! That process holds the lock of the file `lock` in it. It takes the lock before it reads, writes
//! or removes anything else there, and a process that is refused touches nothing. The lock goes
//! with the process, however it ends; the file may stay.
//!
//! The file goes with the folder, so a process may get the lock of a file that is no longer there.
//! It therefore looks whether the file of that name is still the one that it has locked, and if not
//! it tries again.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use befit_lab::LabError;

use crate::programs::cannot;

const LOCK: &str = "lock";
/// What makes a folder that of a sweep: it comes last, and goes first.
const MANIFEST: &str = "manifest.json";

/// So often the folder may be removed by others between being made and being locked.
const TRIES: usize = 100;

/// A locked folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Nothing is in it but the lock.
    empty: bool,
    /// Its lock is this one's until the descriptor is closed, in this process and in those that it
    /// has forked meanwhile. It is never unlocked otherwise: a forked process would take it from
    /// this one.
    _lock: File,
}

impl Folder {
    /// Makes the folder `path` unless it is there, and locks it.
    ///
    /// # Errors
    /// When another process has locked it, or it cannot be written.
    pub(crate) fn lock(path: &Path) -> Result<Self, LabError> {
        let mut gone = io::Error::from(ErrorKind::NotFound);
        for _ in 0..TRIES {
            if let Err(error) = fs::create_dir(path)
                && error.kind() != ErrorKind::AlreadyExists
            {
                return Err(cannot("write", path, &error));
            }
            match open_lock(path) {
                Ok(lock) => {
                    if let Some(folder) = Self::of(path, lock)? {
                        return Ok(folder);
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => gone = error,
                Err(error) => return Err(cannot("use", path, &error)),
            }
        }
        Err(cannot("use", path, &gone))
    }

    /// Takes the lock that was opened. `None` if the folder has gone since, or is another.
    fn of(path: &Path, lock: File) -> Result<Option<Self>, LabError> {
        let name = path.join(LOCK);
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LabError::Failed(format!(
                    "another process works on this sweep: it has locked {}",
                    name.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(cannot("lock", &name, &error)),
        }
        if !is_at(&lock, &name).map_err(|error| cannot("use", &name, &error))? {
            return Ok(None);
        }
        let mut folder = Self { path: path.to_owned(), empty: false, _lock: lock };
        folder.empty = folder.content().map_err(|error| cannot("read", path, &error))?.is_empty();
        Ok(Some(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that says of which grid, recordings and machines the figures here are.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.path.join(MANIFEST)
    }

    /// True if the folder held no sweep when it was locked, or was cleared of it since.
    pub(crate) fn was_empty(&self) -> bool {
        self.empty
    }

    /// Removes all in it but the lock and the files of these names.
    ///
    /// # Errors
    /// When a part cannot be removed; the rest is then still there.
    pub(crate) fn clear(&mut self, but: &[&OsStr]) -> Result<(), LabError> {
        let content = self.content().map_err(|error| cannot("read", &self.path, &error))?;
        let named = |path: &PathBuf| path.file_name().is_some_and(|name| but.contains(&name));
        for path in content.into_iter().filter(|path| !named(path)) {
            let folder = fs::symlink_metadata(&path).is_ok_and(|what| what.is_dir());
            let removed = if folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| cannot("remove", &path, &error))?;
        }
        self.empty = true;
        Ok(())
    }

    /// Removes it, and gives up the lock.
    ///
    /// # Errors
    /// As [`Self::clear`].
    pub(crate) fn remove(mut self) -> Result<(), LabError> {
        self.clear(&[])?;
        let lock = self.path.join(LOCK);
        fs::remove_file(&lock).map_err(|error| cannot("remove", &lock, &error))?;
        // From here on the folder may be another sweep's, which then keeps it.
        match fs::remove_dir(&self.path) {
            Err(error)
                if !matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) =>
            {
                Err(cannot("remove", &self.path, &error))
            }
            _ => Ok(()),
        }
    }

    /// All in it but the lock. The manifest is first: where only a part is removed, what is left is
    /// no sweep that has lost its figures.
    fn content(&self) -> io::Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            if name != LOCK {
                all.push(self.path.join(name));
            }
        }
        let manifest = self.manifest();
        all.sort_by_key(|path| *path != manifest);
        Ok(all)
    }
}

fn open_lock(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).open(folder.join(LOCK))
}

/// Whether the file that is open is the one at `path`.
fn is_at(open: &File, path: &Path) -> io::Result<bool> {
    let open = open.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn one_at_a_time_is_in_a_folder_that_each_of_them_removes() {
        const ROUNDS: usize = 500;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("sweep");
        let inside = AtomicUsize::new(0);
        let work = || {
            for round in 0..ROUNDS {
                let Ok(folder) = Folder::lock(&path) else { continue };
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "round {round}");
                assert!(folder.was_empty());
                fs::write(folder.manifest(), "a manifest").unwrap();
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1, "round {round}");
                folder.remove().unwrap();
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
        Folder::lock(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn the_lock_of_a_folder_that_is_gone_is_no_lock() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("sweep");
        let first = Folder::lock(&path).unwrap();
        // Two that are about to lock it while the first removes it.
        let [second, third] = [(); 2].map(|()| open_lock(&path).unwrap());
        first.remove().unwrap();
        assert!(Folder::of(&path, second).unwrap().is_none());
        let anew = Folder::lock(&path).unwrap();
        assert!(Folder::of(&path, third).unwrap().is_none());
        let other = Folder::lock(&path).unwrap_err().to_string();
        assert!(other.contains("another process"), "{other}");
        anew.remove().unwrap();
    }

    #[test]
    fn the_manifest_is_removed_before_the_figures_and_the_lock_last() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::lock(&place.path().join("sweep")).unwrap();
        for name in ["a.befit", "rows.jsonl", MANIFEST, "recording.befit", "z"] {
            fs::write(folder.path().join(name), name).unwrap();
            assert!(folder.content().unwrap().iter().all(|path| !path.ends_with(LOCK)));
        }
        assert_eq!(folder.content().unwrap()[0], folder.manifest());
        folder.clear(&[OsStr::new("a.befit")]).unwrap();
        assert_eq!(folder.content().unwrap(), [folder.path().join("a.befit")]);
        folder.clear(&[]).unwrap();
        assert!(folder.was_empty() && folder.path().join(LOCK).exists());
        folder.remove().unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_at_which_no_folder_can_be_made_is_told() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("sweep");
        std::os::unix::fs::symlink(place.path().join("nowhere"), &path).unwrap();
        let error = Folder::lock(&path).unwrap_err().to_string();
        assert!(error.contains("cannot use"), "{error}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "a file").unwrap();
        let error = Folder::lock(&path).unwrap_err().to_string();
        assert!(error.contains("cannot use"), "{error}");
    }
}
