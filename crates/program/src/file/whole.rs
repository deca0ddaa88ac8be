//! A file that appears whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Has `write` write the file `path`, which appears whole once that has returned, in the place of
/// one that was there. Until then no file in its folder has a name that was not there before: if
/// the process is killed, nothing is left. Where a file cannot be without a name (a file system
/// other than those of Linux, or a system without `/proc`) it has another one until then.
///
/// A symbolic link stays, and what it leads to is written. What is there and is no regular file
/// (`/dev/stdout`, a pipe) is written to directly, as no other file could take its place.
///
/// # Errors
/// Those of `write`, and when the file cannot be made in its folder or renamed. Nothing appears
/// then.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let path = &behind_links(path);
    if is_special(path) {
        return write(&mut OpenOptions::new().write(true).open(path)?);
    }
    #[cfg(target_os = "linux")]
    if let Some(mut file) = unnamed(folder(path), Path::new(DESCRIPTORS)) {
        write(&mut file)?;
        return Ok(name(&file, path)?);
    }
    let mut file = temporary_beside(path)?;
    write(file.as_file_mut())?;
    Ok(file.persist(path).map(drop).map_err(|error| error.error)?)
}

/// Fails as [`write_whole`] would, as far as that can be known before.
///
/// # Errors
/// When no file can be made in the folder, or `path` is a folder itself.
pub fn can_be_written(path: &Path) -> io::Result<()> {
    let path = &behind_links(path);
    if path.is_dir() {
        return OpenOptions::new().write(true).open(path).map(drop);
    }
    // Opening a pipe waits for its reader, and closing it ends the reader's input.
    if is_special(path) { Ok(()) } else { temporary_beside(path).map(drop) }
}

/// The file that is meant, which need not be there.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(target) = path.read_link() else { break };
        path = folder(&path).join(target);
    }
    path.canonicalize().unwrap_or(path)
}

/// Whether something is there that is no regular file.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_file())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // `tempfile` alone would make it private; the user's umask applies as to any file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".befit-").suffix(".part").tempfile_in(folder(path))
}

/// Has a name for each file that the process has open.
#[cfg(target_os = "linux")]
const DESCRIPTORS: &str = "/proc/self/fd";

/// Its name among `descriptors`.
#[cfg(target_os = "linux")]
fn own_name(file: &File, descriptors: &Path) -> PathBuf {
    descriptors.join(std::os::fd::AsRawFd::as_raw_fd(file).to_string())
}

/// A file in `folder` without a name. None where the file system has no such files, or the file is
/// not among `descriptors` (a system without `/proc`), as it could get no name then.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, descriptors: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)?;
    own_name(&file, descriptors).exists().then_some(file)
}

/// Gives a file without a name the name `path`. A name that is taken can only be had by renaming,
/// so the file has another one for a moment.
#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};

    let own = own_name(file, Path::new(DESCRIPTORS));
    let other = loop {
        let name = format!(".befit-{:016x}.part", fastrand::u64(..));
        let other = folder(path).join(name);
        match linkat(CWD, &own, CWD, &other, AtFlags::SYMLINK_FOLLOW) {
            Err(rustix::io::Errno::EXIST) => {}
            linked => break linked.map(|()| other)?,
        }
    };
    fs::rename(&other, path).inspect_err(|_| {
        let _ = fs::remove_file(&other);
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A folder with a file of an older content, and what is in it.
    fn old() -> (tempfile::TempDir, impl Fn() -> Vec<(String, String)>) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old").unwrap();
        let path = folder.path().to_owned();
        let content = move || {
            let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
            let read = |path: &Path| (name(path), fs::read_to_string(path).unwrap());
            entries.map(|path| read(&path)).collect()
        };
        (folder, content)
    }

    fn pair(name: &str, content: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), content.to_owned())]
    }

    #[test]
    fn regression_a_kill_leaves_no_part_as_the_folder_is_as_it_was_while_a_file_is_written() {
        let (folder, content) = old();
        let written = write_whole(&folder.path().join("a"), |file| {
            file.write_all(b"new")?;
            assert_eq!(content(), pair("a", "old"));
            io::Result::Ok(())
        });
        written.unwrap();
        assert_eq!(content(), pair("a", "new"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_could_get_no_name_is_not_made_without_one() {
        let (folder, _) = old();
        assert!(unnamed(folder.path(), &folder.path().join("no descriptors")).is_none());
    }

    #[test]
    fn what_fails_leaves_the_old_file() {
        let (folder, content) = old();
        let failed = write_whole(&folder.path().join("a"), |file| {
            file.write_all(b"new")?;
            Err(io::Error::other("no"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no");
        assert_eq!(content(), pair("a", "old"));
        fs::create_dir(folder.path().join("b")).unwrap();
        write_whole(&folder.path().join("b"), |_| io::Result::Ok(())).unwrap_err();
        fs::remove_dir(folder.path().join("b")).unwrap();
        assert_eq!(content(), pair("a", "old"));
    }

    #[test]
    fn what_finds_its_name_taken_by_a_folder_leaves_no_part() {
        let (folder, _) = old();
        let path = folder.path().join("b");
        write_whole(&path, |_| fs::create_dir(&path)).unwrap_err();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a", "b"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_stays_a_link() {
        let (folder, _) = old();
        let (file, link) = (folder.path().join("a"), folder.path().join("link"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        can_be_written(&link).unwrap();
        write_whole(&link, |file| file.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_to_nothing_stays_a_link_and_what_it_names_appears() {
        use std::os::unix::fs::symlink;
        let (folder, _) = old();
        let [file, link, over] = ["new", "link", "over"].map(|name| folder.path().join(name));
        symlink("new", &link).unwrap();
        symlink(&link, &over).unwrap();
        can_be_written(&over).unwrap();
        write_whole(&over, |file| file.write_all(b"new")).unwrap();
        assert!(link.is_symlink() && over.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        // A link to itself leads nowhere, and its place is taken.
        symlink("round", folder.path().join("round")).unwrap();
        write_whole(&folder.path().join("round"), |_| io::Result::Ok(())).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let device = Path::new("/dev/null");
        can_be_written(device).unwrap();
        write_whole(device, |file| file.write_all(b"gone")).unwrap();
        assert!(!device.metadata().unwrap().is_file());
    }

    #[test]
    fn a_folder_cannot_be_written() {
        let (folder, _) = old();
        can_be_written(folder.path()).unwrap_err();
        write_whole(folder.path(), |_| io::Result::Ok(())).unwrap_err();
    }

    #[cfg(unix)]
    #[test]
    fn it_is_as_readable_as_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, _) = old();
        let mode =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        fs::write(folder.path().join("usual"), "").unwrap();
        write_whole(&folder.path().join("whole"), |_| io::Result::Ok(())).unwrap();
        assert_eq!(mode("whole"), mode("usual"));
    }
}
