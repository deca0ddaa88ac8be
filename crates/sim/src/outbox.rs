//! Spawned tasks that the policy has not seen: a virtual worker keeps those that it spawns in an
//! *outbox*, where that makes no difference to the policy
//! ([`befit_sched::Capabilities::own_newest_first`]), or the policy can wait
//! ([`befit_sched::Capabilities::defers_spawned`]).
//!
//! The rules are those of `crates/runtime/src/threads/worker/outbox.rs`. A worker takes the newest
//! of its own without a lock and without the policy; where the policy only waits, it adds all of
//! its own before it asks. A worker that has got nothing from the policy adds a batch from each
//! other outbox, in its owner's name, and asks again. Before a worker adds anything else, all of
//! its own goes to the policy.
//!
//! What passes between the two cores: whoever moves a batch reads the owner's end of the outbox,
//! and the tasks; the owner must have its end back before it puts in the next.

use std::collections::VecDeque;

use befit_machine::{ClusterId, WorkerId};
use befit_program::TaskId;
use befit_sched::{Ready, forks::OUTBOX_BATCH};

use crate::engine::Engine;

/// The outboxes of all workers.
#[derive(Debug)]
pub(crate) struct Outboxes {
    of: Vec<Outbox>,
    /// Tasks in all of them.
    tasks: usize,
}

/// What one worker has spawned and the policy has not seen.
#[derive(Clone, Debug, Default)]
struct Outbox {
    /// The oldest first.
    tasks: VecDeque<TaskId>,
    /// Who has looked at it since its owner last put something in.
    looked: Option<WorkerId>,
}

impl Outboxes {
    pub(crate) fn new(workers: usize) -> Self {
        Self { of: vec![Outbox::default(); workers], tasks: 0 }
    }

    fn push_newest(&mut self, w: WorkerId, task: TaskId) {
        self.of[w.index()].tasks.push_back(task);
        self.tasks += 1;
    }

    fn pop_newest(&mut self, w: WorkerId) -> Option<TaskId> {
        let task = self.of[w.index()].tasks.pop_back()?;
        self.tasks -= 1;
        Some(task)
    }

    fn pop_oldest(&mut self, w: WorkerId) -> Option<TaskId> {
        let task = self.of[w.index()].tasks.pop_front()?;
        self.tasks -= 1;
        Some(task)
    }
}

impl Engine<'_> {
    /// Worker `w` has spawned `task`.
    pub(crate) fn put_out(&mut self, w: WorkerId, task: TaskId) {
        if let Some(other) = self.outboxes.of[w.index()].looked.take() {
            self.pay_handover(w, other);
        }
        self.outboxes.push_newest(w, task);
        self.tasks.progress_mut(task).given = true;
        let now = self.becomes_ready(w, self.tasks.notes(task).anchor);
        self.wake(ClusterId::ROOT, now);
    }

    /// The newest task of the worker's own outbox, unless the policy decides where it runs.
    pub(crate) fn take_back(&mut self, w: WorkerId) -> Option<Ready<TaskId>> {
        if self.capabilities.defers_spawned {
            self.empty_outbox(w);
            return None;
        }
        let task = self.outboxes.pop_newest(w)?;
        Some(self.ready_to_start(task))
    }

    /// Moves all tasks of the worker's own outbox to the policy.
    pub(crate) fn empty_outbox(&mut self, w: WorkerId) {
        while let Some(task) = self.outboxes.pop_oldest(w) {
            self.move_to_policy(w, w, task);
        }
    }

    /// Worker `w` adds what was kept, in the name of its `owner`.
    fn move_to_policy(&mut self, w: WorkerId, owner: WorkerId, task: TaskId) {
        let ready = self.ready_to_start(task);
        let cluster = self.in_policy(w, |scheduler, env| scheduler.add(owner, ready, env));
        if self.capabilities.defers_spawned {
            let now = self.workers[w.index()].clock;
            self.wake(cluster, now);
        }
    }

    /// Worker `w` moves tasks of other workers' outboxes to the policy, of each half of them and at
    /// most a batch. Returns whether there were any.
    pub(crate) fn move_from_others(&mut self, w: WorkerId) -> bool {
        if self.outboxes.tasks == 0 {
            return false;
        }
        let workers = self.outboxes.of.len();
        let mut moved = false;
        for step in 1..workers {
            let owner = WorkerId(((w.index() + step) % workers) as u32);
            let size = self.outboxes.of[owner.index()].tasks.len();
            if size == 0 {
                continue;
            }
            moved = true;
            self.outboxes.of[owner.index()].looked = Some(w);
            self.look_handover(w, owner);
            for _ in 0..size.div_ceil(2).min(OUTBOX_BATCH) {
                let Some(task) = self.outboxes.pop_oldest(owner) else { break };
                self.look_handover(w, owner);
                if let Some((spawner, _)) = &mut self.tasks.progress_mut(task).spawned {
                    *spawner = w;
                }
                self.move_to_policy(w, owner, task);
            }
        }
        moved
    }
}
