//! Repeated measurements of one figure.

use serde::{Deserialize, Serialize};

/// A figure that was measured several times, spread over the whole run.
///
/// What strangers do on a shared machine only ever makes it slower, and for as long as they like.
/// So the better quartile counts: a quarter of the time without them is enough.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What counts: the lower quartile of times, the upper one of rates.
    pub value: f64,
    /// The median.
    pub median: f64,
    /// Half of the samples lie between these.
    pub quartiles: (f64, f64),
    /// What would count if there were only the first half of the samples, and only the second.
    pub halves: (f64, f64),
}

impl Figure {
    /// Of at least one sample, of what is the better the less it is.
    pub fn time(samples: &[f64]) -> Self {
        Self::new(samples, |figure| figure.quartiles.0)
    }

    /// Of at least one sample, of what is the better the more it is.
    pub fn rate(samples: &[f64]) -> Self {
        Self::new(samples, |figure| figure.quartiles.1)
    }

    /// As [`Self::time`], of at most one sample a round: none of a round that does not count.
    /// `None` where no round has one.
    #[cfg(feature = "measure")]
    pub(crate) fn time_of_rounds(samples: &[Option<f64>]) -> Option<Self> {
        Self::of_rounds(samples, Self::time)
    }

    /// As [`Self::rate`], of at most one sample a round.
    #[cfg(feature = "measure")]
    pub(crate) fn rate_of_rounds(samples: &[Option<f64>]) -> Option<Self> {
        Self::of_rounds(samples, Self::rate)
    }

    /// The halves are those of the rounds: of one that has no sample nothing is known, and the
    /// figure is noisy.
    #[cfg(feature = "measure")]
    fn of_rounds(samples: &[Option<f64>], figure: fn(&[f64]) -> Self) -> Option<Self> {
        let had = |samples: &[Option<f64>]| {
            let had: Vec<f64> = samples.iter().copied().flatten().collect();
            (!had.is_empty()).then(|| figure(&had))
        };
        let (first, second) = samples.split_at(samples.len().div_ceil(2));
        let half = |samples| had(samples).map_or(0.0, |figure| figure.value);
        Some(Self { halves: (half(first), half(second)), ..had(samples)? })
    }

    fn new(samples: &[f64], what_counts: impl Fn(&Self) -> f64) -> Self {
        let of = |samples: &[f64]| {
            let mut sorted = samples.to_vec();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| (sorted.len() - 1) as f64 * share;
            let (low, middle, high) = (at(0.25).floor(), at(0.5).round(), at(0.75).ceil());
            let [low, median, high] = [low, middle, high].map(|at| sorted[at as usize]);
            let quartiles = (low, high);
            let figure = Self { value: median, median, quartiles, halves: (median, median) };
            Self { value: what_counts(&figure), ..figure }
        };
        let (first, second) = samples.split_at(samples.len().div_ceil(2));
        let first = of(first).value;
        let second = if second.is_empty() { first } else { of(second).value };
        Self { halves: (first, second), ..of(samples) }
    }

    /// By how much the halves differ, as a share of the smaller one: infinite where that is
    /// nothing, or less, as a difference of times may be.
    pub fn spread(&self) -> f64 {
        let (first, second) = self.halves;
        let smaller = first.min(second);
        if smaller <= 0.0 { f64::INFINITY } else { (first - second).abs() / smaller }
    }

    /// Whether the halves differ too much for the figure to be trusted.
    pub fn is_noisy(&self) -> bool {
        self.spread() > NOISY
    }

    /// What follows from it by `f`, which ascends.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let both = |(a, b): (f64, f64)| (f(a), f(b));
        Self {
            value: f(self.value),
            median: f(self.median),
            quartiles: both(self.quartiles),
            halves: both(self.halves),
        }
    }
}

/// Two runs are to agree within a tenth, so the halves of one must.
pub const NOISY: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_sample_does_not_make_a_figure_noisy() {
        let figure = Figure::time(&[1.0, 1.01, 0.99, 1.0, 9.0]);
        assert_eq!(figure.median, 1.0);
        assert!(!figure.is_noisy());
    }

    #[test]
    fn quartiles_are_as_far_from_the_median_below_as_above() {
        for count in 1..=20 {
            let samples: Vec<f64> = (0..count).map(f64::from).collect();
            let (low, high) = Figure::time(&samples).quartiles;
            assert_eq!(low + high, f64::from(count - 1), "of {count}");
        }
    }

    #[test]
    fn disturbances_of_half_of_the_time_do_not_count() {
        let samples = [1.0, 1.5, 1.01, 1.5, 1.5, 1.0, 1.5, 1.0];
        let figure = Figure::time(&samples);
        assert_eq!((figure.value, figure.is_noisy()), (1.0, false));
        let rates = samples.map(|time| 1.0 / time);
        assert_eq!(Figure::rate(&rates).value, 1.0);
    }

    #[cfg(feature = "measure")]
    #[test]
    fn regression_a_half_of_the_rounds_without_a_sample_is_noisy() {
        let one = [None, Some(2.0), None, None];
        for figure in [Figure::time_of_rounds(&one), Figure::rate_of_rounds(&one)] {
            let figure = figure.unwrap();
            assert_eq!((figure.value, figure.halves), (2.0, (2.0, 0.0)));
            assert!(figure.is_noisy());
        }
        // By rounds, and not by samples: three of the first half, and one of the second.
        let three = [Some(1.0), Some(1.0), Some(1.0), None, None, Some(1.5)];
        let figure = Figure::time_of_rounds(&three).unwrap();
        assert_eq!((figure.value, figure.halves), (1.0, (1.0, 1.5)));
        assert!(!Figure::time_of_rounds(&[Some(1.0), Some(1.05)]).unwrap().is_noisy());
        assert_eq!(Figure::time_of_rounds(&[None, None]), None);
    }

    #[test]
    fn a_half_that_is_nothing_or_less_is_noisy() {
        for less in [0.0, -1.0] {
            let figure = Figure::time(&[1.0, 1.0, less, less]);
            assert_eq!((figure.spread(), figure.is_noisy()), (f64::INFINITY, true));
        }
    }

    #[test]
    fn halves_of_two_speeds_are_noisy() {
        assert!(Figure::time(&[1.0, 1.0, 1.0, 1.5, 1.5, 1.5]).is_noisy());
        assert!(Figure::rate(&[1.5, 1.5, 1.0, 1.0]).is_noisy());
    }
}
