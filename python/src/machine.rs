//! `Machine`: a tree of caches.

use befit_machine::{ClusterId, Machine};
use pyo3::prelude::*;

use crate::{error::value, html, number};

/// A machine to simulate: a tree of caches.
///
/// `spec` is a preset (`befit.machines()`), `"host"`, a file that `lstopo machine.xml` or
/// `befit calibrate` wrote, or one of hwloc's synthetic strings. `sockets` and `cores` (of each
/// socket) keep only so many of them, `bandwidth` is percent of the memory bandwidth, and `shrink`
/// makes a model with caches and prices of scheduling so many times smaller. Raises `ValueError`
/// for a machine that cannot be.
#[pyclass(name = "Machine", module = "befit", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct PyMachine {
    pub(crate) machine: Machine,
    /// How many times smaller the model is than the machine.
    pub(crate) shrink: u32,
    spec: String,
}

#[pymethods]
impl PyMachine {
    #[new]
    #[pyo3(signature = (spec, *, sockets=None, cores=None, bandwidth=None, shrink=1))]
    fn new(
        spec: &str,
        #[pyo3(from_py_with = number::sockets)] sockets: Option<u32>,
        #[pyo3(from_py_with = number::cores)] cores: Option<u32>,
        #[pyo3(from_py_with = number::bandwidth)] bandwidth: Option<u32>,
        #[pyo3(from_py_with = number::shrink)] shrink: u32,
    ) -> PyResult<Self> {
        let machine =
            befit_sweep::vary(spec, [sockets, cores, bandwidth], shrink).map_err(value)?;
        Ok(Self { machine, shrink, spec: spec.trim().to_owned() })
    }

    /// As printed in results.
    #[getter]
    fn name(&self) -> &str {
        &self.machine.name
    }

    /// As it was asked for.
    #[getter]
    fn spec(&self) -> &str {
        &self.spec
    }

    /// The number of hardware threads.
    #[getter]
    fn workers(&self) -> usize {
        self.machine.workers().len()
    }

    /// The clock of its fastest core, in MHz.
    #[getter]
    fn mhz(&self) -> u32 {
        self.machine.mhz
    }

    /// The number of caches directly under memory.
    #[getter]
    fn sockets(&self) -> usize {
        self.machine.cluster(ClusterId::ROOT).children.len()
    }

    /// For each level, from the inside out: its name, the number of its caches, the bytes of the
    /// largest.
    #[getter]
    fn caches(&self) -> Vec<(String, usize, u64)> {
        let of = |level| {
            let caches = self.machine.clusters().iter().filter_map(|cluster| cluster.cache);
            let sizes: Vec<u64> =
                caches.filter(|cache| cache.level == level).map(|cache| cache.size.0).collect();
            (level.to_string(), sizes.len(), sizes.into_iter().max().unwrap_or(0))
        };
        self.machine.levels().into_iter().map(of).collect()
    }

    /// The tree as text.
    fn draw(&self) -> String {
        self.machine.draw()
    }

    fn __repr__(&self) -> String {
        let caches = self.caches().into_iter();
        let caches = caches.map(|(level, number, size)| format!(", {number} × {level} {size} B"));
        let caches: String = caches.collect();
        format!("<befit.Machine {}: {} workers{caches}>", self.machine.name, self.workers())
    }

    fn _repr_html_(&self) -> String {
        format!("<pre>{}</pre>", html::escaped(&self.machine.draw()))
    }
}

/// What may stand where a machine is needed: a machine, or its name.
#[derive(FromPyObject)]
#[expect(clippy::large_enum_variant, reason = "an argument, a few at a time")]
pub(crate) enum MachineArg {
    Machine(PyMachine),
    Spec(String),
}

impl MachineArg {
    pub(crate) fn machine(self) -> PyResult<PyMachine> {
        match self {
            Self::Machine(machine) => Ok(machine),
            Self::Spec(spec) => PyMachine::new(&spec, None, None, None, 1),
        }
    }
}

/// The presets as pairs: a name, and a line about it.
#[pyfunction]
pub(crate) fn machines() -> Vec<(&'static str, &'static str)> {
    befit_machine::presets()
}
