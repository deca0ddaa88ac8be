//! Experiments: which programs on which machines under which schedulers.
//!
//! ```text
//! Source ──build, run once──► Program ──SimulationPlan──► Outcomes ──► Summary
//!                               │  ▲    machines × schedulers × seeds    per machine, scheduler
//!                               └──┘ kept under a hash of binary, arguments, recorder settings
//! ```
//!
//! ```no_run
//! use befit_lab::{KernelSource, Sampling, Seeds, Silent, SimulationPlan, Source, record};
//!
//! let source = Source::Kernel(KernelSource { n: Some(1_000_000), ..KernelSource::new("rrm") });
//! let program = record(&source, false, &Silent)?;
//! let plan = SimulationPlan {
//!     machines: vec![befit_machine::Machine::find("xeon-7560")?],
//!     schedulers: vec!["ws".parse()?, "sb".parse()?],
//!     seeds: Seeds::default(),
//!     options: befit_sched::Options::default(),
//!     shrink: 1,
//!     sampling: Sampling::Off,
//! };
//! for summary in plan.simulate(&program, &Silent)? {
//!     println!("{}: {} cycles", summary.scheduler, summary.time.median.0);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`MatrixPlan`] simulates many programs on many machines. [`reproduce`] repeats the papers'
//! experiments. [`NativePlan`] runs a program on this machine's own threads instead, under each
//! scheduler in turn.

// The README's code is compiled, so that it cannot grow old.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod companion;
mod conclude;
mod doctor;
mod drawer;
mod error;
mod given_sizes;
mod kept;
mod look;
mod matrix;
mod measuring;
mod misses;
mod native;
mod one_line;
mod output;
mod parallel;
mod progress;
mod quiet;
mod recording;
pub mod reproduce;
mod sampling;
mod seeds;
mod simulate;
mod sizes;
mod sources;
mod summary;
#[cfg(test)]
mod testing;
mod verify;

pub use befit_program::SizesFrom;
pub use befit_sim::{Account, Contended, Part};
pub use companion::sweep_program;
pub use conclude::{Cause, Change, Choice, Conclusion, Loss, Suggestion};
pub use doctor::{Finding, State, doctor};
pub use drawer::Drawer;
pub use error::LabError;
pub use given_sizes::{GivenSizes, learn};
pub use kept::{Kept, KeptKind, KeptThing, MOST};
pub use look::{Look, Looked};
pub use matrix::{
    BASELINE, Cell, DataSize, MACHINES, MEMORY_BOUND, Matrix, MatrixPlan, MatrixProgram,
    MeasuredCell, NEAR_BEST, NO_SLOWER, QUICK_MACHINES, Selection, Standing,
};
pub use measuring::Measuring;
pub use misses::{CodeLine, DataBlock, MissesBy, ProgramMisses, Shares};
#[doc(hidden)]
pub use native::summary_of;
pub use native::{
    AutoSummary, ClusterFigures, ClusterSummary, CountsSummary, Interrupt, Measured, NativePlan,
    NativeResults, NativeSource, NativeSummary, NativeTrace, PoolTrace, TiersSummary,
    WorkerFigures, WorkerSummary, WorkerTrace, check_threads,
};
pub use one_line::one_line;
pub use output::OutputFile;
pub use progress::{Progress, Silent, building_line, timing_line};
pub use recording::{
    CrateSource, KernelSource, Source, Target, kernel_settings, kernels, learning_n, names_file,
    record, record_all_lines, record_spots, record_uncalibrated, usual_shrink, verified_n,
};
pub use sampling::Sampling;
pub use seeds::{BUDGET, Seeds};
pub use simulate::SimulationPlan;
pub use sizes::{
    Befitting, Errors, LearnedSite, LearnedSizes, SiteSizes, SizeGroup, Sizes, TaskSize,
};
pub use sources::carry;
pub use summary::{
    CacheUse, Estimate, Interval, LevelSummary, NARROW, Run, Sampled, Seconds, Spread, Summary,
    WorkerTime,
};
pub use verify::{
    Contradiction, LearntWork, Millis, Suspect, Verdict, Verified, VerifyMachine, VerifyPlan,
    VerifyProgram, VerifyResult,
};
