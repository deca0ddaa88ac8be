//! `homes`: every task has a home, a part of the row of workers, and finds it again next time.
//!
//! Shiina & Taura, *Almost deterministic work stealing* (SC 2019): a task owns an interval of the
//! workers, and divides it among its children in the proportion of their work. The same tree of
//! tasks then lies on the same workers each time, so that what a task touched last time is in the
//! caches under it; and all workers have work after as many forks as the tree is deep, where random
//! stealing spreads it one steal at a time. The rules:
//!
//! 1. **A fork is dealt out.** The halves of a `join` get parts of their parent's home in the
//!    proportion of their declared sizes, else halves ([`deal`]). Tasks that a scope spawns get
//!    equal parts, as many as were spawned last time; the first time each has its parent's whole
//!    home. A home is divided until it lies in one worker's place in the row, or is an eighth of
//!    one. Below, a worker forks as under `ws`, and the policy sees what others request.
//! 2. **The upper tier first.** A task whose home is several workers is dealt out by the first of
//!    them, which alone is notified of it, as long as that has nothing else to do. So a tree is
//!    dealt out without a queue that all would look into. If it has, the task waits where all
//!    workers of its home look before they steal, so that dealing out never waits behind work
//!    (CATS: Chen, Guo & Huang, ICS 2012, and `cats-s`).
//! 3. **Large data are run together.** If the data dealt to a socket (the workers under one
//!    last-level cache) are more than its cache holds, its workers go through them together: a task
//!    that fits its cache, beside the workers' stacks, *claims* its size of the cache until it
//!    ends, and begins only if that fits beside the claims that run; its children are dealt out to
//!    the whole socket. So a socket has several subtrees at a time as far as they fit, and not one
//!    for each worker (space-bounded: Simhadri et al., TOPC 2016; the tied tasks of Shiina & Taura,
//!    *Improving cache utilization of nested parallel programs by almost deterministic work
//!    stealing*, TPDS 33(12), 2022). What is dealt to every socket comes before: nothing is kept
//!    together until each has its part.
//! 4. **The next of kin next.** A socket takes the claim that has the lowest common ancestor with
//!    the one that it began last. So it ends a part of the tree before it begins another, and each
//!    round begins with what the last one touched last, and goes the other way (`cats-s`'s zigzag,
//!    without counting rounds). No claim begins before its siblings are there to choose from, and
//!    what begins out of turn, as it fits beside the others, changes nobody's turn ([`stack`]).
//! 5. **Thieves look near first.** A worker under the same last-level cache finds the data there.
//! 6. **From afar at the price of the data.** A worker takes from another socket when both have
//!    waited, the worker for work and the task for a worker, as long as it takes to move the task's
//!    data there and back ([`find`]). For what a whole socket would run all that are idle there
//!    wait, and each pays its part. So nobody waits for long at a loss, and little is moved that
//!    would have been run in its place soon. Between two rounds there is nothing to be had: waiting
//!    for a round pays for nothing. A task of unknown size may have as much data as fits a private
//!    cache, and loses of them what its worker finds again: as many fewer lines as it brings in
//!    lately than when it brought in the most. Tasks whose worker brought in hardly any lines
//!    lately, for what it computed, are taken at once: counters tell it, where there are any. But
//!    not while tasks are still to be dealt out, as who has nothing yet will soon have its own
//!    part.
//! 7. **Past a claim at the price of what it keeps.** What does not fit beside the claims that run
//!    begins when the wait has cost what the others would then bring in again: as many lines as
//!    they find in the shared cache for each that they bring in ([`stack`]). So claims keep nobody
//!    waiting where nothing is found.
//! 8. **A stolen task's home becomes the thief's.** Otherwise its children would go back to those
//!    that could not run it.
//!
//! A worker's place in the row is as wide as its speed says; but where sockets differ, one whose
//! cache would overflow leaves more to the others, the less the program computes ([`rows`]).
//!
//! On a machine with one last-level cache, or with workers under none, it is `ws`.

