//! The programs of a sweep: recordings in files, or kernels, which are recorded first.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use befit_lab::{KernelSource, LabError, Progress, Source, names_file};
use befit_program::Program;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::Configuration;

/// A recording in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Recording {
    /// Where it is, for workers that see this file system.
    pub(crate) path: PathBuf,
    /// The hash of the file.
    pub(crate) hash: String,
    /// The command that was recorded.
    pub(crate) command: String,
    /// Its line touches: the time of a simulation grows with them.
    pub(crate) touches: u64,
}

impl Recording {
    /// True if there is a file that may be it; [`Self::find`] compares the hash.
    pub(crate) fn may_be_here(&self, folder: Option<&Path>) -> bool {
        self.path.is_file() || folder.is_some_and(|folder| kept(folder, &self.hash).is_file())
    }

    /// The file to read it from: the one of its hash in `folder`, where a worker keeps what it was
    /// sent, else its path. None if it is in neither; with a folder, also if the file of that path
    /// is another one or cannot be read, as it may be on another machine.
    ///
    /// # Errors
    /// In one line: it has changed, or its file cannot be read, and nobody sends it.
    pub(crate) fn find(&self, folder: Option<&Path>) -> Result<Option<PathBuf>, String> {
        let is_it = |path: &PathBuf| file_hash(path).is_ok_and(|hash| hash == self.hash);
        let sent = folder.map(|folder| kept(folder, &self.hash));
        if let Some(sent) = sent.filter(is_it) {
            return Ok(Some(sent));
        }
        let path = &self.path;
        if !path.is_file() {
            return Ok(None);
        }
        match file_hash(path) {
            Ok(hash) if hash == self.hash => Ok(Some(path.clone())),
            _ if folder.is_some() => Ok(None),
            Ok(_) => Err(self.changed(path)),
            Err(why) => Err(format!("{}: {why}", path.display())),
        }
    }

    /// Its bytes, for a worker that does not have it.
    ///
    /// # Errors
    /// It has changed, or cannot be read.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, LabError> {
        let bytes = fs::read(&self.path).map_err(|error| cannot("read", &self.path, &error))?;
        match digits(xxh3_128(&bytes)) == self.hash {
            true => Ok(bytes),
            false => Err(LabError::Failed(self.changed(&self.path))),
        }
    }

    fn changed(&self, path: &Path) -> String {
        format!("the recording {} has changed since the sweep began", path.display())
    }
}

/// What a configuration's recording depends on: the program, and of a kernel the shrink.
pub(crate) type Name = String;

/// The name of the recording of `one`.
pub(crate) fn name(one: &Configuration) -> Name {
    match one.shrink {
        shrink if shrink > 1 && !is_file(&one.program) => {
            format!("{} --shrink {shrink}", one.program)
        }
        _ => one.program.clone(),
    }
}

/// Whether `program` is the path of a file, which may have spaces; else it is a kernel with its
/// arguments.
fn is_file(program: &str) -> bool {
    names_file(program.split(" --").next().unwrap_or_default())
}

/// The shrink of a program where nobody said: the usual one of a kernel of its default size.
pub(crate) fn usual_shrink(program: &str) -> u32 {
    let mut words = program.split_whitespace();
    match words.next() {
        Some(kernel) if !is_file(program) && words.all(|word| word != "--n") => {
            befit_lab::usual_shrink(kernel)
        }
        _ => 1,
    }
}

/// The kernel that `program` names: its name, and perhaps `--n N` and `--data-seed X`.
fn kernel(program: &str, shrink: u32) -> Result<Source, LabError> {
    let mut words = program.split_whitespace();
    let mut source = KernelSource { shrink, ..KernelSource::new(words.next().unwrap_or_default()) };
    while let Some(option) = words.next() {
        let digits: String = words.next().unwrap_or_default().replace('_', "");
        let number = digits.parse().ok();
        match (option, number) {
            ("--n", Some(_)) => source.n = number,
            ("--data-seed", Some(_)) => source.seed = number,
            _ => {
                return Err(LabError::Usage(format!(
                    "program '{program}': a kernel's name may be followed by --n N and \
                     --data-seed X"
                )));
            }
        }
    }
    Ok(Source::Kernel(source))
}

