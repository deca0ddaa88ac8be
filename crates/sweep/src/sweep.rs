//! One sweep, from its grid to its table.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsString,
    fs::{self, File},
    io, mem,
    path::{Path, PathBuf},
};

use befit_lab::{LabError, OutputFile, Progress};
use befit_machine::Machine;

use crate::{
    BatchResult, Configuration, Grid, Shard, VERSION,
    batch::{Batch, Job, SIMULATOR},
    column::{Value, configuration_columns, figure_names},
    folder::Folder,
    journal::Journal,
    machines,
    manifest::Manifest,
    meter::Meter,
    programs::{self, Name, Recording, cannot},
    simulator::KEPT,
    table::{self, Row},
};

/// What to do with an earlier sweep into the same table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// Simulate only what it lacks.
    GoOn,
    /// Begin anew.
    Anew,
}

/// One sweep: which simulations are done, and where its figures are kept.
///
/// Until all is done they are in the folder `TABLE.sweep`, with the recordings of kernels. A sweep
/// that is stopped, in whatever way, goes on there.
#[derive(Debug)]
pub struct Sweep {
    grid: Grid,
    manifest: Manifest,
    recordings: BTreeMap<Name, Recording>,
    journal: Journal,
    /// Why simulations failed, by configuration.
    failed: BTreeMap<usize, String>,
    meter: Meter,
    output: PathBuf,
    folder: Folder,
}

impl Sweep {
    /// Prepares the simulation of `grid`, or of a shard of it, into the table `output`: records
    /// kernels, and finds what is done already.
    ///
    /// # Errors
    /// When a program cannot be recorded, a file cannot be read or written; as
    /// [`LabError::Usage`], when an earlier sweep into the same table was one with other
    /// recordings, machines, or another befit, or has simulations that this one lacks.
    pub fn open(
        grid: Grid,
        shard: Option<Shard>,
        output: &Path,
        resume: Resume,
        progress: &dyn Progress,
    ) -> Result<Self, LabError> {
        // That the table cannot be written is said now, and not after the simulations.
        drop(OutputFile::create(output).map_err(|error| cannot("write", output, &error))?);
        let machines = machines::hashes(grid.configurations(), Machine::find)?;
        // All else is done under the lock.
        let mut folder = Folder::lock(&folder_of(output))?;
        let opened = Opened::new(&mut folder, grid, machines, shard, output, resume, progress);
        let Opened { grid, manifest, recordings, journal } = match opened {
            Ok(opened) => opened,
            Err(why) => {
                if folder.was_empty() {
                    // A refused sweep leaves nothing behind.
                    let _ = folder.remove();
                }
                return Err(why);
            }
        };
        let mut sweep = Self {
            grid,
            manifest,
            recordings,
            journal,
            failed: BTreeMap::new(),
            meter: Meter::new(0),
            output: output.to_owned(),
            folder,
        };
        sweep.meter = Meter::new(sweep.pending().map(|at| sweep.recording(at).touches).sum());
        Ok(sweep)
    }

    /// The configurations, by the numbers that [`Self::pending`] gives.
    pub fn configurations(&self) -> &[Configuration] {
        self.grid.configurations()
    }

