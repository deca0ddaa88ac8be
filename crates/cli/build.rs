//! Packs the sources that the command builds programs with, so that it works after its checkout has
//! gone. The format is that of `befit_lab::carry`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The packages of the kernels, of the library with its recorder, of its rayon-core, of what draws
/// pages, of what runs sweeps and of what measures, with all that they need of ours.
const PACKED: [&str; 18] = [
    "Cargo.lock",
    "crates/cache",
    "crates/calibrate",
    "crates/catalog",
    "crates/counters",
    "crates/features",
    "crates/lab",
    "crates/learn",
    "crates/machine",
    "crates/page",
    "crates/program",
    "crates/record",
    "crates/runtime",
    "crates/sched",
    "crates/sim",
    "crates/sweep",
    "kernels",
    "compat",
];

/// The line of the workspace's manifest that names its members, and one for those that are packed.
const MEMBERS: (&str, &str) = (
    r#"members = ["crates/*", "fuzz", "kernels", "peers", "python"]"#,
    r#"members = ["crates/*", "kernels"]"#,
);
const DEFAULT: (&str, &str) =
    (r#"default-members = ["crates/cli"]"#, r#"default-members = ["kernels"]"#);

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let here = variable("CARGO_MANIFEST_DIR")?;
    let root = here.ancestors().nth(2).unwrap_or(&here);
    let mut archive = Vec::new();
    let manifest = root.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", manifest.display());
    // As a package on its own the command has no workspace around it, and carries nothing.
    if let Ok(text) = fs::read_to_string(manifest) {
        let text = [MEMBERS, DEFAULT].iter().try_fold(text, |text, (from, to)| {
            let found = text.contains(from);
            found.then(|| text.replace(from, to)).ok_or(io::Error::other(*from))
        })?;
        put(&mut archive, "Cargo.toml", text.as_bytes());
        for path in PACKED {
            pack(&mut archive, root, Path::new(path))?;
        }
    }
    fs::write(variable("OUT_DIR")?.join("sources"), archive)
}

/// Packs a file, or the files in a folder in the order of their names.
fn pack(archive: &mut Vec<u8>, root: &Path, path: &Path) -> io::Result<()> {
    let whole = root.join(path);
    if !whole.is_dir() {
        // Of a folder cargo would look at all that is in it, and at what links in builds there lead
        // to: the whole system.
        println!("cargo::rerun-if-changed={}", whole.display());
        put(archive, &path.to_string_lossy(), &fs::read(whole)?);
        return Ok(());
    }
    let mut names =
        fs::read_dir(whole)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    names.retain(|name| name != "target");
    names.iter().try_for_each(|name| pack(archive, root, &path.join(name)))
}

fn put(archive: &mut Vec<u8>, path: &str, content: &[u8]) {
    for part in [path.as_bytes(), content] {
        archive.extend((part.len() as u32).to_le_bytes());
        archive.extend(part);
    }
}
