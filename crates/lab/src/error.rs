//! Why an experiment failed.

use std::{fmt::Display, path::Path};

use befit_record::BuildError;

use crate::output::without_path;

/// Why an experiment failed. Each message is one line that says where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The request itself is wrong.
    #[error("{0}")]
    Usage(String),
    /// Something went wrong on the way.
    #[error("{0}")]
    Failed(String),
    /// Tasks cannot be run one after another on this machine.
    #[error(transparent)]
    Footprint(#[from] befit_sim::footprint::FootprintError),
    /// A machine cannot be changed as asked.
    #[error(transparent)]
    Machine(#[from] befit_machine::MachineError),
    /// The instrumented program cannot be built. Cargo's own messages were shown on stderr.
    #[error("{}", without_output(.0))]
    Build(BuildError),
    /// A program failed. What it wrote to stderr was shown.
    #[error("{name} failed under {scheduler} ({status})")]
    CommandFailed {
        /// The command.
        name: String,
        /// The policy's name.
        scheduler: &'static str,
        /// Its exit status.
        status: std::process::ExitStatus,
    },
    /// A program ended well but left no statistics.
    #[error(
        "{name} left no statistics: it uses no befit of this version, runs nothing in a \
         pool, or ends without exit handlers (_exit)"
    )]
    NoStatistics {
        /// The command.
        name: String,
    },
    /// Someone ended it: [`crate::Interrupt::raise`].
    #[error("interrupted")]
    Interrupted,
}

/// Cargo's messages stand on stderr already: the error does not repeat them.
fn without_output(error: &BuildError) -> String {
    match error {
        BuildError::Cargo { status, .. } => {
            format!("cargo could not build the program ({status}); its last words stand above")
        }
        other => other.to_string(),
    }
}

impl LabError {
    pub(crate) fn cannot_read(path: &Path, why: impl Display) -> Self {
        Self::Failed(format!("cannot read {}: {why}", path.display()))
    }

    pub(crate) fn no_temporary_file(why: std::io::Error) -> Self {
        let (folder, why) = (std::env::temp_dir(), without_path(why));
        Self::Failed(format!(
            "cannot write a temporary file in {} (TMPDIR names another folder): {why}",
            folder.display()
        ))
    }

    /// True if the request itself is wrong, as opposed to a failure on the way.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) | Self::Machine(_) | Self::Footprint(_) => true,
            Self::Build(error) => error.is_usage(),
            _ => false,
        }
    }
}
