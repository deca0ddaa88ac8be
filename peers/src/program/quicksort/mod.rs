//! Quicksort whose partition is parallel too. Parts of 16 Ki elements count the elements below the
//! pivot; then each part is copied to the two sides in a second array; the sides are sorted with
//! the arrays' roles exchanged. Fewer than 16 Ki elements are sorted by one thread.
//!
//! Source: the quicksort of Simhadri et al., SPAA 2014, section 5.1, with its cut-off.

mod serial;

use std::time::Duration;

use super::{filled, random, timed};
use crate::{Error, runtime::Runtime};

/// Elements of a part of the partition; fewer are sorted by one thread.
const PART: usize = 1 << 14;

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    // Numbers from 0 to 1, each a multiple of 2⁻⁵³.
    let mut data = filled(n, |i| (random(i as u64) >> 11) as f64 / (1_u64 << 53) as f64)?;
    let mut spare = filled(n, |_| 0.0)?;
    let before = fingerprint(&data);
    let bytes = bytes(&data);
    let (time, ()) = timed(runtime, Some(bytes), |cx| sort::<R>(cx, &mut data, &mut spare, false));
    if !data.is_sorted() {
        return Err(Error::WrongResult("it is not sorted".to_owned()));
    }
    if fingerprint(&data) != before {
        let what = "it does not hold the elements that were to be sorted";
        return Err(Error::WrongResult(what.to_owned()));
    }
    Ok(time)
}

/// Equal for the same elements in any order, and hardly ever for others.
fn fingerprint(data: &[f64]) -> u64 {
    data.iter().fold(0, |sum: u64, x| sum.wrapping_add(random(x.to_bits())))
}

/// Bytes that sorting `data` touches: it, and as much of the other array.
fn bytes(data: &[f64]) -> usize {
    2 * size_of_val(data)
}

/// Sorts `data`; the result goes to `spare` if `into_spare`, else it stays.
fn sort<R: Runtime>(
    cx: &mut R::Context<'_>,
    data: &mut [f64],
    spare: &mut [f64],
    into_spare: bool,
) {
    if data.len() < PART {
        serial::sort(data);
        if into_spare {
            spare.copy_from_slice(data);
        }
        return;
    }
    let mut pivot = serial::ninther(data);
    let mut below = vec![0; data.len().div_ceil(PART)];
    count::<R>(cx, data, pivot, &mut below);
    // A pivot that is the least element would give an empty side for ever: then its equals are one
    // side, which is sorted.
    let least = below.iter().all(|n| *n == 0);
    if least {
        pivot = pivot.next_up();
        count::<R>(cx, data, pivot, &mut below);
    }
    let (low, high) = spare.split_at_mut(below.iter().sum());
    copy::<R>(cx, data, pivot, &below, low, high);

    let (data_low, data_high) = data.split_at_mut(low.len());
    let (bytes_low, bytes_high) = (bytes(low), bytes(high));
    let sort_low = |cx: &mut R::Context<'_>| match (least, into_spare) {
        (true, true) => {}
        (true, false) => data_low.copy_from_slice(low),
        (false, _) => sort::<R>(cx, low, data_low, !into_spare),
    };
    R::join_fit(
        cx,
        (bytes_low, sort_low),
        (bytes_high, |cx: &mut R::Context<'_>| sort::<R>(cx, high, data_high, !into_spare)),
    );
}

/// Counts the elements below the pivot in each part of `data`.
fn count<R: Runtime>(cx: &mut R::Context<'_>, data: &[f64], pivot: f64, below: &mut [usize]) {
    if let [below] = below {
        *below = serial::count(data, pivot);
        return;
    }
    let (below1, below2) = below.split_at_mut(below.len() / 2);
    let (data1, data2) = data.split_at(below1.len() * PART);
    R::join_fit(
        cx,
        (size_of_val(data1), |cx: &mut R::Context<'_>| count::<R>(cx, data1, pivot, below1)),
        (size_of_val(data2), |cx: &mut R::Context<'_>| count::<R>(cx, data2, pivot, below2)),
    );
}

/// Copies the elements of `data` to the side where they belong; `below` is the result of [`count`].
fn copy<R: Runtime>(
    cx: &mut R::Context<'_>,
    data: &[f64],
    pivot: f64,
    below: &[usize],
    low: &mut [f64],
    high: &mut [f64],
) {
    if below.len() == 1 {
        return serial::copy(data, pivot, low, high);
    }
    let (below1, below2) = below.split_at(below.len() / 2);
    let (data1, data2) = data.split_at(below1.len() * PART);
    let (low1, low2) = low.split_at_mut(below1.iter().sum());
    let (high1, high2) = high.split_at_mut(data1.len() - low1.len());
    R::join_fit(
        cx,
        (bytes(data1), |cx: &mut R::Context<'_>| copy::<R>(cx, data1, pivot, below1, low1, high1)),
        (bytes(data2), |cx: &mut R::Context<'_>| copy::<R>(cx, data2, pivot, below2, low2, high2)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Serial;

    #[test]
    fn equal_elements_come_to_an_end() {
        let ways: [fn(usize) -> f64; 4] =
            [|_| 1.0, |i| (i % 2) as f64, |i| i as f64, |i| -(i as f64)];
        for element in ways {
            let mut data = filled(5 * PART + 1, element).unwrap();
            let before = fingerprint(&data);
            let mut spare = vec![0.0; data.len()];
            sort::<Serial>(&mut (), &mut data, &mut spare, false);
            assert!(data.is_sorted());
            assert_eq!(fingerprint(&data), before);
        }
    }
}
