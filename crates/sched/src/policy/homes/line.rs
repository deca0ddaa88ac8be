//! A queue that knows how long its oldest entry has waited.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{
    Env, LockId, Ready,
    policy::queue::{Accepts, Busy, Queue},
};

/// A strand that waits, and since when: nanoseconds; 0 where nothing tells the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped<T> {
    pub(super) job: T,
    pub(super) since: u64,
}

pub(super) type Entry<T> = Ready<Stamped<T>>;

/// The time, as entries are stamped with it.
pub(super) fn stamp(now: Option<Duration>) -> u64 {
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Where the oldest is that is accepted.
pub(super) fn oldest<T>(entries: &VecDeque<Ready<T>>, accepts: Accepts<'_, T>) -> Option<usize> {
    entries.iter().position(|entry| accepts.is_none_or(|accepts| accepts(&entry.job)))
}

/// Where the newest is.
pub(super) fn newest<T>(entries: &VecDeque<Ready<T>>, accepts: Accepts<'_, T>) -> Option<usize> {
    entries.iter().rposition(|entry| accepts.is_none_or(|accepts| accepts(&entry.job)))
}

/// Strands that wait, the newest behind.
#[derive(Debug)]
pub(super) struct Line<T> {
    queue: Queue<Stamped<T>>,
    /// When the first of them came; a hint, written under the lock. Thieves that must wait see by
    /// it that they need not take the lock, which those that it waits for need.
    waits_since: AtomicU64,
}

impl<T> Line<T> {
    pub(super) const fn new(id: LockId) -> Self {
        Self { queue: Queue::new(id), waits_since: AtomicU64::new(0) }
    }

    pub(super) fn push(&self, entry: Entry<T>, env: &mut dyn Env) {
        self.queue.change(env, |entries| self.noting(entries, |entries| entries.push_back(entry)));
    }

    pub(super) fn seems_empty(&self) -> bool {
        self.queue.seems_empty()
    }

    /// How long the oldest has waited at the time `now`, as far as one can tell.
    pub(super) fn age(&self, now: u64) -> Duration {
        Duration::from_nanos(now.saturating_sub(self.waits_since.load(Relaxed)))
    }

    /// The newest that is accepted.
    pub(super) fn newest(
        &self,
        accepts: Accepts<'_, Stamped<T>>,
        env: &mut dyn Env,
    ) -> Option<Entry<T>> {
        self.pop(env, |entries| entries.remove(newest(entries, accepts)?))
    }

    /// The oldest that is accepted.
    pub(super) fn oldest(
        &self,
        accepts: Accepts<'_, Stamped<T>>,
        env: &mut dyn Env,
    ) -> Option<Entry<T>> {
        self.pop(env, |entries| entries.remove(oldest(entries, accepts)?))
    }

    pub(super) fn pop(
        &self,
        env: &mut dyn Env,
        take: impl FnOnce(&mut VecDeque<Entry<T>>) -> Option<Entry<T>>,
    ) -> Option<Entry<T>> {
        self.queue.pop(env, |entries| self.noting(entries, take))
    }

    /// As [`Self::pop`], unless another worker is at it.
    pub(super) fn try_pop(
        &self,
        env: &mut dyn Env,
        take: impl FnOnce(&mut VecDeque<Entry<T>>) -> Option<Entry<T>>,
    ) -> Result<Option<Entry<T>>, Busy> {
        self.queue.try_pop(env, |entries| self.noting(entries, take))
    }

    fn noting<R>(
        &self,
        entries: &mut VecDeque<Entry<T>>,
        change: impl FnOnce(&mut VecDeque<Entry<T>>) -> R,
    ) -> R {
        let result = change(entries);
        if let Some(first) = entries.front() {
            self.waits_since.store(first.job.since, Relaxed);
        }
        result
    }
}
