//! A folder of recordings, each named after all that it depends on.

use std::{
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use befit_program::Program;
use xxhash_rust::xxh3::Xxh3;

use crate::Progress;

/// A 128-bit hash of all that a recording depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key(u128);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Collects what a recording depends on.
pub(crate) struct KeyBuilder(Xxh3);

impl KeyBuilder {
    pub(crate) fn new() -> Self {
        Self(Xxh3::new())
    }

    /// Depends on these bytes. Their length goes in too, so that `ab`, `c` and `a`, `bc` differ.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Depends on a file's content.
    pub(crate) fn file(mut self, path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        self.0.update(&file.metadata()?.len().to_le_bytes());
        io::copy(&mut file, &mut Sink(&mut self.0))?;
        Ok(self)
    }

    pub(crate) fn finish(self) -> Key {
        Key(self.0.digest128())
    }
}

struct Sink<'a>(&'a mut Xxh3);

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A folder of recordings made before. It is a cache: losing it costs time, and nothing in it is
/// trusted.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file that a recording of `what` under `key` is kept in.
    fn file(&self, what: &str, key: Key) -> PathBuf {
        let words =
            what.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut name = words.collect::<Vec<_>>().join("-");
        name.truncate(40); // ASCII alone is left
        self.folder.join(format!("{name}-{key}.befit"))
    }

    /// The recording of `what` under `key`. A damaged file counts as none, with a note.
    pub(crate) fn load(&self, what: &str, key: Key, progress: &dyn Progress) -> Option<Program> {
        let file = self.file(what, key);
        if !file.exists() {
            return None;
        }
        match Program::load(&file) {
            Ok(program) => {
                progress.recorded_before(what, &file);
                Some(program)
            }
            Err(error) => {
                progress.note(&format!("{}: {error}; recording again", file.display()));
                None
            }
        }
    }

    /// Keeps a recording for the next time. A failure stops nothing, and gives a note.
    pub(crate) fn keep(&self, what: &str, key: Key, program: &Program, progress: &dyn Progress) {
        let file = self.file(what, key);
        if let Err(why) = save(program, &file) {
            progress.note(&format!("cannot keep the recording in {}: {why}", file.display()));
        }
    }
}

fn save(program: &Program, file: &Path) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    }
    program.save(file).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Silent, testing};

    /// Keeps the notes.
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Progress for Notes {
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    #[test]
    fn a_recording_is_found_under_its_key_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("not/there/yet"));
        assert!(store.load("rrm", of(&["one"]), &Silent).is_none());
        store.keep("rrm", of(&["one"]), &testing::program(), &Silent);
        let found = store.load("rrm", of(&["one"]), &Silent).unwrap();
        assert_eq!(found.total_touches(), testing::program().total_touches());
        assert!(store.load("rrm", of(&["two"]), &Silent).is_none());
    }

    #[test]
    fn a_damaged_file_counts_as_none_and_gives_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        store.keep("rrm", of(&["one"]), &testing::program(), &Silent);
        let file = store.file("rrm", of(&["one"]));
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let notes = Notes::default();
        assert!(store.load("rrm", of(&["one"]), &notes).is_none());
        assert!(notes.0.lock().unwrap()[0].contains("recording again"));
        store.keep("rrm", of(&["one"]), &testing::program(), &Silent);
        assert!(store.load("rrm", of(&["one"]), &Silent).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "in the way").unwrap();
        let notes = Notes::default();
        Store::new(file).keep("rrm", of(&["one"]), &testing::program(), &notes);
        assert!(notes.0.lock().unwrap()[0].contains("cannot keep"));
    }

    #[test]
    fn names_of_programs_cannot_leave_the_folder() {
        let store = Store::new(PathBuf::from("/cache"));
        let file = store.file("../etc/passwd", of(&["one"]));
        assert_eq!(file.parent(), Some(Path::new("/cache")));
    }

    fn of(parts: &[&str]) -> Key {
        parts.iter().fold(KeyBuilder::new(), |k, p| k.bytes(p.as_bytes())).finish()
    }

    #[test]
    fn a_key_depends_on_every_part_and_on_where_parts_end() {
        assert_eq!(of(&["rrm", "--n"]), of(&["rrm", "--n"]));
        assert_ne!(of(&["rrm", "--n"]), of(&["rrm", "--m"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
    }

    #[test]
    fn a_file_counts_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binary");
        let file = |content: &str| {
            std::fs::write(&path, content).unwrap();
            KeyBuilder::new().file(&path).unwrap().finish()
        };
        assert_eq!(file("one"), file("one"));
        assert_ne!(file("one"), file("two"));
        assert_eq!(file("one"), of(&["one"]));
    }

    #[test]
    fn a_key_is_written_as_32_digits() {
        assert_eq!(Key(1).to_string(), "00000000000000000000000000000001");
    }
}
