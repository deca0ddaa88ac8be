//! befit's own sources, which programs to record are built with: those of the kernels, of the
//! library, of its rayon-core, of what draws pages and of what runs sweeps.
//!
//! They are used where they were when this was compiled. A command that was installed, and whose
//! checkout has gone, carries them with it as an archive ([`carry`]) and unpacks them when they are
//! first needed.

use std::{
    env, fs, io,
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use xxhash_rust::xxh3::xxh3_64;

use crate::LabError;

static CARRIED: OnceLock<&[u8]> = OnceLock::new();

/// Gives the archive of sources that is unpacked where those that this was compiled from are gone.
/// Of several calls the first one counts.
///
/// An archive is a sequence of files. Each is the length of its path, the path, the length of its
/// content, and the content; lengths are 32-bit numbers, little-endian.
pub fn carry(archive: &'static [u8]) {
    let _ = CARRIED.set(archive);
}

/// The place of a file or folder of befit's sources.
///
/// # Errors
/// When they are gone, and none are carried or can be unpacked.
pub(crate) fn checkout(path: &str) -> Result<PathBuf, LabError> {
    static ROOT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let built_from = here.ancestors().nth(2).unwrap_or(here);
        if built_from.join("kernels/Cargo.toml").is_file() {
            return Ok(built_from.to_owned());
        }
        let carried = CARRIED.get().copied().filter(|archive| !archive.is_empty());
        let archive = carried.ok_or_else(|| {
            format!("they are gone from {}, where this befit was built", built_from.display())
        })?;
        let folder = cache_folder().ok_or("there is no HOME and no XDG_CACHE_HOME")?;
        let root = folder.join(format!("sources-{:016x}", xxh3_64(archive)));
        unpack(archive, &root).map_err(|why| format!("cannot unpack them to {root:?}: {why}"))?;
        Ok(root)
    });
    match root {
        Ok(root) => Ok(root.join(path)),
        Err(why) => Err(LabError::Failed(format!("no sources of befit to build with: {why}"))),
    }
}

/// Where programs keep what they can make again.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(caches.join("befit"))
}

/// Unpacks `archive` as the folder `root`, which is there whole afterwards; or was before.
pub(crate) fn unpack(archive: &[u8], root: &Path) -> io::Result<()> {
    if root.is_dir() {
        return Ok(());
    }
    let above = root.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(above)?;
    let folder = tempfile::Builder::new().prefix(".sources-").tempdir_in(above)?;
    let mut rest = archive;
    while !rest.is_empty() {
        let path = String::from_utf8_lossy(part(&mut rest)?).into_owned();
        if !Path::new(&path).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("{path} leads elsewhere")));
        }
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap_or(folder.path()))?;
        fs::write(file, part(&mut rest)?)?;
    }
    let folder = folder.keep();
    match fs::rename(&folder, root) {
        // Another process was quicker.
        Err(_) if root.is_dir() => fs::remove_dir_all(folder),
        renamed => renamed,
    }
}

/// Takes a length and so many bytes.
fn part<'a>(rest: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let cut_off = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (length, after) = rest.split_first_chunk().ok_or_else(cut_off)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (part, after) = after.split_at_checked(length).ok_or_else(cut_off)?;
    *rest = after;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let parts = files.iter().flat_map(|(path, content)| [path, content]);
        let packed =
            parts.map(|part| [&(part.len() as u32).to_le_bytes(), part.as_bytes()].concat());
        packed.collect::<Vec<_>>().concat()
    }

    #[test]
    fn an_archive_is_unpacked_whole_or_not_at_all_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("cache/sources-1");
        let packed = archive(&[("kernels/Cargo.toml", "[package]"), ("kernels/src/lib.rs", "")]);
        for cut in [1, packed.len() - 1, packed.len() - 5] {
            assert!(unpack(&packed[..cut], &root).is_err() && !root.exists(), "{cut}");
        }
        unpack(&packed, &root).unwrap();
        assert_eq!(fs::read_to_string(root.join("kernels/Cargo.toml")).unwrap(), "[package]");
        assert_eq!(fs::read(root.join("kernels/src/lib.rs")).unwrap(), b"");
        unpack(b"not looked at", &root).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 1);
    }

    #[test]
    fn no_file_of_an_archive_leaves_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["../out", "/out", "a/../../out"] {
            let error = unpack(&archive(&[(path, "x")]), &folder.path().join("root"));
            assert!(error.unwrap_err().to_string().contains("elsewhere"), "{path}");
        }
    }

    #[test]
    fn the_sources_are_where_this_was_compiled() {
        assert!(checkout("kernels/Cargo.toml").unwrap().is_file());
    }
}
