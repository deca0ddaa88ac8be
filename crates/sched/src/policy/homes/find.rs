//! What a worker that looks for work takes.

use std::{
    collections::VecDeque,
    sync::atomic::Ordering::{Relaxed, SeqCst},
    time::Duration,
};

use befit_machine::{Bytes, WorkerId};

use super::{
    Homes,
    home::{Home, Kind},
};
use crate::{
    Ask, Env, Handle, Ready, Stage, TaskInfo,
    policy::queue::{Accepts, Queue, others},
};

/// From afar a worker takes at once only where at least so many tasks wait for one worker: the
/// first of them is about to be taken where its data are.
const WAITING: usize = 2;
/// A task's data are moved twice: to the thief, and back in the next round.
const THERE_AND_BACK: f64 = 2.0;

/// A worker that looks for work.
struct Look<'a, T> {
    w: WorkerId,
    socket: usize,
    accepts: Accepts<'a, T>,
    /// How long it has had nothing.
    waited: Duration,
}

impl<T: Handle> Homes<T> {
    /// The next for `w`: its own, newest first; what was dealt to it; forks that are still being
    /// dealt out; what its neighbours have; what its socket runs together; what other sockets have.
    pub(super) fn find(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let accepts = ask.accepts;
        let own = match accepts {
            None => self.own[w.index()].pop_new(env),
            Some(accepts) => self.own[w.index()].take_new(accepts, env),
        };
        let own = own.or_else(|| self.dealt[w.index()].pop_old(accepts, env));
        // What is still to be dealt out is its own as well.
        let socket = self.sockets.of(w);
        let own = own.or_else(|| self.upper.pop_old(accepts, env));
        let own = own.or_else(|| self.spread[socket].pop_old(accepts, env));
        if own.is_some() || ask.own_only {
            return own;
        }
        let waited = if ask.before_sleep { Duration::MAX } else { self.crew.waited(w, env) };
        let look = Look { w, socket, accepts, waited };
        self.take_near(&look, env)
            .or_else(|| self.take_together(&look, env))
            .or_else(|| self.take_far(&look, env))
    }

    /// Takes from a worker of the same socket that is busy; or that has left lying what it could
    /// have taken, as it may be held to something else.
    fn take_near(&self, look: &Look<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let patient = look.waited >= self.price(self.private);
        others(indices(self.sockets.workers(look.socket)), look.w.index(), env).find_map(|victim| {
            let busy = self.crew.is_running(victim as u32) || patient || look.accepts.is_some();
            let found = if busy { self.rob(look, victim, |_| true, env) } else { None };
            found.map(|ready| rehome(ready, Home::at(look.w.0, Kind::Kept)))
        })
    }

    /// Takes from its socket's stack the task that lies next to the last one begun there. One that
    /// claims must fit beside those that run, or the wait for that must have cost as much as the
    /// misses.
    fn take_together(&self, look: &Look<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let stack = &self.stacks[look.socket];
        if stack.waiting.seems_empty() {
            return None;
        }
        let found = stack.waiting.pop(env, |entries| {
            let claimed = stack.claimed.load(SeqCst);
            let fits = |size: u64| claimed == 0 || claimed + size <= self.cache.0;
            let may_begin = |ready: &Ready<T>| match look.accepts {
                Some(accepts) => accepts(&ready.job),
                None => {
                    !claims(ready) || fits(ready.task.size.0) || self.is_paid(look, &ready.task)
                }
            };
            let last = stack.last.load(Relaxed);
            let distance = |ready: &Ready<T>| home_of(ready).map_or(0, |home| home.distance(last));
            let next = (0..entries.len()).rev().filter(|at| may_begin(&entries[*at]));
            entries.remove(next.min_by_key(|at| distance(&entries[*at]))?)
        });
        if found.is_none() {
            self.crew.refuses();
        }
        found.map(|ready| self.claim(ready))
    }

