//! `cpdf`: controlled parallel depth-first. The workers under a shared cache run one subtree that
//! fits it after another, in serial order, and what fits a private cache stays on one worker.
//!
//! G. E. Blelloch, R. A. Chowdhury, P. B. Gibbons, V. Ramachandran, S. Chen and M. Kozuch,
//! *Provably good multicore cache performance for divide-and-conquer algorithms* (SODA 2008). A
//! task that fits the shared cache, while its parent does not, is an *L2-supernode*: all workers
//! run the tasks of one in serial order (`pdf`) before they begin the next. A task that fits a
//! private cache, while its parent does not, is an *L1-supernode*: one worker runs all of it. So
//! both caches miss no more than a constant times as often as in a serial run.
//!
//! Readings and deviations:
//! - The paper has one shared cache. With several, the workers under each take the next
//!   L2-supernode that nobody has begun.
//! - A task that fits a private cache, while its parent fits no cache, is an L1-supernode alone:
//!   else all but one of the workers would have nothing.
//! - What is too large for the shared cache is divided by whoever is idle, in serial order.
//! - Where no size is known there are no supernodes, and it is `pdf`.
//! - Once the engine finds that nothing moves, a worker takes whatever there is, as under `static`.

use std::{
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use super::{
    bitier::Sockets,
    queue::{Queue, others},
    serial_order::{Line, Places, pop_first, pop_where},
};
use crate::{
    Ask, Capabilities, Env, Finds, ForkOrder, Guarded, Handle, LockId, Ready, Scheduler, Stage,
    TaskInfo,
};

/// Part of an L1-supernode, as a mark says beside the number.
const ALONE: u64 = 1 << 63;

/// Supernodes in serial order.
#[derive(Debug)]
pub(crate) struct Controlled<T> {
    sockets: Sockets,
    leaves: Vec<ClusterId>,
    /// The largest cache that belongs to a single worker, and the smallest shared one; 0 if none.
    private: Bytes,
    shared: Bytes,
    /// Per worker: what is ready of its L1-supernode.
    own: Vec<CachePadded<Queue<T>>>,
    state: Guarded<State<T>>,
    /// A hint, written under the lock: how much is ready there.
    len: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    places: Places,
    /// What is ready and no part of an L2-supernode that has begun.
    upper: Line<T>,
    /// Per socket: what is ready of its L2-supernode, and that one's number.
    begun: Vec<(Line<T>, Option<u64>)>,
}

impl<T: Handle> Controlled<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let (count, sockets) = (machine.workers().len() as u32, Sockets::new(machine));
        let alone = machine.path(WorkerId(0)).map(|id| machine.cluster(id));
        let alone = alone.filter(|cluster| cluster.worker_count() == 1);
        let begun = (0..sockets.count()).map(|_| (Line::new(), None)).collect();
        let state = State { places: Places::default(), upper: Line::new(), begun };
        Self {
            leaves: machine.workers().iter().map(|worker| worker.leaf).collect(),
            private: alone.filter_map(|it| it.cache).map(|it| it.size).max().unwrap_or_default(),
            shared: Bytes(sockets.cache % u64::MAX),
            own: (0..count).map(|i| CachePadded::new(Queue::new(LockId(i)))).collect(),
            state: Guarded::new(LockId(count), state),
            len: AtomicUsize::new(0),
            sockets,
        }
    }

    /// The socket on which the task's L2-supernode has begun.
    fn socket(&self, task: &TaskInfo) -> Option<usize> {
        (0..self.sockets.count())
            .find(|i| self.shared > Bytes(0) && self.sockets.cluster(*i) == task.anchor)
    }

    /// Whether it is an L2-supernode that has not begun.
    fn is_next(&self, ready: &Ready<T>) -> bool {
        let fits = self.private < ready.task.size && ready.task.size <= self.shared;
        ready.stage == Stage::Start && fits && self.socket(&ready.task).is_none()
    }

    /// What `w` may have of what several may have.
    fn find(&self, w: WorkerId, ask: Ask<'_, T>, state: &mut State<T>) -> Option<Ready<T>> {
        if ask.accepts.is_some() {
            let State { upper, begun, .. } = state;
            let mut lines = begun.iter_mut().map(|(line, _)| line).chain([upper]);
            return lines.find_map(|line| pop_first(line, ask.accepts));
        }
        let (line, current) = &mut state.begun[self.sockets.of(w)];
        let may_begin = current.is_none() || ask.stalled;
        let may = |ready: &Ready<T>| may_begin || !self.is_next(ready);
        let found = pop_first(line, None);
        // What waits within a supernode must not wait for the next.
        let is_within = ask.within != ClusterId::ROOT && !ask.stalled;
        found.or_else(|| if is_within { None } else { pop_where(&mut state.upper, may) })
    }

    /// `ready` is given to `w`: maybe a supernode begins.
    fn begin(&self, w: WorkerId, mut ready: Ready<T>, state: &mut State<T>) -> Ready<T> {
        let task = ready.task;
        if self.is_next(&ready) {
            let socket = self.sockets.of(w);
            ready.task.anchor = self.sockets.cluster(socket);
            state.begun[socket].1.get_or_insert(task.mark);
        } else if ready.stage == Stage::Start && task.size <= self.private {
            state.places.forget(&task);
            ready.task.mark |= ALONE;
        }
        ready
    }
}

