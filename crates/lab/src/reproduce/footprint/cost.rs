//! The cost of orders that decide nothing, and figures over the seeds.

use befit_sim::footprint::{Core, Tasks, in_order};

use super::setup::bit_reversed;
use crate::{
    LabError, Spread,
    parallel::{self, threads},
};

/// Cycles of all tasks.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    /// In the order of their numbers.
    pub(super) sorted: f64,
    /// In each order of arrival.
    pub(super) random: Vec<f64>,
    /// In the order of bit-reversed ranks.
    pub(super) worst: f64,
}

impl Cost {
    /// Runs all orders, in parallel, each on caches like those of `core`.
    pub(super) fn measure(
        core: &Core,
        tasks: &Tasks,
        arrivals: &[Vec<u32>],
    ) -> Result<Self, LabError> {
        let n = tasks.len();
        let mut orders = vec![(0..n as u32).collect(), bit_reversed(n)];
        orders.extend_from_slice(arrivals);
        let cost = |order: &Vec<u32>| {
            Ok::<_, LabError>(in_order(&mut core.clone(), tasks, order.iter().copied()).cycles)
        };
        let mut cycles = parallel::map(&orders, threads(), |_| 1, cost)?;
        let random = cycles.split_off(2);
        Ok(Self { sorted: cycles[0], worst: cycles[1], random })
    }

    /// The share of the way from random order (the arrivals of number `seed`) to sorted order, in
    /// percent.
    pub(super) fn recovered(&self, seed: usize, cycles: f64) -> f64 {
        let random = self.random[seed];
        100.0 * (random - cycles) / (random - self.sorted)
    }
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
    fn the_median_lies_in_the_middle() {
        let spread = |values: &[f64]| spread(values.iter().copied());
        assert_eq!(spread(&[3.0]), Spread { median: 3.0, min: 3.0, max: 3.0 });
        assert_eq!(spread(&[5.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 5.0 });
        assert_eq!(spread(&[5.0, 1.0, 2.0, 4.0]).median, 3.0);
    }
}
