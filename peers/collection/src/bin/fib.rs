//! Fibonacci numbers by their definition, without a cut-off: a `join` for each call on rayon and
//! chili; on befit a `Task`, which is compiled without forks, too.

use std::hint::black_box;

use befit_collection::{arguments, fib, run};

fn main() {
    let numbers = arguments(1, "fib N [THREADS]");
    let n = numbers[0] as u32;
    let (_, expected) = (0..n).fold((1_u64, 0_u64), |(a, b), _| (b, a + b));
    run(
        numbers.get(1).copied(),
        "iteration_count: 1",
        |pool| {
            pool.install(|cx| black_box(fib(cx, black_box(30))));
        },
        |pool| pool.install(|cx| fib(cx, black_box(n))),
        |found| *found == expected,
    );
}
