//! Tasks that nobody waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use befit_record::inside;

use super::{BroadcastContext, declared, in_region, pool};
use crate::Work;

/// Runs `work` at once, as a child that only the end of the program waits for. Its panic goes to
/// the pool's `panic_handler`; without one the process aborts.
pub fn spawn<W>(work: W)
where
    W: Work<Output = ()> + Send + 'static,
{
    in_region(|| {
        if let Err(panic) =
            catch_unwind(AssertUnwindSafe(|| inside::detached(declared(&work), || work.run())))
        {
            pool::with_current(|pool| pool.detached_panic(panic));
        }
    });
}

/// As [`spawn`]: what runs at once runs in order.
pub fn spawn_fifo<F>(work: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn(work);
}

/// Runs `work` at once, once for each thread that the current pool was built for, each time as
/// [`spawn`] does.
pub fn spawn_broadcast<F>(work: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    in_region(|| {
        for context in BroadcastContext::all() {
            let index = context.index();
            let task = || inside::detached((None, None), || work(context));
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| pool::as_thread(index, task))) {
                pool::with_current(|pool| pool.detached_panic(panic));
            }
        }
    });
}
