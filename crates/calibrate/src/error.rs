//! What can go wrong.

use befit_machine::MachineError;

/// Why the machine could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The system's description of the machine cannot be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// No memory to measure.
    #[error("cannot get memory to measure: {0}")]
    Memory(std::io::Error),
    /// Less memory than measuring takes.
    #[error(
        "measuring needs {} MiB of free memory, and there are {} MiB",
        needed.div_ceil(1 << 20),
        available >> 20
    )]
    TooLittle {
        /// Bytes that must be available.
        needed: u64,
        /// Bytes that are.
        available: u64,
    },
    /// No threads to measure.
    #[error("cannot build a pool of threads: {0}")]
    Pool(String),
    /// A measurement that failed: a figure with this name is infinite, or not a number.
    #[error("{0} could not be measured: its figure is not a number")]
    NoNumber(String),
    /// The figures cannot be written.
    #[error("cannot write the figures: {0}")]
    Json(#[from] serde_json::Error),
    /// A tree that a synthetic string cannot describe.
    #[error("this machine's parts are not all equal, which a calibration file cannot describe")]
    Irregular,
}
