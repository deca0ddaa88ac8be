//! From accounts to causes.

use std::collections::BTreeMap;

use befit_machine::{ClusterId, Machine};
use befit_program::{Op, Ops, Program, TaskId};
use befit_sim::Part;

use super::{
    Cause, Loss, WORTH, is_alike,
    writers::{self, LineSize},
};
use crate::Summary;

/// Tasks are long enough if scheduling them takes at most this share of the time.
const OVERHEAD: f64 = 0.05;
/// So many tasks a worker are enough to spread them.
const TASKS_A_WORKER: f64 = 4.0;

/// The parts that scheduling takes.
const SCHEDULING: [Part; 4] = [Part::Forks, Part::Policy, Part::Locks, Part::Search];

/// The shares of the parts of a scheduler's account, of which some may be negative: less than the
/// best one's.
struct Shares<'a> {
    result: &'a Summary,
    /// What is looked at beside it.
    best: Option<&'a Summary>,
}

impl Shares<'_> {
    fn of(&self, part: Part) -> f64 {
        let time = |result: &Summary| result.account.get(part).0 as f64;
        let whole = self.result.account.total().0.max(1) as f64;
        (time(self.result) - self.best.map_or(0.0, time)) / whole
    }

    fn sum(&self, parts: &[Part]) -> f64 {
        parts.iter().map(|part| self.of(*part)).sum()
    }
}

/// Where time goes: under the best scheduler, and what each slower one spends more.
pub(super) fn losses(
    program: &Program,
    machine: &Machine,
    results: &[Summary],
    best: &Summary,
) -> Vec<Loss> {
    let slower = results.iter().filter(|result| !is_alike(result, best));
    let others = slower.map(|result| Shares { result, best: Some(best) });
    let all = std::iter::once(Shares { result: best, best: None }).chain(others);
    let mut found: Vec<Loss> =
        all.flat_map(|shares| of_scheduler(program, machine, &shares)).collect();
    rank(&mut found);
    found
}

/// What has one cause in common becomes one loss. Then the largest share first; those that are not
/// worth a line go.
pub(super) fn rank(found: &mut Vec<Loss>) {
    let is_same = |a: &Loss, b: &Loss| {
        (a.cause, a.scheduler, a.more_than_best) == (b.cause, b.scheduler, b.more_than_best)
    };
    for loss in std::mem::take(found) {
        match found.iter_mut().find(|other| is_same(other, &loss)) {
            Some(other) => other.share += loss.share,
            None => found.push(loss),
        }
    }
    found.retain(|loss| loss.share >= WORTH);
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
}

fn of_scheduler(program: &Program, machine: &Machine, shares: &Shares) -> Vec<Loss> {
    let result = shares.result;
    let figure = |name, value| BTreeMap::from([(name, value)]);
    let parallelism = result.work.0 as f64 / result.span.0.max(1) as f64;
    let mut all = Vec::new();
    let mut add = |cause, share, figures| {
        all.push(Loss {
            cause,
            scheduler: result.scheduler,
            more_than_best: shares.best.is_some(),
            share,
            figures,
        });
    };
    add(Cause::IdleCaches, shares.of(Part::Bound), bound(machine, result));
    add(Cause::Serial, shares.of(Part::Serial), figure("parallelism", parallelism));
    add(Cause::Imbalance, shares.of(Part::Stragglers), longest(program));
    for (cause, part) in [
        (Cause::Strides, Part::Strides),
        (Cause::Bandwidth, Part::Bandwidth),
        (Cause::Memory, Part::Memory),
        (Cause::OtherCaches, Part::OtherCaches),
        (Cause::Caches, Part::Caches),
        (Cause::Walks, Part::Walks),
        (Cause::PageFaults, Part::Faults),
    ] {
        add(cause, shares.of(part), figure("misses", result.last_level_misses.median.0 as f64));
    }
    let handovers = shares.of(Part::Handovers);
    if handovers >= WORTH {
        let (cause, figures) = shared_lines(program, machine, result);
        add(cause, handovers, figures);
    }
    let mut tasks = leaves(program);
    tasks.insert("parallelism", parallelism);
    // With enough tasks for all workers, longer ones may do; whether they do is tried.
    let cause = if longest_grain(result, tasks["tasks"]) >= 2.0 {
        Cause::GrainTooSmall
    } else {
        Cause::InputTooSmall
    };
    add(cause, shares.sum(&SCHEDULING), tasks.clone());
    add(Cause::InputTooSmall, shares.of(Part::FewTasks), tasks);
    all
}

