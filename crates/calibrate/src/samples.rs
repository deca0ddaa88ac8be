//! Repeated measurements of one figure.

use serde::{Deserialize, Serialize};

/// A figure that was measured several times, spread over the whole run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// Half of the samples lie between these.
    pub quartiles: (f64, f64),
}

impl Figure {
    /// Of at least one sample.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        Self { median: at(0.5), quartiles: (at(0.25), at(0.75)) }
    }

    /// The distance of the quartiles, as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.quartiles.1 - self.quartiles.0) / self.median.abs().max(f64::MIN_POSITIVE)
    }

    /// Whether the samples differ too much for the median to be trusted.
    pub fn is_noisy(&self) -> bool {
        self.spread() > NOISY
    }

    /// What follows from it by `f`, which ascends.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let (low, high) = self.quartiles;
        Self { median: f(self.median), quartiles: (f(low), f(high)) }
    }
}

/// Two runs of a calm machine agree within a tenth; a figure whose middle half is spread twice as
/// far may not.
pub const NOISY: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_sample_does_not_make_a_figure_noisy() {
        let figure = Figure::of(&[1.0, 1.01, 0.99, 1.0, 9.0]);
        assert_eq!(figure.median, 1.0);
        assert!(!figure.is_noisy());
    }

    #[test]
    fn samples_of_two_speeds_are_noisy() {
        assert!(Figure::of(&[1.0, 1.5, 1.0, 1.5, 1.0, 1.5]).is_noisy());
    }
}
