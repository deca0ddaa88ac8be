//! What is done, a line each, appended as it comes.
//!
//! A line is `{"key":…,"figures":[…]}`. A line that a crash has cut off has no line end; it is
//! taken away when the journal is opened again, so its simulation runs again.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use befit_lab::LabError;
use serde::{Deserialize, Serialize};

use crate::{Figures, Grid, programs::cannot};

/// The figures of one simulation.
#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    figures: Figures,
}

/// The figures of a grid's simulations, in a file.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the next line begins.
    end: u64,
    /// Where the line of each configuration begins; [`NOWHERE`] while it is not done.
    lines: Vec<u64>,
    keys: Vec<u128>,
    done: usize,
}

fn damaged(byte: u64, why: &dyn std::fmt::Display) -> String {
    format!("it is damaged at byte {byte} ({why}); begin anew with --fresh (resume=False)")
}

const NOWHERE: u64 = u64::MAX;

impl Journal {
    /// Opens, or makes, the journal of `grid` in `path`. Nobody else may have it open: its folder
    /// is locked.
    ///
    /// # Errors
    /// When it cannot be read or written, or it holds other configurations than `grid`.
    pub(crate) fn open(path: &Path, grid: &Grid) -> Result<Self, LabError> {
        let failed = |error: &dyn std::fmt::Display| cannot("use", path, error);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| failed(&error))?;
        let keys: Vec<u128> = grid.configurations().iter().map(|one| one.key()).collect();
        let index: HashMap<u128, usize> = keys.iter().copied().zip(0..).collect();
        let lines = vec![NOWHERE; keys.len()];
        let mut journal = Self { path: path.to_owned(), file, end: 0, lines, keys, done: 0 };
        let mut others = 0;
        let mut reader = BufReader::new(journal.file.try_clone().map_err(|e| failed(&e))?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let bytes = reader.read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
            if line.last() != Some(&b'\n') {
                break;
            }
            let read: Line = serde_json::from_slice(&line)
                .map_err(|error| failed(&damaged(journal.end, &error)))?;
            let key = u128::from_str_radix(&read.key, 16).ok();
            match key.and_then(|key| index.get(&key)) {
                Some(at) => journal.mark(*at, journal.end),
                None => others += 1,
            }
            journal.end += bytes as u64;
        }
        if others > 0 {
            return Err(LabError::Usage(format!(
                "{} holds {others} simulations {}",
                path.display(),
                grid.lacks_some()
            )));
        }
        journal.cut().map_err(|error| failed(&error))?;
        Ok(journal)
    }

    fn mark(&mut self, at: usize, place: u64) {
        self.done += usize::from(self.lines[at] == NOWHERE);
        self.lines[at] = place;
    }

    /// Takes away what stands behind the last whole line.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end)).map(drop)
    }

    /// How many simulations are done.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    /// Whether a configuration is done.
    pub(crate) fn has(&self, at: usize) -> bool {
        self.lines[at] != NOWHERE
    }

    /// Appends figures by configuration, all or none of them; those that are there already are left
    /// out.
    ///
    /// # Errors
    /// When they cannot be written: the journal is then as before.
    pub(crate) fn append(&mut self, all: &[(usize, Figures)]) -> Result<(), LabError> {
        let mut text = Vec::new();
        let mut places = Vec::new();
        for (at, figures) in all.iter().filter(|(at, _)| !self.has(*at)) {
            places.push((*at, self.end + text.len() as u64));
            let line = Line { key: format!("{:032x}", self.keys[*at]), figures: figures.clone() };
            let line = serde_json::to_vec(&line).map_err(|error| self.failed(&error))?;
            text.extend(line.into_iter().chain([b'\n']));
        }
        if let Err(error) = self.file.write_all(&text) {
            let _ = self.cut(); // else the next opening does it
            return Err(self.failed(&error));
        }
        self.end += text.len() as u64;
        places.into_iter().for_each(|(at, place)| self.mark(at, place));
        Ok(())
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> LabError {
        LabError::Failed(format!(
            "cannot write {}: {error}; what is done is kept: run the sweep again to go on",
            self.path.display()
        ))
    }

    /// The figures of a configuration; none if it is not done.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn figures(&self, at: usize) -> Result<Option<Figures>, LabError> {
        if !self.has(at) {
            return Ok(None);
        }
        let failed = |error: &dyn std::fmt::Display| cannot("read", &self.path, error);
        let mut line = vec![0; 2048];
        loop {
            let bytes = self.file.read_at(&mut line, self.lines[at]).map_err(|e| failed(&e))?;
            if let Some(end) = line[..bytes].iter().position(|byte| *byte == b'\n') {
                let line: Line =
                    serde_json::from_slice(&line[..end]).map_err(|error| failed(&error))?;
                return Ok(Some(line.figures));
            }
            if bytes < line.len() {
                return Err(failed(&"a line is cut off"));
            }
            line.resize(2 * line.len(), 0);
        }
    }
}
