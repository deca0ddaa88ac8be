//! How an experiment tells what it is doing.

use std::path::Path;

/// Is told what an experiment is doing, from several threads. Every method may be left out.
pub trait Progress: Sync {
    /// `what` is being built with instrumentation; cargo writes its own progress to stderr
    /// meanwhile.
    fn building(&self, what: &str) {
        let _ = what;
    }
    /// `what` is being built as it is; cargo writes its own progress to stderr meanwhile.
    fn building_plain(&self, what: &str) {
        let _ = what;
    }
    /// `what` will be run `runs` times, on this machine.
    fn running(&self, what: &str, runs: usize) {
        let _ = (what, runs);
    }
    /// One of these runs has ended.
    fn ran(&self) {}
    /// All of them have ended.
    fn ran_all(&self) {}
    /// What a program that failed wrote to stderr, lines and all.
    fn said(&self, text: &str) {
        let _ = text;
    }
    /// `what` runs once, serially, and is recorded. `shown`: what it writes goes to stderr
    /// meanwhile.
    fn recording(&self, what: &str, shown: bool) {
        let _ = (what, shown);
    }
    /// `touches` more line touches were recorded.
    fn recorded(&self, touches: u64) {
        let _ = touches;
    }
    /// A recording of `what` was found in the cache, in `file`.
    fn recorded_before(&self, what: &str, file: &Path) {
        let _ = (what, file);
    }
    /// `runs` simulations of `what` begin, of `touches` line touches together.
    fn simulating(&self, what: &str, runs: usize, touches: u64) {
        let _ = (what, runs, touches);
    }
    /// `touches` more line touches were simulated.
    fn advance(&self, touches: u64) {
        let _ = touches;
    }
    /// All simulations have ended.
    fn simulated(&self) {}
    /// Something that the user should know and that stops nothing.
    fn note(&self, text: &str) {
        let _ = text;
    }
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
