//! A tree in which each task forks ten, down to 10⁸ leaves; the sum of the leaves' numbers.

use std::hint::black_box;

use befit_collection::{Context, arguments, run, sum};

const LEAVES: u64 = 100_000_000;

/// The sum of the numbers from `first`, `leaves` of them.
fn skynet(cx: &mut Context<'_>, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let each = leaves / 10;
    sum(cx, 0, 10, &|cx: &mut Context<'_>, i: usize| skynet(cx, first + each * i as u64, each))
}

fn main() {
    let numbers = arguments(0, "skynet [THREADS]");
    run(
        numbers.first().copied(),
        "iteration_count: 1",
        |pool| {
            pool.install(|cx| black_box(skynet(cx, 0, black_box(LEAVES))));
        },
        |pool| pool.install(|cx| skynet(cx, 0, black_box(LEAVES))),
        |found| *found == LEAVES * (LEAVES - 1) / 2,
    );
}
