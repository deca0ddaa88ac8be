//! Any number of tasks that one sync waits for.

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Mutex,
};

use befit_record::inside::{self, Declared};

use super::{BroadcastContext, in_region, pool::as_thread};

/// What all kinds of scopes have in common.
struct Tasks {
    sync: inside::Scope,
    /// The first panic of a task.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Tasks {
    #[inline(always)]
    fn run(&self, declared: Declared, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.sync.task(declared, work))) {
            inside::unrecorded(|| {
                self.panic
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner())
                    .get_or_insert(panic);
            });
        }
    }

    fn run_on_every_thread(&self, work: impl Fn(BroadcastContext<'_>)) {
        for context in BroadcastContext::all() {
            as_thread(context.index(), || self.run((None, None), || work(context)));
        }
    }
}

/// Where tasks can be spawned that borrow what lives longer than the scope; made by [`scope`].
pub struct Scope<'s> {
    tasks: Tasks,
    /// As in the real one: spawned closures take `&Scope<'s>` and may borrow for `'s`, no longer
    /// and no shorter.
    #[expect(clippy::type_complexity, reason = "it is the type of what may be spawned")]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'s>) + Send + Sync + 's>>,
}

/// As [`Scope`]; made by [`scope_fifo`].
pub struct ScopeFifo<'s> {
    tasks: Tasks,
    #[expect(clippy::type_complexity, reason = "it is the type of what may be spawned")]
    marker: PhantomData<Box<dyn FnOnce(&ScopeFifo<'s>) + Send + Sync + 's>>,
}

/// A kind of scope.
trait Kind: Sized {
    fn new(tasks: Tasks) -> Self;
    fn tasks(&self) -> &Tasks;
    fn into_tasks(self) -> Tasks;

    /// Runs `body` with such a scope.
    fn run<R>(body: impl FnOnce(&Self) -> R) -> R {
        in_region(|| {
            let scope = Self::new(Tasks { sync: inside::Scope::new(), panic: Mutex::new(None) });
            let result = catch_unwind(AssertUnwindSafe(|| scope.tasks().sync.run(|| body(&scope))));
            let Tasks { sync, panic } = scope.into_tasks();
            drop(sync);
            match (result, panic.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())) {
                (Ok(result), None) => result,
                (_, Some(panic)) | (Err(panic), None) => resume_unwind(panic),
            }
        })
    }
}

impl Kind for Scope<'_> {
    fn new(tasks: Tasks) -> Self {
        Self { tasks, marker: PhantomData }
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    fn into_tasks(self) -> Tasks {
        self.tasks
    }
}

impl Kind for ScopeFifo<'_> {
    fn new(tasks: Tasks) -> Self {
        Self { tasks, marker: PhantomData }
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    fn into_tasks(self) -> Tasks {
        self.tasks
    }
}

/// Calls `body` with a scope in which it may spawn tasks, each of which runs at once. The body's
/// own strands lie between them.
///
/// A panic of the body or of a task goes on in the caller at the scope's end, the first of them.
pub fn scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R + Send,
    R: Send,
{
    Kind::run(body)
}

/// As [`scope`]: what runs at once runs in order.
pub fn scope_fifo<'s, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'s>) -> R + Send,
    R: Send,
{
    Kind::run(body)
}

/// As [`scope`], for a body that need not be `Send`.
pub fn in_place_scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R,
{
    Kind::run(body)
}

/// As [`scope_fifo`], for a body that need not be `Send`.
pub fn in_place_scope_fifo<'s, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'s>) -> R,
{
    Kind::run(body)
}

impl<'s> Scope<'s> {
    /// Runs a task, which may spawn more into the same scope.
    #[inline]
    pub fn spawn<F>(&self, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.tasks.run((None, None), || work(self));
    }

    /// As [`Self::spawn`], for a task that touches `bytes` distinct bytes, with all that it forks.
    #[inline]
    pub fn spawn_fit<F>(&self, bytes: usize, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.tasks.run((Some(bytes), None), || work(self));
    }

    /// Runs a task for each thread that the current pool was built for.
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(&Scope<'s>, BroadcastContext<'_>) + Send + Sync + 's,
    {
        self.tasks.run_on_every_thread(|context| work(self, context));
    }
}

impl<'s> ScopeFifo<'s> {
    /// Runs a task, which may spawn more into the same scope.
    #[inline]
    pub fn spawn_fifo<F>(&self, work: F)
    where
        F: FnOnce(&ScopeFifo<'s>) + Send + 's,
    {
        self.tasks.run((None, None), || work(self));
    }

    /// Runs a task for each thread that the current pool was built for.
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(&ScopeFifo<'s>, BroadcastContext<'_>) + Send + Sync + 's,
    {
        self.tasks.run_on_every_thread(|context| work(self, context));
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}
