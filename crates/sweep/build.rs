//! A fingerprint of all sources that a simulation's figures depend on, so that results of two
//! different models are never put into one table.

use std::{
    fs,
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::Xxh3;

/// The crates whose code decides what a simulation finds.
const MODEL: [&str; 8] = ["cache", "lab", "learn", "machine", "program", "sched", "sim", "sweep"];

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
    println!("cargo::rustc-env=BEFIT_MODEL={:016x}", hash.digest());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
