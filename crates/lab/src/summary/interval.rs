//! By how much a scheduler differs from the baseline: a ratio with a 95 % interval over the seeds.
//!
//! Both schedulers run with the same seeds, so each seed gives one ratio. The interval is Student's
//! t interval of the mean of these ratios (Student, *The probable error of a mean*, Biometrika
//! 6(1), 1908). A percentile bootstrap of so few values is too narrow. Only `+ - × ÷ √` are used,
//! which IEEE 754 rounds alike everywhere, so equal runs give equal bytes on every machine;
//! logarithms do not.

use serde::Serialize;

/// The width of an interval that no further seeds narrow: two percentage points; a quarter of the
/// difference is enough, too ([`Interval::is_narrow`]).
pub const NARROW: f64 = 0.02;

/// As a part of the difference, the width of an interval that no further seeds narrow: 38 % less,
/// or from 33 to 43 %, says as much as is asked.
const LARGE: f64 = 0.25;

/// A ratio to the baseline: 1 is equal, 0.9 a tenth less.
///
/// ```
/// use befit_lab::Interval;
///
/// let faster = Interval::of([(100, 89), (102, 92), (98, 89)]).unwrap();
/// assert!(faster.differs() && faster.high < 1.0);
/// let same = Interval::of([(100, 100), (98, 98)]).unwrap();
/// assert_eq!((same.estimate, same.width(), same.differs()), (1.0, 0.0, false));
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// The mean of the seeds' ratios.
    pub estimate: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of `pairs`: for each seed the baseline's value and the scheduler's. `None` of
    /// fewer than two pairs, and where a baseline is 0 but the other is not. O(n).
    pub fn of(pairs: impl IntoIterator<Item = (u64, u64)>) -> Option<Self> {
        let ratio = |(base, value): (u64, u64)| match (base, value) {
            (0, 0) => Some(1.0),
            (0, _) => None,
            _ => Some(value as f64 / base as f64),
        };
        let ratios: Vec<f64> = pairs.into_iter().map(ratio).collect::<Option<_>>()?;
        if ratios.len() < 2 {
            return None;
        }
        let n = ratios.len() as f64;
        let estimate = ratios.iter().sum::<f64>() / n;
        let squares: f64 = ratios.iter().map(|r| (r - estimate) * (r - estimate)).sum();
        let half = t_quantile(ratios.len() - 1) * (squares / (n - 1.0) / n).sqrt();
        Some(Self { estimate, low: (estimate - half).max(0.0), high: estimate + half })
    }

    /// The distance from the estimate to its upper end; the lower is as far, or 0.
    pub fn half(self) -> f64 {
        self.high - self.estimate
    }

    /// The distance between its ends.
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// True if more seeds are not needed: it is at most [`NARROW`], or a quarter of the difference.
    pub fn is_narrow(self) -> bool {
        self.width() <= NARROW.max(LARGE * (self.estimate - 1.0).abs())
    }

    /// False if the interval contains 1: the seeds show no difference.
    pub fn differs(self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// The 97.5 % quantile of Student's t distribution with `freedom` ≥ 1 degrees of freedom.
pub(super) fn t_quantile(freedom: usize) -> f64 {
    // The usual table; beyond it the expansion by powers of 1/ν is exact to three decimals
    // (Abramowitz & Stegun, Handbook of Mathematical Functions, 26.7.5).
    const TABLE: [f64; 20] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    ];
    if let Some(t) = TABLE.get(freedom - 1) {
        return *t;
    }
    let (z, v) = (1.959_964_f64, freedom as f64);
    let (z3, z5) = (z * z * z, z * z * z * z * z);
    z + (z3 + z) / (4.0 * v) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::LOOKS;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, t) in [(1, 12.7062), (4, 2.7764), (21, 2.0796), (30, 2.0423), (120, 1.9799)] {
            assert!((t_quantile(freedom) - t).abs() < 0.0005, "{freedom}");
        }
    }

    #[test]
    fn the_interval_is_the_mean_and_t_times_the_standard_error() {
        // Ratios 0.9, 1.0, 1.1, 1.2, 1.3: mean 1.1, s = 0.158114, s/√5 = 0.0707107, t = 2.7764.
        let interval = Interval::of([90, 100, 110, 120, 130].map(|v| (100, v))).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-5;
        assert!(close(interval.estimate, 1.1), "{interval:?}");
        assert!(close(interval.low, 0.903_679) && close(interval.high, 1.296_321), "{interval:?}");
        assert!(!interval.differs() && !interval.is_narrow());
    }

    #[test]
    fn an_interval_is_narrow_by_its_width_or_beside_the_difference() {
        let narrow = |estimate: f64, half: f64| {
            Interval { estimate, low: estimate - half, high: estimate + half }.is_narrow()
        };
        for estimate in [0.96, 1.0, 1.04] {
            assert!(narrow(estimate, 0.009) && !narrow(estimate, 0.011), "{estimate}");
        }
        for estimate in [0.6, 1.4] {
            assert!(narrow(estimate, 0.049) && !narrow(estimate, 0.051), "{estimate}");
        }
    }

    #[test]
    fn a_scheduler_compared_with_itself_shows_no_difference_and_has_width_0() {
        let itself = Interval::of([(7, 7), (1_000_003, 1_000_003), (0, 0)]).unwrap();
        assert_eq!(itself, Interval { estimate: 1.0, low: 1.0, high: 1.0 });
        assert!(!itself.differs() && itself.is_narrow());
    }

    #[test]
    fn nothing_is_said_of_one_seed_or_of_a_baseline_of_none() {
        assert_eq!(Interval::of([(5, 4)]), None);
        assert_eq!(Interval::of([(5, 4), (0, 1)]), None);
    }

    /// Coverage of a true ratio by the first interval that is narrow, of those after so many
    /// seeds as `looks` says, or by the last; of 10,000 trials. `noise` turns a uniform generator
    /// into one run's relative time, of mean 1. Also the mean number of seeds.
    fn coverage(
        looks: &[u32],
        truth: f64,
        noise: impl Fn(&mut fastrand::Rng) -> f64,
    ) -> (f64, f64) {
        let mut random = fastrand::Rng::with_seed(18);
        let mut seeds = 0;
        let mut covers = || {
            let mut run = |time: f64| (time * noise(&mut random)) as u64;
            let mut pairs = Vec::new();
            let mut found = None;
            for &look in looks {
                pairs.resize_with(look as usize, || (run(1e8), run(truth * 1e8)));
                found = Interval::of(pairs.iter().copied());
                if found.unwrap().is_narrow() {
                    break;
                }
            }
            seeds += pairs.len();
            let found = found.unwrap();
            found.low <= truth && truth <= found.high
        };
        let covered = (0..10_000).filter(|_| covers()).count() as f64 / 10_000.0;
        (covered, seeds as f64 / 10_000.0)
    }

    /// The sum of twelve uniform values is close to a normal one: noise of that standard deviation.
    fn normal(deviation: f64) -> impl Fn(&mut fastrand::Rng) -> f64 {
        move |r| 1.0 + deviation * ((0..12).map(|_| r.f64()).sum::<f64>() - 6.0)
    }

    /// One seed in four is slow, by up to that much.
    fn skewed(slow: f64) -> impl Fn(&mut fastrand::Rng) -> f64 {
        move |r| {
            let late = if r.f64() < 0.25 { slow * r.f64() } else { 0.0 };
            1.0 + late - slow / 8.0 + slow / 20.0 * (r.f64() - 0.5)
        }
    }

    #[test]
    fn nine_tenths_of_the_intervals_and_more_cover_the_true_ratio() {
        for n in [3, 5, 10, 20] {
            let normal = coverage(&[n], 0.9, normal(0.03)).0;
            let skewed = coverage(&[n], 0.9, skewed(0.2)).0;
            println!("{n} seeds: normal {normal:.3}, skewed {skewed:.3}");
            assert!(normal >= 0.93 && skewed >= 0.90, "{n} seeds: {normal} and {skewed}");
        }
    }

    #[test]
    fn seeds_that_are_added_until_the_interval_is_narrow_cover_nine_tenths_too() {
        let holds = |what: &str, (covered, seeds): (f64, f64)| {
            println!("{what}: {covered:.3}, {seeds:.1} seeds");
            assert!(covered >= 0.90, "{what}: {covered}");
        };
        for truth in [0.5, 0.7, 0.9, 1.0] {
            for deviation in [0.003, 0.005, 0.01, 0.015, 0.02, 0.03] {
                let found = coverage(&LOOKS, truth, normal(deviation));
                holds(&format!("normal {deviation}, {truth}"), found);
            }
            for slow in [0.03, 0.2] {
                let found = coverage(&LOOKS, truth, skewed(slow));
                holds(&format!("skewed {slow}, {truth}"), found);
            }
        }
    }
}
