//! Any number of tasks that one sync waits for.

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Mutex,
};

use befit_record::inside::{self, Declared};

use super::in_region;

/// Where tasks can be spawned that borrow what lives longer than the scope; made by [`scope`].
pub struct Scope<'s> {
    tasks: inside::Scope,
    /// The first panic of a task.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// As in the real one: spawned closures take `&Scope<'s>` and may borrow for `'s`, no longer and no shorter.
    #[expect(clippy::type_complexity, reason = "it is the type of what may be spawned")]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'s>) + Send + Sync + 's>>,
}

/// Calls `body` with a scope in which it may spawn tasks, each of which runs at once. The body's own strands lie between them.
///
/// A panic of the body or of a task goes on in the caller at the scope's end, the first of them.
pub fn scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R + Send,
    R: Send,
{
    in_region(|| {
        let scope = Scope { tasks: inside::Scope::new(), panic: Mutex::new(None), marker: PhantomData };
        let result = catch_unwind(AssertUnwindSafe(|| scope.tasks.run(|| body(&scope))));
        let Scope { tasks, panic, .. } = scope;
        drop(tasks);
        match (result, panic.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())) {
            (Ok(result), None) => result,
            (_, Some(panic)) | (Err(panic), None) => resume_unwind(panic),
        }
    })
}

impl<'s> Scope<'s> {
    /// Runs a task, which may spawn more into the same scope.
    #[inline]
    pub fn spawn<F>(&self, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.task((None, None), work);
    }

    /// As [`Self::spawn`], for a task that touches `bytes` distinct bytes, with all that it forks.
    #[inline]
    pub fn spawn_fit<F>(&self, bytes: usize, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.task((Some(bytes), None), work);
    }

    #[inline(always)]
    fn task(&self, declared: Declared, work: impl FnOnce(&Scope<'s>)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.tasks.task(declared, || work(self)))) {
            inside::unrecorded(|| {
                self.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(panic);
            });
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
