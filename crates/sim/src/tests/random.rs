//! Any program on any machine under any policy comes to its end, with every touch made once and the
//! anchored and the bounded property kept (the engine and the policy assert both).

use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Program, ProgramBuilder, ScopeId};
use befit_sched::{Options, SchedulerKind};
use proptest::prelude::*;

use super::program;
use crate::{Settings, run};

/// A random tree of tasks: binary and wider forks, several syncs, forks into an ancestor's scope,
/// detached tasks, undeclared sizes.
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
    for _ in 0..random.u32(0..3) {
        if random.bool() {
            let from = random.u64(..1 << 14);
            (0..random.u64(1..200)).for_each(|i| b.touch(from + i, random.bool(), false));
            b.work(random.u64(..1000), 0, 0);
        }
        if depth > 0 {
            for _ in 0..random.u32(1..4) {
                let declared = if random.bool() { Some(Bytes(size / 2)) } else { None };
                let into = if random.u32(..8) == 0 { outer } else { scope };
                b.fork(ScopeId(into), Declared { size: declared, strand: None }).expect("a fork");
                grow(b, random, depth - 1, size / 2, scopes, scope);
                b.end().expect("an end");
            }
        }
        b.sync(ScopeId(scope)).expect("a sync");
    }
}

fn random_program(seed: u64) -> Program {
    let mut random = fastrand::Rng::with_seed(seed);
    program(|b| grow(b, &mut random, 4, 4 << 20, &mut 0, 0))
}

fn machines() -> impl Strategy<Value = Machine> {
    let texts = [
        "core:1 l1:1(size=32768) pu:1",
        "core:3 l1:1(size=16384) pu:2",
        "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) l1:1(size=8192) pu:1",
        "pack:4 l3:1(size=262144) l2:2(size=65536) core:1 l1:1(size=16384) pu:1",
    ];
    proptest::sample::select(texts.to_vec())
        .prop_map(|text| text.parse().expect("a valid topology"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_program_ends_with_every_touch_made(
        program in any::<u64>().prop_map(random_program),
        machine in machines(),
        kind in proptest::sample::select(SchedulerKind::ALL.to_vec()),
        sigma in 0.1..=1.0f64,
        mu in 0.01..=1.0f64,
        seed: u64,
    ) {
        let options = Options { sigma, mu, ..Options::default() };
        let settings = Settings { options, ..Settings::new(kind, seed) };
        let outcome = run(&program, &machine, &settings, &|_| {}).expect("it ends");
        prop_assert_eq!(outcome.levels[0].accesses.0, program.total_touches());
        prop_assert_eq!(outcome.workers.len(), machine.workers().len());
    }
}
