//! [`join`], and [`join_context`], whose halves learn whether they were moved to another thread.

use std::{
    any::Any,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use crate::{Work, backend};

/// Runs `a` and `b`, maybe in parallel, and returns both results.
///
/// The calling thread runs `a`; meanwhile another may run `b`, else the calling thread does so
/// afterwards. (Schedulers that place tasks may have other threads run both: `sb` where sizes ask
/// for it, `cats` and its like while they measure.) Called outside a pool, it runs in the global
/// pool, which is built at the first such call. Either may be a plain closure or one with its size
/// ([`fit`](crate::fit())).
///
/// Fork as finely as the program is written: where halves take less than is worth a fork, and
/// nobody is out of work, `join` calls them one after the other. It finds out where that is by
/// itself. A fork that no other thread takes costs a frame on the stack: no allocation, unless more
/// forks are pending than 64 and than ever before on this thread, and no atomic read-modify-write.
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = befit::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
///
/// # Panics
/// Both are run to their end whatever happens; then, if `a` panicked, the panic goes on in the
/// caller; else, if `b` panicked, its does.
///
/// # What may not be sent
/// `b` may run on another thread, so what it uses must be [`Send`]:
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// let copy = shared.clone();
/// befit::join(move || *shared, move || *copy);
/// ```
/// and so must what it returns:
/// ```compile_fail,E0277
/// befit::join(|| 1, || std::rc::Rc::new(2));
/// ```
#[inline]
pub fn join<A, B>(a: A, b: B) -> (A::Output, B::Output)
where
    A: Work<Closure: Send> + Send,
    B: Work<Closure: Send> + Send,
    A::Output: Send,
    B::Output: Send,
{
    backend::join(a, b)
}

/// An inlined fork: `a`, then `b`, also if `a` panics.
#[inline(always)]
pub(crate) fn calls<A: FnOnce() -> X, B: FnOnce() -> Y, X, Y>(a: A, b: B) -> (X, Y) {
    match catch_unwind(AssertUnwindSafe(a)) {
        Ok(a) => (a, b()),
        Err(panic) => call_after_a_panic(b, panic),
    }
}

#[cold]
#[inline(never)]
fn call_after_a_panic<B: FnOnce() -> Y, Y>(b: B, panic: Box<dyn Any + Send>) -> ! {
    drop(catch_unwind(AssertUnwindSafe(b)));
    resume_unwind(panic)
}

/// As [`join`], and tells each half whether it has *migrated*: runs on another thread than the one
/// that called `join_context`.
///
/// That is a sign that others are idle. Code that divides its work until the pieces are small
/// enough can stop sooner as long as nobody takes any, and divide further when somebody does.
///
/// ```
/// use befit::{FnContext, join_context};
///
/// /// Sums `numbers`; splits twice more whenever a piece was taken by another thread.
/// fn sum(numbers: &[u64], splits: u32, context: Option<FnContext>) -> u64 {
///     let splits = if context.is_none_or(|c| c.migrated()) { splits.max(2) } else { splits };
///     if splits == 0 || numbers.len() < 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (a, b) = join_context(
///         |c| sum(left, splits - 1, Some(c)),
///         |c| sum(right, splits - 1, Some(c)),
///     );
///     a + b
/// }
///
/// let numbers: Vec<u64> = (0..100_000).collect();
/// assert_eq!(sum(&numbers, 0, None), 4_999_950_000);
/// ```
///
/// Called outside a pool, both halves run in the global pool and so have migrated.
///
/// # Panics
/// As [`join`].
///
/// # What may not be sent
/// As with [`join`]:
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// let copy = shared.clone();
/// befit::join_context(move |_| *shared, move |_| *copy);
/// ```
/// and the context, which is about the thread that it was made on:
/// ```compile_fail,E0277
/// befit::join_context(
///     |context| std::thread::scope(|s| drop(s.spawn(move || context.migrated()))),
///     |_| (),
/// );
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let home = backend::worker_address();
    join(move || a(FnContext::from(home)), move || b(FnContext::from(home)))
}

/// What a half of a [`join_context`] is told.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// It describes the thread that it was made on, so it stays there.
    not_send: PhantomData<*const ()>,
}

impl FnContext {
    /// Made where a half starts, whose `join_context` was called on worker `home`.
    #[inline(always)]
    fn from(home: usize) -> Self {
        Self { migrated: backend::worker_address() != home, not_send: PhantomData }
    }

    /// Whether the closure runs on another thread than the one that called [`join_context`].
    ///
    /// ```
    /// let pool = befit::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let both = || befit::join_context(|a| a.migrated(), |b| b.migrated());
    /// // There is nobody to take the second half.
    /// assert_eq!(pool.install(both), (false, false));
    /// // This thread is none of the pool's.
    /// assert_eq!(both(), (true, true));
    /// ```
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}