    /// The numbers of the simulations that are neither done nor have failed.
    pub fn pending(&self) -> impl Iterator<Item = usize> + '_ {
        let all = 0..self.configurations().len();
        all.filter(|at| !self.journal.has(*at) && !self.failed.contains_key(at))
    }

    /// How many simulations are done.
    pub fn done(&self) -> usize {
        self.journal.done()
    }

    /// The simulations that failed, and why.
    pub fn failed(&self) -> &BTreeMap<usize, String> {
        &self.failed
    }

    /// The bytes of the recording of this hash, for a worker that lacks it.
    ///
    /// # Errors
    /// When there is none, or its file has changed or cannot be read.
    pub fn recording_bytes(&self, hash: &str) -> Result<Vec<u8>, LabError> {
        let recording = self.recordings.values().find(|one| one.hash == hash);
        let none = || LabError::Failed("a worker needs another sweep's recording".to_owned());
        recording.ok_or_else(none)?.bytes()
    }

    /// The recording of a configuration.
    pub(crate) fn recording(&self, at: usize) -> &Recording {
        // There is one for each configuration.
        &self.recordings[&programs::name(&self.configurations()[at])]
    }

    /// Reads the first recordings into this process, whose forks then share them. What cannot be
    /// read is found out when it is simulated.
    pub fn preload(&self) {
        let mut seen = BTreeSet::new();
        for at in self.pending() {
            let (one, recording) = (&self.configurations()[at], self.recording(at));
            if seen.insert((&recording.hash, &one.sizes)) {
                let _ = SIMULATOR.read(one, recording, None);
            }
            if seen.len() == KEPT {
                break;
            }
        }
    }

    /// These simulations as bytes for [`crate::run_batch`].
    pub fn batch(&self, numbers: &[usize]) -> Vec<u8> {
        let mut recordings: Vec<Recording> = Vec::new();
        let mut machines = BTreeMap::new();
        let mut jobs = Vec::with_capacity(numbers.len());
        for index in numbers.iter().copied() {
            let needed = self.recording(index);
            let at = recordings.iter().position(|one| one == needed).unwrap_or_else(|| {
                recordings.push(needed.clone());
                recordings.len() - 1
            });
            let one = &self.configurations()[index];
            if let Some(hash) = self.manifest.machines.get(&one.machine) {
                machines.insert(one.machine.clone(), hash.clone());
            }
            jobs.push(Job { index, recording: at, fields: one.fields() });
        }
        let batch = Batch { version: VERSION.to_owned(), recordings, machines, jobs };
        // Numbers and text are always JSON.
        serde_json::to_vec(&batch).unwrap_or_default()
    }

    /// Keeps the figures that a worker found, and returns the simulations that failed, with the
    /// reasons: to be tried again, or given to [`Self::fail`].
    ///
    /// # Errors
    /// When they cannot be kept.
    pub fn append(&mut self, result: &[u8]) -> Result<Vec<(usize, String)>, LabError> {
        let result: BatchResult = serde_json::from_slice(result)
            .map_err(|error| LabError::Failed(format!("a worker sent no result: {error}")))?;
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for (at, outcome) in result.done {
            if at >= self.configurations().len() {
                return Err(LabError::Failed("a worker sent another sweep's result".to_owned()));
            }
            match outcome {
                Ok(figures) => {
                    self.meter.advance(self.recording(at).touches);
                    self.failed.remove(&at);
                    found.push((at, figures));
                }
                Err(why) => failed.push((at, why)),
            }
        }
        self.journal.append(&found)?;
        self.show();
        Ok(failed)
    }

    /// Gives a simulation up.
    pub fn fail(&mut self, at: usize, why: &str) {
        self.meter.advance(self.recording(at).touches);
        self.failed.insert(at, why.to_owned());
        self.show();
    }

    fn show(&mut self) {
        self.meter.show(self.journal.done(), self.grid.configurations().len(), self.failed.len());
    }

    /// Writes the table. If all simulations are in it with their figures, the folder of what was
    /// kept goes; else it stays, and the next sweep tries again what is missing.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn finish(self) -> Result<(), LabError> {
        let numbers = 0..self.configurations().len();
        table::write(&self.output, &self.manifest, numbers.map(|at| self.row(at)))?;
        if self.done() == self.configurations().len() {
            // Once the folder is gone the figures are nowhere else.
            sync(&self.output).map_err(|error| cannot("write", &self.output, &error))?;
            self.folder.remove()?;
        }
        Ok(())
    }

    /// Leaves the sweep to the process that this one was forked from: closes the lock, which both
    /// hold. Frees nothing else, as what neither of the two writes is in memory once.
    pub fn leave(self) {
        let Self { grid, recordings, journal, folder, .. } = self;
        drop(folder);
        mem::forget((grid, recordings, journal));
    }

    fn row(&self, at: usize) -> Result<Row, LabError> {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let Recording { command, hash, .. } = self.recording(at);
        let (figures, error) = match self.journal.figures(at)? {
            Some(figures) => (figures, None),
            None => {
                let why = self.failed.get(&at).map_or("not simulated", |why| why);
                (vec![None; figure_names().len()], text(why))
            }
        };
        let mut row = self.configurations()[at].cells();
        row.extend([text(command), text(hash)]);
        row.extend(figures.into_iter().map(|figure| figure.map(Value::Whole)));
        row.push(error);
        Ok(row)
    }
}

