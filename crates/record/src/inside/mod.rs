//! The half that is linked into the recorded program: tells the C half where tasks fork, end and
//! are waited for.
//!
//! `befit`'s recorded forms of `join`, `scope` and `spawn` are written on four things: [`region`],
//! inside which a thread is recorded; [`Scope`], which stands for one sync; [`Scope::task`], which
//! runs a child; [`detached`], which runs a child that nobody waits for. All run on the calling
//! thread, in serial order. Where nobody reads the recording they only run the closures.
//!
//! This file is instrumented like the program, hence the care about when recording is paused: what
//! the recorder does between two closures of the program must not show. All functions here may be
//! called paused or not, and leave it as it was.

mod hooks;
mod tasks;

pub use tasks::{Declared, Scope, detached, in_region, region, unrecorded};
