//! A file that appears whole or not at all.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A file to be written. Readers see nothing of it before [`OutputFile::commit`]; then all of it.
/// Until then its folder is as it was before, however the process ends.
///
/// Made before long work and committed after, it says early that a folder cannot be written to.
/// Links, devices and pipes are as [`befit_program::write_whole`] has them.
#[derive(Debug)]
pub struct OutputFile(PathBuf);

impl OutputFile {
    /// Prepares `path` to be written.
    ///
    /// # Errors
    /// When no file can be created in `path`'s folder, or `path` is a folder itself.
    pub fn create(path: &Path) -> io::Result<Self> {
        befit_program::can_be_written(path).map_err(without_path)?;
        Ok(Self(path.to_owned()))
    }

    /// Writes the content and makes it appear under its name.
    ///
    /// # Errors
    /// When it cannot be written, or the file cannot be renamed.
    pub fn commit(self, content: &[u8]) -> io::Result<()> {
        self.commit_with(|file| file.write_all(content))
    }

    /// Has `write` write the content, and makes it appear under its name.
    ///
    /// # Errors
    /// Those of `write`, and as [`Self::commit`]. Nothing appears then.
    pub fn commit_with(self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        befit_program::write_whole(&self.0, write).map_err(without_path)
    }
}

/// An error without the name of a temporary file, which says nothing to anybody.
pub(crate) fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what.to_owned()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_at_commit_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let file = OutputFile::create(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        file.commit(b"all of it").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_a_commit_the_old_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "old").unwrap();
        drop(OutputFile::create(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_and_a_folder_as_target_are_errors_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let error = OutputFile::create(&folder.path().join("missing/out")).unwrap_err();
        assert!(!error.to_string().contains("missing"), "{error}");
        assert!(OutputFile::create(folder.path()).is_err());
    }
}
