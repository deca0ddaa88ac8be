//! Builds a program that uses rayon on befit's rayon-core, without a change to any file of the
//! program's.
//!
//! `cargo build --config 'patch.crates-io.rayon-core.path="…"'` alone would make cargo write the
//! replaced package into the workspace's `Cargo.lock`, and stable cargo (1.95) has no option to
//! keep the lockfile elsewhere. So the workspace is built from an *overlay*: a tree of symbolic
//! links in the target folder. Through it cargo sees all files of the workspace, but a `Cargo.lock`
//! of the overlay's own. That lockfile begins as a copy of the user's, so packages stay at the
//! user's versions where befit does not need newer ones ([`lock`]).
//!
//! The tree mirrors the file system from its root down to the workspace, with real folders on the
//! way and links to all that lies beside it, so paths that lead out of the workspace (`../other`)
//! find what they mean. The folders that are built in are left out, wherever they lie: cargo, which
//! follows links, would go through the tree without end.

mod lock;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

/// The lockfile's name, which cargo does not let anyone choose.
const LOCKFILE: &str = "Cargo.lock";

/// The user's lockfile and befit's as they were when the overlay's was made from them.
const LOCKED_FROM: &str = "Cargo.lock.from";

/// A manifest that keeps cargo out of a folder that it builds in, also in the user's own builds: in
/// a folder of a package it does not look where another manifest is, unless its name is `target`.
/// What lies there is of no workspace but its own.
const NO_PACKAGE: &str = "[workspace]\nexclude = [\".\"]\n";

/// A workspace as `cargo metadata --no-deps` describes it.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) root: PathBuf,
    /// The folder that cargo builds in.
    pub(super) target: PathBuf,
    pub(super) metadata: Value,
}

impl Workspace {
    /// The workspace that cargo's `output` describes; `Err` with what is missing in it.
    pub(super) fn new(output: &str) -> Result<Self, &'static str> {
        let metadata: Value = serde_json::from_str(output).unwrap_or_default();
        let path = |key: &str| metadata[key].as_str().map(PathBuf::from);
        let target = path("target_directory").ok_or("it names no target_directory")?;
        let root = path("workspace_root").ok_or("it names no workspace_root")?;
        Ok(Self { root, target, metadata })
    }

    /// The dependencies of the workspace's packages, as cargo describes them.
    fn dependencies(&self) -> impl Iterator<Item = &Value> {
        let packages = self.metadata["packages"].as_array().into_iter().flatten();
        packages.flat_map(|package| package["dependencies"].as_array().into_iter().flatten())
    }

    /// True if a program of the workspace may use rayon: a package asks for it, the lockfile names
    /// it, or there is no lockfile yet.
    pub(super) fn may_use_rayon(&self) -> bool {
        let asked_for =
            self.dependencies().any(|d| d["name"] == "rayon" || d["name"] == "rayon-core");
        asked_for
            || lock::read(&self.root.join(LOCKFILE))
                .map_or(true, |lock| lock::names_rayon_core(&lock))
    }

    /// The folder that its package `befit` comes from, if it is a folder.
    pub(super) fn befit(&self) -> Option<&Path> {
        self.dependencies().find(|d| d["name"] == "befit")?["path"].as_str().map(Path::new)
    }
}

/// A workspace seen through links.
#[derive(Debug)]
pub(super) struct Overlay {
    /// Stands for the root of the file system.
    tree: PathBuf,
}

impl Overlay {
    /// The overlay of `workspace` in `folder`, for a build with the package in the folder
    /// `rayon_core`; made new or brought up to date. Two workspaces never share one.
    pub(super) fn of(workspace: &Workspace, folder: &Path, rayon_core: &Path) -> io::Result<Self> {
        let Workspace { root, target, .. } = workspace;
        let mut hasher = DefaultHasher::new();
        (root, target).hash(&mut hasher);
        let tree = folder.join(format!("overlay-{:016x}", hasher.finish()));
        fs::create_dir_all(&tree)?;
        // In `folder` there are also the overlays of other workspaces, which lead there, too. A
        // workspace may lie in a folder that another one is built in.
        let built = [&**target, folder, &tree].into_iter().filter(|path| !is_in(root, path));
        if is_in(folder, root) && !is_in(folder, &root.join("target")) && !is_in(root, folder) {
            fs::write(folder.join("Cargo.toml"), NO_PACKAGE)?;
        }
        let mut hidden = vec![root.join(LOCKFILE)];
        hidden.extend(built.flat_map(|path| names_of(path, root)));
        lead_to(&tree, root, &hidden)?;
        let overlay = Self { tree };
        overlay.lock(root, rayon_core)?;
        Ok(overlay)
    }

