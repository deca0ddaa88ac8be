//! A task spawned into a scope: on the heap, since the function that spawns it goes on.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
};

use super::base::{Base, Kind};
use crate::engine::{JobHeader, JobRef, JobTable};

#[repr(C)]
pub(super) struct ScopeJob<S, F> {
    header: JobHeader,
    scope: NonNull<S>,
    work: F,
}

impl<S: Kind, F: FnOnce(&S) + Send> ScopeJob<S, F> {
    const TABLE: &'static JobTable = &JobTable { execute: Self::execute, sizes: |_| (None, None) };

    /// Puts `work` on the heap.
    ///
    /// # Safety
    /// `scope` has counted the task, and stays until it has ended, as does what `work` borrows.
    pub(super) unsafe fn into_job(work: F, scope: NonNull<S>) -> JobRef {
        let job = Box::new(Self { header: JobHeader::new(Self::TABLE), scope, work });
        // SAFETY: the scope stays (promised by the caller).
        let place = unsafe { scope.as_ref() }.base().place();
        // SAFETY: it lives as long as the scope.
        unsafe { job.header.birthplace.set(place.as_ptr()) };
        let header = NonNull::from(Box::leak(job)).cast();
        // SAFETY: on the heap until executed; the closure is `Send`, the scope `Sync`; the pointer
        // is to the whole job; the table is its own.
        unsafe { JobRef::new(header) }
    }

    /// See [`JobRef::execute`].
    unsafe fn execute(job: NonNull<JobHeader>, ended: &dyn Fn()) {
        // SAFETY: leaked by `into_job`, and executed once.
        let job = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        let Self { scope, work, .. } = *job;
        let base = {
            // SAFETY: the scope stays until this task has ended, below.
            let scope = unsafe { scope.as_ref() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(scope))) {
                scope.base().keep_panic(panic);
            }
            NonNull::from(scope.base())
        };
        ended();
        // SAFETY: live, and this task's only end; jobs are executed on threads of the pool that
        // they were given to.
        unsafe { Base::end_task(base) };
    }
}
