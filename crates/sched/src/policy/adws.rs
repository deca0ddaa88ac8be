//! `adws`: almost deterministic work stealing.
//!
//! S. Shiina and K. Taura, *Almost deterministic work stealing* (SC 2019). Each task has a *range*
//! of the workers, from x to y in real numbers.
//!
//! - **Deterministic task allocation.** A task whose range reaches over several workers divides it
//!   among its children in the proportion of their work, and each child goes to the worker at which
//!   its part begins. The same program so lies on the same workers each time. Below that, a worker
//!   forks as under `ws`.
//! - **Hierarchical localized work stealing.** The children of a task with such a range are a *task
//!   group*. It becomes *dominant* when one of them has ended: its workers begin to run out of
//!   work. An idle worker steals within the range of the topmost dominant group around it.
//!
//! A worker takes what reaches over several workers before all else, then the newest that was
//! forked on it, then what was sent to it.
//!
//! Readings and deviations. A task's size stands for its work, declared or learned; without sizes
//! the halves of a `join` are equal. Tasks that a scope spawns are equal parts, as many as there
//! were last time; the first time each has its parent's range, and they begin on its workers in
//! turn. A range is not divided below an eighth of a worker. Any child's end makes its group
//! dominant, also where its range does not end at a worker's border. A computation begins on any
//! worker. Once the engine finds that nothing moves, a worker takes from any queue, as under
//! `static`.

use std::{
    fmt::Debug,
    sync::atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Relaxed, SeqCst},
    },
};

use befit_machine::{ClusterId, Machine, WorkerId};
use crossbeam_utils::CachePadded;

use super::{
    homes::{Home, Kind, Rounds, Row},
    queue::{Queue, others},
};
use crate::{
    Ask, Capabilities, Env, Finds, ForkOrder, Guarded, Handle, LockId, Ready, Scheduler, Stage,
    Strand, TaskInfo,
};

/// Ranges of workers, and stealing within them.
#[derive(Debug)]
pub(crate) struct Adws<T> {
    row: Row,
    rounds: Rounds,
    /// Per worker: what was forked there.
    own: Vec<CachePadded<Queue<T>>>,
    /// Per worker: what has a range that begins there.
    sent: Vec<CachePadded<Queue<T>>>,
    /// Tasks that begin a computation.
    roots: Queue<T>,
    /// The task groups that have not ended: range and depth of their parent, and whether they are
    /// dominant.
    groups: Guarded<Vec<(Home, u32, bool)>>,
    leaves: Vec<ClusterId>,
    /// A worker found nothing: it asks again when a strand has ended.
    hungry: CachePadded<AtomicBool>,
    /// Only the first so many workers take part.
    present: AtomicU32,
}

impl<T: Handle> Adws<T> {
    pub(crate) fn new(machine: &Machine) -> Self {
        let count = machine.workers().len() as u32;
        let queues = |from: u32| {
            (from..from + count).map(|i| CachePadded::new(Queue::new(LockId(i)))).collect()
        };
        Self {
            row: Row::new(0, (0..count).map(|_| 1.0)),
            rounds: Rounds::new(),
            own: queues(0),
            sent: queues(count),
            roots: Queue::new(LockId(2 * count)),
            groups: Guarded::new(LockId(2 * count + 1), Vec::new()),
            leaves: machine.workers().iter().map(|worker| worker.leaf).collect(),
            hungry: CachePadded::default(),
            present: AtomicU32::new(count),
        }
    }

    /// The range of a task, if it reaches over several workers.
    fn wide(&self, task: &TaskInfo) -> Option<Home> {
        Home::read(task.mark).filter(|range| self.row.is_wide(*range))
    }

    /// The range of a task that was just forked and has its parent's mark.
    fn range(&self, task: &TaskInfo) -> Home {
        let Some(parent) = Home::read(task.mark) else {
            return self.row.of(0..self.present.load(Relaxed), Kind::Dealt);
        };
        if !self.row.is_wide(parent) {
            return parent.with(Kind::Kept);
        }
        self.rounds.part(parent, task)
    }

    /// All that `task` forked before its last sync has ended.
    fn group_ended(&self, task: &TaskInfo, env: &mut dyn Env) {
        let Some(range) = self.wide(task) else { return };
        self.groups.with(env, |groups, _| {
            let at = groups.iter().position(|group| (group.0, group.1) == (range, task.depth));
            at.map(|at| groups.swap_remove(at));
        });
    }

