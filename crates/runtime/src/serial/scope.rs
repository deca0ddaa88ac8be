//! Scopes: any number of tasks that one sync waits for.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use befit_record::inside::{self, Origin};

use super::{Registry, in_region, origin_of, with_current};
use crate::{BroadcastContext, api::Kind};

/// What all kinds of scopes have in common.
pub(crate) struct Base {
    sync: inside::Scope,
    /// The first panic of a task.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Base {
    #[inline(always)]
    fn run(&self, origin: Origin, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.sync.task(origin, work))) {
            inside::unrecorded(|| {
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            });
        }
    }

    /// Nothing is open that is not on the stack.
    pub(crate) fn open(&self) -> usize {
        0
    }
}

/// What runs at once runs in order.
pub(crate) struct Fifos;

impl Fifos {
    pub(crate) fn of(_: &Base) -> Self {
        Self
    }
}

/// Runs `body` with a scope whose tasks run at once; its own strands lie between them.
pub(crate) fn scope<S: Kind, R>(body: impl FnOnce(&S) -> R) -> R {
    in_region(|| {
        let scope = S::new(Base { sync: inside::Scope::new(), panic: Mutex::new(None) });
        let result = catch_unwind(AssertUnwindSafe(|| scope.base().sync.run(|| body(&scope))));
        let panic = scope.base().panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(scope);
        match (result, panic) {
            (Ok(result), None) => result,
            (_, Some(panic)) | (Err(panic), None) => resume_unwind(panic),
        }
    })
}

impl Registry {
    /// As [`scope`], in this pool.
    pub(crate) fn in_place_scope<S: Kind, R>(self: &Arc<Self>, body: impl FnOnce(&S) -> R) -> R {
        self.enter(|| scope(body))
    }
}

/// Runs `work` as a task of `scope`.
///
/// # Safety
/// None is needed: nothing outlives the call.
#[inline(always)]
pub(crate) unsafe fn spawn_into<S: Kind>(scope: &S, size: Option<usize>, work: impl FnOnce(&S)) {
    let origin = inside::unrecorded(|| Origin { size, ..origin_of(&work, 0) });
    scope.base().run(origin, || work(scope));
}

/// As [`spawn_into`].
///
/// # Safety
/// None is needed.
#[inline(always)]
pub(crate) unsafe fn spawn_fifo_into<S: Kind>(scope: &S, _: &Fifos, work: impl FnOnce(&S)) {
    let origin = inside::unrecorded(|| origin_of(&work, 0));
    scope.base().run(origin, || work(scope));
}

/// Runs a task for each thread that the current pool was built for.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn spawn_broadcast_into<S: Kind>(
    scope: &S,
    work: impl Fn(&S, BroadcastContext<'_>),
) {
    with_current(|pool| {
        let origin = inside::unrecorded(|| origin_of(&work, 0));
        pool.on_every_thread(|context| scope.base().run(origin, || work(scope, context)));
    });
}
