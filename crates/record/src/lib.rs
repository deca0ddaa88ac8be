//! Turns a run of a program into a [`befit_program::Program`]: its task tree and every strand's
//! memory accesses.
//!
//! ```no_run
//! use befit_record::{Build, RecordOptions, Target, record};
//!
//! let manifest_path = Some("kernels/Cargo.toml".into());
//! let target = Target { manifest_path, ..Target::default() };
//! let binary = Build { target, ..Build::default() }.run(&|_cargo_says| {})?;
//! let mut command = std::process::Command::new(binary);
//! command.args(["rrm", "--n", "10000000"]);
//! let recording = record(command, "rrm", &RecordOptions::default(), &|_touches| {})?;
//! println!("{} touches", recording.program.total_touches());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate has two halves that never meet in one build. The *outer* half, which this
//! documentation shows, runs in `befit`: [`Build`] has cargo build the program with
//! instrumentation, and [`record`] runs it and reads what it writes. The *inner* half is linked
//! into that instrumented program (under `--cfg befit_record`) and writes one word per event and
//! per touched line to a pipe. The words, and what is and is not recorded, are specified in this
//! crate's README.md.

#[cfg(befit_record)]
pub mod inside;
#[cfg(all(feature = "outer", not(befit_record)))]
mod outside;

#[cfg(all(feature = "outer", not(befit_record)))]
pub use outside::{
    Build, BuildError, RecordError, RecordOptions, Recording, STREAM_VERSION, StreamError, Target,
    Timed, Watch, end_with_us, instruments, read_stream, record, run_on, time,
};
