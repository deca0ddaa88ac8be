//! The output of cargo and of programs that are recorded, for the exception where that fails.

use std::sync::Mutex;

use befit_lab::{LabError, Progress};
use pyo3::PyErr;

use crate::error;

/// Keeps the output of failures.
#[derive(Default)]
pub(crate) struct BuildOutput(Mutex<String>);

impl BuildOutput {
    fn keep(&self, text: &str) {
        if let Ok(mut output) = self.0.lock() {
            output.push_str(text);
        }
    }

    /// `error` as an exception; if it is no mistake of the caller's, then with the last lines said.
    pub(crate) fn exception(self, error: LabError) -> PyErr {
        const LINES: usize = 30;
        let output = self.0.into_inner().unwrap_or_default();
        let lines: Vec<_> = output.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        if error.is_usage() || last.is_empty() {
            return error::lab(error);
        }
        error::other(format!("{last}\n{error}"))
    }
}

impl Progress for BuildOutput {
    fn build_failed(&self, said: &str) {
        self.keep(said);
    }

    fn said(&self, text: &str) {
        self.keep(text);
    }
}
