//! What cargo and programs say while something is recorded, for the exception where that fails.

use std::sync::Mutex;

use befit_lab::{LabError, Progress};
use pyo3::PyErr;

use crate::error;

/// Keeps what failures have said.
#[derive(Default)]
pub(crate) struct Told(Mutex<String>);

impl Told {
    fn keep(&self, text: &str) {
        if let Ok(mut told) = self.0.lock() {
            told.push_str(text);
        }
    }

    /// `error` as an exception; if it is no mistake of the caller's, then with the last lines said.
    pub(crate) fn exception(self, error: LabError) -> PyErr {
        const LINES: usize = 30;
        let told = self.0.into_inner().unwrap_or_default();
        let lines: Vec<_> = told.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        if error.is_usage() || last.is_empty() {
            return error::lab(error);
        }
        error::other(format!("{last}\n{error}"))
    }
}

impl Progress for Told {
    fn build_failed(&self, said: &str) {
        self.keep(said);
    }

    fn said(&self, text: &str) {
        self.keep(text);
    }
}