/// How many times longer tasks may be so that there are still enough of them.
pub(super) fn longest_grain(result: &Summary, tasks: f64) -> f64 {
    tasks / TASKS_A_WORKER / f64::from(result.workers)
}

/// How many times longer tasks must be for scheduling to take at most [`OVERHEAD`] of the time.
pub(super) fn least_grain(result: &Summary) -> f64 {
    let time = |part: &Part| result.account.get(*part).0 as f64;
    let scheduling: f64 = SCHEDULING.iter().map(time).sum();
    let idle: f64 = Part::IDLE.iter().filter(|part| **part != Part::Search).map(time).sum();
    let busy = result.account.total().0 as f64 - scheduling - idle;
    (scheduling / (OVERHEAD * busy).max(1.0)).max(1.0)
}

/// How many tasks fork nothing, and the mean of their operations.
pub(super) fn leaves(program: &Program) -> BTreeMap<&'static str, f64> {
    let (mut tasks, mut operations) = (0u64, 0u64);
    for task in (0..program.tasks()).map(TaskId) {
        let ops = program.ops(task);
        if ops.clone().any(|op| matches!(op, Op::Fork { .. })) {
            continue;
        }
        tasks += 1;
        operations += own_operations(program, ops);
    }
    let mean = operations as f64 / tasks.max(1) as f64;
    BTreeMap::from([("tasks", tasks as f64), ("operations", mean)])
}

fn own_operations(program: &Program, ops: Ops<'_>) -> u64 {
    let strand = |op: Op| match op {
        Op::Strand(strand) => program.work(strand).operations(),
        _ => 0,
    };
    ops.map(strand).sum()
}

/// The operations of the longest task that forks nothing, beside the mean.
fn longest(program: &Program) -> BTreeMap<&'static str, f64> {
    let mut found = leaves(program);
    let each = (0..program.tasks()).map(|task| program.ops(TaskId(task)));
    let leaves = each.filter(|ops| !ops.clone().any(|op| matches!(op, Op::Fork { .. })));
    let longest = leaves.map(|ops| own_operations(program, ops)).max().unwrap_or(0);
    found.insert("longest", longest as f64);
    found
}

/// How many last-level caches had tasks anchored at them or below, of how many.
fn bound(machine: &Machine, result: &Summary) -> BTreeMap<&'static str, f64> {
    let outermost = &machine.cluster(ClusterId::ROOT).children;
    let used = |id: &&ClusterId| {
        let workers = &machine.cluster(**id).workers;
        let under = |first: u32, last: u32| workers.contains(&first) && workers.contains(&last);
        result
            .caches
            .iter()
            .any(|cache| cache.anchors.median > 0 && under(cache.first_worker, cache.last_worker))
    };
    let used_caches = outermost.iter().filter(used).count();
    let last = result.anchors.iter().rev().find(|(level, _)| level.is_some());
    BTreeMap::from([
        ("caches", outermost.len() as f64),
        ("caches_used", used_caches as f64),
        ("anchored", last.map_or(0, |(_, tasks)| tasks.median) as f64),
    ])
}

/// Which kind of sharing the lines show that workers waited for longest.
fn shared_lines(
    program: &Program,
    machine: &Machine,
    result: &Summary,
) -> (Cause, BTreeMap<&'static str, f64>) {
    let lines: Vec<u32> = result.contended.iter().map(|line| line.line).collect();
    let size = LineSize::of(program, machine);
    let writers = writers::of(program, size, &lines);
    let (mut falsely, mut truly, mut most) = (0, 0, 0);
    for line in &result.contended {
        let of = writers.get(&line.line).copied().unwrap_or_default();
        most = most.max(of.at_once);
        *if of.may_be_false(size.bytes) { &mut falsely } else { &mut truly } += line.waited.0;
    }
    let cause = if falsely >= truly { Cause::FalseSharing } else { Cause::HotLine };
    let all = (falsely + truly).max(1) as f64;
    let first = result.contended.first().map_or(0, |line| line.waited.0) as f64 / all;
    let figures = BTreeMap::from([
        ("lines", lines.len() as f64),
        ("writers", most as f64),
        ("share_of_first_line", first),
    ]);
    (cause, figures)
}
