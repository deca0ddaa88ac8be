//! Recursive repeated map: maps an array onto another three times in parallel, then does the same
//! with each half. All bandwidth.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental
//! analysis of space-bounded schedulers", SPAA 2014, section 5.1 (RRM), with its sizes.

use std::time::Duration;

use super::{filled, timed};
use crate::{Error, runtime::Runtime};

/// How often each range is mapped before it is cut.
const REPEATS: usize = 3;
/// The map of fewer elements is one serial loop.
const SERIAL_BELOW: usize = 1 << 14;
/// With so many elements or fewer the recursion ends.
const ENDS_AT: usize = 1 << 13;

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    let a = filled(n, |i| i as f64)?;
    let mut b = filled(n, |_| 0.0)?;
    let (time, ()) = timed(runtime, Some(bytes(&a, &b)), |cx| repeat_and_cut::<R>(cx, &a, &mut b));
    let expected = |i: usize| if n > ENDS_AT { i as f64 + 1.0 } else { 0.0 };
    if let Some((i, b)) = b.iter().enumerate().find(|(i, b)| **b != expected(*i)) {
        let what = format!("element {i} is {b}, must be {}", expected(i));
        return Err(Error::WrongResult(what));
    }
    Ok(time)
}

fn bytes(a: &[f64], b: &[f64]) -> usize {
    size_of_val(a) + size_of_val(b)
}

fn repeat_and_cut<R: Runtime>(cx: &mut R::Context<'_>, a: &[f64], b: &mut [f64]) {
    if a.len() <= ENDS_AT {
        return;
    }
    for _ in 0..REPEATS {
        map::<R>(cx, a, b);
    }
    let (a1, a2) = a.split_at(a.len() / 2);
    let (b1, b2) = b.split_at_mut(a1.len());
    R::join_fit(
        cx,
        (bytes(a1, b1), |cx: &mut R::Context<'_>| repeat_and_cut::<R>(cx, a1, b1)),
        (bytes(a2, b2), |cx: &mut R::Context<'_>| repeat_and_cut::<R>(cx, a2, b2)),
    );
}

fn map<R: Runtime>(cx: &mut R::Context<'_>, a: &[f64], b: &mut [f64]) {
    if a.len() < SERIAL_BELOW {
        return map_part(a, b);
    }
    let (a1, a2) = a.split_at(a.len() / 2);
    let (b1, b2) = b.split_at_mut(a1.len());
    R::join_fit(
        cx,
        (bytes(a1, b1), |cx: &mut R::Context<'_>| map::<R>(cx, a1, b1)),
        (bytes(a2, b2), |cx: &mut R::Context<'_>| map::<R>(cx, a2, b2)),
    );
}

#[inline(never)]
fn map_part(a: &[f64], b: &mut [f64]) {
    for (x, y) in a.iter().zip(b) {
        *y = x + 1.0;
    }
}
