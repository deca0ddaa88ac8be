//! A folder of recordings, each under a name made from all that it depends on.

use std::{
    fs,
    path::{Path, PathBuf},
};

use befit_program::Program;

use super::Key;
use crate::Progress;

/// A folder of recordings made before. It is a cache: losing it costs time, and nothing in it is trusted.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file that a recording of `what` under `key` is kept in.
    fn file(&self, what: &str, key: Key) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        let name: String = what.chars().map(safe).take(40).collect();
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
