//! Why an experiment failed.

use std::path::PathBuf;

use befit_record::{BuildError, RecordError};
use befit_sim::SimError;

/// Why an experiment failed. Each message is one line that says where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No kernel has this name.
    #[error("unknown kernel '{name}'; known: {known}")]
    UnknownKernel {
        /// The name that was asked for.
        name: String,
        /// The kernels' names, comma-separated.
        known: String,
    },
    /// Tasks cannot be run one after another on this machine.
    #[error(transparent)]
    Footprint(#[from] befit_sim::footprint::FootprintError),
    /// A kernel has no such setting.
    #[error("{why}")]
    BadSetting {
        /// The setting, the kernel, and the settings that there are.
        why: String,
    },
    /// A machine cannot be changed as asked.
    #[error(transparent)]
    Machine(#[from] befit_machine::MachineError),
    /// A kernel cannot have this size.
    #[error("kernel {kernel} cannot have --n {n}: {why}")]
    BadSize {
        /// The kernel.
        kernel: String,
        /// The size that was asked for.
        n: u64,
        /// The sizes that it can have.
        why: String,
    },
    /// The kernels' sources, which are built anew with instrumentation, are not where this command
    /// was built from.
    #[error(
        "the kernels' sources are gone from {}, where this befit was built; run befit from a \
         checkout (`cargo run --release -- …`), or record a crate of yours with --manifest-path",
        folder.display()
    )]
    SourcesGone {
        /// The folder where they were.
        folder: PathBuf,
    },
    /// There is no such manifest.
    #[error("{}: no such manifest; --manifest-path names a Cargo.toml", path.display())]
    NoManifest {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The instrumented program cannot be built. Cargo's own messages were shown on stderr.
    #[error("{}", without_output(.0))]
    Build(BuildError),
    /// The program cannot be recorded.
    #[error("cannot record {name}: {source}")]
    Record {
        /// The command.
        name: String,
        /// Why.
        source: RecordError,
    },
    /// A program cannot be started.
    #[error("cannot start {name}: {source}")]
    Start {
        /// The command.
        name: String,
        /// Why.
        source: std::io::Error,
    },
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
    /// A program's statistics cannot be understood.
    #[error("cannot read the program's statistics: {what}")]
    Statistics {
        /// Why.
        what: String,
    },
    /// A page cannot be drawn.
    #[error("cannot draw the page: {why}")]
    Draw {
        /// Why.
        why: String,
    },
    /// No temporary file.
    #[error("cannot make a temporary file: {source}")]
    Temporary {
        /// Why.
        source: std::io::Error,
    },
    /// Someone ended it: [`crate::Interrupt::raise`].
    #[error("interrupted")]
    Interrupted,
    /// A simulation failed.
    #[error("{scheduler} on {machine} with seed {seed}: {source}")]
    Simulation {
        /// The machine's name.
        machine: String,
        /// The policy's name.
        scheduler: &'static str,
        /// The seed.
        seed: u32,
        /// Why.
        source: SimError,
    },
}

/// Cargo's messages stand on stderr already: the error does not repeat them.
fn without_output(error: &BuildError) -> String {
    match error {
        BuildError::Cargo { status, .. } => {
            format!("cargo could not build the program ({status}); what it said stands above")
        }
        other => other.to_string(),
    }
}

impl LabError {
    /// True if the request itself is wrong, as opposed to a failure on the way.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Machine(_)
                | Self::UnknownKernel { .. }
                | Self::BadSetting { .. }
                | Self::BadSize { .. }
                | Self::Footprint(_)
                | Self::NoManifest { .. }
                | Self::Start { .. }
        )
    }
}
