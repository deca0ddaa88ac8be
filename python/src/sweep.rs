//! Sweeps, for engines of Python's.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use befit_sweep::{Grid, Resume, Sweep};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    build_output::BuildOutput,
    detached,
    error::{lab, other, value},
};

/// One sweep: which simulations are done, and where their figures are kept.
#[pyclass(name = "Sweep", module = "befit._befit")]
pub(crate) struct PySweep(Option<Sweep>);

impl PySweep {
    fn get(&self) -> PyResult<&Sweep> {
        self.0.as_ref().ok_or_else(|| other("the sweep is finished"))
    }
}

#[pymethods]
impl PySweep {
    #[new]
    fn new(
        py: Python<'_>,
        grid: &str,
        out: PathBuf,
        resume: bool,
        shard: Option<&str>,
    ) -> PyResult<Self> {
        let grid = serde_json::from_str(grid).map_err(value)?;
        let shard = shard.map(str::parse).transpose().map_err(|error: String| value(error))?;
        let resume = if resume { Resume::GoOn } else { Resume::Anew };
        let output = BuildOutput::default();
        let open = || Sweep::open(Grid::from_json(&grid)?, shard, &out, resume, &output);
        let sweep = detached(py, open);
        Ok(Self(Some(sweep.map_err(|error| output.exception(error))?)))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.get()?.configurations().len())
    }

    fn preload(&self, py: Python<'_>) -> PyResult<()> {
        let sweep = self.get()?;
        detached(py, || sweep.preload());
        Ok(())
    }

    fn pending(&self) -> PyResult<Vec<usize>> {
        Ok(self.get()?.pending().collect())
    }

    fn done(&self) -> PyResult<usize> {
        Ok(self.get()?.done())
    }

    fn failed(&self) -> PyResult<BTreeMap<usize, String>> {
        Ok(self.get()?.failed().clone())
    }

    fn recording_bytes<'py>(&self, py: Python<'py>, hash: &str) -> PyResult<Bound<'py, PyBytes>> {
        let sweep = self.get()?;
        let bytes = detached(py, || sweep.recording_bytes(hash)).map_err(lab)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn batch<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.get()?.batch(&numbers)))
    }

    fn append(&mut self, py: Python<'_>, result: &[u8]) -> PyResult<Vec<(usize, String)>> {
        let sweep = self.0.as_mut().ok_or_else(|| other("the sweep is finished"))?;
        detached(py, || sweep.append(result)).map_err(lab)
    }

    fn fail(&mut self, number: usize, why: &str) -> PyResult<()> {
        let sweep = self.0.as_mut().ok_or_else(|| other("the sweep is finished"))?;
        sweep.fail(number, why);
        Ok(())
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let sweep = self.0.take().ok_or_else(|| other("the sweep is finished"))?;
        detached(py, || sweep.finish()).map_err(lab)
    }

    /// Leaves the sweep to the process that this one was forked from.
    fn leave(&mut self) {
        if let Some(sweep) = self.0.take() {
            sweep.leave();
        }
    }

    /// Gives up the files, without a table.
    fn close(&mut self) {
        self.0 = None;
    }
}

/// Simulates a batch on so many threads: its result as bytes, the seconds that simulation took, all
/// threads together, and the hash of a recording that is missing here.
#[pyfunction]
#[pyo3(signature = (batch, folder=None, threads=1))]
pub(crate) fn run_batch<'py>(
    py: Python<'py>,
    batch: &[u8],
    folder: Option<PathBuf>,
    threads: usize,
) -> PyResult<(Bound<'py, PyBytes>, f64, Option<String>)> {
    let threads = NonZeroUsize::new(threads).ok_or_else(|| value("threads: at least one"))?;
    let result = detached(py, || befit_sweep::run_batch(batch, folder.as_deref(), threads));
    let result = result.map_err(other)?;
    Ok((PyBytes::new(py, &result.to_bytes()), result.seconds, result.missing))
}

/// How many threads this process can have at work: within its affinity mask, and the quota of CPU
/// time of its control groups.
#[pyfunction]
pub(crate) fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Puts the tables of all shards of a sweep together: the same bytes as of the sweep in one go.
///
/// Returns the number of rows. Raises `ValueError` where shards are missing, there twice, or of
/// different sweeps, and `BefitError` where a file cannot be written.
#[pyfunction]
pub(crate) fn merge(py: Python<'_>, parts: Vec<PathBuf>, out: PathBuf) -> PyResult<usize> {
    let merged = detached(py, || befit_sweep::merge(&parts, Path::new(&out)));
    merged.map(|merged| merged.rows).map_err(lab)
}