    /// Of what others have within the topmost dominant group around `w`: the last that was sent
    /// there, the oldest that was forked there. What reaches over several workers stays.
    fn steal(&self, w: WorkerId, env: &mut dyn Env) -> Option<Ready<T>> {
        let workers = |of: Home| self.row.first(of) as usize..self.row.last(of) as usize + 1;
        let range = self.groups.with(env, |groups, _| {
            let around = groups.iter().filter(|it| it.2 && workers(it.0).contains(&w.index()));
            around.min_by_key(|it| it.1).map(|it| it.0)
        })?;
        let may = |ready: &Ready<T>| {
            let own = Home::read(ready.task.mark);
            own.is_some_and(|own| range.contains(own) && !self.row.is_wide(own))
        };
        others(workers(range), w.index(), env).find_map(|victim| {
            let sent = self.sent[victim].pop(env, |all| all.remove(all.iter().rposition(may)?));
            let found = sent
                .or_else(|| self.own[victim].pop(env, |all| all.remove(all.iter().position(may)?)));
            env.steal(WorkerId(victim as u32), found.is_some());
            found
        })
    }
}

impl<T: Handle> Scheduler<T> for Adws<T> {
    fn name(&self) -> &'static str {
        "adws"
    }

    fn capabilities(&self) -> Capabilities {
        let finds = Finds::Everything;
        Capabilities { finds, may_refuse: true, sees_forks: true, ..Capabilities::default() }
    }

    fn has_threads(&self, workers: u32) {
        self.present.store(workers.clamp(1, self.own.len() as u32), Relaxed);
    }

    fn fork_order(&self, parent: &TaskInfo) -> ForkOrder {
        self.wide(parent).map_or(ForkOrder::ChildFirst, |_| ForkOrder::ParentFirst)
    }

    fn add(&self, w: WorkerId, mut ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        let task = &mut ready.task;
        let parent = Home::read(task.mark);
        if ready.stage == Stage::Continuation {
            self.group_ended(task, env);
        } else {
            if let Some(parent) = self.wide(task).filter(|_| task.index == 0) {
                let group = (parent, task.depth.saturating_sub(1), false);
                self.groups.with(env, |groups, _| groups.push(group));
            }
            task.mark = self.range(task).word();
            if parent.is_none() {
                self.roots.push_new(ready, env);
                return ClusterId::ROOT;
            }
        }
        let begins = ready.stage == Stage::Start;
        let range = Home::read(task.mark)
            .filter(|it| self.row.is_wide(*it) || begins && it.kind == Kind::Dealt);
        let owner = range.map_or(w.0, |range| {
            let [first, last] = [self.row.first(range), self.row.last(range)];
            // One of nobody knows how many.
            let turn = if begins && Some(range) == parent { task.index } else { 0 };
            first + turn % (last + 1 - first)
        });
        let is_sent = self.wide(task).is_some() || owner != w.0;
        let queues = if is_sent { &self.sent } else { &self.own };
        queues[owner as usize].push_new(ready, env);
        if is_sent { self.leaves[owner as usize] } else { ClusterId::ROOT }
    }

    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        let accepted = |ready: &Ready<T>| ask.accepts.is_none_or(|accepts| accepts(&ready.job));
        let [own, sent] = [&self.own[w.index()], &self.sent[w.index()]];
        let wide = |ready: &Ready<T>| self.wide(&ready.task).is_some() && accepted(ready);
        let found = sent
            .pop(env, |all| all.remove(all.iter().position(wide)?))
            .or_else(|| own.newest(ask.accepts, env))
            .or_else(|| sent.pop_old(ask.accepts, env))
            .or_else(|| self.roots.pop_old(ask.accepts, env));
        if found.is_some() || ask.own_only {
            return found;
        }
        if ask.accepts.is_none() && !ask.stalled {
            let found = self.steal(w, env);
            if found.is_none() && !self.hungry.load(Relaxed) {
                self.hungry.store(true, SeqCst);
            }
            return found;
        }
        let mut others = others(0..self.own.len(), w.index(), env);
        others.find_map(|victim| {
            let own = self.own[victim].pop_old(ask.accepts, env);
            own.or_else(|| self.sent[victim].pop_old(ask.accepts, env))
        })
    }

    fn has_own(&self, w: WorkerId) -> bool {
        let queues = [&self.own[w.index()], &self.sent[w.index()], &self.roots];
        queues.iter().any(|queue| !queue.seems_empty())
    }

    fn resume(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) {
        self.group_ended(task, env);
    }

    /// Returns all workers while it has something, and another found nothing.
    fn done(&self, w: WorkerId, _: &Strand, _: &mut dyn Env) -> Option<ClusterId> {
        let asks_again = self.hungry.load(SeqCst) && self.has_own(w);
        (asks_again && self.hungry.swap(false, SeqCst)).then_some(ClusterId::ROOT)
    }

    /// Returns all workers if its group becomes dominant.
    fn task_ended(&self, _: WorkerId, task: &TaskInfo, env: &mut dyn Env) -> Option<ClusterId> {
        self.group_ended(task, env);
        let range = Home::read(task.mark).filter(|range| range.kind == Kind::Dealt)?;
        self.groups.with(env, |groups, _| {
            let mut of = groups.iter_mut().filter(|it| it.1 + 1 == task.depth);
            let group = of.find(|it| it.0.contains(range)).filter(|it| !it.2)?;
            group.2 = true;
            Some(ClusterId::ROOT)
        })
    }
}
