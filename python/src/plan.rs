//! Simulations of a recording, one by one or compared.

use std::num::NonZeroU32;

use befit_lab::{BUDGET, Seeds, Silent, SimulationPlan, Sizes};
use befit_sched::{OptionChoices, Options, SchedulerKind};
use befit_sim::{Costs, Settings};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    detached,
    error::{lab, other, value},
    machine::MachineArg,
    number,
    outcome::PyOutcome,
    recording::PyRecording,
};

/// The policies' options from keyword arguments.
fn chosen(given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut choices = OptionChoices::default();
    for (name, argument) in given.into_iter().flatten() {
        let (name, text) = (name.str()?.to_string(), argument.str()?.to_string());
        let Some(option) = Options::TABLE.iter().find(|option| option.name == name) else {
            let known: Vec<_> = Options::TABLE.iter().map(|option| option.name).collect();
            let known = known.join(", ");
            return Err(value(format!("there is no option {name}; known: {known}")));
        };
        choices.parse(option, &text).map_err(value)?;
    }
    Ok(choices.options())
}

/// Simulates `recording` on `machine` under `scheduler`, once.
///
/// The same arguments give the same outcome. `options` are those of the schedulers: `sigma`, `mu`
/// (shares from 0 to 1), `counting`, `nearness`, `branching`, `boundary`. Other threads run
/// meanwhile. Raises `ValueError` for a machine, scheduler, seed or option that cannot be, and
/// `BefitError` if the simulation fails.
#[pyfunction]
#[pyo3(signature = (recording, machine, scheduler, seed=1, **options))]
pub(crate) fn simulate(
    py: Python<'_>,
    recording: &PyRecording,
    machine: MachineArg,
    scheduler: &str,
    #[pyo3(from_py_with = number::seed)] seed: u64,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyOutcome> {
    let machine = machine.machine()?;
    let kind: SchedulerKind = scheduler.parse().map_err(value)?;
    let costs = Costs::of(&machine.machine.prices).shrunk(machine.shrink);
    let options = chosen(options)?;
    let settings = Settings { options, costs, ..Settings::new(kind, seed) };
    let (program, machine) = (&recording.program, machine.machine);
    let outcome = detached(py, || befit_sim::run(program, &machine, &settings, &|_| ()));
    let name = &program.meta().name;
    let title = format!("{name} on {} under {scheduler}, seed {seed}", machine.name);
    Ok(PyOutcome { title, machine, outcome: outcome.map_err(other)? })
}

/// Simulates a recording under several schedulers, and returns the results of `befit.compare`.
#[pyfunction]
#[pyo3(signature = (recording, machines, schedulers, seeds=None, sample="auto", **options))]
pub(crate) fn compare_json(
    py: Python<'_>,
    recording: &PyRecording,
    machines: Vec<MachineArg>,
    schedulers: Vec<String>,
    #[pyo3(from_py_with = number::seeds)] seeds: Option<u32>,
    sample: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let sampling = sample.parse().map_err(|why| value(format!("sample: {why}")))?;
    let machines: Vec<_> =
        machines.into_iter().map(MachineArg::machine).collect::<PyResult<_>>()?;
    let shrink = machines.first().map_or(1, |machine| machine.shrink);
    if machines.iter().any(|machine| machine.shrink != shrink) {
        return Err(value("the machines of one comparison have the same shrink"));
    }
    let seeds = match seeds.map(|seeds| NonZeroU32::new(seeds).ok_or(seeds)) {
        None => Seeds::Enough { budget: BUDGET },
        Some(Ok(seeds)) => Seeds::Fixed(seeds),
        Some(Err(_)) => return Err(value("seeds: at least one is needed")),
    };
    let plan = SimulationPlan {
        machines: machines.into_iter().map(|machine| machine.machine).collect(),
        schedulers: schedulers
            .iter()
            .map(|name| name.parse())
            .collect::<Result<_, _>>()
            .map_err(value)?,
        seeds,
        options: chosen(options)?,
        shrink,
        sampling,
    };
    let results = detached(py, || plan.simulate(&recording.program, &Silent)).map_err(lab)?;
    serde_json::to_string(&results).map_err(other)
}

/// What tasks declare beside what they touch, as the document `befit.sizes`.
#[pyfunction]
#[pyo3(signature = (recording, machine, *, sigma=None, worst=10))]
pub(crate) fn sizes_json(
    py: Python<'_>,
    recording: &PyRecording,
    machine: MachineArg,
    sigma: Option<f64>,
    #[pyo3(from_py_with = number::worst)] worst: usize,
) -> PyResult<String> {
    let machine = machine.machine()?.machine;
    let options =
        Options { sigma: sigma.unwrap_or(Options::default().sigma), ..Options::default() };
    options.check().map_err(value)?;
    let sizes =
        detached(py, || Sizes::of(&recording.program, &machine, options.sigma, worst, &Silent));
    serde_json::to_string(&sizes).map_err(other)
}

/// The schedulers, each with a line about it.
#[pyfunction]
pub(crate) fn schedulers() -> Vec<(&'static str, &'static str)> {
    SchedulerKind::ALL.map(|kind| (kind.name(), kind.about())).to_vec()
}
