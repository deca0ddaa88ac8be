//! A policy in virtual time.

use std::ops::Range;

use befit_machine::Bytes;
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};
use befit_sched::Policy;
use befit_sim::Settings;

use crate::Case;

/// Simulates a random program for each seed, twice.
///
/// # Panics
/// Where the program does not come to its end, a touch is not made once, equal seeds give different
/// outcomes, or the engine or the policy sees the anchored or the bounded property broken.
pub fn in_simulator<P: Policy + Clone>(policy: &P, seeds: Range<u64>) {
    for seed in seeds {
        let mut case = Case::new(seed);
        let program = program(&mut case.random);
        let settings = Settings { options: case.options, ..Settings::new(policy.clone(), seed) };
        let run = || befit_sim::run(&program, &case.machine, &settings, &|_| {});
        let outcome = run().expect("the program ends");
        assert_eq!(outcome.levels[0].accesses.0, program.total_touches(), "every touch is made");
        assert_eq!(outcome.workers.len(), case.machine.workers().len());
        assert_eq!(run().expect("it ends again"), outcome, "equal seeds give equal outcomes");
    }
}

/// A random tree of tasks: binary and wider forks, several syncs, forks into an ancestor's scope,
/// detached tasks, undeclared sizes.
fn program(random: &mut fastrand::Rng) -> Program {
    let meta = Meta { name: "random".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    grow(&mut builder, random, 4, 4 << 20, &mut 0, 0);
    builder.finish().expect("a well-formed program")
}

fn grow(
    b: &mut ProgramBuilder,
    random: &mut fastrand::Rng,
    depth: u32,
    size: u64,
    scopes: &mut u32,
    outer: u32,
) {
    *scopes += 1;
    let scope = *scopes;
    // A root of no rounds would be a program without tasks.
    for _ in 0..random.u32(u32::from(outer == 0)..3) {
        if random.bool() {
            let from = random.u64(..1 << 14);
            (0..random.u64(1..200)).for_each(|i| b.touch(from + i, random.bool(), false));
            b.work(random.u64(..1000), 0, 0);
        }
        let forks = if depth > 0 { random.u32(1..4) } else { 0 };
        for _ in 0..forks {
            let declared = random.bool().then_some(Bytes(size / 2));
            let into = if random.u32(..8) == 0 { outer } else { scope };
            b.fork(ScopeId(into), Declared { size: declared, strand: None }).expect("a fork");
            grow(b, random, depth - 1, size / 2, scopes, scope);
            b.end().expect("an end");
        }
        b.sync(ScopeId(scope)).expect("a sync");
    }
}
