//! `Outcome`: what one simulation found.

use befit_machine::Machine;
use befit_sched::Breakdown;
use befit_sim::Outcome;
use pyo3::{prelude::*, types::PyDict};

use crate::html;

/// What one simulation found. Times are in cycles of the machine's fastest core, or in seconds of
/// its clock; misses, reads and writes are cache lines.
#[pyclass(name = "Outcome", module = "befit", frozen)]
pub(crate) struct PyOutcome {
    pub(crate) title: String,
    pub(crate) machine: Machine,
    pub(crate) outcome: Outcome,
}

impl PyOutcome {
    /// The share of the workers' time in each of the parts.
    fn shares(&self) -> [f64; 5] {
        let parts = Breakdown::join(&self.outcome.workers, |all| all.iter().map(|c| c.0).sum());
        let whole: u64 = parts.total();
        parts.parts().map(|part: u64| part as f64 / whole.max(1) as f64)
    }
}

#[pymethods]
impl PyOutcome {
    /// All figures by the names that they have as columns of `befit.sweep`; `None` of a level that
    /// the machine lacks.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = befit_sweep::columns().into_iter().map(|column| column.name);
        // Before the figures stand the configuration and the recording; after them the error.
        let names = names.skip_while(|name| name != "workers");
        let figures = PyDict::new(py);
        for (name, figure) in names.zip(befit_sweep::figures(&self.machine, &self.outcome)) {
            figures.set_item(name, figure)?;
        }
        Ok(figures)
    }

    /// The running time in cycles.
    #[getter]
    fn time_cycles(&self) -> u64 {
        self.outcome.time.0
    }

    /// The running time in seconds.
    #[getter]
    fn seconds(&self) -> f64 {
        self.outcome.time.0 as f64 / (f64::from(self.machine.mhz) * 1e6)
    }

    /// The work T₁ in cycles: all operations, without any wait.
    #[getter]
    fn work_cycles(&self) -> u64 {
        self.outcome.work.0
    }

    /// The span T∞ in cycles: the longest chain of operations.
    #[getter]
    fn span_cycles(&self) -> u64 {
        self.outcome.span.0
    }

    /// Misses by level, in lines, all caches of a level together: `{"L1": …}`.
    #[getter]
    fn misses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let misses = PyDict::new(py);
        for level in &self.outcome.levels {
            misses.set_item(level.level.to_string(), level.misses.0)?;
        }
        Ok(misses)
    }

    /// Lines read from memory.
    #[getter]
    fn memory_reads(&self) -> u64 {
        self.outcome.memory_reads.0
    }

    /// Lines written back to memory.
    #[getter]
    fn memory_writes(&self) -> u64 {
        self.outcome.memory_writes.0
    }

    /// Strands taken from another worker.
    #[getter]
    fn steals(&self) -> u64 {
        self.outcome.steals
    }

    /// Where the time of each worker went, in cycles: workers × (active, add, get, done, idle).
    #[getter]
    fn worker_cycles(&self) -> Vec<[u64; 5]> {
        self.outcome.workers.iter().map(|worker| worker.map(|cycles| cycles.0).parts()).collect()
    }

    fn __repr__(&self) -> String {
        let cycles = self.outcome.time.0;
        format!("<befit.Outcome {}: {cycles} cycles, {:.6} s>", self.title, self.seconds())
    }

    fn _repr_html_(&self) -> String {
        let cycles = self.outcome.time.0;
        let shares = Breakdown::<f64>::NAMES.into_iter().zip(self.shares());
        let time = shares.map(|(name, share)| html::Bar {
            name: name.to_owned(),
            length: share,
            text: format!("{:.1} %", 100.0 * share),
        });
        let most = self.outcome.levels.iter().map(|level| level.misses.0).max().unwrap_or(0);
        let misses = self.outcome.levels.iter().map(|level| html::Bar {
            name: format!("{} misses", level.level),
            length: level.misses.0 as f64 / most.max(1) as f64,
            text: level.misses.0.to_string(),
        });
        let title = format!("{}: {cycles} cycles, {:.6} s", self.title, self.seconds());
        html::bars(&title, &time.chain(misses).collect::<Vec<_>>())
    }
}
