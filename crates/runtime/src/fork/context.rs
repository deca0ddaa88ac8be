//! [`join_context`]: a join whose halves learn whether they were moved to another thread.

use std::marker::PhantomData;

use super::join;
use crate::pool::Worker;

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
/// befit::join_context(|context| std::thread::scope(|s| drop(s.spawn(move || context.migrated()))), |_| ());
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let home = this_worker();
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
        Self { migrated: this_worker() != home, not_send: PhantomData }
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

/// A number for the worker that this thread is, which no other living worker has; 0 if it is none.
/// A thread is one worker as long as user code runs on it, so threads can be told apart by it.
#[inline(always)]
fn this_worker() -> usize {
    Worker::with_current(|worker| worker.map_or(0, |worker| std::ptr::from_ref(worker).addr()))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        thread,
        time::Duration,
    };

    use super::*;
    use crate::testing::{on_every_pool, pool, within};

    #[test]
    fn migrated_is_true_exactly_if_the_closure_runs_on_another_thread() {
        fn tree(depth: u32, moved: &AtomicUsize) -> u32 {
            if depth == 0 {
                return 1;
            }
            let home = thread::current().id();
            let check = |context: FnContext| {
                assert_eq!(context.migrated(), thread::current().id() != home);
                moved.fetch_add(usize::from(context.migrated()), SeqCst);
                tree(depth - 1, moved)
            };
            let (a, b) = join_context(check, check);
            a + b
        }
        on_every_pool(|pool| {
            let moved = AtomicUsize::new(0);
            assert_eq!(pool.install(|| tree(7, &moved)), 128);
            if pool.current_num_threads() == 1 {
                assert_eq!(moved.into_inner(), 0, "there is nobody else");
            }
        });
    }

    #[test]
    fn a_half_that_another_thread_takes_is_told_so() {
        within(Duration::from_secs(60), || {
            for scheduler in crate::SchedulerKind::ALL {
                let pool = pool(scheduler, "pu:2", 2);
                let started = AtomicBool::new(false);
                let first = |context: FnContext| {
                    // Only another thread can start the second half.
                    while !started.load(SeqCst) {
                        thread::yield_now();
                    }
                    context.migrated()
                };
                let second = |context: FnContext| {
                    started.store(true, SeqCst);
                    context.migrated()
                };
                assert_eq!(pool.install(|| join_context(first, second)), (false, true));
            }
        });
    }

    #[test]
    fn called_outside_a_pool_both_halves_have_migrated() {
        within(Duration::from_secs(60), || {
            assert_eq!(join_context(|a| a.migrated(), |b| b.migrated()), (true, true));
        });
    }

    #[test]
    fn its_panics_go_on_as_those_of_join() {
        on_every_pool(|pool| {
            let ran = AtomicBool::new(false);
            let both = || join_context(|_| std::panic::panic_any(7), |_| ran.store(true, SeqCst));
            let panic = catch_unwind(AssertUnwindSafe(|| pool.install(both))).unwrap_err();
            assert_eq!(panic.downcast_ref::<i32>(), Some(&7));
            assert!(ran.into_inner());
        });
    }
}
