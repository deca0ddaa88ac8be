//! `Recording`: what one run of a program did.

use std::path::PathBuf;

use befit_lab::{CrateSource, GivenSizes, KernelSource, Silent, Source, Target};
use befit_program::Program;
use pyo3::prelude::*;

use crate::{
    build_output::BuildOutput,
    detached,
    error::{other, value},
    html, number,
};

/// A recorded program, from a file of `befit record` or of `save`.
///
/// `sizes` are those that schedulers see: `"none"`, `"declared"`, `"measured"`, `"learned"`,
/// `"only-learned"`, the latter two also with `"=FILE"` of `befit learn`; by default those that
/// tasks declare, or learned ones where none is declared. Raises `ValueError` if there is no such
/// file, and `BefitError` if it is no recording.
#[pyclass(name = "Recording", module = "befit", frozen)]
pub(crate) struct PyRecording {
    /// With the sizes that schedulers see.
    pub(crate) program: Program,
    /// As it was recorded, if it has other sizes.
    recorded: Option<Program>,
}

/// The recording in `path`, with the sizes that `sizes` names.
fn load(path: &PathBuf, sizes: Option<&str>) -> PyResult<PyRecording> {
    let given = sizes.map(GivenSizes::find).transpose().map_err(value)?;
    let program = Program::load(path).map_err(|error| match path.is_file() {
        true => other(format!("cannot read the recording {}: {error}", path.display())),
        false => value(format!("{}: there is no such recording", path.display())),
    })?;
    Ok(with_sizes(program, given))
}

fn with_sizes(program: Program, given: Option<GivenSizes>) -> PyRecording {
    let given = given.unwrap_or_else(|| GivenSizes::usual(&program));
    // The two share what tasks touch.
    let recorded = (given != GivenSizes::Declared).then(|| program.clone());
    PyRecording { program: given.give(program, &Silent), recorded }
}

#[pymethods]
impl PyRecording {
    #[new]
    #[pyo3(signature = (path, *, sizes=None))]
    fn new(py: Python<'_>, path: PathBuf, sizes: Option<&str>) -> PyResult<Self> {
        detached(py, || load(&path, sizes))
    }

    /// Writes it into a file, which appears whole or not at all. The file has the sizes that tasks
    /// declare, whatever `sizes` were given. Raises `BefitError` if it cannot.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let program = self.recorded.as_ref().unwrap_or(&self.program);
        detached(py, || program.save(&path).map_err(other))
    }

    /// The command that was recorded.
    #[getter]
    fn name(&self) -> &str {
        &self.program.meta().name
    }

    /// The number of tasks, the root included.
    #[getter]
    fn tasks(&self) -> u32 {
        self.program.tasks()
    }

    /// The number of strands: pieces of tasks without fork or sync.
    #[getter]
    fn strands(&self) -> u32 {
        self.program.strands()
    }

    /// The number of line touches; the time of a simulation grows with it.
    #[getter]
    fn touches(&self) -> u64 {
        self.program.total_touches()
    }

    /// The number of cache lines of its pages.
    #[getter]
    fn lines(&self) -> u32 {
        self.program.lines()
    }

    /// Where the sizes that schedulers see come from.
    #[getter]
    fn sizes_from(&self) -> &'static str {
        self.program.sizes_from().name()
    }

    /// Whether it holds how long operations take.
    #[getter]
    fn calibrated(&self) -> bool {
        self.program.work_run().is_some()
    }

    fn __repr__(&self) -> String {
        let (name, tasks, touches) = (self.name(), self.tasks(), self.touches());
        format!("<befit.Recording {name}: {tasks} tasks, {touches} line touches>")
    }

    fn _repr_html_(&self) -> String {
        let stats = self.program.stats();
        let rows = [
            ("tasks", stats.tasks.to_string()),
            ("strands", stats.strands.to_string()),
            ("line touches", stats.work.touches.to_string()),
            ("lines", self.lines().to_string()),
            ("parallelism", format!("{:.1}", stats.parallelism())),
            ("sizes", self.sizes_from().to_owned()),
        ];
        html::table(self.name(), &rows)
    }
}