mod crew;
mod deal;
mod find;
mod home;
mod line;
mod pace;
mod row;
mod rows;
mod stack;
#[cfg(test)]
mod tests;

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    time::Duration,
};

use befit_machine::{Bytes, ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use self::{
    crew::Crew,
    line::{Line, Stamped, stamp},
    rows::Rows,
    stack::Stack,
};
pub(super) use self::{
    deal::Rounds,
    home::{Home, Kind},
    row::Row,
};
use super::{
    WorkStealing,
    bitier::{Sockets, private_cache},
};
use crate::{
    Ask, Capabilities, Env, Finds, ForkOrder, Handle, LockId, Ready, Scheduler, Stage, Strand,
    TaskInfo,
};

/// Dealing to homes, and stealing.
#[derive(Debug)]
pub(crate) struct Homes<T> {
    name: &'static str,
    sockets: Sockets,
    /// Per worker: its own cluster.
    leaves: Vec<ClusterId>,
    /// Per socket: its workers shall look again.
    asked: Vec<CachePadded<AtomicBool>>,
    crew: Crew,
    rounds: Rounds,
    /// Per worker: what was forked there.
    own: Vec<Line<T>>,
    /// Per worker: what others dealt to it, in serial order.
    dealt: Vec<Line<T>>,
    /// Per socket: what is still to be dealt out to its workers.
    spread: Vec<Line<T>>,
    /// Per socket: what its workers run together.
    stacks: Vec<CachePadded<Stack<T>>>,
    /// Per worker: the number, from 1, of the socket whose stack it divides; 0 of none.
    divides: Vec<CachePadded<AtomicU32>>,
    /// What is still to be dealt out to several sockets, by the socket where it was forked: all
    /// workers look into all of them, but begin with their own.
    upper: Vec<Line<T>>,
    /// How many tasks wait to be dealt out, or are being so.
    undealt: CachePadded<AtomicU32>,
    rows: Rows,
    /// Per socket: its cache.
    caches: Vec<Bytes>,
    /// The largest cache that belongs to a single core.
    private: Bytes,
    /// What it takes to bring a byte into a cache.
    nanoseconds: f64,
    /// What it takes to bring in a line, in cycles.
    line: f64,
}

impl<T: Handle> Homes<T> {
    /// `homes`; on a machine with one last-level cache, or with workers under none, `ws` under that
    /// name.
    pub(crate) fn build(name: &'static str, machine: &Machine) -> Box<dyn Scheduler<T>> {
        let sockets = Sockets::new(machine);
        let shared = machine.cluster(machine.last_level(WorkerId(0))).cache;
        let (2.., Some(shared), true) = (sockets.count(), shared, sockets.have_caches()) else {
            return Box::new(WorkStealing::uniform(name, machine));
        };
        let (workers, count) = (machine.workers().len() as u32, sockets.count() as u32);
        let queues =
            |from: u32, count: u32| (from..from + count).map(|i| Line::new(LockId(i))).collect();
        let stack = |i| Stack::new(LockId(2 * workers + count + i));
        let caches: Vec<_> =
            (0..sockets.count()).map(|i| machine.cluster(sockets.cluster(i)).size()).collect();
        let line = machine.memory.latency.0 as f64 / machine.memory.streams();
        let rows = Rows::new(machine, &sockets, line);
        Box::new(Self {
            name,
            crew: Crew::new(workers, rows.pace(machine), private_cache(machine)),
            rounds: Rounds::new(),
            own: queues(0, workers),
            dealt: queues(workers, workers),
            spread: queues(2 * workers, count),
            stacks: (0..count).map(|i| CachePadded::new(stack(i))).collect(),
            divides: (0..workers).map(|_| CachePadded::default()).collect(),
            upper: queues(2 * workers + 2 * count, count),
            undealt: CachePadded::default(),
            rows,
            caches,
            private: private_cache(machine),
            nanoseconds: line / shared.line.0.max(1) as f64 * 1e3 / f64::from(machine.mhz.max(1)),
            line,
            asked: (0..count).map(|_| CachePadded::default()).collect(),
            leaves: machine.workers().iter().map(|worker| worker.leaf).collect(),
            sockets,
        })
    }
}

impl<T: Handle> Homes<T> {
    /// The row that a home lies in.
    fn row(&self, home: Home) -> &Row {
        self.rows.of(home)
    }

    /// The sockets of the first and the last worker of a home.
    fn ends(&self, home: Home) -> [usize; 2] {
        let row = self.row(home);
        [row.first(home), row.last(home)].map(|w| self.sockets.of(WorkerId(w)))
    }

    /// Whether what is at home there is still to be dealt out to several workers.
    fn is_undealt(&self, home: Home) -> bool {
        home.kind == Kind::Dealt && self.row(home).is_wide(home)
    }

    /// Whether what is at home there forks to the worker that runs it.
    fn is_one_workers(&self, home: Home) -> bool {
        !home.kind.is_the_sockets() && !self.row(home).is_wide(home)
    }

    /// What is at home there need not be dealt out any more. Returns whether all is dealt out now.
    fn dealt_out(&self, home: Home) -> bool {
        self.is_undealt(home) && self.undealt.fetch_sub(1, SeqCst) == 1
    }

    /// How many others of the socket of `w` have their places in the home of what begins there, and
    /// get none of it if it is not divided.
    fn others_in(&self, w: WorkerId, ready: &Ready<T>) -> u32 {
        let home = Home::read(ready.task.mark)
            .filter(|home| ready.stage == Stage::Start && home.kind != Kind::Together);
        let Some(home) = home else { return 0 };
        let of = |workers| self.row(home).whole(home, workers);
        of(self.workers(self.sockets.of(w))) - of(w.0..w.0 + 1)
    }

    /// Whether a worker has nothing to do.
    fn is_idle(&self, w: u32) -> bool {
        let at = w as usize;
        !self.crew.is_running(w) && self.own[at].seems_empty() && self.dealt[at].seems_empty()
    }

    /// The workers of `socket` that have nothing to do.
    fn idle(&self, socket: usize) -> impl Iterator<Item = u32> + '_ {
        self.workers(socket).filter(|w| self.is_idle(*w))
    }

    /// Whether there are any.
    fn has_idle(&self, socket: usize) -> bool {
        self.idle(socket).next().is_some()
    }

    /// `w` has looked for work. Only those that a task is for are notified of it at first; the
    /// others once it is plain that these do something else.
    fn leaves_to_others(&self, w: WorkerId, is_busy: bool, env: &mut dyn Env) {
        let socket = self.sockets.of(w);
        let shared = [&self.upper[socket], &self.spread[socket], &self.stacks[socket].waiting];
        if !self.dealt[w.index()].seems_empty()
            || is_busy && shared.iter().any(|it| !it.seems_empty()) && !self.has_idle(socket)
        {
            self.asked[socket].store(true, SeqCst);
            let later = self.price(self.private).as_nanos() as u64;
            self.crew.may_later(stamp(env.now()).saturating_add(later));
        }
    }
}

