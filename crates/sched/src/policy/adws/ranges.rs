//! Deterministic task allocation: each task's range of the workers, and who runs it.
//!
//! A task's size stands for its work, declared or learned; without sizes the halves of a `join` are
//! equal. Tasks that a scope spawns are equal parts, as many as there were last time; the first
//! time each has its parent's range, and they begin on its workers in turn. A range is not divided
//! below an eighth of a worker.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use befit_machine::WorkerId;

use super::groups::range;
use crate::{
    Ready, Stage, TaskInfo,
    policy::homes::{Home, Kind, Rounds, Row},
};

/// The workers, and how tasks divide them.
#[derive(Debug)]
pub(super) struct Ranges {
    row: Row,
    rounds: Rounds,
    /// Only the first so many workers take part.
    present: AtomicU32,
}

impl Ranges {
    pub(super) fn new(workers: u32) -> Self {
        let row = Row::new(0, (0..workers).map(|_| 1.0));
        Self { row, rounds: Rounds::new(), present: AtomicU32::new(workers) }
    }

    /// Only the first `workers` take part.
    pub(super) fn limit(&self, workers: u32) {
        self.present.store(workers, Relaxed);
    }

    /// The range of a task, if it reaches over several workers.
    pub(super) fn wide(&self, task: &TaskInfo) -> Option<Home> {
        range(task).filter(|range| self.row.is_wide(*range))
    }

    /// The workers of a range.
    pub(super) fn workers(&self, range: Home) -> Range<usize> {
        self.row.first(range) as usize..self.row.last(range) as usize + 1
    }

    /// The range of a task that was just forked and has its parent's mark.
    pub(super) fn divide(&self, task: &TaskInfo) -> Home {
        let Some(parent) = range(task) else {
            return self.row.of(0..self.present.load(Relaxed), Kind::Dealt);
        };
        if !self.row.is_wide(parent) {
            return parent.with(Kind::Kept);
        }
        self.rounds.part(parent, task).0
    }

    /// The worker that `ready`, forked on `w` by a task with the range `parent`, belongs to.
    pub(super) fn owner<T>(&self, w: WorkerId, ready: &Ready<T>, parent: Option<Home>) -> usize {
        let begins = ready.stage == Stage::Start;
        let range = range(&ready.task)
            .filter(|it| self.row.is_wide(*it) || begins && it.kind == Kind::Dealt);
        range.map_or(w.index(), |range| {
            let workers = self.workers(range);
            // One of nobody knows how many.
            let turn = if begins && Some(range) == parent { ready.task.index as usize } else { 0 };
            workers.start + turn % workers.len()
        })
    }
}
