//! The half that is linked into `befit`: builds the instrumented program, runs it, and makes a
//! Program of what it writes.

mod build;
mod overlay;
mod reader;
mod run;
mod stream;
mod tail;

pub use build::{Build, BuildError};
pub use reader::StreamError;
pub use run::{RecordError, RecordOptions, Recording, record};
