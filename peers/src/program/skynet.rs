//! A tree in which each task forks ten, down to n leaves; the sum of the leaves' numbers.
//!
//! Source: the skynet benchmark (A. Temerev), with one million leaves as there; the
//! runtime-benchmarks collection (tzcnt) has 100 million.

use std::{hint::black_box, time::Duration};

use super::{checked, timed};
use crate::{Error, runtime::Runtime};

/// The number of tasks that a task forks.
const BRANCHES: usize = 10;

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    let leaves = n as u64;
    let (time, found) = timed(runtime, None, move |cx| skynet::<R>(cx, 0, black_box(leaves)));
    checked(time, found, leaves * (leaves - 1) / 2)
}

/// The sum of the numbers from `first`, `leaves` of them.
fn skynet<R: Runtime>(cx: &mut R::Context<'_>, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let each = leaves / BRANCHES as u64;
    R::sum(cx, BRANCHES, &|cx: &mut R::Context<'_>, i: usize| {
        skynet::<R>(cx, first + each * i as u64, each)
    })
}
