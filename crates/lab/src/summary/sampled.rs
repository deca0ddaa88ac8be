//! The figures of a sampled simulation with their intervals.

use std::collections::BTreeMap;

use befit_machine::Level;
use befit_sim::Outcome;
use serde::Serialize;

use super::{Run, interval::t_quantile};

/// Where a figure of the whole program is: 95 % of such intervals contain it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The mean over the seeds, each with another group of lines.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What a sample says of the figures that a simulation of all lines would print.
///
/// That prints the median of n seeds, which differs from the mean of n sampled runs by the chance
/// of both. A median of n normal values varies at most π/2 times as much as their mean, and a
/// sampled run no less than a whole one; so the interval is Student's with the standard error
/// s √((1 + π/2) / n). Times are widened by 2 %.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sampled {
    /// One line in so many was simulated.
    pub one_in: u32,
    /// Running time.
    #[serde(rename = "time_cycles")]
    pub time: Option<Estimate>,
    /// Misses of each level.
    pub misses: BTreeMap<Level, Option<Estimate>>,
    /// As [`super::Summary::last_level_misses`].
    pub last_level_misses: Option<Estimate>,
    /// Lines read from memory.
    pub memory_reads: Option<Estimate>,
    /// Lines written back to memory.
    pub memory_writes: Option<Estimate>,
}

/// The share by which a sampled time may be off in the mean of all samples, since a strand's waits
/// come from the touches that a sample has of it: see docs/measurements/sampling.md.
const TIME_BIAS: f64 = 0.02;

impl Sampled {
    pub(crate) fn of(one_in: u32, outcomes: &[Outcome]) -> Self {
        let of = |get: fn(&Outcome) -> u64| Estimate::of(outcomes.iter().map(get), 0.0);
        let levels = outcomes.first().map_or(&[][..], |outcome| &outcome.levels);
        let misses = levels.iter().enumerate().map(|(i, counts)| {
            let misses = outcomes.iter().map(|outcome| outcome.levels[i].misses.0);
            (counts.level, Estimate::of(misses, 0.0))
        });
        Self {
            one_in,
            time: Estimate::of(outcomes.iter().map(|outcome| outcome.time.0), TIME_BIAS),
            misses: misses.collect(),
            last_level_misses: of(|outcome| Run::of(outcome).misses.0),
            memory_reads: of(|outcome| outcome.memory_reads.0),
            memory_writes: of(|outcome| outcome.memory_writes.0),
        }
    }
}

impl Estimate {
    /// Of one figure of each seed, which is off by no more than the share `bias` in the mean.
    /// `None` of fewer than two.
    fn of(values: impl Iterator<Item = u64>, bias: f64) -> Option<Self> {
        let values: Vec<f64> = values.map(|value| value as f64).collect();
        if values.len() < 2 {
            return None;
        }
        let n = values.len() as f64;
        let estimate = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - estimate) * (v - estimate)).sum();
        let error = (squares / (n - 1.0) / n * (1.0 + std::f64::consts::FRAC_PI_2)).sqrt();
        let half = t_quantile(values.len() - 1) * error + bias * estimate;
        Some(Self { estimate, low: (estimate - half).max(0.0), high: estimate + half })
    }

    /// The distance to its upper end as a share of the estimate; the lower is as far, or 0.
    pub fn half(self) -> f64 {
        if self.estimate > 0.0 { (self.high - self.estimate) / self.estimate } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_covers_the_median_of_as_many_other_runs() {
        let mut random = fastrand::Rng::with_seed(21);
        for n in [3, 5, 13] {
            let mut covered = 0;
            for _ in 0..4000 {
                let mut run = || {
                    let noise: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                    (1e9 * (1.0 + 0.02 * noise)) as u64
                };
                let estimate = Estimate::of((0..n).map(|_| run()), 0.0).unwrap();
                let mut others: Vec<u64> = (0..n).map(|_| run()).collect();
                others.sort_unstable();
                let median = others[(n - 1) / 2] as f64;
                covered += u32::from(estimate.low <= median && median <= estimate.high);
            }
            assert!((3780..=3980).contains(&covered), "{n} seeds: {covered} of 4000");
        }
    }

    #[test]
    fn one_seed_gives_no_interval_and_a_bias_widens_it() {
        assert_eq!(Estimate::of([7].into_iter(), 0.1), None);
        let same = Estimate::of([200, 200].into_iter(), 0.01).unwrap();
        assert_eq!((same.estimate, same.low, same.high, same.half()), (200.0, 198.0, 202.0, 0.01));
    }
}
