//! Every program on every runtime of this process.

use befit::SchedulerKind;
use clap::ValueEnum;

use super::{Program, filled, random};
use crate::{
    Error,
    runtime::{RuntimeKind, Serial},
};

/// Small, and of each a size that ends in every kind of leaf.
fn small(program: Program) -> &'static [usize] {
    match program {
        Program::Fib | Program::FibSized | Program::FibTask => &[0, 1, 2, 18],
        Program::Fib100ns => &[15],
        Program::Skynet => &[1, 10, 10_000],
        Program::Spawn => &[1, 2, 4096],
        Program::Nqueens => &[0, 1, 2, 3, 8],
        Program::Matmul => &[1, 2, 32, 64],
        Program::Rrm => &[0, 1, 8_192, 8_193, 100_001],
        Program::Quicksort => &[0, 1, 16_383, 16_384, 50_001],
        Program::Heat => &[3, 8, 9, 17],
    }
}

/// Of befit's schedulers only one that steals, one that places by size, and one that places by
/// caches: that each is right, befit's own tests see.
#[test]
fn every_program_is_right_on_every_runtime_with_one_two_and_four_threads() {
    use SchedulerKind::{Homes, Sb, Ws};
    let is_meant = |runtime: &RuntimeKind| match runtime {
        RuntimeKind::Befit(scheduler) => [Ws, Sb, Homes].contains(scheduler),
        RuntimeKind::Cpp(_) => false,
        _ => true,
    };
    for runtime in RuntimeKind::all().into_iter().filter(is_meant) {
        for program in Program::value_variants() {
            for threads in [1, 2, 4] {
                let result = runtime.run(*program, small(*program), threads);
                assert!(result.is_ok(), "{program:?} on {runtime}, {threads}: {result:?}");
            }
        }
    }
}

#[test]
fn a_size_that_a_program_cannot_have_is_refused() {
    for (program, sizes) in [
        (Program::Fib, &[61][..]),
        (Program::FibSized, &[usize::MAX]),
        (Program::Skynet, &[0, 20]),
        (Program::Spawn, &[0, 3]),
        (Program::Nqueens, &[17]),
        (Program::Matmul, &[0, 48]),
        (Program::Heat, &[2]),
    ] {
        for n in sizes {
            let result = program.run(&Serial, &[*n]);
            assert!(matches!(result, Err(Error::Size { .. })), "{program:?} {n}");
        }
    }
    for program in [Program::Rrm, Program::Quicksort, Program::Heat] {
        let result = program.run(&Serial, &[usize::MAX]);
        assert!(matches!(result, Err(Error::Memory(_))), "{program:?}");
    }
}

#[test]
fn the_random_numbers_are_splitmixs() {
    // The first two of the reference implementation with seed 0.
    assert_eq!([random(0), random(1)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
}

#[test]
fn too_large_an_array_is_an_error() {
    assert!(matches!(filled(usize::MAX, |_| 0.0), Err(Error::Memory(usize::MAX))));
}
