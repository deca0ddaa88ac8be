//! How an experiment reports its progress.

use std::path::Path;

/// Is told of an experiment's progress, from several threads. Every method may be left out.
#[expect(unused_variables, reason = "the methods do nothing unless they are written anew")]
pub trait Progress: Sync {
    /// `what` is being built with instrumentation; cargo writes its own progress to stderr
    /// meanwhile.
    fn building(&self, what: &str) {}
    /// `what` is being built without instrumentation; cargo writes its own progress to stderr
    /// meanwhile.
    fn building_plain(&self, what: &str) {}
    /// `what` will be run `runs` times, on this machine.
    fn running(&self, what: &str, runs: usize) {}
    /// One of these runs has ended.
    fn ran(&self) {}
    /// All of them have ended.
    fn ran_all(&self) {}
    /// The lines that a failed program wrote to stderr.
    fn said(&self, text: &str) {}
    /// `what` runs once, serially, and is recorded. `shown`: its output goes to stderr meanwhile.
    fn recording(&self, what: &str, shown: bool) {}
    /// `touches` more line touches were recorded.
    fn recorded(&self, touches: u64) {}
    /// A recording of `what` was found in the cache, in `file`.
    fn recorded_before(&self, what: &str, file: &Path) {}
    /// `runs` simulations of `what` begin, of `touches` line touches together.
    fn simulating(&self, what: &str, runs: usize, touches: u64) {}
    /// `touches` more line touches were simulated.
    fn advance(&self, touches: u64) {}
    /// All simulations have ended.
    fn simulated(&self) {}
    /// A message for the user that stops nothing.
    fn note(&self, text: &str) {}
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
