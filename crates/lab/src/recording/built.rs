//! A binary that was built, and what was in it then.
//!
//! It is run by its path, later and more than once, and cargo's lock is free by then: another befit
//! that builds the same program with other settings, or sources that have changed, puts its binary
//! there. What such a run says is not of the binary by which it would be kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(super) struct Built {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Built {
    /// Reads the binary: to be called as soon as it is built.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn read(path: PathBuf) -> io::Result<Self> {
        fs::read(&path).map(|bytes| Self { path, bytes })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether another binary, or none, is there now.
    pub(super) fn is_replaced(&self) -> bool {
        fs::read(&self.path).map_or(true, |bytes| bytes != self.bytes)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a binary `sh`, which is the system's shell: so it can be run at once, as a
    /// file that was just written cannot while another thread forks.
    pub(in crate::recording) fn shell() -> (tempfile::TempDir, Built) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sh");
        symlink("/bin/sh", &path).unwrap();
        let built = Built::read(path).unwrap();
        (folder, built)
    }

    /// The arguments with which it runs `script` in `folder`, and those with which it then is
    /// replaced by another that does the same.
    pub(in crate::recording) fn arguments(folder: &Path, script: &str) -> [Vec<String>; 2] {
        let stays = format!("set -e; cd '{}'; {script}", folder.display());
        let replaced = format!("{stays}; cp sh new; echo >> new; mv new sh");
        [stays, replaced].map(|script| vec!["-c".to_owned(), script])
    }

    /// Words of a recorded process's stream as bytes.
    pub(in crate::recording) fn stream(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(in crate::recording) fn event(kind: u64, argument: u64) -> u64 {
        1 << 63 | kind << 56 | argument
    }

    #[test]
    fn a_binary_is_replaced_where_another_or_none_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binary");
        fs::write(&path, "one").unwrap();
        let built = Built::read(path.clone()).unwrap();
        assert!(!built.is_replaced());
        // The same again is no other.
        fs::remove_file(&path).unwrap();
        assert!(built.is_replaced());
        fs::write(&path, "one").unwrap();
        assert!(!built.is_replaced());
        fs::write(&path, "two").unwrap();
        assert!(built.is_replaced());
    }
}
