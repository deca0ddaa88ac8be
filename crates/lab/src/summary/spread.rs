//! Smallest, middle and largest of what several seeds gave.

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one() {
        assert_eq!(Spread::of([5, 1, 3]), Some(Spread { min: 1, median: 3, max: 5 }));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_lower_middle_one() {
        assert_eq!(Spread::of([4, 1]), Some(Spread { min: 1, median: 1, max: 4 }));
        assert_eq!(Spread::of([4, 1, 9, 7]), Some(Spread { min: 1, median: 4, max: 9 }));
    }

    #[test]
    fn one_value_is_its_own_spread_and_no_values_have_none() {
        assert_eq!(Spread::of([7]), Some(Spread { min: 7, median: 7, max: 7 }));
        assert_eq!(Spread::<u64>::of([]), None);
    }
}