/// Refuses arguments of `record` that are given, but belong to `other` instead of what is recorded.
fn alone(recorded: &str, other: &str, arguments: &[(&str, bool)]) -> PyResult<()> {
    match arguments.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => Err(value(format!("{name} belongs to {other}, not to {recorded}"))),
    }
}

/// Records one serial run of a program, or finds the recording of an earlier time.
///
/// Either `kernel` is one of `befit.kernels()`, with its size `n`, the `data_seed` of its input,
/// and `shrink`, by which its cut-offs and default size are divided. Or `manifest_path` is the
/// Cargo.toml of a crate that uses befit or rayon, with `package`, `bin` or `example`, and the
/// `arguments` of the program. cargo builds it with instrumentation. `fresh` records again; without
/// `calibrate` operations take what the machine says. `sizes` as of `Recording`.
///
/// Takes as long as cargo does, then about ten times as long as the program. Raises `ValueError`
/// for a kernel or manifest that does not exist, for a number that cannot be, and for an argument
/// of the one with the other, and `BefitError` if it cannot be built or run.
#[pyfunction]
#[pyo3(signature = (kernel=None, *, n=None, data_seed=None, shrink=None, manifest_path=None,
    package=None, bin=None, example=None, arguments=vec![], sizes=None, fresh=false,
    calibrate=true))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn record(
    py: Python<'_>,
    kernel: Option<String>,
    #[pyo3(from_py_with = number::n)] n: Option<u64>,
    #[pyo3(from_py_with = number::data_seed)] data_seed: Option<u64>,
    #[pyo3(from_py_with = number::shrink_if_given)] shrink: Option<u32>,
    manifest_path: Option<PathBuf>,
    package: Option<String>,
    bin: Option<String>,
    example: Option<String>,
    arguments: Vec<String>,
    sizes: Option<&str>,
    fresh: bool,
    calibrate: bool,
) -> PyResult<PyRecording> {
    let of_kernel =
        [("n", n.is_some()), ("data_seed", data_seed.is_some()), ("shrink", shrink.is_some())];
    let of_crate = [
        ("package", package.is_some()),
        ("bin", bin.is_some()),
        ("example", example.is_some()),
        ("arguments", !arguments.is_empty()),
    ];
    let source = match (kernel, manifest_path) {
        (Some(name), None) => {
            alone("a kernel", "a manifest_path", &of_crate)?;
            let usual = || n.map_or_else(|| befit_lab::usual_shrink(&name), |_| 1);
            let shrink = shrink.unwrap_or_else(usual);
            Source::Kernel(KernelSource { name, n, seed: data_seed, shrink })
        }
        (None, Some(manifest)) => {
            alone("a manifest_path", "a kernel", &of_kernel)?;
            let target = Target {
                manifest_path: Some(manifest),
                package,
                bin,
                example,
                ..Target::default()
            };
            let source = CrateSource { target, arguments, ..CrateSource::default() };
            Source::Crate(source)
        }
        _ => return Err(value("record takes either a kernel's name or a manifest_path")),
    };
    let given = sizes.map(GivenSizes::find).transpose().map_err(value)?;
    let output = BuildOutput::default();
    let recorded = detached(py, || {
        source.check()?;
        let recorded = match calibrate {
            true => befit_lab::record(&source, fresh, &output),
            false => befit_lab::record_uncalibrated(&source, fresh, &output),
        };
        Ok(with_sizes(recorded?, given))
    });
    recorded.map_err(|error| output.exception(error))
}

/// The kernels, each with a line about it.
#[pyfunction]
pub(crate) fn kernels() -> Vec<(&'static str, &'static str)> {
    befit_lab::kernels()
}