impl<T: Handle> Scheduler<T> for Homes<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            finds: Finds::Everything,
            may_refuse: true,
            sees_forks: true,
            defers_spawned: true,
            ..Capabilities::default()
        }
    }

    fn has_threads(&self, workers: u32) {
        self.crew.limit(workers);
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        match Home::read(parent.mark) {
            Some(home) if self.is_one_workers(home) => ForkOrder::ChildFirst,
            _ => ForkOrder::ParentFirst,
        }
    }

    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let Ready { job, task, stage } = ready;
        let mut ready = Ready { job: Stamped { job, since: stamp(env.now()) }, task, stage };
        if ready.stage == Stage::Continuation {
            self.own[w.index()].push(ready, env);
            return ClusterId::ROOT;
        }
        let parent = Home::read(ready.task.mark);
        let (home, is_last) = self.settle(w, &ready.task);
        ready.task.mark = home.word();
        let forked_here = parent.is_some_and(|parent| self.is_one_workers(parent));
        let socket = self.socket(home);
        let [first, last] = self.ends(home);
        // Whoever deals it out does so at its beginning, where its first part stays.
        let row = self.row(home);
        let is_wide = row.is_wide(home);
        if self.is_undealt(home) {
            self.undealt.fetch_add(1, SeqCst);
        }
        let owner = if is_wide { row.first(home) } else { row.middle(home) };
        let is_part = parent.is_some_and(|parent| parent.with(home.kind) != home);
        let is_idle = is_part && self.is_idle(owner);
        let owner = WorkerId(owner);
        let here = self.sockets.cluster(socket);
        let (queue, notified) = match home.kind {
            kind if kind.is_the_sockets() => (&self.stacks[socket].waiting, here),
            _ if forked_here => (&self.own[w.index()], ClusterId::ROOT),
            _ if is_idle => (&self.dealt[owner.index()], self.leaves[owner.index()]),
            _ if !is_wide => (&self.dealt[owner.index()], ClusterId::ROOT),
            _ if first == last => (&self.spread[socket], here),
            _ if is_part => (&self.upper[self.sockets.of(w)], here),
            _ => (&self.upper[self.sockets.of(w)], ClusterId::ROOT),
        };
        // Those that it is for are notified alone as long as they have nothing else to do.
        let is_first = queue.seems_empty();
        if home.kind.is_the_sockets() && !is_last {
            self.divides(w, Some(socket));
        }
        queue.push(ready, env);
        if is_last {
            self.divides(w, None);
        }
        let alone = is_first && (notified != here || self.has_idle(socket));
        if alone { notified } else { ClusterId::ROOT }
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.divides(w, None);
        let found = self.find(w, ask, env);
        match &found {
            Some(ready) => {
                self.crew.begins(w, env);
                self.crew.holds(w, self.others_in(w, ready), env);
            }
            None => self.crew.found_nothing(w),
        }
        self.leaves_to_others(w, found.is_some(), env);
        found
    }

    fn due(&self, w: WorkerId, env: &mut dyn Env) -> Option<Duration> {
        self.crew.due(w, self.first_look(), env)
    }

    fn has_own(&self, w: WorkerId) -> bool {
        let spread = &self.spread[self.sockets.of(w)];
        let own = [&self.own[w.index()], &self.dealt[w.index()], spread];
        own.into_iter().chain(&self.upper).any(|queue| !queue.seems_empty())
    }

    fn resume(&self, w: WorkerId, _: &TaskInfo, env: &mut dyn Env) {
        self.crew.begins(w, env);
    }

    fn done(&self, w: WorkerId, strand: &Strand, env: &mut dyn Env) -> Option<ClusterId> {
        self.crew.ends(w, env);
        let begun = Home::read(strand.task.mark).filter(|_| strand.stage == Stage::Start);
        let all_dealt = begun.is_some_and(|home| self.dealt_out(home));
        if self.crew.is_later(env) || all_dealt {
            return Some(ClusterId::ROOT);
        }
        let socket = self.sockets.of(w);
        let asked = &self.asked[socket];
        let is_asked = asked.load(SeqCst) && asked.swap(false, SeqCst);
        is_asked.then(|| self.sockets.cluster(socket))
    }

    fn place(&self, task: &TaskInfo) -> ClusterId {
        let Some(home) = Home::read(task.mark) else { return ClusterId::ROOT };
        let [first, last] = self.ends(home);
        if first == last { self.sockets.cluster(first) } else { ClusterId::ROOT }
    }

    fn task_ended(&self, _: WorkerId, task: &TaskInfo, _: &mut dyn Env) -> Option<ClusterId> {
        let home = Home::read(task.mark).filter(|home| home.kind == Kind::Claims)?;
        let socket = self.socket(home);
        self.stacks[socket].claimed.fetch_sub(task.size.0, SeqCst);
        Some(self.sockets.cluster(socket))
    }
}