    /// The path within the overlay that stands for `path`, which is absolute.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        let mut seen = self.tree.clone();
        for component in path.components() {
            match component {
                Component::Normal(name) => seen.push(name),
                Component::ParentDir if seen != self.tree => drop(seen.pop()),
                _ => {}
            }
        }
        seen
    }

    /// True if `path` leads through the links.
    pub(super) fn has(&self, path: &Path) -> bool {
        path.starts_with(&self.tree)
    }

    /// Takes over the user's lockfile. If that was done before, and the user's and befit's own are
    /// as they were then, all stays as cargo has left it.
    fn lock(&self, root: &Path, rayon_core: &Path) -> io::Result<()> {
        let (own, from) = (self.lockfile(root), self.tree.join(LOCKED_FROM));
        let users = match lock::read(&root.join(LOCKFILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            users => users?,
        };
        // Without it nothing is known to be needed newer, and cargo has the last word.
        let ours = lock::read(&rayon_core.join(LOCKFILE)).unwrap_or_default();
        let both = format!("{users}\n# befit's:\n{ours}");
        if own.is_file() && fs::read_to_string(&from).is_ok_and(|before| before == both) {
            return Ok(());
        }
        fs::write(&own, lock::with_room_for(&users, &ours))?;
        fs::write(&from, both)
    }

    /// The overlay's own lockfile of the workspace with this root.
    pub(super) fn lockfile(&self, root: &Path) -> PathBuf {
        self.path(root).join(LOCKFILE)
    }
}

/// What a path is called: itself, without `..`, and from `root` on if it lies there by some link.
fn names_of(path: &Path, root: &Path) -> Vec<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let below = |root: PathBuf| Some(path.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned());
    let linked = root.canonicalize().ok().and_then(below).map(|rest| root.join(rest));
    [plain].into_iter().chain(linked).collect()
}

/// The packages rayon-core that a lockfile has, as a list; none if it has none.
pub(super) fn rayon_cores(lockfile: &Path) -> Option<String> {
    let all = lock::rayon_cores(&lock::read(lockfile).ok()?);
    (!all.is_empty()).then(|| all.join(", "))
}

/// Whether `path` lies in `folder`, or is that, whatever links lead to them.
fn is_in(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(path).starts_with(real(folder))
}

/// Mirrors the folder `place`, and those above it, in the folder `tree`: all but the `hidden` files
/// and folders. All paths are absolute. Links that are there already stay, those that lead to
/// nothing any more go; so others may use the tree meanwhile.
fn lead_to(tree: &Path, place: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    // A link to a folder in which something is hidden would lead to that.
    let ways = hidden.iter().flat_map(|hidden| hidden.ancestors().skip(1));
    let seen = |folder: &&Path| !hidden.iter().any(|hidden| folder.starts_with(hidden));
    let ways = ways.filter(seen).filter(|folder| folder.is_dir());
    // A folder comes before those in it.
    let real: BTreeSet<&Path> = place.ancestors().chain(ways).collect();
    for folder in &real {
        let mirrored = tree.join(folder.strip_prefix("/").unwrap_or(folder));
        let is_link = |path: &Path| !real.contains(path) && !hidden.iter().any(|it| it == path);
        mirror(folder, &mirrored, is_link)?;
    }
    Ok(())
}

/// Makes links in the folder `mirrored` to all in the folder `real` that is to be one.
fn mirror(real: &Path, mirrored: &Path, is_link: impl Fn(&Path) -> bool) -> io::Result<()> {
    fs::create_dir_all(mirrored)?;
    // A folder above a workspace may be unreadable; then nothing in it can be of use, either.
    let names: BTreeSet<OsString> = names_in(real).unwrap_or_default();
    let wanted = |name: &OsString| is_link(&real.join(name));
    for name in names_in(mirrored)?.iter().filter(|name| !(names.contains(*name) && wanted(name))) {
        let link = mirrored.join(name);
        if link.is_symlink() {
            // Unless another process has.
            match fs::remove_file(link) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
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

#[cfg(test)]
mod tests;
