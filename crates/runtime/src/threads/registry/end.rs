//! What keeps a pool running, and how its threads end.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::Ordering::{AcqRel, Relaxed},
    },
};

use super::{Done, Registry};
use crate::{
    api::ThreadHandler,
    stats,
    threads::{
        Worker,
        engine::NoUnwind,
        latch::{Latch, ThreadLatch},
        primitive::lock,
    },
};

impl Registry {
    /// A detached job begins to keep the pool running.
    pub(crate) fn keep(&self) {
        self.keepers.fetch_add(1, Relaxed);
    }

    /// The handle, or a detached job, no longer keeps the pool running. With the last one its
    /// threads end.
    pub(crate) fn release(&self) {
        if self.keepers.fetch_sub(1, AcqRel) == 1 {
            for stop in &self.stops {
                // SAFETY: latch and parker belong to this registry, which the caller borrows.
                unsafe { Latch::set(stop) };
            }
            let mut alive = lock(&self.alive);
            alive.over = true;
            let never_begun = std::mem::take(&mut alive.awaited);
            drop(alive);
            self.threads_ended(never_begun);
        }
    }

    /// The program is given the start of a thread, to be run or not. The pool's end does not wait
    /// for it.
    pub(in crate::threads) fn awaits_thread(&self) {
        lock(&self.alive).awaited += 1;
    }

    /// A thread that was awaited begins, or never will; returns false if the pool's end came first.
    pub(in crate::threads) fn thread_came(&self) -> bool {
        let mut alive = lock(&self.alive);
        if !alive.over {
            alive.awaited -= 1;
        }
        !alive.over
    }

    /// `count` threads have ended, or were never started.
    pub(in crate::threads) fn threads_ended(&self, count: usize) {
        let mut alive = lock(&self.alive);
        alive.threads -= count;
        if count == 0 || alive.threads > 0 {
            return;
        }
        let waiter = alive.waiter.take();
        drop(alive);
        // Before anyone learns of the end: the file is there when the pool has been dropped.
        stats::process::ended(self);
        if let Some(waiter) = waiter {
            // SAFETY: a waiter's latch lives until it is set; taken out, so set here only.
            unsafe { waiter.set() };
        }
    }

    /// Waits until all threads have ended; `worker`, if that is what the caller is, runs its pool's
    /// work meanwhile. Only one thread may wait.
    pub(in crate::threads) fn wait_for_end(&self, worker: Option<&Worker>) {
        let Some(worker) = worker else {
            let latch = Arc::new(ThreadLatch::new());
            if self.register_waiter(Done::Thread(Arc::clone(&latch))) {
                latch.wait();
            }
            return;
        };
        let latch = Latch::new(worker.parker());
        let no_unwind = NoUnwind;
        let home = Arc::clone(worker.registry());
        if self.register_waiter(Done::Worker { latch: NonNull::from(&latch), home }) {
            // Whatever the last jobs there need of the worker's pool.
            worker.wait(&latch, None);
        }
        no_unwind.over();
    }

    /// Registers `waiter` to be woken when all threads have ended; returns false if they have.
    fn register_waiter(&self, waiter: Done) -> bool {
        let mut alive = lock(&self.alive);
        let some = alive.threads > 0;
        if some {
            alive.waiter = Some(waiter);
        }
        some
    }

    /// Calls the handler for the start or the exit of thread `index`.
    pub(in crate::threads) fn call_handler(&self, handler: &ThreadHandler, index: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler(index))) {
            self.detached_panic(panic);
        }
    }

    /// A detached job has panicked: the pool's handler, else the end of the process, as nobody
    /// waits for the job.
    pub(crate) fn detached_panic(&self, panic: Box<dyn Any + Send>) {
        let Some(handler) = &self.handlers.panic else {
            eprintln!(
                "befit: a detached job panicked, and its pool has no panic handler; aborting"
            );
            std::process::abort();
        };
        if catch_unwind(AssertUnwindSafe(|| handler(panic))).is_err() {
            eprintln!("befit: the panic handler panicked; aborting");
            std::process::abort();
        }
    }
}
