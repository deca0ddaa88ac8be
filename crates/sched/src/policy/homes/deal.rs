//! Where a task that was just forked belongs.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use befit_machine::{Bytes, WorkerId};

use super::{
    Homes,
    home::{Home, Kind},
    pace::Pace,
};
use crate::{Handle, TaskInfo};

/// What a claim leaves of the cache to each worker's stack: a page.
const STACK: Bytes = Bytes::kib(4);
/// A claim with the stacks, and all claims without them, may be larger than the cache by 1 / `OVER`
/// of it. What is gone through again and again in order is not found in a set that has a line too
/// many; with as little as this, few sets have one.
const OVER: u64 = 256;

impl<T: Handle> Homes<T> {
    /// The home of `task`, forked on `w`, which has its parent's mark; and whether its parent forks
    /// no more, as far as one can tell.
    pub(super) fn settle(&self, w: WorkerId, task: &TaskInfo) -> (Home, bool) {
        let Some(parent) = Home::read(task.mark) else {
            // A computation begins: it has everybody.
            return (self.whole(None), true);
        };
        let parent = match parent.kind {
            Kind::Together if !parent.is_divisible() => self.middle(parent, Kind::Kept),
            Kind::Together => {
                let fits = task.size <= self.room(self.socket(parent));
                let kind = if fits { Kind::Claims } else { Kind::Together };
                let (part, is_last) = self.rounds.part(parent, task);
                return (part.with(kind), is_last);
            }
            Kind::Claims => self.row(parent).of(self.workers(self.socket(parent)), Kind::Kept),
            Kind::Dealt | Kind::Kept => parent,
        };
        if !self.row(parent).is_wide(parent) {
            // One worker's: it stays where it is forked.
            return (self.row(parent).at(w.0, parent.kind), true);
        }
        let parent = self.fitting(parent, task);
        let (home, is_last) = self.rounds.part(parent, task);
        let home = match self.grouped(home, task.size) {
            Some(kind) => home.with(kind),
            None if self.row(home).is_wide(home) => home,
            None => self.middle(home, home.kind),
        };
        (home, is_last)
    }

    /// The worker in the middle of a home, whole.
    fn middle(&self, home: Home, kind: Kind) -> Home {
        let row = self.row(home);
        row.at(row.middle(home), kind)
    }

    /// All workers, to go through so much data.
    fn whole(&self, data: Option<Bytes>) -> Home {
        let pace = self.crew.pace().map_or(0, Pace::step);
        self.rows.whole(data, pace, self.crew.present())
    }

    /// The home of `task`'s parent. If that is all workers, a round begins with its first child:
    /// they are divided for as much data as are divided now.
    fn fitting(&self, parent: Home, task: &TaskInfo) -> Home {
        let Some(pace) = self.crew.pace() else { return parent };
        if parent != self.row(parent).of(0..self.crew.present(), Kind::Dealt) {
            return parent;
        }
        let data = data(task);
        if task.index == 0 {
            pace.round(data.map_or(0, |data| self.rows.lines(data)));
        }
        self.whole(data)
    }

    /// Whether the workers of one socket run a task of `size` together, rather than one part of it
    /// each: if as much data on each part of the socket would not fit its cache.
    fn grouped(&self, home: Home, size: Bytes) -> Option<Kind> {
        if home.kind != Kind::Dealt || size == TaskInfo::UNKNOWN {
            return None;
        }
        let socket = self.socket(home);
        let times = self.row(home).times_in(home, self.workers(socket));
        if size.0 as f64 * times <= self.caches[socket].0 as f64 {
            return None;
        }
        if self.row(home).is_wide(home) && self.ends(home) != [socket; 2] {
            None // Another socket has a part of it.
        } else if size <= self.room(socket) {
            Some(Kind::Claims)
        } else {
            Some(Kind::Together)
        }
    }

    /// The largest claim on the cache of `socket`.
    fn room(&self, socket: usize) -> Bytes {
        let stacks = self.sockets.workers(socket).len() as u64 * STACK.0;
        Bytes(self.brim(socket).0.saturating_sub(stacks))
    }

    /// As much as all claims on the cache of `socket` may be together.
    pub(super) fn brim(&self, socket: usize) -> Bytes {
        let cache = self.caches[socket].0;
        Bytes(cache + cache / OVER)
    }

    /// The socket of a home within one: that of its middle.
    pub(super) fn socket(&self, home: Home) -> usize {
        self.sockets.of(WorkerId(self.row(home).middle(home)))
    }

    /// The workers of `socket` that take part.
    pub(super) fn workers(&self, socket: usize) -> Range<u32> {
        let Range { start, end } = self.sockets.workers(socket);
        start..end.min(self.crew.present()).max(start + 1)
    }
}

/// The data of `task` and its twin, where one can tell.
fn data(task: &TaskInfo) -> Option<Bytes> {
    let both = [task.size, task.twin()?];
    let is_known = !both.contains(&TaskInfo::UNKNOWN);
    is_known.then(|| Bytes(both[0].0.saturating_add(both[1].0)))
}

/// How many tasks were spawned in the last round, by the home and depth of their parent.
///
/// How many tasks a scope spawns is known at its sync only. What repeats spawns as many again.
/// Parents that share an entry are told the largest of their numbers, and are dealt out less
/// evenly.
#[derive(Debug)]
pub(in crate::policy) struct Rounds(Vec<Round>);

#[derive(Debug, Default)]
struct Round {
    now: AtomicU32,
    last: AtomicU32,
}

impl Rounds {
    /// Entries; a power of two.
    const COUNT: usize = 1 << 10;

    pub(in crate::policy) fn new() -> Self {
        Self((0..Self::COUNT).map(|_| Round::default()).collect())
    }

    /// The part of its parent's home that `task` is dealt, and whether no sibling comes after it,
    /// as far as one can tell.
    pub(in crate::policy) fn part(&self, parent: Home, task: &TaskInfo) -> (Home, bool) {
        if let Some(twin) = task.twin() {
            let (own, other) = match (task.size, twin) {
                (own, other) if own == other => (1, 1),
                (TaskInfo::UNKNOWN, _) | (_, TaskInfo::UNKNOWN) => (1, 1),
                // Sizes stand for work.
                (own, other) => (own.0 >> 1, other.0 >> 1),
            };
            let shares = if task.index == 0 { 0..own } else { other..other + own };
            return (parent.part(shares, own + other), task.index > 0);
        }
        let (index, next) = (u64::from(task.index), u64::from(task.index) + 1);
        match self.siblings(task, parent).map(u64::from) {
            Some(count) => (parent.part(index..next, count), next == count),
            // How many there will be is not known: each has the whole home.
            None => (parent, true),
        }
    }

    /// How many siblings `task` had in the last round, itself included; `None` if fewer than now.
    fn siblings(&self, task: &TaskInfo, parent: Home) -> Option<u32> {
        let key = (parent.word() ^ u64::from(task.depth) << 50).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let round = &self.0[(key >> 54) as usize];
        if task.index == 0 {
            round.last.store(round.now.swap(1, Relaxed), Relaxed);
        } else {
            round.now.fetch_max(task.index.saturating_add(1), Relaxed);
        }
        Some(round.last.load(Relaxed)).filter(|last| task.index < *last)
    }
}
