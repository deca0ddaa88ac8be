//! The ways in which the command fails.

use std::io;

/// A failure, as one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line cannot be read, or asks for something impossible.
    #[error("{0}")]
    Arguments(String),
    /// A program cannot have this size.
    #[error("{program}: n = {n} cannot be; {rule}")]
    Size { program: &'static str, n: usize, rule: &'static str },
    /// The input does not fit in memory.
    #[error("there is not enough memory for n = {0}; give a smaller --n")]
    Memory(usize),
    /// The runtime, or the program, has a defect.
    #[error("wrong result: {0}")]
    WrongResult(String),
    /// A runtime cannot be set up, or a process of its own cannot be started or failed.
    #[error("{0}")]
    Failed(String),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

impl Error {
    /// True if another command line helps.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Arguments(_) | Self::Size { .. } | Self::Memory(_))
    }
}
