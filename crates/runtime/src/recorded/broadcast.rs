//! One closure for each thread of a pool, all on the calling thread.

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use befit_record::inside;

use super::{current_num_threads, in_region, pool::as_thread};

/// Runs `work` once for each thread that the current pool was built for, and records that as so
/// many children that one sync waits for. If it panics the others are run all the same; then the
/// first panic goes on.
pub fn broadcast<F, R>(work: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    in_region(|| {
        let all = inside::Scope::new();
        let (mut answers, mut first_panic) = (Vec::new(), None);
        for context in BroadcastContext::all() {
            let index = context.index();
            let task = || all.task((None, None), || work(context));
            match catch_unwind(AssertUnwindSafe(|| as_thread(index, task))) {
                Ok(answer) => answers.push(answer),
                Err(panic) => drop(first_panic.get_or_insert(panic)),
            }
        }
        match first_panic {
            None => answers,
            Some(panic) => resume_unwind(panic),
        }
    })
}

/// What the closure of a [`broadcast`] is told: which of how many threads it stands for.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    not_send: PhantomData<(&'a (), *const ())>,
}

impl BroadcastContext<'_> {
    /// One for each thread of the current pool.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let num_threads = current_num_threads();
        (0..num_threads).map(move |index| Self { index, num_threads, not_send: PhantomData })
    }

    /// Which thread of the pool it stands for, from 0.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of threads that the pool was built for.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}
