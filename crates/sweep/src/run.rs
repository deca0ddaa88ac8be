//! The engine that needs none: the threads of this process.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use befit_lab::LabError;

use crate::{Sweep, run_batch};

impl Sweep {
    /// Simulates all that is pending, on so many threads. A simulation that fails is tried twice.
    ///
    /// # Errors
    /// When figures cannot be kept; what is kept by then stays.
    pub fn run(&mut self, threads: NonZeroUsize) -> Result<(), LabError> {
        let pending: Vec<usize> = self.pending().collect();
        let next = AtomicUsize::new(0);
        let sweep = Mutex::new(self);
        let first_error = Mutex::new(None);
        let work = || {
            while let Some(at) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = simulate(&sweep, *at) {
                    next.store(pending.len(), Ordering::Relaxed);
                    locked(&first_error).get_or_insert(error);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.get().min(pending.len()) {
                scope.spawn(work);
            }
        });
        let error = locked(&first_error).take();
        error.map_or(Ok(()), Err)
    }
}

fn simulate(sweep: &Mutex<&mut Sweep>, at: usize) -> Result<(), LabError> {
    let batch = locked(sweep).batch(&[at]);
    for last in [false, true] {
        let result = run_batch(&batch, None, NonZeroUsize::MIN).map_err(LabError::Failed)?;
        if let Some(hash) = result.missing {
            return Err(LabError::Failed(format!("the recording {hash} is gone")));
        }
        let mut sweep = locked(sweep);
        match sweep.append(&result.to_bytes())?.pop() {
            Some((_, why)) if last => sweep.fail(at, &why),
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
