//! What the workers of one socket run together.

use std::{
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

use befit_machine::{Bytes, WorkerId};

use super::{
    Homes,
    find::{Look, THERE_AND_BACK, home_of},
    home::Kind,
    line::{Entry, Line},
};
use crate::{Env, Handle, LockId, Stage};

/// Of the subtrees that wait a worker looks through so many, the newest. It holds the lock
/// meanwhile that all workers of the socket need.
const SHOWN: usize = 64;

/// Subtrees that wait for the workers of one socket.
#[derive(Debug)]
pub(super) struct Stack<T> {
    pub(super) waiting: Line<T>,
    /// Bytes of the tasks that run.
    pub(super) claimed: AtomicU64,
    /// How many workers divide what is here, or fork what comes here: there will soon be more to
    /// choose from.
    dividers: AtomicU32,
    /// Where in the row of workers the home lies of the one that was begun last when it was its
    /// turn.
    last: AtomicU32,
}

impl<T> Stack<T> {
    pub(super) const fn new(id: LockId) -> Self {
        Self {
            waiting: Line::new(id),
            claimed: AtomicU64::new(0),
            dividers: AtomicU32::new(0),
            last: AtomicU32::new(0),
        }
    }
}

impl<T: Handle> Homes<T> {
    /// Takes from its socket's stack the task that is next of kin to the last one begun there: the
    /// one under the smallest part of the tree of homes that holds both, and of several the one
    /// that lies nearest.
    ///
    /// A task that claims must fit beside those that run, or the wait for that must have cost as
    /// much as the misses that it causes ([`Self::again`]). It also waits until its siblings are
    /// there, or those of its parent, as the last of them may be the next of kin; but not for
    /// longer than it takes to fill a private cache. Where many wait, only the newest are looked
    /// through ([`SHOWN`]), unless the worker may take nothing else or nothing happens.
    pub(super) fn take_together(&self, look: &Look<'_, T>, env: &mut dyn Env) -> Option<Entry<T>> {
        let stack = &self.stacks[look.socket];
        if stack.waiting.seems_empty() {
            return None;
        }
        let a_moment = self.price(self.private);
        let mut in_turn = false;
        let found = stack.waiting.pop(env, |entries| {
            let divided = stack.dividers.load(SeqCst) > 0 && !look.is_forced();
            let may_begin = |ready: &Entry<T>| match look.accepts {
                Some(accepts) => accepts(&ready.job),
                None if !claims(ready) => true,
                None if divided && !look.is_enough(look.age(ready), a_moment) => false,
                None => self.has_room(look, ready),
            };
            let last = stack.last.load(Relaxed);
            let apart = |ready: &Entry<T>| {
                home_of(ready).map_or((0, 0), |home| self.row(home).apart(home.place(), last))
            };
            let oldest = if look.is_forced() { 0 } else { entries.len().saturating_sub(SHOWN) };
            let (mut in_line, mut next) = ((u32::MAX, u32::MAX), None);
            for at in (oldest..entries.len()).rev() {
                let apart = apart(&entries[at]);
                in_line = in_line.min(apart);
                if next.is_none_or(|(nearest, _)| apart < nearest) && may_begin(&entries[at]) {
                    next = Some((apart, at));
                }
            }
            let (nearest, next) = next?;
            if !self.claims_room(look, &entries[next]) {
                return None;
            }
            // What begins before its turn, as it fits beside the others, does not change whose turn
            // it is.
            in_turn = nearest == in_line;
            entries.remove(next)
        });
        let Some(ready) = found else {
            look.leaves(Duration::MAX);
            return None;
        };
        if in_turn && let Some(home) = home_of(&ready).filter(|_| claims(&ready)) {
            // What is next of kin to it is next.
            stack.last.store(home.place(), Relaxed);
        }
        if is(&ready, Kind::Together) {
            self.divides(look.w, Some(look.socket));
        }
        Some(ready)
    }

    /// Whether a task that claims has room now.
    pub(super) fn has_room(&self, look: &Look<'_, T>, ready: &Entry<T>) -> bool {
        let claimed = self.stacks[look.socket].claimed.load(SeqCst);
        self.has_room_beside(claimed, look, ready)
    }

    /// If `ready` has room in the cache of the worker's socket, or claims none, it begins: it has
    /// its claim from now on. Others may claim some at the same time.
    pub(super) fn claims_room(&self, look: &Look<'_, T>, ready: &Entry<T>) -> bool {
        let claimed = &self.stacks[look.socket].claimed;
        let with_it = |before: u64| {
            let has_room = self.has_room_beside(before, look, ready);
            has_room.then(|| before.wrapping_add(ready.task.size.0))
        };
        !claims(ready) || claimed.fetch_update(SeqCst, SeqCst, with_it).is_ok()
    }

    /// Whether a task that claims fits beside what is `claimed` in the worker's socket, or the wait
    /// for that has cost as much as the misses that it causes. If others wait as well and get
    /// nothing of what runs, as it is not divided, they pay together, for what does not fit.
    fn has_room_beside(&self, claimed: u64, look: &Look<'_, T>, ready: &Entry<T>) -> bool {
        let (socket, size) = (look.socket, ready.task.size);
        let over = claimed.saturating_add(size.0).saturating_sub(self.brim(socket).0);
        if claimed == 0 || over == 0 {
            return true;
        }
        let price = match *look.room.get_or_init(|| self.room_is_worth(socket, look.now)) {
            (again, 0) => self.fetch(size, again),
            (again, waiting) => self.fetch(size.min(Bytes(over)), again) / waiting,
        };
        self.pays(look, ready, price)
    }

    /// How often what is taken from those that `socket` runs is brought in again, and how many idle
    /// workers get nothing of what runs.
    fn room_is_worth(&self, socket: usize, now: u64) -> (f64, u32) {
        let held = self.crew.held(self.workers(socket), self.first_look(), now);
        (self.again(socket), held.min(self.idle(socket).count() as u32))
    }

    /// How often the workers of `socket` would bring in again each line that a task takes from them
    /// in their cache: as many lines as they find there for each that they bring in.
    fn again(&self, socket: usize) -> f64 {
        let reuse = self.crew.reuse(self.workers(socket));
        reuse.map_or(THERE_AND_BACK, |reuse| reuse.min(THERE_AND_BACK))
    }

    /// `w` divides what the workers of `socket` run together, or nothing any more.
    pub(super) fn divides(&self, w: WorkerId, socket: Option<usize>) {
        let now = socket.map_or(0, |socket| socket as u32 + 1);
        let divides = &self.divides[w.index()];
        if divides.load(Relaxed) == now {
            return;
        }
        if let Some(socket) = socket {
            self.stacks[socket].dividers.fetch_add(1, SeqCst);
        }
        // What a worker spawned may be added by another one at the same time.
        if let Some(before) = divides.swap(now, SeqCst).checked_sub(1) {
            self.stacks[before as usize].dividers.fetch_sub(1, SeqCst);
        }
    }
}

/// Whether it begins as a task of this kind.
fn is<T>(ready: &Entry<T>, kind: Kind) -> bool {
    ready.stage == Stage::Start && home_of(ready).is_some_and(|home| home.kind == kind)
}

pub(super) fn claims<T>(ready: &Entry<T>) -> bool {
    is(ready, Kind::Claims)
}
