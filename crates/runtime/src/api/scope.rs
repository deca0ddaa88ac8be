//! Scopes: any number of tasks that may borrow from the function that opened the scope, and all end
//! before it goes on.

use std::{fmt, marker::PhantomData};

use super::BroadcastContext;
use crate::backend::{self, Base, Fifos};

/// A kind of scope; its tasks are given a reference to it.
///
/// # Safety
/// `base` returns a part of the scope itself.
pub(crate) unsafe trait Kind: Sync {
    fn new(base: Base) -> Self;

    /// The common part.
    fn base(&self) -> &Base;
}

/// Where tasks can be spawned that borrow what lives longer than the scope; made by [`scope`].
pub struct Scope<'s> {
    base: Base,
    /// Makes `'s` invariant: spawned closures may borrow for `'s`, no longer and no shorter.
    marker: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: the base is a field.
unsafe impl Kind for Scope<'_> {
    fn new(base: Base) -> Self {
        Self { base, marker: PhantomData }
    }

    fn base(&self) -> &Base {
        &self.base
    }
}

/// Calls `body` with a scope in which it may [spawn](Scope::spawn) tasks, and returns what it
/// returns once all of them have ended.
///
/// Called outside a pool, it runs in the global pool.
///
/// ```
/// let mut squares = vec![0; 8];
/// befit::scope(|s| {
///     for (i, square) in squares.iter_mut().enumerate() {
///         s.spawn(move |_| *square = i * i);
///     }
/// });
/// assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49]);
/// ```
///
/// # Panics
/// If the body or a task panics, the others are run to their end; then the first panic goes on in
/// the caller.
///
/// # What may not be sent
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// befit::scope(|s| s.spawn(|_| drop(shared.clone())));
/// ```
/// Nor may a task borrow from the body, which may return before it runs:
/// ```compile_fail,E0373
/// befit::scope(|s| {
///     let local = 1;
///     s.spawn(|_| assert_eq!(local, 1));
/// });
/// ```
pub fn scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R + Send,
    R: Send,
{
    backend::scope(body)
}

/// [`scope`] whose body runs on the calling thread, also outside a pool; only the tasks run in the
/// current pool, or the global one.
///
/// So the body need not be [`Send`]. While a thread outside all pools waits for the tasks it does
/// nothing else.
///
/// ```
/// let words = std::rc::Rc::new(["here", "there"]); // not `Send`
/// let mut lengths = [0; 2];
/// befit::in_place_scope(|s| {
///     for (word, length) in words.iter().zip(&mut lengths) {
///         s.spawn(move |_| *length = word.len());
///     }
/// });
/// assert_eq!(lengths, [4, 5]);
/// ```
/// The tasks run on other threads all the same:
/// ```compile_fail,E0277
/// let words = std::rc::Rc::new(["here", "there"]);
/// befit::in_place_scope(|s| s.spawn(|_| drop(words.clone())));
/// ```
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope<'s, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'s>) -> R,
{
    backend::with_current(|pool| pool.in_place_scope(body))
}

impl<'s> Scope<'s> {
    /// Spawns a task into the scope. It may spawn more into the same scope, which it is given.
    ///
    /// Prefer [`join`](crate::join) for small tasks: a fork that no other worker takes costs less.
    /// A task lies on the heap; if its closure is small, in memory that an earlier task has left.
    /// Most schedulers are called for each task; `ws`, `pws` and `cilk-a` seldom for those that the
    /// worker which spawned them runs itself.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let count = AtomicU32::new(0);
    /// befit::scope(|s| {
    ///     s.spawn(|s| {
    ///         count.fetch_add(1, Relaxed);
    ///         s.spawn(|_| { count.fetch_add(1, Relaxed); });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    #[inline]
    pub fn spawn<F>(&self, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.spawn_sized(None, work);
    }

    /// As [`Self::spawn`], for a task that, with all that it forks, touches `bytes` distinct bytes
    /// (see [`fit`](crate::fit())).
    ///
    /// It is a function of its own, not `spawn(fit(bytes, …))`, because only a closure that is
    /// passed directly can leave the type of its argument out.
    ///
    /// ```
    /// let mut v = vec![1u8; 4096];
    /// befit::scope(|s| {
    ///     for page in v.chunks_mut(1024) {
    ///         s.spawn_fit(page.len(), |_| page.fill(2));
    ///     }
    /// });
    /// assert!(v.iter().all(|b| *b == 2));
    /// ```
    #[inline]
    pub fn spawn_fit<F>(&self, bytes: usize, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        self.spawn_sized(Some(bytes), work);
    }

