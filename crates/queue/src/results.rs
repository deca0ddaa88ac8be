//! Places for results that come in any order, from any thread.

use std::{mem::MaybeUninit, ops::Range};

use crate::MemorySpan;

/// Bytes of a page. Larger pages are touched more than once.
const PAGE: usize = 4096;

/// A place for the result of each task of a batch.
pub(crate) struct Results<R> {
    places: *mut MaybeUninit<R>,
    len: usize,
}

// SAFETY: a place is written by at most one thread, as `put` demands, and nothing is read through
// an `Results`. The value that is moved into the place by that thread, and out of it by the
// buffer's owner later, is `Send`.
unsafe impl<R: Send> Sync for Results<R> {}

impl<R> Results<R> {
    /// Has `f` put a result for each of `count` tasks, and returns them in the tasks' order.
    ///
    /// If `f` panics, the results so far are forgotten without being dropped.
    ///
    /// # Safety
    /// When `f` returns, [`put`](Self::put) must have been called once for each number below
    /// `count`, and all these calls must happen before that.
    pub(crate) unsafe fn collect(count: usize, f: impl FnOnce(&Self)) -> Vec<R> {
        let mut results = Vec::with_capacity(count);
        f(&Self { places: results.spare_capacity_mut().as_mut_ptr(), len: count });
        // SAFETY: the capacity is `count`, and the caller promises that `f` has written all places.
        unsafe { results.set_len(count) };
        results
    }

    /// Fetches the place of `number` into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, number: usize) {
        if size_of::<R>() > 0 {
            MemorySpan::at(self.places.wrapping_add(number), 1).prefetch();
        }
    }

    /// Touches the pages of these places in order, so that the system makes them before results
    /// come. Otherwise the first task with a result on a page would pay for it, and look slow.
    ///
    /// # Safety
    /// No result has been put in these places, and no thread puts one meanwhile.
    pub(crate) unsafe fn make_pages(&self, numbers: Range<usize>) {
        assert!(numbers.end <= self.len, "tasks' numbers are of the batch");
        let bytes = numbers.len() * size_of::<R>();
        let start = self.places.wrapping_add(numbers.start).cast::<u8>();
        for offset in (0..bytes).step_by(PAGE) {
            // SAFETY: the byte is within the buffer, of a place that holds no result yet and that
            // no other thread accesses, as the caller promises; a place without a result may hold
            // any byte.
            unsafe { start.wrapping_add(offset).write_volatile(0) };
        }
    }

    /// # Safety
    /// Called at most once with each number, within the call of [`collect`](Self::collect)'s `f`.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, number: usize, result: R) {
        assert!(number < self.len, "a task's number is one of the batch");
        // SAFETY: the number is within the buffer, which has room for `len` results.
        let place = unsafe { self.places.add(number) };
        // SAFETY: the place is within the buffer, which lives until `f` has returned and is not
        // accessed otherwise meanwhile; no other call has this number.
        unsafe { place.write(MaybeUninit::new(result)) };
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn results_come_out_in_the_order_of_their_tasks() {
        let put = |results: &Results<String>| {
            // SAFETY: no result has been put yet.
            unsafe { results.make_pages(0..5) };
            for i in [3, 0, 4, 1, 2] {
                results.prefetch(i);
                // SAFETY: no number comes twice.
                unsafe { results.put(i, i.to_string()) };
            }
        };
        // SAFETY: each number below 5 is put once.
        let results = unsafe { Results::collect(5, put) };
        assert_eq!(results, ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn a_number_that_is_none_of_the_batchs_is_refused() {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the only call.
            let put = |results: &Results<u8>| unsafe { results.put(2, 0) };
            // SAFETY: it panics before it returns.
            unsafe { Results::collect(2, put) }
        }));
        assert!(outcome.is_err());
    }
}