/// What is found, or made, in the folder of a sweep.
struct Opened {
    grid: Grid,
    manifest: Manifest,
    recordings: BTreeMap<Name, Recording>,
    journal: Journal,
}

impl Opened {
    fn new(
        folder: &mut Folder,
        mut grid: Grid,
        machines: BTreeMap<String, String>,
        shard: Option<Shard>,
        output: &Path,
        resume: Resume,
        progress: &dyn Progress,
    ) -> Result<Self, LabError> {
        let kept = folder.manifest();
        let goes_on = resume == Resume::GoOn;
        let table = goes_on && !kept.exists() && output.exists();
        let table = table.then(|| table::open(output)).transpose()?;
        let earlier = match &table {
            Some(table) => Some(table.manifest.clone()),
            None if goes_on => read_manifest(&kept)?,
            None => None,
        };
        let known = earlier.as_ref().map(Manifest::hashes).unwrap_or_default();
        let recordings = programs::find(grid.configurations(), &known, folder.path(), progress)?;
        let manifest = Manifest::of(&grid, shard, &recordings, machines);
        if let Some(why) = earlier.and_then(|earlier| earlier.conflict(&manifest)) {
            let output = output.display();
            return Err(LabError::Usage(format!(
                "{why}, since the sweep into {output} began; name another output, or begin anew"
            )));
        }
        if !goes_on {
            // Now that the new sweep can begin: what was kept is lost.
            let paths = recordings.values().map(|one| one.path.file_name());
            folder.clear(&paths.flatten().collect::<Vec<_>>())?;
        }
        if let Some(shard) = shard {
            grid.keep(shard);
        }
        let rows = folder.path().join("rows.jsonl");
        if !kept.exists() && rows.exists() {
            // Of which recordings nobody knows: its removal was cut short.
            fs::remove_file(&rows).map_err(|error| cannot("remove", &rows, &error))?;
        }
        let mut journal = Journal::open(&rows, &grid)?;
        if let Some(table) = table {
            import(&mut journal, &grid, table)?;
        }
        let text = serde_json::to_vec_pretty(&manifest).map_err(|e| cannot("write", &kept, &e))?;
        let written = OutputFile::create(&kept).and_then(|file| file.commit(&text));
        written.map_err(|error| cannot("write", &kept, &error))?;
        Ok(Self { grid, manifest, recordings, journal })
    }
}

/// The folder beside `output` in which a sweep keeps what is done.
fn folder_of(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".sweep");
    name.into()
}

/// Whether the file system has no means to wait for the disk.
fn cannot_sync(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Waits until the file `output`, and its name, are on the disk.
fn sync(output: &Path) -> io::Result<()> {
    // A pipe has its reader.
    if fs::metadata(output)?.is_file() {
        match File::open(output)?.sync_all() {
            Err(error) if !cannot_sync(&error) => return Err(error),
            _ => {}
        }
        let folder = output.canonicalize()?;
        if let Some(folder) = folder.parent().and_then(|folder| File::open(folder).ok()) {
            // Not every file system can do it.
            let _ = folder.sync_all();
        }
    }
    Ok(())
}

fn read_manifest(file: &Path) -> Result<Option<Manifest>, LabError> {
    if !file.exists() {
        return Ok(None);
    }
    let bytes = fs::read(file).map_err(|error| cannot("read", file, &error))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| cannot("read", file, &error))
}

/// Takes over the rows of a table that was finished before.
fn import(journal: &mut Journal, grid: &Grid, table: table::Table) -> Result<(), LabError> {
    let configurations = grid.configurations();
    let numbers: HashMap<u128, usize> =
        configurations.iter().map(Configuration::key).zip(0..).collect();
    let first = configuration_columns().len() + 2;
    for row in table.rows() {
        let row = row?;
        if row.last().is_some_and(Option::is_some) {
            continue; // it failed
        }
        let Some(at) = numbers.get(&crate::configuration::key(&row)) else {
            let why = grid.lacks_some();
            return Err(LabError::Usage(format!("the table holds simulations {why}")));
        };
        let figures = row[first..row.len() - 1].iter().map(|cell| match cell {
            Some(Value::Whole(figure)) => Some(*figure),
            _ => None,
        });
        journal.append(&[(*at, figures.collect())])?;
    }
    Ok(())
}
