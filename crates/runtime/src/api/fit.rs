//! Work that says how much memory it touches.
//!
//! A closure can be given to [`join`](crate::join) as it is, or wrapped by [`fit`] with its *task
//! size*: the number of distinct bytes that it touches, all that it forks included. A scheduler
//! that places tasks by size (`sb`, `sb-d`) binds such a task to the smallest cache that it befits.
//! A closure without a size is taken to be as large as the task that forks it.
//!
//! ```
//! use befit::{fit, join};
//!
//! fn sum(numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 1024 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (a, b) = join(
//!         fit(size_of_val(left), || sum(left)),
//!         fit(size_of_val(right), || sum(right)),
//!     );
//!     a + b
//! }
//!
//! let numbers: Vec<u64> = (0..10_000).collect();
//! assert_eq!(sum(&numbers), 49_995_000);
//! ```

/// Something to run once: any `FnOnce() -> R`, or such a closure with its sizes ([`Fit`]).
///
/// There is seldom a reason to implement it for a type of one's own, but nothing forbids it.
pub trait Work {
    /// What [`run`](Self::run) returns.
    type Output;

    /// The closure, without sizes.
    type Closure: FnOnce() -> Self::Output;

    /// Whether values of this type declare a size. It is a constant so that code for plain closures
    /// holds no trace of sizes.
    const SIZED: bool;

    /// Task size in bytes: what the work and everything that it forks touches; `None` where it is
    /// not declared.
    fn size(&self) -> Option<usize>;

    /// Strand size in bytes: the most that one stretch between two forks or joins touches; `None`
    /// where it is not declared.
    fn strand(&self) -> Option<usize>;

    /// The closure, without what is declared about it.
    fn closure(&self) -> &Self::Closure;

    /// As [`closure`](Self::closure), by value.
    fn into_closure(self) -> Self::Closure;

    /// Does the work on the calling thread.
    #[inline(always)]
    fn run(self) -> Self::Output
    where
        Self: Sized,
    {
        self.into_closure()()
    }
}

// `FnOnce` is a fundamental trait: the compiler may conclude from `Fit` not implementing it that
// the two impls below do not overlap.
impl<F, R> Work for F
where
    F: FnOnce() -> R,
{
    type Output = R;
    type Closure = F;
    const SIZED: bool = false;

    #[inline(always)]
    fn size(&self) -> Option<usize> {
        None
    }

    #[inline(always)]
    fn strand(&self) -> Option<usize> {
        None
    }

    #[inline(always)]
    fn closure(&self) -> &F {
        self
    }

    #[inline(always)]
    fn into_closure(self) -> F {
        self
    }
}

/// A closure with its sizes; made by [`fit`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a Fit does nothing until it is given to join, spawn or the like"]
pub struct Fit<F> {
    pub(crate) work: F,
    /// `None` for what became a `Fit` without being [`fit`]ted.
    pub(crate) size: Option<usize>,
    pub(crate) strand: Option<usize>,
}

/// Declares that `work`, a closure or a [`Task`](crate::Task), with everything that it forks,
/// touches `bytes` distinct bytes.
///
/// Count what is read and what is written, each byte once. A rough figure does: schedulers compare
/// it with cache sizes. A figure that is far too small lets tasks share a cache that they overflow;
/// one that is far too large leaves caches unused. The result never depends on it.
///
/// ```
/// let mut v = vec![1u32; 1000];
/// let (left, right) = v.split_at_mut(500);
/// befit::join(
///     befit::fit(size_of_val(left), || left.fill(2)),
///     befit::fit(size_of_val(right), || right.fill(3)),
/// );
/// assert_eq!(v.iter().sum::<u32>(), 2500);
/// ```
#[inline(always)]
pub fn fit<F>(bytes: usize, work: F) -> Fit<F> {
    Fit { work, size: Some(bytes), strand: None }
}

impl<F> Fit<F> {
    /// The closure of `work` with what is declared about it.
    #[inline(always)]
    pub(crate) fn of<W: Work<Closure = F>>(work: W) -> Self {
        let (size, strand) = (work.size(), work.strand());
        Self { work: work.into_closure(), size, strand }
    }

    /// Declares further that no strand of the work (a stretch without fork or join) touches more
    /// than `bytes`.
    ///
    /// Without it a strand is taken to touch as much as its whole task. It matters to `sb` and
    /// `sb-d` for tasks that are larger than a cache but pass through it in small pieces.
    ///
    /// ```
    /// let work = befit::fit(1 << 30, || "a gigabyte, a page at a time").strand(4096);
    /// let ((), s) = befit::join(|| (), work);
    /// assert!(s.starts_with("a gigabyte"));
    /// ```
    #[inline(always)]
    pub fn strand(mut self, bytes: usize) -> Self {
        self.strand = Some(bytes);
        self
    }
}

impl<F, R> Work for Fit<F>
where
    F: FnOnce() -> R,
{
    type Output = R;
    type Closure = F;
    const SIZED: bool = true;

    #[inline(always)]
    fn size(&self) -> Option<usize> {
        self.size
    }

    #[inline(always)]
    fn strand(&self) -> Option<usize> {
        self.strand
    }

    #[inline(always)]
    fn closure(&self) -> &F {
        &self.work
    }

    #[inline(always)]
    fn into_closure(self) -> F {
        self.work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_closure_declares_nothing() {
        fn sizes<W: Work>(work: &W) -> (bool, Option<usize>, Option<usize>) {
            (W::SIZED, work.size(), work.strand())
        }
        assert_eq!(sizes(&|| 1), (false, None, None));
        assert_eq!(sizes(&fit(64, || 1)), (true, Some(64), None));
        assert_eq!(sizes(&fit(64, || 1).strand(8)), (true, Some(64), Some(8)));
    }

    #[test]
    fn a_fit_returns_what_its_closure_returns() {
        let moved = String::from("moved in");
        assert_eq!(fit(8, move || moved).run(), "moved in");
    }
}
