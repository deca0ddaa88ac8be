//! The Python package `befit`: what its modules are made of. Documentation for users stands in the
//! stubs, `befit/_befit.pyi`, and in docs/sweeps.md.

mod build_output;
mod error;
mod html;
mod machine;
mod number;
mod outcome;
mod plan;
mod recording;
mod sweep;

use pyo3::prelude::*;

/// The compiled half of the package `befit`.
#[pymodule]
mod _befit {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        machine::{PyMachine, machines},
        outcome::PyOutcome,
        plan::{compare_json, schedulers, simulate, sizes_json},
        recording::{PyRecording, kernels, record},
        sweep::{PySweep, available_parallelism, merge, run_batch},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", befit_sweep::VERSION)?;
        module.add("BefitError", module.py().get_type::<crate::error::BefitError>())
    }
}

/// Lets other threads of Python run during `work`.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}
