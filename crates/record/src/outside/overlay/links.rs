//! A tree of symbolic links.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
};

/// A folder that mirrors the file system: real folders on the way to one place, and links to all
/// that lies beside it.
#[derive(Debug)]
pub(super) struct Links<'a> {
    tree: &'a Path,
}

impl<'a> Links<'a> {
    /// Below `tree`, which need not be there.
    pub(super) fn new(tree: &'a Path) -> Self {
        Self { tree }
    }

    /// Mirrors the folder `place` (absolute), and those above it, all but the `hidden` files and
    /// folders. Links that are there already stay, those that lead to nothing any more go; so
    /// others may use the tree meanwhile.
    pub(super) fn lead_to(&self, place: &Path, hidden: &[&Path]) -> io::Result<()> {
        let (mut real, mut mirrored) = (PathBuf::from("/"), self.tree.to_owned());
        for component in place.components() {
            let Component::Normal(name) = component else { continue };
            let next = real.join(name);
            mirror(&real, &mirrored, &[hidden, &[&next]].concat())?;
            (real, mirrored) = (next, mirrored.join(name));
        }
        mirror(&real, &mirrored, hidden)
    }
}

/// Makes links in the folder `mirrored` to all in the folder `real` that is not `hidden`.
fn mirror(real: &Path, mirrored: &Path, hidden: &[&Path]) -> io::Result<()> {
    fs::create_dir_all(mirrored)?;
    // A folder above a workspace may be unreadable; then nothing in it can be of use, either.
    let names: BTreeSet<OsString> = names_in(real).unwrap_or_default();
    let wanted = |name: &OsString| !hidden.contains(&&*real.join(name));
    for name in names_in(mirrored)?.iter().filter(|name| !(names.contains(*name) && wanted(name))) {
        let link = mirrored.join(name);
        if link.is_symlink() {
            fs::remove_file(link)?;
        }
    }
    for name in names.iter().filter(|name| wanted(name)) {
        match symlink(real.join(name), mirrored.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn names_in(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}
