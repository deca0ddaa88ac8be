//! A lock that tells the engine when it is taken, so that waiting for it can be priced.

use std::sync::Mutex;

use crate::{Env, LockId};

/// Data behind a mutex that announces itself to the [`Env`].
#[derive(Debug)]
pub struct Guarded<D> {
    id: LockId,
    data: Mutex<D>,
}

impl<D> Guarded<D> {
    /// Puts `data` behind a lock named `id`.
    pub const fn new(id: LockId, data: D) -> Self {
        Self { id, data: Mutex::new(data) }
    }

    /// Runs `f` on the data while holding the lock. `f` must not panic: policies only move entries
    /// about.
    // Always: else what `f` moves would go through memory, and wait there.
    #[inline(always)]
    pub fn with<R>(&self, env: &mut dyn Env, f: impl FnOnce(&mut D, &mut dyn Env) -> R) -> R {
        env.acquire(self.id);
        let result = {
            let mut data = self.data.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            f(&mut data, env)
        };
        env.release(self.id);
        result
    }
}
