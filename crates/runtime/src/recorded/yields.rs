//! Giving way where all that was spawned has run already.

use super::current_thread_index;
use crate::Yield;

/// Finds nothing; `None` outside a pool.
pub fn yield_now() -> Option<Yield> {
    current_thread_index().map(|_| Yield::Idle)
}

/// Finds nothing; `None` outside a pool.
pub fn yield_local() -> Option<Yield> {
    yield_now()
}

/// No; `None` outside a pool.
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    current_thread_index().map(|_| false)
}
