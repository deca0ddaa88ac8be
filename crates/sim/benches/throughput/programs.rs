//! Made-up programs and machines of any size.

use std::ops::Range;

use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};
use fastrand::Rng;

/// Touches of a leaf of [`recursive`].
const LEAF: u64 = 2048;

fn builder(name: &str) -> ProgramBuilder {
    ProgramBuilder::new(Meta { name: name.into(), line_size: Bytes(64), filter: 8 })
}

/// Runs over `lines` lines `passes` times, by halves of declared sizes: the leaves read one line in
/// two in a row, and write others anywhere in their part.
pub(crate) fn recursive(passes: u32, lines: u64) -> Program {
    let mut builder = builder("recursive");
    let (mut random, mut scopes) = (Rng::with_seed(1), 0);
    for _ in 0..passes.max(1) {
        halves(&mut builder, &mut random, &mut scopes, 0..lines);
    }
    builder.finish().expect("a well-formed program")
}

fn halves(b: &mut ProgramBuilder, random: &mut Rng, scopes: &mut u32, lines: Range<u64>) {
    let count = lines.end - lines.start;
    if count <= LEAF {
        for line in lines.clone().step_by(2) {
            b.touch(line, false, false);
            b.touch(random.u64(lines.clone()), true, false);
            b.work(8, 8, 2);
        }
        return;
    }
    let (size, middle) = (Some(Bytes(count / 2 * 64)), lines.start + count / 2);
    *scopes += 1;
    let scope = ScopeId(*scopes);
    for part in [lines.start..middle, middle..lines.end] {
        b.fork(scope, Declared { size, strand: None }).expect("a fork");
        halves(b, random, scopes, part);
        b.end().expect("an end");
    }
    b.sync(scope).expect("a sync");
}

/// So many tasks, by halves, with two touches each.
pub(crate) fn flat(tasks: u32) -> Program {
    let mut builder = builder("tasks");
    tree(&mut builder, &mut 0, 0..u64::from(tasks));
    builder.finish().expect("a well-formed program")
}

fn tree(b: &mut ProgramBuilder, scopes: &mut u32, tasks: Range<u64>) {
    b.touch(tasks.start / 8, false, false);
    b.touch(1 + tasks.end / 8, true, false);
    b.work(20, 10, 5);
    let inner = tasks.start + 1..tasks.end;
    if inner.is_empty() {
        return;
    }
    *scopes += 1;
    let scope = ScopeId(*scopes);
    let middle = inner.start + (inner.end - inner.start) / 2;
    let parts = [inner.start..middle, middle..inner.end];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        b.fork(scope, Declared::default()).expect("a fork");
        tree(b, scopes, part);
        b.end().expect("an end");
    }
    b.sync(scope).expect("a sync");
}

/// A machine of so many workers, 32 under each last-level cache.
pub(crate) fn machine(workers: u32) -> Machine {
    let text = format!(
        "(latency=300 bandwidth=8 controllers={0}) pack:{0} l3:1(size=24MiB ways=24 latency=63) \
         core:32 l2:1(size=256KiB ways=8 latency=9) l1:1(size=32KiB ways=8 latency=4) pu:1",
        workers.div_ceil(32)
    );
    text.parse().expect("a machine")
}
