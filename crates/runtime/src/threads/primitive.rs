//! What the lock-free parts are built of: `std`'s types; or loom's when their models are run, or
//! shuttle's when a pool as a whole is.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p befit --release --lib loom` explores every interleaving
//! (and every value that the C11 memory model lets a load return) of the small programs in the
//! modules named `loom`. `RUSTFLAGS="--cfg shuttle" cargo test -p befit --lib shuttle` runs pools
//! in random schedules: see `shuttle.rs` beside this file. Nothing in this crate that two threads
//! touch without a lock may be built of anything but these.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence},
    },
    thread::yield_now,
};
#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence},
    },
    thread::yield_now,
    thread_local,
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::thread_local;
#[cfg(not(any(loom, all(test, shuttle))))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence},
    },
    thread::yield_now,
};

#[cfg(not(loom))]
pub(crate) use cell::UnsafeCell;

/// The processor that the calling thread runs on at the moment, if the system says so. In models
/// nothing depends on that.
pub(crate) fn current_cpu() -> Option<usize> {
    if cfg!(any(loom, miri, shuttle)) { None } else { crate::system::current_cpu() }
}

/// How many processors a pool may use that the calling thread builds. None in models: they have no
/// time to learn from.
pub(crate) fn processors() -> usize {
    if cfg!(any(loom, shuttle)) {
        return 0;
    }
    if super::claim::has_a_place() {
        return crate::machine::PoolMachine::here().workers();
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Locks `mutex`. A poisoned lock is taken as it is: nothing in this crate panics while it holds
/// one.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(not(loom))]
mod cell {
    /// `std`'s cell behind the interface of loom's, which checks each access for races.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline(always)]
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with a pointer for reading.
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer for writing.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}