/// Finds the recordings of all of `configurations`. Kernels are recorded, or found in `kept` by
/// the hash that `known` gives, and put into `folder`.
///
/// # Errors
/// When a file is no recording, or a kernel cannot be recorded.
pub(crate) fn find(
    configurations: &[Configuration],
    known: &BTreeMap<Name, String>,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<BTreeMap<Name, Recording>, LabError> {
    let mut found = BTreeMap::new();
    for one in configurations {
        let name = name(one);
        if found.contains_key(&name) {
            continue;
        }
        let recording = if is_file(&one.program) {
            in_file(Path::new(&one.program))?
        } else {
            match known.get(&name).map(|hash| kept(folder, hash)).filter(|path| path.is_file()) {
                Some(path) => in_file(&path)?,
                None => recorded(one, folder, progress)?,
            }
        };
        found.insert(name, recording);
    }
    Ok(found)
}

fn kept(folder: &Path, hash: &str) -> PathBuf {
    folder.join(format!("{hash}.befit"))
}

fn recorded(
    one: &Configuration,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Recording, LabError> {
    let source = kernel(&one.program, one.shrink)?;
    source.check()?;
    let program = befit_lab::record(&source, false, progress)?;
    let first = folder.join("recording.befit");
    program.save(&first).map_err(|error| LabError::Failed(error.to_string()))?;
    let hash = hash(&first)?;
    let path = kept(folder, &hash);
    fs::rename(&first, &path).map_err(|error| cannot("write", &path, &error))?;
    Ok(of(path, hash, &program))
}

fn in_file(path: &Path) -> Result<Recording, LabError> {
    let hash = hash(path)?;
    let program = load(path)?;
    let path = path.canonicalize().map_err(|error| cannot("read", path, &error))?;
    Ok(of(path, hash, &program))
}

fn of(path: PathBuf, hash: String, program: &Program) -> Recording {
    Recording { path, hash, command: program.meta().name.clone(), touches: program.total_touches() }
}

pub(crate) fn load(path: &Path) -> Result<Program, LabError> {
    Program::load(path).map_err(|error| cannot("read the recording", path, &error))
}

fn hash(path: &Path) -> Result<String, LabError> {
    file_hash(path).map_err(|error| LabError::Usage(format!("{}: {error}", path.display())))
}

/// A hash of a file's bytes, as 32 digits.
///
/// # Errors
/// When it cannot be read.
pub fn file_hash(path: &Path) -> io::Result<String> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digits(hash.digest128())),
            bytes => hash.update(&buffer[..bytes]),
        }
    }
}

fn digits(hash: u128) -> String {
    format!("{hash:032x}")
}

/// A failure with the file's name.
pub(crate) fn cannot(what: &str, path: &Path, error: &dyn std::fmt::Display) -> LabError {
    LabError::Failed(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_is_a_file() {
        let files = ["rrm.befit", "my runs/rrm", "my run.befit", "./my run --n 5.befit"];
        assert!(files.into_iter().all(is_file));
        let kernels = ["rrm", " rrm  --n 5", "rrm --n 1.5", "bst:node=24 --data-seed 5", "my rrm"];
        assert!(!kernels.into_iter().any(is_file));
    }

    #[test]
    fn a_kernel_of_its_default_size_is_shrunk_whatever_its_data_seed() {
        let usual = befit_lab::usual_shrink("matmul");
        assert!(usual > 1);
        assert_eq!(["matmul", "matmul --data-seed 5"].map(usual_shrink), [usual; 2]);
        let others = ["matmul --n 50", "matmul --data-seed 5 --n 50", "matmul.befit", "none"];
        assert_eq!(others.map(usual_shrink), [1; 4]);
    }
}
