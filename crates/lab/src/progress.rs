//! How an experiment reports its progress.

use std::path::Path;

/// Is told of an experiment's progress, from several threads. Every method may be left out.
#[expect(unused_variables, reason = "the methods do nothing unless they are written anew")]
pub trait Progress: Sync {
    /// `what` is being built, perhaps with instrumentation.
    fn building(&self, what: &str, instrumented: bool) {}
    /// Cargo said this line.
    fn built(&self, line: &str) {}
    /// The build failed; cargo's last lines, all of which were passed to `built`.
    fn build_failed(&self, said: &str) {}
    /// This machine is being measured.
    fn measuring(&self) {}
    /// It has been measured for this share of the time.
    fn measured(&self, share: f64) {}
    /// `what` will be run `runs` times, on this machine.
    fn running(&self, what: &str, runs: usize) {}
    /// The lines that a failed program wrote to stderr.
    fn said(&self, text: &str) {}
    /// `what` runs once, serially, and is recorded. `shown`: its output goes to stderr meanwhile.
    fn recording(&self, what: &str, shown: bool) {}
    /// `what` runs serially without instrumentation, for the time that its strands take, or the
    /// `whole`: run `number` of `of`.
    fn timing(&self, what: &str, whole: bool, number: usize, of: usize) {}
    /// A recording of `what` was found in the cache, in `file`.
    fn recorded_before(&self, what: &str, file: &Path) {}
    /// `runs` simulations of `what` begin, of `touches` line touches together.
    fn simulating(&self, what: &str, runs: usize, touches: u64) {}
    /// So many more runs have ended, or so many more line touches were recorded or simulated.
    fn advance(&self, by: u64) {}
    /// All runs, or all simulations, have ended.
    fn finished(&self) {}
    /// A message for the user that stops nothing.
    fn note(&self, text: &str) {}
}

/// The words in which [`Progress::building`] is told.
pub fn building_line(what: &str, instrumented: bool) -> String {
    let how = if instrumented { " with instrumentation" } else { "" };
    format!("building {what}{how}")
}

/// The words in which [`Progress::timing`] is told, of all runs.
pub fn timing_line(what: &str, whole: bool) -> String {
    let how = if whole { "as a whole" } else { "strand by strand" };
    format!("timing {what} without instrumentation, {how}")
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::Mutex;

    use super::Progress;

    /// Keeps the notes.
    #[derive(Default)]
    pub(crate) struct Notes(Mutex<Vec<String>>);

    impl Notes {
        pub(crate) fn all(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Progress for Notes {
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }
}
