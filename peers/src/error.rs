//! What can go wrong.

use std::{io, process::ExitStatus};

/// What can go wrong, as one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What is asked for cannot be read, or cannot be.
    #[error("{0}")]
    Arguments(String),
    /// A program cannot have this size.
    #[error("{program}: n = {n} cannot be; {rule}")]
    Size {
        /// The program.
        program: &'static str,
        /// The size asked for.
        n: usize,
        /// Which sizes can be.
        rule: &'static str,
    },
    /// The input does not fit in memory.
    #[error("there is not enough memory for n = {0}; give a smaller --n")]
    Memory(usize),
    /// The runtime, or the program, has a defect.
    #[error("wrong result: {0}")]
    WrongResult(String),
    /// A runtime cannot be set up.
    #[error("{runtime} cannot be set up: {reason}")]
    Setup {
        /// The runtime.
        runtime: &'static str,
        /// What it says.
        reason: String,
    },
    /// A runtime is not here.
    #[error("{runtime}: not built: {reason}")]
    NotBuilt {
        /// The runtime.
        runtime: String,
        /// Why.
        reason: String,
    },
    /// A run in a process of its own failed.
    #[error("{runtime} failed ({status}): {message}")]
    Child {
        /// The runtime.
        runtime: String,
        /// How the process ended.
        status: ExitStatus,
        /// What it said.
        message: String,
    },
    /// A process cannot be started.
    #[error("cannot start {what}: {source}")]
    Start {
        /// Which program.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl Error {
    /// Whether what was asked for cannot be, so that asking otherwise helps.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Arguments(_) | Self::Size { .. } | Self::Memory(_) | Self::NotBuilt { .. }
        )
    }
}
