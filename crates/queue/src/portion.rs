//! Runs one portion of a batch in one of the ways.

use std::{ops::Range, time::Instant};

use befit::{current_num_threads, fit, join, par_for};

use crate::{
    Hint, MemorySpan, Run,
    measure::{Clock, Kind, Pieces},
    order::{Digits, Window},
    results::Results,
};

/// The descriptions of tasks and the places of their results are prefetched so many tasks ahead:
/// in an order other than arrival they lie all over the window.
const AHEAD: usize = 16;

/// The fewest and the most tasks of a piece, which is also the unit of measurement. Towards the end
/// of a piece ever fewer tasks are in flight, so a piece has many times as many as fly at once.
pub(crate) const PIECE: Range<usize> = 256..4096;

/// Pieces for each thread, if there are enough tasks.
const PIECES_PER_THREAD: usize = 16;

/// Which pieces run with many tasks in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flights {
    /// All or none.
    Are(bool),
    /// As given, but one piece of so many the other way, for comparison.
    Mixed(bool, usize),
}

impl Flights {
    pub(crate) fn of(self, piece: usize) -> bool {
        match self {
            Self::Are(flight) => flight,
            // Neither the first nor the last piece, which are not like others.
            Self::Mixed(flight, every) => flight != (piece % every == every / 2),
        }
    }
}

/// Tasks and how they run.
pub(crate) struct Batch<'a, T, R: Run<T>, H> {
    pub(crate) tasks: &'a [T],
    pub(crate) results: &'a Results<R::Output>,
    pub(crate) run: &'a R,
    pub(crate) hint: &'a H,
    pub(crate) in_flight: usize,
    /// Bytes that the tasks of the batch touch.
    pub(crate) data: Option<usize>,
}

impl<T: Sync, R: Run<T>, H: Hint<T>> Batch<'_, T, R, H> {
    /// Runs the tasks with these numbers in the order of arrival; pieces of it in parallel.
    ///
    /// # Safety
    /// No task is run twice, nor after the call for which [`Results::collect`] gave out the
    /// results.
    pub(crate) unsafe fn arrival(&self, portion: Range<usize>, flights: Flights) -> Pieces {
        let (clock, len) = (Clock::default(), piece(portion.len()));
        par_for(0..portion.len().div_ceil(len), |i| {
            let first = portion.start + i * len;
            let numbers = first..portion.end.min(first + len);
            // SAFETY: the pieces have no number in common, and the caller promises the rest for
            // all.
            unsafe { self.piece(numbers.len(), numbers, flights.of(i), Instant::now(), &clock) };
        });
        clock.into_pieces()
    }

    /// Runs them in the order of their keys' `bits` leading bits; contiguous ranges of keys in
    /// parallel.
    ///
    /// # Safety
    /// As [`Self::arrival`].
    pub(crate) unsafe fn ordered(
        &self,
        portion: Range<usize>,
        window: &mut Window,
        bits: u32,
        flights: Flights,
    ) -> Pieces {
        let clock = Clock::default();
        let tasks = &self.tasks[portion.clone()];
        let digits = Digits::of(tasks, |task| self.hint.key(task), bits);
        let first = portion.start;
        // SAFETY: the portion's tasks have not been run, and are not before the window is sorted.
        let prepare = |part: Range<usize>| unsafe {
            self.results.make_pages(first + part.start..first + part.end)
        };
        window.sort(tasks, |task| self.hint.key(task), digits, piece(tasks.len()), prepare, &clock);
        let groups = Groups { batch: self, window, first, flights, clock: &clock };
        // SAFETY: a window has each of its tasks in one group, and the caller promises the rest.
        unsafe { groups.run(0..window.groups.len()) };
        clock.into_pieces()
    }

    /// Runs the tasks that `order` gives, `count` of them.
    ///
    /// # Safety
    /// As [`Self::arrival`].
    #[inline(always)]
    unsafe fn piece(
        &self,
        count: usize,
        order: impl Iterator<Item = usize>,
        flight: bool,
        start: Instant,
        clock: &Clock,
    ) {
        // SAFETY: the caller promises that each number comes once.
        let put = |number, result| unsafe { self.results.put(number, result) };
        if flight {
            self.run.many(self.tasks, order, self.in_flight, put);
        } else {
            order.for_each(|number| put(number, self.run.one(&self.tasks[number])));
        }
        let kind = if flight { Kind::Flight } else { Kind::Plain };
        clock.add(kind, count, start.elapsed());
    }
}

/// Tasks of a piece of a portion of `tasks`.
fn piece(tasks: usize) -> usize {
    (tasks / (PIECES_PER_THREAD * current_num_threads())).clamp(PIECE.start, PIECE.end)
}

/// The groups of buckets of a window.
struct Groups<'a, T, R: Run<T>, H> {
    batch: &'a Batch<'a, T, R, H>,
    window: &'a Window,
    /// Number of the window's first task.
    first: usize,
    flights: Flights,
    clock: &'a Clock,
}

impl<T: Sync, R: Run<T>, H: Hint<T>> Groups<'_, T, R, H> {
    /// Halves, down to single groups: neighbouring keys stay with one thread, or one cache if the
    /// scheduler goes by size.
    ///
    /// # Safety
    /// As [`Batch::arrival`].
    unsafe fn run(&self, groups: Range<usize>) {
        if groups.len() <= 1 {
            for group in groups {
                // SAFETY: the caller promises it for each of the groups, and none comes twice.
                unsafe { self.group(group) };
            }
            return;
        }
        let middle = groups.start + groups.len() / 2;
        // SAFETY: the halves have no group in common, and the caller promises the rest for both.
        let left = || unsafe { self.run(groups.start..middle) };
        // SAFETY: as for the left half.
        let right = || unsafe { self.run(middle..groups.end) };
        match self.batch.data {
            Some(data) => {
                let half = data / 2 / self.window.groups.len() * groups.len();
                join(fit(half, left), fit(half, right));
            }
            None => _ = join(left, right),
        }
    }

    /// # Safety
    /// As [`Batch::arrival`].
    unsafe fn group(&self, group: usize) {
        let start = Instant::now();
        let order = self.window.take(self.window.groups[group].clone());
        let numbers = order.iter().enumerate().map(|(i, number)| {
            if let Some(later) = order.get(i + AHEAD) {
                let later = self.first + *later as usize;
                MemorySpan::at(self.batch.tasks.as_ptr().wrapping_add(later), size_of::<T>())
                    .prefetch();
                self.batch.results.prefetch(later);
            }
            self.first + *number as usize
        });
        // SAFETY: a window has each of its tasks once, and the caller promises the rest.
        unsafe {
            self.batch.piece(order.len(), numbers, self.flights.of(group), start, self.clock)
        };
    }
}
