//! A folder of recordings, each under a name made from all that it depends on.

use std::{
    fs,
    path::{Path, PathBuf},
};

use befit_program::Program;

use super::Key;
use crate::Progress;

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

    /// The recording of `what` under `key`. A damaged file is as good as none, and said so.
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

    /// Keeps a recording for the next time. That it cannot be kept stops nothing, and is said so.
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
    use crate::{Silent, recording::KeyBuilder, testing};

    /// Keeps what it is told.
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Progress for Notes {
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    fn key(of: &str) -> Key {
        KeyBuilder::new().bytes(of.as_bytes()).finish()
    }

    #[test]
    fn a_recording_is_found_under_its_key_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("not/there/yet"));
        assert!(store.load("rrm", key("one"), &Silent).is_none());
        store.keep("rrm", key("one"), &testing::program(), &Silent);
        let found = store.load("rrm", key("one"), &Silent).unwrap();
        assert_eq!(found.total_touches(), testing::program().total_touches());
        assert!(store.load("rrm", key("two"), &Silent).is_none());
    }

    #[test]
    fn a_damaged_file_counts_as_none_and_is_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned());
        store.keep("rrm", key("one"), &testing::program(), &Silent);
        let file = store.file("rrm", key("one"));
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let notes = Notes::default();
        assert!(store.load("rrm", key("one"), &notes).is_none());
        assert!(notes.0.lock().unwrap()[0].contains("recording again"));
        store.keep("rrm", key("one"), &testing::program(), &Silent);
        assert!(store.load("rrm", key("one"), &Silent).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "in the way").unwrap();
        let notes = Notes::default();
        Store::new(file).keep("rrm", key("one"), &testing::program(), &notes);
        assert!(notes.0.lock().unwrap()[0].contains("cannot keep"));
    }

    #[test]
    fn names_of_programs_cannot_leave_the_folder() {
        let store = Store::new(PathBuf::from("/cache"));
        let file = store.file("../etc/passwd", key("one"));
        assert_eq!(file.parent(), Some(Path::new("/cache")));
    }
}
