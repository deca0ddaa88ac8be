//! The interface of rayon-core 1.13, on befit's schedulers.
//!
//! With two lines in its `Cargo.toml` a program that uses rayon runs on befit, and nothing else
//! changes:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/befit/compat/rayon-core" }
//! ```
//!
//! The documentation of the items is that [of rayon-core](https://docs.rs/rayon-core/1.13.0/). This
//! crate is written from it, and rayon's own tests pass against it (`compat/test`). Settings of
//! befit's own are [variables of the environment](befit::ThreadPoolBuilder#the-environment):
//! `BEFIT_SCHEDULER`, `BEFIT_MACHINE`, `BEFIT_PIN`, `BEFIT_STATS` and others. `docs/rayon.md` in
//! befit's repository tells how to switch, what changes, and how to go back.
//!
//! Nearly everything is a call of befit's function of the same name, with rayon's type parameters.
//! Where the two differ, the item says so.

#![allow(deprecated, reason = "rayon-core's deprecated items are part of its interface")]

mod builder;
mod configuration;
mod free;
mod pool;

pub use befit::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local,
    yield_now,
};

pub use self::{
    builder::{ThreadPoolBuildError, ThreadPoolBuilder},
    configuration::{Configuration, initialize},
    free::{
        broadcast, in_place_scope, in_place_scope_fifo, join, join_context, scope, scope_fifo,
        spawn, spawn_broadcast, spawn_fifo,
    },
    pool::ThreadPool,
};
