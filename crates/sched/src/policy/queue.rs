//! A double-ended queue that several workers share, and that can be seen to be empty without taking
//! its lock.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crossbeam_utils::CachePadded;

use crate::{Ask, Env, Guarded, LockId, Ready};

/// Which jobs a worker accepts; all if `None`.
pub(super) type Accepts<'a, T> = Option<&'a dyn Fn(&T) -> bool>;

/// The numbers `among`, but for `own`, once round from a random one on.
pub(super) fn others(
    among: Range<usize>,
    own: usize,
    env: &mut dyn Env,
) -> impl Iterator<Item = usize> + use<> {
    let count = among.len();
    let start = env.random(count as u32) as usize;
    (0..count).map(move |i| among.start + (start + i) % count).filter(move |i| *i != own)
}

/// Another thief is at the queue.
#[derive(Debug)]
pub(super) struct Busy;

/// Takes the oldest of the accepted jobs.
fn oldest<T>(entries: &mut VecDeque<Ready<T>>, accepts: Accepts<'_, T>) -> Option<Ready<T>> {
    let Some(accepts) = accepts else { return entries.pop_front() };
    let at = entries.iter().position(|ready| accepts(&ready.job))?;
    entries.remove(at)
}

/// Its *new* end takes what became ready and gives to its owner; its *old* end gives to others.
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// A hint, written under the lock: a worker that looks for work need not take the lock to see
    /// that there is none.
    len: AtomicUsize,
    /// Whether a thief is at the lock. The others see so in a line that they only read: all at once
    /// they would take the lock's line from one another, and from its owner, who waits longest.
    thief: AtomicBool,
    /// In lines of their own, which none but the owner and one thief touch. So no two queues share
    /// a line, either.
    entries: CachePadded<Guarded<VecDeque<Ready<T>>>>,
}

impl<T> Queue<T> {
    pub(super) const fn new(id: LockId) -> Self {
        Self {
            len: AtomicUsize::new(0),
            thief: AtomicBool::new(false),
            entries: CachePadded::new(Guarded::new(id, VecDeque::new())),
        }
    }

    #[inline]
    pub(super) fn push_new(&self, ready: Ready<T>, env: &mut dyn Env) {
        self.entries.with(env, |entries, _| {
            entries.push_back(ready);
            self.note(entries);
        });
    }

    /// Whether it was empty. A worker that was notified of an entry does not miss it: an engine
    /// notifies after each `add`, and so after the store of the length.
    pub(super) fn seems_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }

    /// The newest.
    // Not one with `take_new`, so that `Guarded::with` moves the entry in registers.
    #[inline]
    pub(super) fn pop_new(&self, env: &mut dyn Env) -> Option<Ready<T>> {
        self.pop(env, VecDeque::pop_back)
    }

    /// The newest of the accepted jobs.
    pub(super) fn take_new(
        &self,
        accepts: &dyn Fn(&T) -> bool,
        env: &mut dyn Env,
    ) -> Option<Ready<T>> {
        self.pop(env, |entries| {
            let at = entries.iter().rposition(|ready| accepts(&ready.job))?;
            entries.remove(at)
        })
    }

    /// The newest of the jobs that are accepted, if not all are.
    pub(super) fn newest(&self, accepts: Accepts<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        match accepts {
            None => self.pop_new(env),
            Some(accepts) => self.take_new(accepts, env),
        }
    }

    /// What its owner gets: the newest of what is accepted; as a thief ([`Ask::as_thief`]) the
    /// oldest.
    pub(super) fn next(&self, ask: &Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        if ask.as_thief { self.pop_old(ask.accepts, env) } else { self.newest(ask.accepts, env) }
    }

    /// The oldest of the accepted jobs.
    pub(super) fn pop_old(&self, accepts: Accepts<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        self.pop(env, |entries| oldest(entries, accepts))
    }

    /// As [`Self::pop_old`], unless another thief is at it.
    pub(super) fn steal_old(
        &self,
        accepts: Accepts<'_, T>,
        env: &mut dyn Env,
    ) -> Result<Option<Ready<T>>, Busy> {
        if self.seems_empty() {
            return Ok(None);
        }
        // Only who finds it free writes.
        if self.thief.load(Ordering::Relaxed) || self.thief.swap(true, Ordering::Acquire) {
            return Err(Busy);
        }
        let ready = self.pop_old(accepts, env);
        self.thief.store(false, Ordering::Release);
        Ok(ready)
    }

    // Always: see `Guarded::with`.
    #[inline(always)]
    pub(super) fn pop(
        &self,
        env: &mut dyn Env,
        take: impl FnOnce(&mut VecDeque<Ready<T>>) -> Option<Ready<T>>,
    ) -> Option<Ready<T>> {
        if self.seems_empty() {
            return None;
        }
        self.entries.with(env, |entries, _| {
            let ready = take(entries);
            self.note(entries);
            ready
        })
    }

    /// As [`Self::pop`], unless another worker is at it.
    pub(super) fn try_pop(
        &self,
        env: &mut dyn Env,
        take: impl FnOnce(&mut VecDeque<Ready<T>>) -> Option<Ready<T>>,
    ) -> Result<Option<Ready<T>>, Busy> {
        if self.seems_empty() {
            return Ok(None);
        }
        let taken = self.entries.try_with(env, |entries, _| {
            let ready = take(entries);
            self.note(entries);
            ready
        });
        taken.ok_or(Busy)
    }

    /// Whatever shall happen to the entries at once.
    pub(super) fn change<R>(
        &self,
        env: &mut dyn Env,
        change: impl FnOnce(&mut VecDeque<Ready<T>>) -> R,
    ) -> R {
        self.entries.with(env, |entries, _| {
            let result = change(entries);
            self.note(entries);
            result
        })
    }

    fn note(&self, entries: &VecDeque<Ready<T>>) {
        self.len.store(entries.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QuietEnv, Stage, TaskInfo};

    #[test]
    fn one_thief_at_a_time_is_at_a_queue() {
        let env = || QuietEnv(fastrand::Rng::with_seed(7));
        let queue = Queue::new(LockId(0));
        for job in 0..3 {
            let task = TaskInfo::root(None, None);
            queue.push_new(Ready { job, task, stage: Stage::Start }, &mut env());
        }
        let steal = |accepts: Accepts<'_, u32>| {
            queue.steal_old(accepts, &mut env()).map(|found| found.map(|ready| ready.job))
        };
        // Another one comes while the first looks at each job.
        let only_last = |job: &u32| {
            assert!(steal(None).is_err(), "job {job}");
            *job == 2
        };
        assert_eq!(steal(Some(&only_last)).unwrap(), Some(2));
        assert_eq!([(); 3].map(|()| steal(None).unwrap()), [Some(0), Some(1), None]);
    }
}