    #[inline]
    fn spawn_sized<F>(&self, size: Option<usize>, work: F)
    where
        F: FnOnce(&Scope<'s>) + Send + 's,
    {
        // SAFETY: the work borrows for `'s` at least, and the scope, which is open, is waited for.
        unsafe { backend::spawn_into(self, size, work) };
    }

    /// Spawns a task on every thread of the pool, each of which runs it when it next looks for
    /// work, before the scope ends.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// let threads = Mutex::new(Vec::new());
    /// let push = |index| threads.lock().unwrap().push(index);
    /// pool.scope(|s| s.spawn_broadcast(|_, context| push(context.index())));
    /// let mut threads = threads.into_inner().unwrap();
    /// threads.sort();
    /// assert_eq!(threads, [0, 1, 2]);
    /// ```
    /// All threads use it at once, so what it uses must be [`Sync`]:
    /// ```compile_fail,E0277
    /// let count = std::cell::Cell::new(0);
    /// befit::scope(|s| s.spawn_broadcast(|_, _| count.set(1)));
    /// ```
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(&Scope<'s>, BroadcastContext<'_>) + Send + Sync + 's,
    {
        // SAFETY: the work borrows for `'s` at least, and the scope, which is open, is waited for.
        unsafe { backend::spawn_broadcast_into(self, work) };
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("open", &self.base.open()).finish_non_exhaustive()
    }
}

/// A scope whose tasks start in the order in which one thread spawned them; made by [`scope_fifo`].
pub struct ScopeFifo<'s> {
    base: Base,
    fifos: Fifos,
    /// As in `Scope`.
    marker: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: the base is a field.
unsafe impl Kind for ScopeFifo<'_> {
    fn new(base: Base) -> Self {
        let fifos = Fifos::of(&base);
        Self { base, fifos, marker: PhantomData }
    }

    fn base(&self) -> &Base {
        &self.base
    }
}

/// As [`scope`](crate::scope()), but of the tasks that one thread spawns into it the oldest is
/// started first.
///
/// With one thread that is the order in which they were spawned. With more, an older task starts
/// before a younger one, but maybe on another thread. Tasks of several threads have no order
/// between them.
///
/// ```
/// use std::sync::Mutex;
///
/// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let order = Mutex::new(Vec::new());
/// pool.scope_fifo(|s| {
///     for i in 0..5 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
/// ```
///
/// # Panics
/// As [`scope`](crate::scope()).
pub fn scope_fifo<'s, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'s>) -> R + Send,
    R: Send,
{
    backend::scope(body)
}

/// [`scope_fifo`] whose body runs on the calling thread. See
/// [`in_place_scope`](crate::in_place_scope()).
///
/// ```
/// let mut sum = 0;
/// befit::in_place_scope_fifo(|s| s.spawn_fifo(|_| sum += 1));
/// assert_eq!(sum, 1);
/// ```
pub fn in_place_scope_fifo<'s, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'s>) -> R,
{
    backend::with_current(|pool| pool.in_place_scope(body))
}

impl<'s> ScopeFifo<'s> {
    /// Spawns a task into the scope, to start after all that the calling thread has spawned into it
    /// before. It may spawn more into the same scope, which it is given.
    ///
    /// It has no form with a size: which task a worker runs is decided by the order, not by the
    /// cache that it befits.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let count = AtomicU32::new(0);
    /// befit::scope_fifo(|s| {
    ///     s.spawn_fifo(|s| {
    ///         count.fetch_add(1, Relaxed);
    ///         s.spawn_fifo(|_| { count.fetch_add(1, Relaxed); });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    /// It may not borrow from the scope's body, which may return before it runs:
    /// ```compile_fail,E0373
    /// befit::scope_fifo(|s| {
    ///     let local = 1;
    ///     s.spawn_fifo(|_| assert_eq!(local, 1));
    /// });
    /// ```
    #[inline]
    pub fn spawn_fifo<F>(&self, work: F)
    where
        F: FnOnce(&ScopeFifo<'s>) + Send + 's,
    {
        // SAFETY: the work borrows for `'s` at least, and the scope, which is open, is waited for;
        // the queues are part of it.
        unsafe { backend::spawn_fifo_into(self, &self.fifos, work) };
    }

    /// Spawns a task on every thread of the pool: as
    /// [`Scope::spawn_broadcast`](crate::Scope::spawn_broadcast).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// let threads = AtomicUsize::new(0);
    /// befit::scope_fifo(|s| s.spawn_broadcast(|_, _| { threads.fetch_add(1, Relaxed); }));
    /// assert_eq!(threads.into_inner(), befit::current_num_threads());
    /// ```
    pub fn spawn_broadcast<F>(&self, work: F)
    where
        F: Fn(&ScopeFifo<'s>, BroadcastContext<'_>) + Send + Sync + 's,
    {
        // SAFETY: the work borrows for `'s` at least, and the scope, which is open, is waited for.
        unsafe { backend::spawn_broadcast_into(self, work) };
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("open", &self.base.open()).finish_non_exhaustive()
    }
}
