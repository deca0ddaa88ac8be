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
/// s √((1 + π/2) / n).
///
/// That is the chance of lines and seeds. Three things are off in the mean of all samples, too. A
/// strand's waits come from the touches that a sample has of it, so times have 2 % more. Stacks of
/// workers begin at other sets, so misses have 0.2 % more. And workers that fight for a line take
/// it from one another as often as they take turns, which they do less often in a sample; so of the
/// misses of each level those on the lines that they fight for may be half as many, or twice.
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

/// The share by which a sampled time may be off in the mean of all samples: see
/// docs/measurements/sampling.md.
const TIME_BIAS: f64 = 0.02;

/// The same share of misses.
const MISS_BIAS: f64 = 0.002;

/// Misses of a level that are fewer than this share of the innermost level's need no better
/// interval than that share of them: they hardly matter.
const FEW: f64 = 0.01;

impl Sampled {
    /// The share of a figure that its interval may reach to either side where `--sample auto` is
    /// to choose K.
    pub const BAR: f64 = 0.1;

    /// How far the interval of running time or of some level's misses reaches from its figure, in
    /// [bars](Self::BAR): the furthest. Infinite where there is no interval.
    pub(crate) fn roughness(&self) -> f64 {
        let inner = self.misses.values().flatten().map(|e| e.estimate).fold(0.0, f64::max);
        let rough = |estimate: &Option<Estimate>, least: f64| match estimate {
            Some(e) if e.high == e.estimate => 0.0,
            Some(e) => (e.high - e.estimate) / (Self::BAR * e.estimate.max(least)),
            None => f64::INFINITY,
        };
        let misses = self.misses.values().map(|misses| rough(misses, FEW * inner));
        misses.fold(rough(&self.time, 0.0), f64::max)
    }

    pub(crate) fn of(one_in: u32, outcomes: &[Outcome]) -> Self {
        let levels = outcomes.first().map_or(&[][..], |outcome| &outcome.levels);
        let handovers = |level: usize| {
            let all = outcomes.iter().filter_map(|outcome| outcome.levels.get(level));
            let sum: u64 = all.map(|counts| counts.fought_misses.0).sum();
            sum as f64 / outcomes.len().max(1) as f64
        };
        let misses = levels.iter().enumerate().map(|(i, counts)| {
            let misses = outcomes.iter().map(|outcome| outcome.levels[i].misses.0);
            (counts.level, Estimate::of(misses).map(|e| e.of_misses(handovers(i))))
        });
        let of = |get: fn(&Outcome) -> u64| Estimate::of(outcomes.iter().map(get));
        let last = handovers(levels.len().saturating_sub(1));
        let fought = |get| of(get).map(|estimate| estimate.of_misses(last));
        Self {
            one_in,
            time: of(|outcome| outcome.time.0).map(|time| time.widened(TIME_BIAS * time.estimate)),
            misses: misses.collect(),
            last_level_misses: fought(|outcome| Run::of(outcome).misses.0),
            memory_reads: of(|outcome| outcome.memory_reads.0).map(|e| e.of_misses(0.0)),
            memory_writes: fought(|outcome| outcome.memory_writes.0),
        }
    }
}

impl Estimate {
    /// Of one figure of each seed. `None` of fewer than two.
    fn of(values: impl Iterator<Item = u64>) -> Option<Self> {
        let values: Vec<f64> = values.map(|value| value as f64).collect();
        if values.len() < 2 {
            return None;
        }
        let n = values.len() as f64;
        let estimate = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - estimate) * (v - estimate)).sum();
        let error = (squares / (n - 1.0) / n * (1.0 + std::f64::consts::FRAC_PI_2)).sqrt();
        let none = Self { estimate, low: estimate, high: estimate };
        Some(none.widened(t_quantile(values.len() - 1) * error))
    }

    /// So much wider on either side.
    fn widened(self, by: f64) -> Self {
        Self { low: (self.low - by).max(0.0), high: self.high + by, ..self }
    }

    /// Of misses that so many handovers are part of: these may be half as many, or twice.
    fn of_misses(self, handovers: f64) -> Self {
        let wide = self.widened(MISS_BIAS * self.estimate);
        Self { low: (wide.low - handovers / 2.0).max(0.0), high: wide.high + handovers, ..wide }
    }

    /// The distance to its upper end as a share of the estimate; the lower is as far or nearer.
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
                let estimate = Estimate::of((0..n).map(|_| run())).unwrap();
                let mut others: Vec<u64> = (0..n).map(|_| run()).collect();
                others.sort_unstable();
                let median = others[(n - 1) / 2] as f64;
                covered += u32::from(estimate.low <= median && median <= estimate.high);
            }
            assert!((3780..=3980).contains(&covered), "{n} seeds: {covered} of 4000");
        }
    }

    #[test]
    fn time_and_misses_are_held_against_the_bar_unless_they_are_few() {
        let near = |estimate: f64, half: f64| {
            Some(Estimate { estimate, low: estimate - half, high: estimate + half })
        };
        let of = |time, outer| Sampled {
            one_in: 16,
            time,
            misses: BTreeMap::from([(Level(1), near(1e6, 1e4)), (Level(2), outer)]),
            last_level_misses: None,
            memory_reads: None,
            memory_writes: None,
        };
        let good = near(1e6, 4e4);
        assert!(of(good, good).roughness() < 1.0);
        assert!(of(near(1e6, 1.2e5), good).roughness() > 1.0);
        assert!(of(good, near(1e6, 1.2e5)).roughness() > 1.0);
        assert!(of(None, good).roughness() > 1.0);
        assert!(of(good, near(100.0, 400.0)).roughness() < 1.0);
    }

    #[test]
    fn one_seed_gives_no_interval_and_what_is_off_in_the_mean_widens_it() {
        assert_eq!(Estimate::of([7].into_iter()), None);
        let same = Estimate::of([200, 200].into_iter()).unwrap();
        let ends = |e: Estimate| (e.estimate, e.low, e.high, e.half());
        assert_eq!(ends(same.widened(2.0)), (200.0, 198.0, 202.0, 0.01));
        assert_eq!(ends(same.of_misses(50.0)), (200.0, 174.6, 250.4, 0.252));
    }
}
