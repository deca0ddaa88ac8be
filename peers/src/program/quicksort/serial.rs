//! The work of one thread. It is written out rather than taken from the standard library or from
//! befit's kernels, so that the programs in C++ do the same, line by line.

/// Fewer are sorted by insertion.
const INSERTION_BELOW: usize = 24;

/// Sorts by Hoare's quicksort with the median of three.
#[inline(never)]
pub(super) fn sort(mut data: &mut [f64]) {
    while data.len() >= INSERTION_BELOW {
        let last = data.len() - 1;
        let pivot = median(data[0], data[data.len() / 2], data[last]);
        // Of the three, one other than the first is at most, and one other than the last at least
        // the pivot: they stop both loops.
        let (mut i, mut j) = (0, last);
        while i <= j {
            while data[i] < pivot {
                i += 1;
            }
            while data[j] > pivot {
                j -= 1;
            }
            if i <= j {
                data.swap(i, j);
                i += 1;
                j -= 1;
            }
        }
        let (rest, right) = data.split_at_mut(i);
        let left = &mut rest[..=j];
        // The smaller side first, so that the stack stays small.
        if left.len() < right.len() {
            sort(left);
            data = right;
        } else {
            sort(right);
            data = left;
        }
    }
    insertion(data);
}

fn insertion(data: &mut [f64]) {
    for i in 1..data.len() {
        let x = data[i];
        let mut j = i;
        while j > 0 && data[j - 1] > x {
            data[j] = data[j - 1];
            j -= 1;
        }
        data[j] = x;
    }
}

/// The number of elements below the pivot.
#[inline(never)]
pub(super) fn count(data: &[f64], pivot: f64) -> usize {
    data.iter().filter(|x| **x < pivot).count()
}

/// Copies the elements below the pivot to `low` and the rest to `high`; each has the right size.
#[inline(never)]
pub(super) fn copy(data: &[f64], pivot: f64, low: &mut [f64], high: &mut [f64]) {
    let (mut low, mut high) = (low.iter_mut(), high.iter_mut());
    for x in data {
        let place = if *x < pivot { low.next() } else { high.next() };
        if let Some(place) = place {
            *place = *x;
        }
    }
}

/// Tukey's ninther: the median of the medians of three times three elements. There are at least
/// nine.
pub(super) fn ninther(data: &[f64]) -> f64 {
    let step = data.len() / 9;
    let three = |i: usize| median(data[i * step], data[(i + 1) * step], data[(i + 2) * step]);
    median(three(0), three(3), three(6))
}

fn median(a: f64, b: f64, c: f64) -> f64 {
    a.min(b).max(a.max(b).min(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_is_sorted() {
        for n in [0, 1, 2, INSERTION_BELOW, 1000] {
            let orders: [fn(usize, usize) -> usize; 5] =
                [|i, _| i, |i, n| n - i, |i, _| i % 3, |_, _| 7, |i, _| i * 7919 % 1009];
            for order in orders {
                let mut data: Vec<f64> = (0..n).map(|i| order(i, n) as f64).collect();
                sort(&mut data);
                assert!(data.is_sorted(), "{n}");
            }
        }
    }

    #[test]
    fn the_median_of_three_is_the_middle_one() {
        for [a, b, c] in [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [2.0, 2.0, 9.0]] {
            assert_eq!(median(a, b, c), 2.0);
        }
    }
}