impl<T: Handle> Scheduler<T> for Controlled<T> {
    fn name(&self) -> &'static str {
        "cpdf"
    }

    fn capabilities(&self) -> Capabilities {
        let finds = Finds::Everything;
        Capabilities { finds, may_refuse: true, sees_forks: true, ..Capabilities::default() }
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        let is_divided = parent.size != TaskInfo::UNKNOWN && parent.mark & ALONE == 0;
        if is_divided { ForkOrder::ParentFirst } else { ForkOrder::ChildFirst }
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        if ready.task.mark & ALONE != 0 {
            // A worker that may take nothing else has taken it out of its supernode.
            if self.socket(&ready.task).is_some_and(|socket| socket != self.sockets.of(w)) {
                ready.task.anchor = ClusterId::ROOT;
            }
            self.own[w.index()].push_new(ready, env);
            return self.leaves[w.index()];
        }
        let socket = self.socket(&ready.task);
        self.state.with(env, |State { places, upper, begun }, _| {
            let line = socket.map_or(upper, |socket| &mut begun[socket].0);
            line.insert(places.key(&mut ready), ready);
            self.len.fetch_add(1, Relaxed);
        });
        socket.map_or(ClusterId::ROOT, |socket| self.sockets.cluster(socket))
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let accepted = |ready: &Ready<T>| ask.accepts.is_none_or(|accepts| accepts(&ready.job));
        let newest = self.own[w.index()].newest(ask.accepts, env);
        let found = newest.or_else(|| {
            self.state.with(env, |state, _| {
                let found = self.find(w, ask, state);
                self.len.fetch_sub(usize::from(found.is_some()), Relaxed);
                found.map(|ready| self.begin(w, ready, state))
            })
        });
        if found.is_some() || ask.accepts.is_none() && !ask.stalled {
            return found;
        }
        let anchors = [ClusterId::ROOT, self.sockets.cluster(self.sockets.of(w))];
        let may = |ready: &Ready<T>| {
            accepted(ready) && (ask.accepts.is_some() || anchors.contains(&ready.task.anchor))
        };
        let mut others = others(0..self.own.len(), w.index(), env);
        others.find_map(|victim| {
            self.own[victim].pop(env, |all| all.remove(all.iter().position(may)?))
        })
    }

    fn has_own(&self, w: WorkerId) -> bool {
        !self.own[w.index()].seems_empty() || self.len.load(Relaxed) > 0
    }

    /// Returns all workers under the cache if its L2-supernode has ended.
    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        if task.mark & ALONE != 0 {
            return None;
        }
        let socket = self.socket(task);
        self.state.with(env, |State { places, begun, .. }, _| {
            places.forget(task);
            let socket = socket?;
            begun[socket].1.take_if(|current| *current == task.mark)?;
            Some(self.sockets.cluster(socket))
        })
    }
}
