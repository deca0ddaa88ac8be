//! A folder of recordings, each named after all that it depends on. It is a cache: losing it costs
//! time, and nothing in it is trusted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use befit_program::{Program, WriteError};
use xxhash_rust::xxh3::Xxh3;

use crate::{Progress, kept};

/// A hash of all that a recording depends on, as 32 digits. The length of each part goes in too, so
/// that `ab`, `c` and `a`, `bc` differ.
pub(super) fn key(parts: &[&[u8]]) -> String {
    let mut hash = Xxh3::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:032x}", hash.digest128())
}

/// The file in `folder` that a recording of `what` under `key` is kept in.
pub(super) fn file(folder: &Path, what: &str, key: &str) -> PathBuf {
    let words = what.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("-");
    name.truncate(40); // ASCII alone is left
    folder.join(format!("{name}-{key}.befit"))
}

/// The recording of `what` in `file`. A damaged file counts as none, with a note.
pub(super) fn load(file: &Path, what: &str, progress: &dyn Progress) -> Option<Program> {
    if !file.exists() {
        return None;
    }
    match Program::load(file) {
        Ok(program) => {
            progress.recorded_before(what, file);
            kept::used(file);
            Some(program)
        }
        Err(error) => {
            progress.note(&format!("{}: {error}; recording again", file.display()));
            None
        }
    }
}

/// Keeps a recording for the next time. A failure stops nothing, and gives a note.
pub(super) fn keep(file: &Path, program: &Program, progress: &dyn Progress) {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    let made = made.map_err(|why| WriteError::Save(file.into(), why));
    if let Err(why) = made.and_then(|()| program.save(file)) {
        progress.note(&format!("cannot keep the recording: {why}"));
    } else if let Some(folder) = file.parent() {
        kept::bound(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Silent, progress::testing::Notes, testing};

    const ONE: &str = "00000000000000000000000000000001";
    const TWO: &str = "00000000000000000000000000000002";

    #[test]
    fn a_recording_is_found_under_its_key_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = [ONE, TWO].map(|key| file(&folder.path().join("not/there"), "rrm", key));
        assert!(load(&one, "rrm", &Silent).is_none());
        keep(&one, &testing::program(), &Silent);
        let found = load(&one, "rrm", &Silent).unwrap();
        assert_eq!(found.total_touches(), testing::program().total_touches());
        assert!(load(&two, "rrm", &Silent).is_none());
    }

    #[test]
    fn a_damaged_file_counts_as_none_and_gives_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), "rrm", ONE);
        keep(&file, &testing::program(), &Silent);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let notes = Notes::default();
        assert!(load(&file, "rrm", &notes).is_none());
        assert!(notes.all()[0].contains("recording again"));
        keep(&file, &testing::program(), &Silent);
        assert!(load(&file, "rrm", &Silent).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, "in the way").unwrap();
        let notes = Notes::default();
        keep(&file(&in_the_way, "rrm", ONE), &testing::program(), &notes);
        assert!(notes.all()[0].contains("cannot keep"));
    }

    #[test]
    fn names_of_programs_cannot_leave_the_folder() {
        let file = file(Path::new("/cache"), "../etc/passwd", ONE);
        assert_eq!(file.parent(), Some(Path::new("/cache")));
    }

    #[test]
    fn a_key_has_32_digits_and_depends_on_every_part_and_on_where_parts_end() {
        let of = |parts: &[&str]| {
            let parts: Vec<_> = parts.iter().map(|part| part.as_bytes()).collect();
            key(&parts)
        };
        assert_eq!(of(&["rrm", "--n"]), of(&["rrm", "--n"]));
        assert_ne!(of(&["rrm", "--n"]), of(&["rrm", "--m"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        assert_eq!(of(&[]).len(), 32);
    }
}
