//! Small programs, built by hand, on small machines: what the engine must get right.

mod atomics;
mod costs;
mod errors;
mod fidelity;
mod forks;
mod policies;
mod sampled;
mod wires;

use std::{num::NonZeroUsize, sync::Arc};

use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Meta, Program, ProgramBuilder, Sample, ScopeId, WorkRun};
use befit_sched::SchedulerKind;

use crate::{Outcome, Settings, run, sampled::groups};

/// Two tasks beside one another write each of `lines` a hundred times, by turns; and the first
/// thousand lines are read. A sample of one line in two has the `lines` as hot ones.
pub(crate) fn fight_for(b: &mut ProgramBuilder, lines: &[u64]) {
    for _ in 0..2 {
        task(b, 1, None, |b| {
            for line in lines.iter().cycle().take(100 * lines.len()) {
                b.touch(*line, true, false);
            }
        });
    }
    b.sync(ScopeId(1)).expect("a sync");
    (0..1000).for_each(|line| b.touch(line, false, false));
}

/// The samples of all groups of lines.
pub(crate) fn samples(program: &Program, machine: &Machine, one_in: u32) -> Vec<Arc<Sample>> {
    let groups = groups(machine, program.meta().line_size, one_in).expect("whole sets");
    let all: Vec<u32> = (0..one_in).collect();
    program.samples(groups, &all, NonZeroUsize::MIN)
}

/// The program, whose plain run met each page as a new one.
fn with_faults(program: Program) -> Program {
    let classes = vec![None; program.classes().len()];
    program.with_work(WorkRun {
        host_mhz: 1000,
        host_operation: 1.0,
        host: "a host".into(),
        faults_per_page: 1.0,
        recorded: 1.0,
        classes,
    })
}

/// A program named after nothing, built by `f`.
pub(crate) fn program(f: impl FnOnce(&mut ProgramBuilder)) -> Program {
    let meta = Meta { name: "test".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    f(&mut builder);
    builder.finish().expect("a well-formed program")
}

/// A task of `scope` that declares `size`; `body` is what it does.
pub(crate) fn task(
    b: &mut ProgramBuilder,
    scope: u32,
    size: Option<Bytes>,
    body: impl FnOnce(&mut ProgramBuilder),
) {
    b.fork(ScopeId(scope), Declared { size, strand: None }).expect("a fork");
    body(b);
    b.end().expect("an end");
}

/// So many tasks beside one another; `body` is what each does.
fn forks(count: u32, body: impl Fn(&mut ProgramBuilder)) -> Program {
    program(|b| {
        (0..count).for_each(|_| task(b, 1, None, &body));
        b.sync(ScopeId(1)).expect("a sync");
    })
}

/// A task of `size` bytes that reads `lines` lines from `from` on, at `operations` a line.
fn reader(b: &mut ProgramBuilder, scope: u32, from: u64, lines: u64, operations: u64) {
    task(b, scope, Some(Bytes(lines * 64)), |b| {
        for line in from..from + lines {
            b.touch(line, false, false);
            b.work(operations, 0, 0);
        }
    });
}

/// Two sockets of two cores; L3 1 MiB, L2 64 KiB, L1 8 KiB.
const TWO_SOCKETS: &str = "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) l1:1(size=8192) pu:1";

fn machine(text: &str) -> Machine {
    let mut machine: Machine = text.parse().expect("a valid topology");
    machine.cycles_per_operation = 1.0;
    machine
}

pub(crate) fn simulate(
    program: &Program,
    machine: &Machine,
    scheduler: SchedulerKind,
    seed: u64,
) -> Outcome {
    run(program, machine, &Settings::new(scheduler, seed), &|_| {}).expect("it runs")
}
