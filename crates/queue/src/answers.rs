//! Places for answers that come in any order, from any thread.

use std::{mem::MaybeUninit, ops::Range};

use crate::Touch;

/// Bytes of a page; where they are larger, some are touched twice.
const PAGE: usize = 4096;

/// A place for the answer of each task of a batch.
pub(super) struct Answers<R> {
    places: *mut MaybeUninit<R>,
    len: usize,
}

// SAFETY: a place is written by at most one thread, as `put` demands, and nothing is read through
// an `Answers`. The value that is moved into the place by that thread, and out of it by the
// buffer's owner later, is `Send`.
unsafe impl<R: Send> Sync for Answers<R> {}

impl<R> Answers<R> {
    /// `f` puts an answer for each of `count` tasks, which come out in the tasks' order.
    ///
    /// If `f` panics, the answers that there are by then are forgotten without being dropped.
    ///
    /// # Safety
    /// When `f` returns, [`put`](Self::put) must have been called once for each number below
    /// `count`, and all these calls must happen before that.
    pub(super) unsafe fn collect(count: usize, f: impl FnOnce(&Self)) -> Vec<R> {
        let mut answers = Vec::with_capacity(count);
        f(&Self { places: answers.spare_capacity_mut().as_mut_ptr(), len: count });
        // SAFETY: the capacity is `count`, and the caller promises that all these places are
        // written.
        unsafe { answers.set_len(count) };
        answers
    }

    /// Fetches the place of `number` into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, number: usize) {
        if size_of::<R>() > 0 {
            Touch::at(self.places.wrapping_add(number), 1).prefetch();
        }
    }

    /// Touches the pages of places, so that the system makes them: in order, before answers come in
    /// another one. Whoever came first to each page would pay for it, and look as if it were slow.
    ///
    /// # Safety
    /// No answer has been put in these places, and nobody puts one meanwhile.
    pub(super) unsafe fn make_pages(&self, numbers: Range<usize>) {
        assert!(numbers.end <= self.len, "tasks' numbers are of the batch");
        let bytes = numbers.len() * size_of::<R>();
        let start = self.places.wrapping_add(numbers.start).cast::<u8>();
        for offset in (0..bytes).step_by(PAGE) {
            // SAFETY: the byte is within the buffer, of a place that holds no answer yet and that
            // no other thread accesses, as the caller promises; a place without an answer may hold
            // any byte.
            unsafe { start.wrapping_add(offset).write_volatile(0) };
        }
    }

    /// # Safety
    /// Called at most once with each number, within the call of [`collect`](Self::collect)'s `f`.
    #[inline(always)]
    pub(super) unsafe fn put(&self, number: usize, answer: R) {
        assert!(number < self.len, "a task's number is one of the batch");
        // SAFETY: the number is within the buffer, which has room for `len` answers.
        let place = unsafe { self.places.add(number) };
        // SAFETY: the place is within the buffer, which lives until `f` has returned and is not
        // accessed otherwise meanwhile; no other call has this number.
        unsafe { place.write(MaybeUninit::new(answer)) };
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn answers_come_out_in_the_order_of_their_tasks() {
        let put = |answers: &Answers<String>| {
            // SAFETY: no answer has been put yet.
            unsafe { answers.make_pages(0..5) };
            for i in [3, 0, 4, 1, 2] {
                answers.prefetch(i);
                // SAFETY: no number comes twice.
                unsafe { answers.put(i, i.to_string()) };
            }
        };
        // SAFETY: each number below 5 is put once.
        let answers = unsafe { Answers::collect(5, put) };
        assert_eq!(answers, ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn a_number_that_is_none_of_the_batchs_is_refused() {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the only call.
            let put = |answers: &Answers<u8>| unsafe { answers.put(2, 0) };
            // SAFETY: it panics before it returns.
            unsafe { Answers::collect(2, put) }
        }));
        assert!(outcome.is_err());
    }
}
