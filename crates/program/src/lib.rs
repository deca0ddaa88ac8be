//! What a nested-parallel program did: its task tree and its memory accesses.
mod builder;
mod codec;
mod file;
mod meta;
mod model;
mod program;
mod stats;
mod tree;

pub use builder::{BuildError, ProgramBuilder};
pub use codec::{RawTouch, Touches};
pub use file::{ReadError, WriteError};
pub use meta::Meta;
pub use model::{Declared, Op, ScopeId, StrandId, TaskId, Touch, Work};
pub use program::Program;
pub use stats::Stats;
pub use tree::{Serial, Step};
