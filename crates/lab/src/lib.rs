//! Experiments: which programs on which machines under which schedulers.
mod output;
mod parallel;
mod progress;
mod summary;
pub use output::OutputFile;
pub use progress::{Progress, Silent};
pub use summary::{Experiment, LevelSummary, Shares, Spread, Summary, WorkerTime};
