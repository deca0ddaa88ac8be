//! Where spawned tasks lie until they are started: on threads, each in a block of memory.
//!
//! The rules are those of `crates/runtime/src/threads/scope/block.rs`: a worker that starts a task
//! keeps its block for one that it spawns itself. Of what it has too many of, the others of its
//! pool get a batch at a time. So where one worker spawns and others run, each block goes to and
//! fro between them, and its lines with it.

use befit_machine::WorkerId;
use befit_sched::forks::{MEMORY_BATCH, SPARE_BATCHES};

/// The blocks that are not in use.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Per worker: those it takes from and puts into, and a whole batch or none.
    kept: Vec<[List; 2]>,
    /// Batches that a worker had too many of.
    spare: Vec<List>,
    /// Blocks that went back to the allocator, by the worker that last had them.
    given_back: List,
}

/// Where a new task's block comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    /// The worker itself had it last.
    Own,
    /// Another worker had it last.
    From(WorkerId),
    /// It is used for the first time.
    New,
}

/// Blocks one upon the other: who had them last, and how many in a row.
#[derive(Clone, Debug, Default)]
struct List {
    rows: Vec<(WorkerId, usize)>,
    count: usize,
}

impl List {
    fn pop(&mut self) -> Option<WorkerId> {
        let (last, row) = self.rows.last_mut()?;
        let last = *last;
        *row -= 1;
        if *row == 0 {
            self.rows.pop();
        }
        self.count -= 1;
        Some(last)
    }

    fn push(&mut self, w: WorkerId) {
        match self.rows.last_mut() {
            Some((last, row)) if *last == w => *row += 1,
            _ => self.rows.push((w, 1)),
        }
        self.count += 1;
    }
}

impl Jobs {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            kept: vec![Default::default(); workers],
            spare: Vec::new(),
            given_back: List::default(),
        }
    }

    /// Worker `w` spawns a task.
    pub(crate) fn spawned(&mut self, w: WorkerId) -> Block {
        let [open, full] = &mut self.kept[w.index()];
        if open.count == 0 {
            *open = std::mem::take(full);
        }
        if open.count == 0
            && let Some(batch) = self.spare.pop()
        {
            *open = batch;
        }
        match open.pop().or_else(|| self.given_back.pop()) {
            Some(last) if last == w => Block::Own,
            Some(last) => Block::From(last),
            None => Block::New,
        }
    }

    /// Worker `w` starts a task.
    pub(crate) fn started(&mut self, w: WorkerId) {
        let [open, full] = &mut self.kept[w.index()];
        if open.count == MEMORY_BATCH {
            let batch = std::mem::replace(full, std::mem::take(open));
            if batch.count > 0 && self.spare.len() < SPARE_BATCHES {
                self.spare.push(batch);
            } else {
                (0..batch.count).for_each(|_| self.given_back.push(w));
            }
        }
        open.push(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_with_the_worker_that_ran_the_task_until_it_has_a_batch_too_many() {
        let (spawner, thief) = (WorkerId(0), WorkerId(1));
        let mut jobs = Jobs::new(2);
        for _ in 0..=2 * MEMORY_BATCH {
            assert_eq!(jobs.spawned(spawner), Block::New);
            jobs.started(thief);
        }
        for _ in 0..MEMORY_BATCH {
            assert_eq!(jobs.spawned(spawner), Block::From(thief));
        }
        assert_eq!(jobs.spawned(spawner), Block::New);
        assert_eq!(jobs.spawned(thief), Block::Own);
        jobs.started(spawner);
        assert_eq!(jobs.spawned(spawner), Block::Own);
    }

    #[test]
    fn what_the_pool_has_no_room_for_goes_back_to_the_allocator() {
        let mut jobs = Jobs::new(2);
        let all = (SPARE_BATCHES + 2) * MEMORY_BATCH;
        (0..all).for_each(|_| jobs.started(WorkerId(1)));
        assert_eq!((jobs.spare.len(), jobs.given_back.count), (SPARE_BATCHES, 0));
        jobs.started(WorkerId(1));
        assert_eq!((jobs.spare.len(), jobs.given_back.count), (SPARE_BATCHES, MEMORY_BATCH));
        // All but what the other worker keeps.
        for _ in 0..all - MEMORY_BATCH {
            assert_eq!(jobs.spawned(WorkerId(0)), Block::From(WorkerId(1)));
        }
        assert_eq!(jobs.spawned(WorkerId(0)), Block::New);
    }
}
