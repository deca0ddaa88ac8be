//! Smallest, middle and largest of several runs' values, and times as JSON has them.

use std::{iter::Sum, time::Duration};

use serde::{Deserialize, Serialize};

/// Smallest, middle and largest of a set of values.
///
/// The median of an even number of values is the *lower* of the two in the middle, so that a median
/// is always a value that one of the runs really had, and an integer.
///
/// ```
/// use befit_lab::Spread;
///
/// let spread = Spread::of([30, 10, 20, 40]).unwrap();
/// assert_eq!(spread, Spread { min: 10, median: 20, max: 40 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Spread<T> {
    /// The smallest.
    pub min: T,
    /// The middle one; the lower of the two in the middle of an even number.
    pub median: T,
    /// The largest.
    pub max: T,
}

impl<T: Copy + Ord> Spread<T> {
    /// The spread of `values`; `None` of no values. O(n log n).
    pub fn of(values: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut values: Vec<T> = values.into_iter().collect();
        values.sort_unstable();
        Some(Self {
            min: *values.first()?,
            median: values[(values.len() - 1) / 2],
            max: *values.last()?,
        })
    }
}

impl<T: Copy> Spread<T> {
    /// The same with each value put through `f`, which must keep their order.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Spread<U> {
        Spread { min: f(self.min), median: f(self.median), max: f(self.max) }
    }
}

/// A time that is a number of seconds in JSON; a number there that is no time is read as zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Seconds(pub Duration);

impl Seconds {
    /// As a number.
    pub fn number(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl From<f64> for Seconds {
    fn from(seconds: f64) -> Self {
        Self(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}

impl From<Seconds> for f64 {
    fn from(time: Seconds) -> Self {
        time.number()
    }
}

impl Sum for Seconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        Self(times.map(|time| time.0).fold(Duration::ZERO, Duration::saturating_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_lower_of_the_two_in_the_middle() {
        for (values, min, median, max) in [
            (&[5, 1, 3][..], 1, 3, 5),
            (&[4, 1], 1, 1, 4),
            (&[4, 1, 9, 7], 1, 4, 9),
            (&[7], 7, 7, 7),
        ] {
            assert_eq!(Spread::of(values.iter().copied()), Some(Spread { min, median, max }));
        }
        assert_eq!(Spread::<u64>::of([]), None);
    }

    #[test]
    fn times_beyond_any_clock_are_summed_without_overflow() {
        let most = Seconds(Duration::MAX);
        assert_eq!([most, most].into_iter().sum::<Seconds>(), most);
    }
}
