//! Spawned tasks that the policy has not seen: a virtual worker keeps those that it spawns in an
//! *outbox*, where that makes no difference to the policy
//! ([`befit_sched::Capabilities::own_newest_first`]).
//!
//! The rules are those of `crates/runtime/src/threads/worker/outbox.rs`. A worker takes the newest
//! of its own without a lock and without the policy. A worker that has got nothing from the policy
//! adds a batch from each other outbox, in its owner's name, and asks again. Before a worker adds
//! anything else, all of its own goes to the policy.
//!
//! What passes between the two cores: whoever moves a batch reads the owner's end of the outbox,
//! and the tasks; the owner must have its end back before it puts in the next.

use std::collections::VecDeque;

use befit_machine::WorkerId;
use befit_program::TaskId;
use befit_sched::{Ready, Stage};

use crate::engine::Engine;

/// At most so many tasks of one outbox are moved to the policy at once, as on threads.
const BATCH: usize = 32;

/// What one worker has spawned and the policy has not seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    /// The oldest first.
    tasks: VecDeque<TaskId>,
    /// Who has looked at it since its owner last put something in.
    looked: Option<WorkerId>,
}

impl Engine<'_> {
    /// Worker `w` has spawned `task`.
    pub(crate) fn put_out(&mut self, w: WorkerId, task: TaskId) {
        if let Some(other) = self.outboxes[w.index()].looked.take() {
            self.pay_handover(w, other);
        }
        self.outboxes[w.index()].tasks.push_back(task);
        self.tasks.progress_mut(task).given = true;
        let anchor = self.tasks.notes(task).anchor;
        self.becomes_ready(w, anchor);
    }

    /// The newest task of the worker's own outbox.
    pub(crate) fn take_back(&mut self, w: WorkerId) -> Option<Ready<TaskId>> {
        let task = self.outboxes[w.index()].tasks.pop_back()?;
        Some(self.ready_to_start(task))
    }

    /// Moves all tasks of the worker's own outbox to the policy.
    pub(crate) fn empty_outbox(&mut self, w: WorkerId) {
        while let Some(task) = self.outboxes[w.index()].tasks.pop_front() {
            let ready = self.ready_to_start(task);
            self.in_policy(w, |scheduler, env| scheduler.add(w, ready, env));
        }
    }

    /// Worker `w` moves tasks of other workers' outboxes to the policy, of each half of them and at
    /// most a batch. Returns whether there were any.
    pub(crate) fn move_from_others(&mut self, w: WorkerId) -> bool {
        let workers = self.outboxes.len();
        let mut moved = false;
        for step in 1..workers {
            let owner = WorkerId(((w.index() + step) % workers) as u32);
            let size = self.outboxes[owner.index()].tasks.len();
            if size == 0 {
                continue;
            }
            moved = true;
            self.outboxes[owner.index()].looked = Some(w);
            self.look_handover(w, owner);
            for _ in 0..size.div_ceil(2).min(BATCH) {
                let Some(task) = self.outboxes[owner.index()].tasks.pop_front() else { break };
                self.look_handover(w, owner);
                self.tasks.progress_mut(task).spawned = Some(w);
                let ready = self.ready_to_start(task);
                self.in_policy(w, |scheduler, env| scheduler.add(owner, ready, env));
            }
        }
        moved
    }

    fn ready_to_start(&mut self, task: TaskId) -> Ready<TaskId> {
        Ready { job: task, task: self.tasks.progress_mut(task).notes, stage: Stage::Start }
    }
}
