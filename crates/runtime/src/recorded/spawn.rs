//! Tasks that nobody waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use befit_record::inside;

use super::{declared, in_region, pool};
use crate::Work;

/// Runs `work` at once, as a child that only the end of the program waits for. Its panic goes to the pool's `panic_handler`; without one
/// the process aborts.
pub fn spawn<W>(work: W)
where
    W: Work<Output = ()> + Send + 'static,
{
    in_region(|| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| inside::detached(declared(&work), || work.run()))) {
            pool::with_current(|pool| pool.detached_panic(panic));
        }
    });
}
