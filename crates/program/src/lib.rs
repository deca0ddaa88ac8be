//! A recorded nested-parallel program: its task tree and its memory accesses.
//!
//! A recorder runs the program once, serially, and tells a [`ProgramBuilder`] of each fork, end,
//! sync, line touch and piece of work. The [`Program`] that comes out is all that a simulator needs
//! to run it again on any machine under any scheduler:
//!
//! - a tree of tasks; each is a list of [`Op`]s, which are strands, forks and syncs;
//! - per strand its cost ([`Work`]) and the lines that it touched, in order ([`Touches`]), packed
//!   into a fraction of a byte per touch where it walks along arrays.
//!
//! Programs are kept in files ([`Program::save`], [`Program::load`]; FORMAT.md beside this crate's
//! manifest specifies them).
//!
//! ```
//! use befit_machine::Bytes;
//! use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId, StrandId};
//!
//! let meta = Meta { name: "two halves".into(), line_size: Bytes(64), filter: 2 };
//! let mut builder = ProgramBuilder::new(meta);
//! for half in 0..2 {
//!     builder.fork(ScopeId(1), Declared { size: Some(Bytes(64_000)), strand: None })?;
//!     (0..1000).for_each(|line| builder.touch(4096 + half * 1000 + line, false, false));
//!     builder.work(8000, 0, 1000);
//!     builder.end()?;
//! }
//! builder.sync(ScopeId(1))?;
//! let program = builder.finish()?;
//!
//! let mut file = Vec::new();
//! program.write(&mut file)?;
//! let program = Program::read(&file[..])?;
//! assert_eq!(program.touches(StrandId(1)).count(), 1000);
//! assert_eq!(program.stats().parallelism(), 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod class;
mod codec;
mod file;
mod footprints;
mod hot;
mod lines;
mod model;
mod narrow;
mod program;
mod sample;
mod site;
mod sizes;
mod spot;
mod stats;
mod strands;
mod tables;
mod transfer;
mod tree;
mod varint;

pub use builder::{BuildError, ProgramBuilder};
pub use class::{Begin, Class, ClassId, ClassWork, End, PlaceId, Timing, WorkRun};
pub use codec::Touches;
pub use file::{ReadError, WriteError, can_be_written, write_whole};
pub use footprints::Footprint;
pub use hot::{Classes, Spread};
pub use model::{Declared, Meta, Op, RawTouch, ScopeId, StrandId, TaskId, Touch, Work};
pub use program::Program;
pub use sample::{KeptTouch, LineGroups, Sample};
pub use site::{Site, SiteId, Source};
pub use sizes::SizesFrom;
pub use spot::{Block, SpotId, Spots};
pub use stats::Stats;
pub use tree::{OpPlace, Ops, Step, TreeError};
