//! Where spawned tasks lie until they are started: on threads, each in a block of memory.
//!
//! The rules are those of `crates/runtime/src/threads/scope/block.rs`: a worker that starts a task
//! keeps its block for one that it spawns itself. Of what it has too many of, the others of its
//! pool get a batch at a time. So where one worker spawns and others run, each block goes to and
//! fro between them, and its lines with it.

use befit_machine::WorkerId;
use befit_program::{Op, Program, ScopeId, TaskId};
use befit_sched::forks::{MEMORY_BATCH, SPARE_BATCHES};

/// Blocks that have lines of their own. Where more tasks wait, they share these.
pub(crate) const MOST_BLOCKS: u32 = 1 << 19;

/// A task's block, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(pub(crate) u32);

/// All blocks, and which of them are not in use.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Per block, the worker that had it last.
    last: Vec<WorkerId>,
    /// Per worker: those it takes from and puts into, and a whole batch or none.
    kept: Vec<[Vec<Block>; 2]>,
    /// Batches that a worker had too many of.
    spare: Vec<Vec<Block>>,
    /// Blocks that went back to the allocator.
    given_back: Vec<Block>,
}

/// Who had a new task's block last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// The worker itself.
    Own,
    /// Another worker.
    From(WorkerId),
    /// Nobody: it is used for the first time.
    New,
}

impl Jobs {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            last: Vec::new(),
            kept: vec![Default::default(); workers],
            spare: Vec::new(),
            given_back: Vec::new(),
        }
    }

    /// Worker `w` spawns a task: its block.
    pub(crate) fn spawned(&mut self, w: WorkerId) -> (Block, Before) {
        let [open, full] = &mut self.kept[w.index()];
        if open.is_empty() {
            *open = std::mem::take(full);
        }
        if open.is_empty()
            && let Some(batch) = self.spare.pop()
        {
            *open = batch;
        }
        let Some(block) = open.pop().or_else(|| self.given_back.pop()) else {
            self.last.push(w);
            return (Block(self.last.len() as u32 - 1), Before::New);
        };
        let last = std::mem::replace(&mut self.last[block.0 as usize], w);
        (block, if last == w { Before::Own } else { Before::From(last) })
    }

    /// Worker `w` starts the task in `block`.
    pub(crate) fn started(&mut self, w: WorkerId, block: Block) {
        let [open, full] = &mut self.kept[w.index()];
        if open.len() == MEMORY_BATCH {
            let batch = std::mem::replace(full, std::mem::take(open));
            if !batch.is_empty() && self.spare.len() < SPARE_BATCHES {
                self.spare.push(batch);
            } else {
                self.given_back.extend(batch);
            }
        }
        open.push(block);
        self.last[block.0 as usize] = w;
    }
}

/// At most so many tasks of `program` are spawned: all but pairs that are forked, and waited for,
/// by themselves. O(tasks).
pub(crate) fn spawned(program: &Program) -> u32 {
    let (mut spawned, mut since): (u32, Vec<ScopeId>) = (0, Vec::new());
    for task in (0..program.tasks()).map(TaskId) {
        for op in program.ops(task) {
            match op {
                Op::Fork { scope, .. } => since.push(scope),
                Op::Sync(scope) if since == [scope; 2] => since.clear(),
                _ => spawned += since.drain(..).count() as u32,
            }
        }
        spawned += since.drain(..).count() as u32;
    }
    spawned
}

#[cfg(test)]
mod tests {
    use befit_program::Declared;

    use super::*;
    use crate::tests::program;

    #[test]
    fn blocks_stay_with_the_worker_that_ran_the_task_until_it_has_a_batch_too_many() {
        let (spawner, thief) = (WorkerId(0), WorkerId(1));
        let mut jobs = Jobs::new(2);
        for _ in 0..=2 * MEMORY_BATCH {
            let (block, before) = jobs.spawned(spawner);
            assert_eq!(before, Before::New);
            jobs.started(thief, block);
        }
        let mut waiting = Vec::new();
        for _ in 0..MEMORY_BATCH {
            let (block, before) = jobs.spawned(spawner);
            assert_eq!(before, Before::From(thief));
            waiting.push(block);
        }
        assert_eq!(jobs.spawned(spawner).1, Before::New);
        assert_eq!(jobs.spawned(thief).1, Before::Own);
        jobs.started(spawner, waiting[0]);
        assert_eq!(jobs.spawned(spawner), (waiting[0], Before::Own));
    }

    #[test]
    fn what_the_pool_has_no_room_for_goes_back_to_the_allocator() {
        let mut jobs = Jobs::new(2);
        let all = (SPARE_BATCHES + 2) * MEMORY_BATCH;
        let blocks: Vec<Block> = (0..=all).map(|_| jobs.spawned(WorkerId(1)).0).collect();
        blocks[1..].iter().for_each(|block| jobs.started(WorkerId(1), *block));
        assert_eq!((jobs.spare.len(), jobs.given_back.len()), (SPARE_BATCHES, 0));
        jobs.started(WorkerId(1), blocks[0]);
        assert_eq!((jobs.spare.len(), jobs.given_back.len()), (SPARE_BATCHES, MEMORY_BATCH));
        // All but what the other worker keeps.
        for _ in 0..all - MEMORY_BATCH {
            assert_eq!(jobs.spawned(WorkerId(0)).1, Before::From(WorkerId(1)));
        }
        assert_eq!(jobs.spawned(WorkerId(0)).1, Before::New);
    }

    #[test]
    fn halves_of_a_join_are_not_spawned() {
        let program = program(|b| {
            for children in [2, 3] {
                for _ in 0..children {
                    b.fork(ScopeId(1), Declared::default()).unwrap();
                    b.work(1, 1, 1);
                    b.end().unwrap();
                }
                b.sync(ScopeId(1)).unwrap();
            }
        });
        assert_eq!(spawned(&program), 3);
    }
}
