//! The machine and the settings of all parts of the study, orders that decide nothing, and figures
//! over the seeds.

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sim::footprint::{Charge, Core, Latencies, Reading, Tasks, in_order};

use crate::{
    KernelSource, LabError, Progress, Source, Spread,
    parallel::{self, threads},
    record_all_lines,
};

/// Instructions of an iteration of the arrays' loop, with its one load.
pub(super) const ARRAY_INSTRUCTIONS: f64 = 4.0;
/// Instructions for each node that a look-up visits.
pub(super) const NODE_INSTRUCTIONS: f64 = 16.0;

/// The machine, and the extent of the study.
pub(super) struct Setup<'a> {
    pub(super) quick: bool,
    /// Figures are medians of so many random orders of arrival, drawn from the seeds 1, 2, …
    pub(super) seeds: u64,
    pub(super) machine: Machine,
    /// Instructions that the core issues in a cycle.
    pub(super) width: f64,
    pub(super) progress: &'a dyn Progress,
}

impl Setup<'_> {
    /// The tasks of a kernel, as users name it.
    pub(super) fn record(&self, kernel: &str, n: u64) -> Result<Tasks, LabError> {
        let source = Source::Kernel(KernelSource { n: Some(n), ..KernelSource::new(kernel) });
        Ok(Tasks::of(&record_all_lines(&source, false, self.progress)?))
    }

    /// A core with empty caches for tasks with so many instructions for each load.
    pub(super) fn core(
        &self,
        tasks: &Tasks,
        instructions: f64,
        latencies: Latencies,
    ) -> Result<Core, LabError> {
        Ok(Core::new(&self.machine, tasks, Reading { instructions, width: self.width, latencies })?)
    }

    /// The innermost cache.
    pub(super) fn innermost(&self) -> ClusterId {
        self.machine.path(WorkerId(0)).next().unwrap_or(ClusterId::ROOT)
    }

    /// The cache behind it, or it.
    pub(super) fn second(&self) -> ClusterId {
        let caches: Vec<ClusterId> =
            self.machine.path(WorkerId(0)).filter(|c| *c != ClusterId::ROOT).collect();
        caches.get(1).or(caches.first()).copied().unwrap_or(ClusterId::ROOT)
    }

    /// The cost of deciding.
    pub(super) fn charge(&self) -> Charge {
        Charge::on(&self.machine, self.width)
    }
}

/// Task numbers 0..n with their bits reversed: neighbours are as far apart as can be.
fn bit_reversed(n: usize) -> Vec<u32> {
    let bits = n.next_power_of_two().trailing_zeros();
    let reversed = |i: u32| i.reverse_bits().checked_shr(u32::BITS - bits).unwrap_or(0);
    (0..n.next_power_of_two() as u32).map(reversed).filter(|task| (*task as usize) < n).collect()
}

/// Task numbers 0..n at random; `seed` draws them.
fn shuffled(n: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    order
}

/// Tasks to order, and the cycles of all of them in orders that decide nothing.
pub(super) struct Workload {
    pub(super) tasks: Tasks,
    /// Its caches warmed by one pass.
    pub(super) core: Core,
    /// One random order of arrival per seed.
    pub(super) arrivals: Vec<Vec<u32>>,
    /// Cycles in the order of their numbers.
    pub(super) sorted: f64,
    /// In each order of arrival.
    pub(super) random: Vec<f64>,
    /// In the order of bit-reversed ranks.
    pub(super) worst: f64,
}

impl Workload {
    /// Warms `core`, then runs all orders, in parallel, each on caches like its own.
    pub(super) fn measure(setup: &Setup, mut core: Core, tasks: Tasks) -> Result<Self, LabError> {
        let n = tasks.len();
        in_order(&mut core, &tasks, 0..n as u32);
        let arrivals: Vec<_> = (1..=setup.seeds).map(|seed| shuffled(n, seed)).collect();
        let mut orders = vec![(0..n as u32).collect(), bit_reversed(n)];
        orders.extend_from_slice(&arrivals);
        let cost = |order: &Vec<u32>| {
            Ok::<_, LabError>(in_order(&mut core.clone(), &tasks, order.iter().copied()).cycles)
        };
        let mut cycles = parallel::map(&orders, threads(), |_| 1, cost)?;
        let random = cycles.split_off(2);
        Ok(Self { sorted: cycles[0], worst: cycles[1], tasks, core, arrivals, random })
    }

    /// The share of the way from random order (the arrivals of number `seed`) to sorted order, in
    /// percent.
    pub(super) fn recovered(&self, seed: usize, cycles: f64) -> f64 {
        percent_of_way(self.random[seed], self.sorted, cycles)
    }
}

/// How far `at` is on the way `from` one figure `to` another, in percent; 0 where there is no way.
fn percent_of_way(from: f64, to: f64, at: f64) -> f64 {
    let way = from - to;
    if way == 0.0 { 0.0 } else { 100.0 * (from - at) / way }
}

/// A figure over the seeds, of which there is one at least. Of an even number the median is the
/// mean of the middle two.
pub(super) fn spread(values: impl IntoIterator<Item = f64>) -> Spread<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    let (count, last) = (values.len(), values.len().saturating_sub(1));
    Spread { median: (at(last / 2) + at(count / 2)) / 2.0, min: at(0), max: at(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_each_task_once() {
        for n in [1, 2, 7, 100] {
            for mut order in [bit_reversed(n), shuffled(n, 5)] {
                order.sort_unstable();
                assert!(order.into_iter().eq(0..n as u32), "{n}");
            }
        }
        assert_eq!(bit_reversed(8), [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    #[test]
    fn where_no_order_is_better_than_another_nothing_is_recovered() {
        assert_eq!(percent_of_way(300.0, 100.0, 150.0), 75.0);
        assert_eq!(percent_of_way(100.0, 100.0, 100.0), 0.0);
        assert_eq!(percent_of_way(100.0, 100.0, 120.0), 0.0);
    }

    #[test]
    fn the_median_lies_in_the_middle() {
        let spread = |values: &[f64]| spread(values.iter().copied());
        assert_eq!(spread(&[3.0]), Spread { median: 3.0, min: 3.0, max: 3.0 });
        assert_eq!(spread(&[5.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 5.0 });
        assert_eq!(spread(&[5.0, 1.0, 2.0, 4.0]).median, 3.0);
    }
}
