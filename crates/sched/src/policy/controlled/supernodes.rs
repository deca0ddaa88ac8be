//! What several workers may take, in serial order: parts of the L2-supernodes that have begun, one
//! under each shared cache, and what is part of none.

use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Release},
};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};

use crate::{
    Ask, Env, Guarded, Handle, LockId, Ready, Stage, TaskInfo,
    policy::{
        bitier::{Sockets, private_cache},
        serial_order::{Line, Places, pop_first},
    },
};

/// Part of an L1-supernode, as a mark says beside the number.
const ALONE: u64 = 1 << 63;

/// Whether `task` is part of an L1-supernode that has begun.
pub(super) fn is_alone(task: &TaskInfo) -> bool {
    task.mark & ALONE != 0
}

/// Supernodes in serial order.
#[derive(Debug)]
pub(super) struct Supernodes<T> {
    sockets: Sockets,
    /// The largest cache that belongs to a single core; 0 if none does.
    private: Bytes,
    /// The smallest shared one; 0 if there is none, or if a worker stands under none.
    shared: Bytes,
    state: Guarded<State<T>>,
    /// A hint, written under the lock: how much is ready.
    len: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    places: Places,
    /// L2-supernodes that have not begun. They wait apart from the rest, as many may wait that a
    /// worker may not begin.
    next: Line<T>,
    /// What else is ready and no part of one that has begun.
    upper: Line<T>,
    /// Per socket: what is ready of its L2-supernode, and that one's number.
    begun: Vec<(Line<T>, Option<u64>)>,
}

impl<T: Handle> Supernodes<T> {
    pub(super) fn new(id: LockId, machine: &Machine) -> Self {
        let sockets = Sockets::new(machine);
        let begun = (0..sockets.count()).map(|_| (Line::new(), None)).collect();
        let (next, upper) = (Line::new(), Line::new());
        let state = State { places: Places::default(), next, upper, begun };
        Self {
            private: private_cache(machine),
            shared: Bytes(if sockets.have_caches() { sockets.cache } else { 0 }),
            state: Guarded::new(id, state),
            len: AtomicUsize::new(0),
            sockets,
        }
    }

    /// Whether a core has a cache of its own.
    pub(super) fn have_private(&self) -> bool {
        self.private > Bytes(0)
    }

    /// The socket on which the task's L2-supernode has begun.
    fn socket(&self, task: &TaskInfo) -> Option<usize> {
        (0..self.sockets.count())
            .find(|i| self.shared > Bytes(0) && self.sockets.cluster(*i) == task.anchor)
    }

    /// Whether `task` is part of no L2-supernode that has begun on another socket than `w`'s.
    pub(super) fn has(&self, w: WorkerId, task: &TaskInfo) -> bool {
        self.socket(task).is_none_or(|socket| socket == self.sockets.of(w))
    }

    /// Whether it is an L2-supernode that has not begun.
    fn is_next(&self, ready: &Ready<T>) -> bool {
        let fits = self.private < ready.task.size && ready.task.size <= self.shared;
        ready.stage == Stage::Start && fits && self.socket(&ready.task).is_none()
    }

    /// Returns those who may take it.
    pub(super) fn add(&self, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let socket = self.socket(&ready.task);
        let is_next = self.is_next(&ready);
        self.state.with(env, |State { places, next, upper, begun }, _| {
            let line = match socket {
                Some(socket) => &mut begun[socket].0,
                None if is_next => next,
                None => upper,
            };
            line.insert(places.key(&mut ready), ready);
            self.len.fetch_add(1, Release);
        });
        socket.map_or(ClusterId::ROOT, |socket| self.sockets.cluster(socket))
    }

    /// The first that `w` may have.
    pub(super) fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if self.seem_empty() {
            return None;
        }
        self.state.with(env, |state, _| {
            let ready = self.find(w, ask, state)?;
            self.len.fetch_sub(1, Release);
            Some(self.begin(w, ready, state))
        })
    }

    fn find(&self, w: WorkerId, ask: Ask<'_, T>, state: &mut State<T>) -> Option<Ready<T>> {
        if ask.accepts.is_some() && !ask.own_only {
            let State { next, upper, begun, .. } = state;
            let mut lines = begun.iter_mut().map(|(line, _)| line).chain([next, upper]);
            return lines.find_map(|line| pop_first(line, ask.accepts));
        }
        let State { next, upper, begun, .. } = state;
        let (line, current) = &mut begun[self.sockets.of(w)];
        // What waits within a supernode must not wait for the next.
        let is_within = ask.within != ClusterId::ROOT && !ask.is_stalled();
        let may_begin = current.is_none() || ask.is_stalled();
        let is_before = match (next.first_key_value(), upper.first_key_value()) {
            (Some((next, _)), Some((upper, _))) => may_begin && next < upper,
            (next, _) => may_begin && next.is_some(),
        };
        let line = match line.is_empty() {
            false => line,
            true if is_within => return None,
            true if is_before => next,
            true => upper,
        };
        let first = line.first_entry()?;
        let is_accepted = ask.accepts.is_none_or(|accepts| accepts(&first.get().job));
        is_accepted.then(|| first.remove())
    }

    /// `ready` is given to `w`: maybe a supernode begins.
    fn begin(&self, w: WorkerId, mut ready: Ready<T>, state: &mut State<T>) -> Ready<T> {
        let task = ready.task;
        if self.is_next(&ready) {
            let socket = self.sockets.of(w);
            ready.task.anchor = self.sockets.cluster(socket);
            state.begun[socket].1.get_or_insert(task.mark);
        } else if ready.stage == Stage::Start && self.have_private() && task.size <= self.private {
            state.places.forget(&task);
            ready.task.mark |= ALONE;
        }
        ready
    }

    /// Whether nothing is ready.
    pub(super) fn seem_empty(&self) -> bool {
        self.len.load(Acquire) == 0
    }

    /// Returns all workers under the cache if its L2-supernode has ended.
    pub(super) fn task_ended(&self, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        let socket = self.socket(task);
        self.state.with(env, |State { places, begun, .. }, _| {
            places.forget(task);
            let socket = socket?;
            begun[socket].1.take_if(|current| *current == task.mark)?;
            Some(self.sockets.cluster(socket))
        })
    }
}
