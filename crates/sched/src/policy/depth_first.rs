//! `pdf`: parallel depth-first. Of all that is ready, workers take what comes first in the serial
//! order.
//!
//! G. E. Blelloch and P. B. Gibbons, *Effectively sharing a cache among threads* (SPAA 2004): on P
//! workers under one cache of size C + PD (D the span), a schedule in this order misses no more
//! than one worker does with a cache of size C, because all workers are near each other in serial
//! order. S. Chen et al., *Scheduling threads for constructive cache sharing on CMPs* (SPAA 2007),
//! measure it against work stealing. It is made for workers that share a cache; where they do not,
//! neighbours in serial order are spread over all caches.
//!
//! Deviation: a worker goes on with the first child after a fork, without asking, though another's
//! task may come before it (the schedule is not preemptive).

use std::{
    fmt::Debug,
    sync::atomic::{
        AtomicUsize,
        Ordering::{Acquire, Release},
    },
};

use befit_machine::{ClusterId, WorkerId};

use super::serial_order::{Line, Places, pop_first};
use crate::{Ask, Capabilities, Env, Finds, Guarded, Handle, LockId, Ready, Scheduler, TaskInfo};

/// One queue in serial order. `add` and `get` take O(d log n) for n ready tasks of depth d.
#[derive(Debug)]
pub(crate) struct DepthFirst<T> {
    state: Guarded<(Line<T>, Places)>,
    /// A hint, written under the lock: how many are ready.
    len: AtomicUsize,
}

impl<T: Handle> DepthFirst<T> {
    pub(crate) fn new() -> Self {
        let state = (Line::new(), Places::default());
        Self { state: Guarded::new(LockId(0), state), len: AtomicUsize::new(0) }
    }
}

impl<T: Handle> Scheduler<T> for DepthFirst<T> {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn capabilities(&self) -> Capabilities {
        let finds = Finds::Everything;
        Capabilities { finds, uses_sizes: false, ..Capabilities::default() }
    }

    fn add(&self, _: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.state.with(env, |(line, places), _| {
            line.insert(places.key(&mut ready), ready);
            self.len.store(line.len(), Release);
        });
        ClusterId::ROOT
    }

    fn get(&self, _: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        // Idle workers do not keep the lock from those that have something to add.
        if self.len.load(Acquire) == 0 {
            return None;
        }
        self.state.with(env, |(line, _), _| {
            let found = pop_first(line, ask.accepts);
            self.len.store(line.len(), Release);
            found
        })
    }

    fn has_own(&self, _: WorkerId) -> bool {
        self.len.load(Acquire) > 0
    }

    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        self.state.with(env, |(_, places), _| places.forget(task));
        None
    }
}
