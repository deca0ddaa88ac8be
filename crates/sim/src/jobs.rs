//! Where spawned tasks lie until they are started: on threads, each in a block of the heap.
//!
//! A worker that starts a task keeps its block for one that it spawns itself
//! (`crates/runtime/src/threads/scope/block.rs`). What it has no room for goes back to the
//! allocator, which gives it to the next worker that has none. So where one worker spawns and
//! others run, each block goes to and fro between them, and its lines with it.

use befit_machine::WorkerId;

/// A worker keeps at most so many blocks, as on threads.
const MOST_KEPT: u32 = 256;

/// The blocks that are not in use.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Per worker, how many it keeps.
    kept: Vec<u32>,
    /// Per block that was given back, the worker that last had it.
    given_back: Vec<WorkerId>,
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

impl Jobs {
    pub(crate) fn new(workers: usize) -> Self {
        Self { kept: vec![0; workers], given_back: Vec::new() }
    }

    /// Worker `w` spawns a task.
    pub(crate) fn spawned(&mut self, w: WorkerId) -> Block {
        let kept = &mut self.kept[w.index()];
        if *kept > 0 {
            *kept -= 1;
            return Block::Own;
        }
        match self.given_back.pop() {
            Some(last) if last == w => Block::Own,
            Some(last) => Block::From(last),
            None => Block::New,
        }
    }

    /// Worker `w` starts a task.
    pub(crate) fn started(&mut self, w: WorkerId) {
        let kept = &mut self.kept[w.index()];
        if *kept < MOST_KEPT { *kept += 1 } else { self.given_back.push(w) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_with_the_worker_that_ran_the_task_until_it_has_enough() {
        let (spawner, thief) = (WorkerId(0), WorkerId(1));
        let mut jobs = Jobs::new(2);
        for _ in 0..=MOST_KEPT {
            assert_eq!(jobs.spawned(spawner), Block::New);
            jobs.started(thief);
        }
        assert_eq!(jobs.spawned(spawner), Block::From(thief));
        assert_eq!(jobs.spawned(spawner), Block::New);
        assert_eq!(jobs.spawned(thief), Block::Own);
    }
}
