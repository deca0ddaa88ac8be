//! Tells which figure of a machine is most likely wrong: the one that, changed, brings most
//! programs' predictions within range.

use befit_machine::{Cycles, Machine};
use serde::Serialize;

use super::Verdict;
use crate::{
    LabError,
    parallel::{self, threads},
};

/// A figure of the machine whose change brings more predictions within range.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Suspect {
    /// The change: `L3 capacity x 2`.
    pub change: String,
    /// How many programs are within 0.8 to 1.25 with it.
    pub within: usize,
    /// How many are without it.
    pub within_before: usize,
    /// Of so many programs.
    pub programs: usize,
    /// The mean error with it, as a factor: 1 if all predictions are right.
    pub error: f64,
    /// The mean error without it.
    pub error_before: f64,
}

/// A variation of the machine: its name, and the ratio of predicted to measured time with it.
pub(super) type Ratio = (String, f64);

/// The machine as it is, and with one figure changed by a factor of two each.
fn variations(machine: &Machine) -> Vec<(String, Machine)> {
    let mut all = vec![(String::new(), machine.clone())];
    let last = machine.levels().last().map_or("cache".to_owned(), ToString::to_string);
    for (sign, factor) in [("x", 2.0), ("/", 0.5)] {
        let mut vary = |what: &str, change: &dyn Fn(&mut Machine)| {
            let mut machine = machine.clone();
            change(&mut machine);
            all.push((format!("{what} {sign} 2"), machine));
        };
        let times = |cycles: Cycles| Cycles((cycles.0 as f64 * factor).round() as u64);
        vary(&format!("{last} capacity"), &|m| *m = m.clone().with_last_level(factor));
        vary("memory bandwidth", &|m| m.memory.bandwidth *= factor);
        vary("memory latency", &|m| m.memory.latency = times(m.memory.latency));
        vary("misses in flight", &|m| {
            m.memory.parallelism = (m.memory.parallelism * factor).max(1.0);
        });
        vary("time of an operation", &|m| m.cycles_per_operation *= factor);
    }
    all
}

/// The ratio of predicted to `measured` milliseconds of one program on each variation of `machine`,
/// where `simulate` predicts. `begin` is told how many simulations there are.
pub(super) fn ratios(
    machine: &Machine,
    measured: f64,
    simulate: impl Fn(&Machine) -> Result<Cycles, LabError> + Sync,
    begin: impl FnOnce(usize),
) -> Result<Vec<Ratio>, LabError> {
    let all = variations(machine);
    begin(all.len());
    let run = |(name, machine): &(String, Machine)| {
        let predicted = simulate(machine)?.0 as f64 / f64::from(machine.mhz) / 1e3;
        Ok::<_, LabError>((name.clone(), predicted / measured))
    };
    parallel::map(&all, threads(), |_| 1, run)
}

impl Suspect {
    /// The best variation of all, the same for every program of `programs`, each of which has the
    /// machine as it is first. `None` where no change puts more programs within range.
    pub(super) fn of(programs: &[Vec<Ratio>]) -> Option<Self> {
        let variations = programs.first()?;
        let score = |at: usize| {
            let ratios = programs.iter().filter_map(|ratios| Some(ratios.get(at)?.1));
            let within = ratios.clone().filter(|r| Verdict::of(*r) == Verdict::Good).count();
            let error: f64 = ratios.map(|ratio| ratio.ln().abs()).sum();
            (within, (error / programs.len() as f64).exp())
        };
        let (within_before, error_before) = score(0);
        let best = (1..variations.len())
            .map(|at| (at, score(at)))
            .max_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let (at, (within, error)) = best?;
        (within > within_before && error < error_before).then(|| Self {
            change: variations[at].0.clone(),
            within,
            within_before,
            programs: programs.len(),
            error,
            error_before,
        })
    }
}
