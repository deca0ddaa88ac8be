//! A fingerprint of all that a simulation's figures depend on, befit's sources and the version of
//! the generator of random numbers, so that results of two different models are never put into one
//! table.

use std::{
    fs,
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::Xxh3;

/// The crates whose code decides what a simulation finds.
const MODEL: [&str; 8] = ["cache", "lab", "learn", "machine", "program", "sched", "sim", "sweep"];

/// The crate of others whose random numbers decide it, too.
const GENERATOR: &str = "fastrand";

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in MODEL {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    files.sort();
    let mut hash = Xxh3::new();
    for file in files {
        hash.update(&fs::read(&file).unwrap_or_default());
    }
    // What a seed gives is no part of the generator's promise from version to version.
    if let Some(path) = lock_file() {
        println!("cargo::rerun-if-changed={}", path.display());
        let lock = fs::read_to_string(path).unwrap_or_default();
        versions(&lock, GENERATOR).for_each(|version| hash.update(version.as_bytes()));
    }
    println!("cargo::rustc-env=BEFIT_MODEL={:016x}", hash.digest());
}

/// The lock file of the workspace that this crate is built in, where there is one.
fn lock_file() -> Option<PathBuf> {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.map(|folder| folder.join("Cargo.lock")).find(|file| file.is_file())
}

/// The versions of a package that a lock file names.
fn versions<'l>(lock: &'l str, package: &str) -> impl Iterator<Item = &'l str> {
    let name = format!("name = \"{package}\"");
    let lines = lock.lines().zip(lock.lines().skip(1));
    lines.filter_map(move |(first, second)| (first == name).then_some(second))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
