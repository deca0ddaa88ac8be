//! A file that appears whole or not at all.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A file to be written. Readers see nothing of it before [`OutputFile::commit`]; then all of it.
/// Until then its folder is as it was before, however the process ends.
///
/// Opened before long work and committed after, it says early that a folder cannot be written to.
/// A target that exists and is no regular file (`/dev/stdout`, a pipe) is written to directly, as
/// no other file could take its place.
#[derive(Debug)]
pub struct OutputFile(Inner);

#[derive(Debug)]
enum Inner {
    Whole(PathBuf),
    Direct(File),
}

impl OutputFile {
    /// Prepares `path` to be written.
    ///
    /// # Errors
    /// When no file can be created in `path`'s folder, or `path` is a folder itself.
    pub fn create(path: &Path) -> io::Result<Self> {
        // Through symbolic links, so that the link stays and the file that it names is replaced.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(Self(match target.metadata() {
            Ok(meta) if !meta.is_file() => {
                Inner::Direct(OpenOptions::new().write(true).open(&target)?)
            }
            _ => {
                befit_program::can_be_written(&target).map_err(without_path)?;
                Inner::Whole(target)
            }
        }))
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
        match self.0 {
            Inner::Whole(target) => {
                befit_program::write_whole(&target, write).map_err(without_path)
            }
            Inner::Direct(mut file) => write(&mut file),
        }
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
    fn a_symbolic_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        OutputFile::create(&link).unwrap().commit(b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        OutputFile::create(Path::new("/dev/null")).unwrap().commit(b"gone").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[test]
    fn a_missing_folder_and_a_folder_as_target_are_errors_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let error = OutputFile::create(&folder.path().join("missing/out")).unwrap_err();
        assert!(!error.to_string().contains("missing"), "{error}");
        assert!(OutputFile::create(folder.path()).is_err());
    }
}
