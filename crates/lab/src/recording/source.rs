//! What to record: a kernel, or a crate of the user's.

use std::{
    fs, io, iter,
    path::{Path, PathBuf},
};

use befit_record::Build;
pub use befit_record::Target;
use xxhash_rust::xxh3::Xxh3;

use super::{
    kernels::{self, KernelSource},
    store,
};
use crate::{LabError, sources::checkout};

/// A program to record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A kernel of befit's own.
    Kernel(KernelSource),
    /// A crate of the user's that uses befit, or rayon.
    Crate(CrateSource),
}

/// A crate of the user's: what to build of it, and how to start that.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CrateSource {
    /// What to build.
    pub target: Target,
    /// The arguments to start it with.
    pub arguments: Vec<String>,
    /// The file that it reads as standard input; by default it reads nothing.
    pub stdin: Option<PathBuf>,
    /// Files that it reads and that no argument names.
    pub inputs: Vec<PathBuf>,
}

impl CrateSource {
    /// The files that the run is known to read: besides those that were named, those that arguments
    /// name, as `FILE` or as `--name=FILE`.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let named = self.stdin.iter().chain(&self.inputs).map(PathBuf::as_path);
        let arguments = self.arguments.iter().flat_map(|argument| {
            let value = argument.split_once('=').map(|(_, value)| value);
            iter::once(&**argument).chain(value)
        });
        named.chain(arguments.map(Path::new).filter(|path| path.is_file()))
    }

    /// A hash of the content of these files, and whether the first of them is standard input.
    pub(super) fn content(&self) -> Result<String, LabError> {
        Ok(format!("{} {}", self.stdin.is_some(), content(self.files())?))
    }
}

impl Source {
    /// The program `name` of compat/programs, which uses rayon, with data of size `n`.
    ///
    /// # Errors
    /// When befit's own sources are gone.
    pub(crate) fn of_rayon(name: &str, n: u64) -> Result<Self, LabError> {
        let manifest_path = Some(checkout("compat/programs/Cargo.toml")?);
        let bin = Some(name.to_owned());
        let target = Target { manifest_path, bin, ..Target::default() };
        let arguments = vec![n.to_string()];
        Ok(Self::Crate(CrateSource { target, arguments, ..CrateSource::default() }))
    }

    /// Does the checks that need no build.
    ///
    /// # Errors
    /// Those for which [`LabError::is_usage`] holds: an unknown kernel, a size that it cannot have,
    /// a manifest that is not there, a program that cannot be recorded.
    pub fn check(&self) -> Result<(), LabError> {
        match self {
            Self::Kernel(kernel) => kernels::find(kernel).map(drop),
            Self::Crate(source) => {
                let manifest = source.target.manifest_path.as_deref();
                if let Some(path) = manifest.filter(|path| !path.is_file()) {
                    return Err(LabError::Usage(format!(
                        "{}: no such manifest; --manifest-path names a Cargo.toml",
                        path.display()
                    )));
                }
                let wrong = source.stdin.iter().chain(&source.inputs).find(|path| !path.is_file());
                wrong.map_or(Ok(()), |path| {
                    Err(LabError::Usage(format!("the input {} is no file", path.display())))
                })?;
                self.crate_build().check().map_err(LabError::Build)
            }
        }
    }

    /// Which binary of a crate to build; of a kernel it says nothing.
    pub(crate) fn crate_build(&self) -> Build {
        let Self::Crate(source) = self else { return Build::default() };
        Build { target: source.target.clone(), ..Build::default() }
    }
}

/// What [`Source::check`] knows of a program before it is built: the kernel, or the binary.
pub(crate) fn program_name(source: &Source) -> String {
    match source {
        Source::Kernel(kernel) => kernel.name.clone(),
        Source::Crate(CrateSource { target, .. }) => {
            let Target { manifest_path, bin, example, package, .. } = target;
            let folder = manifest_path.as_deref().and_then(Path::parent).and_then(Path::file_name);
            let folder = folder.map_or("program".into(), |name| name.to_string_lossy());
            [bin, example, package].into_iter().flatten().next().cloned().unwrap_or(folder.into())
        }
    }
}

/// A hash of the content of `files`.
fn content<'a>(files: impl Iterator<Item = &'a Path>) -> Result<String, LabError> {
    let mut parts = Vec::new();
    for file in files {
        let mut hash = Xxh3::new();
        let read = fs::File::open(file).and_then(|mut from| io::copy(&mut from, &mut hash));
        read.map_err(|error| LabError::cannot_read(file, error))?;
        parts.push(hash.digest128().to_le_bytes());
    }
    Ok(store::key(&parts.iter().map(|part| &part[..]).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_depends_on_what_its_input_files_hold() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["stdin", "input", "argument", "value"].map(|name| folder.path().join(name));
        let write = |contents: [&str; 4]| {
            paths.iter().zip(contents).for_each(|(path, text)| fs::write(path, text).unwrap());
            let own = CrateSource {
                stdin: Some(paths[0].clone()),
                inputs: vec![paths[1].clone()],
                arguments: vec![
                    "-v".to_owned(),
                    paths[2].to_str().unwrap().to_owned(),
                    format!("--input={}", paths[3].display()),
                ],
                ..CrateSource::default()
            };
            own.content().unwrap()
        };
        let base = write(["a", "b", "c", "d"]);
        assert_eq!(write(["a", "b", "c", "d"]), base);
        for other in [
            ["x", "b", "c", "d"],
            ["a", "x", "c", "d"],
            ["a", "b", "x", "d"],
            ["a", "b", "c", "x"],
            ["ab", "", "c", "d"],
        ] {
            assert_ne!(write(other), base, "{other:?}");
        }
    }

    #[test]
    fn a_file_that_is_read_as_standard_input_is_another_input_than_one_that_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("numbers");
        fs::write(&file, "1 2").unwrap();
        let opened = CrateSource { inputs: vec![file.clone()], ..CrateSource::default() };
        let stdin = CrateSource { stdin: Some(file), ..CrateSource::default() };
        assert_ne!(opened.content().unwrap(), stdin.content().unwrap());
    }
}
