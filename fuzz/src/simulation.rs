//! Simulations: a program out of bytes, with sizes that lie, on a small machine under a scheduler.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};
use befit_sched::{Options, SchedulerKind};
use befit_sim::{Outcome, Settings, SimError};

use crate::within;

static MACHINES: LazyLock<Vec<Machine>> = LazyLock::new(|| {
    [
        "core:1 l1:1(size=4096) pu:1",
        "core:3 l1:1(size=2048) pu:2",
        "pack:2 l3:1(size=32768) core:2 l2:1(size=8192) l1:1(size=2048) pu:1",
        "pack:3 l3:1(size=16384) l2:2(size=4096) core:1 l1:1(size=1024) pu:2",
    ]
    .map(|text| text.parse().expect("a valid topology"))
    .into()
});

/// A byte of the input may be a task, or some forty lines.
const TIMES: u64 = 1024;
/// The machine's caches, and tables of a small program.
const CONSTANT: u64 = 2 << 20;

/// Tasks inside one another.
const DEEPEST: u32 = 30;

pub(crate) fn run(input: &[u8]) -> bool {
    within(TIMES, CONSTANT, input, || {
        let program = program(&mut Unstructured::new(input));
        program.is_ok_and(|program| simulate(&program, input).is_some())
    })
}

/// Simulates `program` as the last bytes of `input` choose. None where the machine or the time of a
/// simulation cannot hold it.
///
/// # Panics
/// Where it does not come to its end with every touch made, within the bounds of work and span.
pub(crate) fn simulate(program: &Program, input: &[u8]) -> Option<Outcome> {
    let mut bytes = input.iter().rev().copied().chain([0; 8]);
    let mut next = || bytes.next().expect("eight at least");
    let scheduler = SchedulerKind::ALL[usize::from(next()) % SchedulerKind::ALL.len()];
    let machine = &MACHINES[usize::from(next()) % MACHINES.len()];
    let share = |byte: u8| 0.01 + f64::from(byte) / 260.0;
    let options = Options { sigma: share(next()), mu: share(next()), ..Options::default() };
    let (seed, prepared) = (next().into(), next() & 1 == 1);
    let settings = Settings { options, prepared, ..Settings::new(scheduler, seed) };
    match befit_sim::run(program, machine, &settings, &|_| {}) {
        Ok(outcome) => {
            // What prepares the caches is counted, too.
            let (made, all) = (outcome.levels[0].accesses.0, program.total_touches());
            assert!(made == all || prepared && made > all, "{made} of {all} touches");
            Some(outcome)
        }
        // Lines that are larger than the machine's, say; work beyond virtual time.
        Err(SimError::Machine(_) | SimError::TooLong { .. }) => None,
        Err(error) => panic!("{} on {}: {error}", scheduler.name(), machine.name),
    }
}

fn program(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Program> {
    let meta = Meta { name: "fuzzing".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    let mut scopes = 0;
    grow(&mut builder, bytes, &mut scopes, 0)?;
    Ok(builder.finish().expect("a well-formed program"))
}

/// A task: touches, work, forks into a scope of its own or the one around it, and syncs.
fn grow(
    builder: &mut ProgramBuilder,
    bytes: &mut Unstructured<'_>,
    scopes: &mut u32,
    depth: u32,
) -> arbitrary::Result<()> {
    *scopes += 1;
    let own = ScopeId(*scopes);
    let mut wants_sync = false;
    while !bytes.is_empty() {
        match bytes.arbitrary::<u8>()? % 8 {
            0 | 1 => break,
            2 => {
                let (from, lines): (u16, u8) = bytes.arbitrary()?;
                let write = bytes.arbitrary()?;
                let stack = bytes.ratio(1, 8)?;
                // Mostly few: more of one kind say little that fewer do not, and take long.
                let lines = if bytes.ratio(1, 16)? { lines } else { lines % 8 };
                let from = if stack { from % 64 } else { from };
                (0..u64::from(lines))
                    .for_each(|i| builder.touch(u64::from(from) + i, write, stack));
            }
            3 => builder.work(bytes.arbitrary::<u16>()?.into(), 1, bytes.arbitrary::<u8>()?.into()),
            4 => builder.atomic(bytes.arbitrary::<u16>()?.into()),
            5 => {
                builder.sync(own).expect("its own scope");
                wants_sync = false;
            }
            _ if depth < DEEPEST => {
                let detached = bytes.ratio(1, 10)?;
                // From nothing to more than there is.
                let size = |b: &mut Unstructured<'_>| -> arbitrary::Result<_> {
                    let bits = b.int_in_range(0..=65)?;
                    Ok(1u128.checked_shl(bits).map_or(0, |n| (n - 1) as u64))
                };
                let size = bytes.arbitrary::<bool>()?.then(|| size(bytes)).transpose()?.map(Bytes);
                let strand = bytes.ratio(1, 4)?.then(|| Bytes(size.map_or(77, |s| s.0 / 2)));
                let scope = if detached { ScopeId(0) } else { own };
                builder.fork(scope, Declared { size, strand }).expect("a fork");
                grow(builder, bytes, scopes, depth + 1)?;
                builder.end().expect("an end");
                wants_sync |= !detached;
            }
            _ => break,
        }
    }
    if wants_sync {
        builder.sync(own).expect("its own scope");
    }
    Ok(())
}

/// Bytes of which some make large programs.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let random = |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..20 << (seed % 7)).map(|_| random.u8(..)).collect()
    };
    (0..40).map(random).collect()
}