    /// Takes from another socket: at once if fewer than half of its own socket's workers run and
    /// nothing waits there, from a socket whose workers are all busy; else when the wait has cost
    /// as much as moving the task's data does.
    fn take_far(&self, look: &Look<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let here = self.workers(look.socket);
        let running = self.crew.running(look.socket);
        let hungry = 2 * running < here.len() && self.stacks[look.socket].waiting.seems_empty();
        let pays = look.accepts.is_some()
            || self.crew.looks_again(look.w, look.waited, self.price(self.private));
        let at_once = |victim: usize| {
            look.accepts.is_some()
                || hungry && self.crew.running(victim) >= self.workers(victim).len()
        };
        for victim in others(0..self.sockets.count(), look.socket, env) {
            let free = at_once(victim);
            for queue in [&self.stacks[victim].waiting, &self.spread[victim]] {
                if !free && !pays {
                    self.sees(queue);
                    continue;
                }
                let from = WorkerId(self.sockets.workers(victim).start);
                let take = |entries: &mut VecDeque<Ready<T>>| {
                    let at = first(entries, look.accepts)?;
                    if free || self.is_paid(look, &entries[at].task) {
                        entries.remove(at)
                    } else {
                        None
                    }
                };
                if let Some(ready) = self.steal(queue, from, take, env) {
                    let kind = home_of(&ready).map_or(Kind::Dealt, |home| home.kind);
                    return Some(self.claim(rehome(ready, Home::of(here, kind))));
                }
            }
        }
        for victim in others(0..self.sockets.count(), look.socket, env) {
            let free = at_once(victim);
            for worker in others(indices(self.sockets.workers(victim)), usize::MAX, env) {
                let enough = self.own[worker].len() + self.dealt[worker].len() >= WAITING;
                if !(pays || free && enough) {
                    self.sees(&self.own[worker]);
                    self.sees(&self.dealt[worker]);
                    continue;
                }
                // Forks of a task that has begun belong with it, unless a whole socket is idle.
                let may = |(ready, dealt): (&Ready<T>, bool)| {
                    let loose = dealt || running == 0 || ready.task.size == TaskInfo::UNKNOWN;
                    free && (enough || look.accepts.is_some()) && (loose || look.accepts.is_some())
                        || self.is_paid(look, &ready.task)
                };
                if let Some(ready) = self.rob(look, worker, may, env) {
                    return Some(rehome(ready, Home::at(look.w.0, Kind::Kept)));
                }
            }
        }
        None
    }

    /// Takes of what waits for worker `victim` the last that was dealt to it, else its oldest fork,
    /// if it `may`, which is also told whether it was dealt.
    fn rob(
        &self,
        look: &Look<'_, T>,
        victim: usize,
        may: impl Fn((&Ready<T>, bool)) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        let from = WorkerId(victim as u32);
        let dealt = |entries: &mut VecDeque<Ready<T>>| {
            let accepted =
                |ready: &Ready<T>| look.accepts.is_none_or(|accepts| accepts(&ready.job));
            let at = entries.iter().rposition(accepted)?;
            if may((&entries[at], true)) { entries.remove(at) } else { None }
        };
        let own = |entries: &mut VecDeque<Ready<T>>| {
            let at = first(entries, look.accepts)?;
            if may((&entries[at], false)) { entries.remove(at) } else { None }
        };
        let found = self.steal(&self.dealt[victim], from, dealt, env);
        found.or_else(|| self.steal(&self.own[victim], from, own, env))
    }

    fn steal(
        &self,
        queue: &Queue<T>,
        victim: WorkerId,
        take: impl FnOnce(&mut VecDeque<Ready<T>>) -> Option<Ready<T>>,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        if queue.seems_empty() {
            return None;
        }
        let found = queue.pop(env, take);
        env.steal(victim, found.is_some());
        if found.is_none() {
            self.crew.refuses();
        }
        found
    }

    /// Something may wait in `queue` that a worker may take later.
    fn sees(&self, queue: &Queue<T>) {
        if !queue.seems_empty() {
            self.crew.refuses();
        }
    }

    /// Whether the worker has waited as long as it takes to move the task's data here and back: the
    /// rule of one who rents until the rent has cost what buying costs, and who never pays more
    /// than twice what was best (Karlin, Manasse, Rudolph & Sleator, *Competitive snoopy caching*,
    /// Algorithmica 3, 1988).
    fn is_paid(&self, look: &Look<'_, T>, task: &TaskInfo) -> bool {
        // Of unknown size it is taken to fill a private cache.
        let unknown = task.size == TaskInfo::UNKNOWN;
        let bytes = if unknown { self.private } else { task.size.min(self.cache) };
        look.waited >= self.price(bytes)
    }

    /// What it takes to move so many bytes.
    fn price(&self, bytes: Bytes) -> Duration {
        Duration::from_nanos((bytes.0 as f64 * self.nanoseconds * THERE_AND_BACK) as u64)
    }

    /// `ready` begins: it holds its claim from now on.
    fn claim(&self, ready: Ready<T>) -> Ready<T> {
        if let Some(home) = home_of(&ready).filter(|_| claims(&ready)) {
            let stack = &self.stacks[self.socket(home)];
            stack.claimed.fetch_add(ready.task.size.0, SeqCst);
            stack.last.store(home.place(), Relaxed);
        }
        ready
    }
}

/// The oldest that is accepted.
fn first<T>(entries: &VecDeque<Ready<T>>, accepts: Accepts<'_, T>) -> Option<usize> {
    entries.iter().position(|ready| accepts.is_none_or(|accepts| accepts(&ready.job)))
}

fn indices(workers: std::ops::Range<u32>) -> std::ops::Range<usize> {
    workers.start as usize..workers.end as usize
}

fn home_of<T>(ready: &Ready<T>) -> Option<Home> {
    Home::read(ready.task.mark)
}

fn claims<T>(ready: &Ready<T>) -> bool {
    ready.stage == Stage::Start && home_of(ready).is_some_and(|home| home.kind == Kind::Claims)
}

/// A task that was stolen before it began is the thief's from then on.
fn rehome<T>(mut ready: Ready<T>, home: Home) -> Ready<T> {
    if ready.stage == Stage::Start {
        ready.task.mark = home.word();
    }
    ready
}
