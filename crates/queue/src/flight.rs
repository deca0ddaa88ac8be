//! Interleaved execution: G tasks in flight, each of which waits for its memory while the others
//! work.
//!
//! A look-up in a large index is a chain of cache misses, each of which must arrive before the next
//! address is known; one core could have ten or more on the way. So G look-ups take turns: each
//! does one step, asks for the memory of its next, and hands over. This is the asynchronous memory
//! access chaining of Kocberber, Falsafi and Grot ("Asynchronous Memory Access Chaining", PVLDB
//! 9(4), 2015, §3): a slot that finishes is refilled at once, so walks of different length do not
//! wait for each other. Async functions as coroutines are the form of Psaropoulos et al.
//! ("Interleaving with Coroutines", PVLDB 11(2), 2017, §4).

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::{Step, Walk};

/// How many tasks are in flight where nobody says: about as many lines as a core of the last ten
/// years keeps on the way to its second cache. More cost nothing much, as their state fits in the
/// first cache.
pub(super) const IN_FLIGHT: usize = 32;

/// Takes all of `walks` to their ends, `in_flight` at a time in turns, on the calling thread.
/// `done` gets each one's place among `walks` and its answer, in the order in which they end.
///
/// `walks` is asked for the next one when a place becomes free, so nothing is allocated but
/// `in_flight` places. An `in_flight` of 0 counts as 1. See [`Walk`] for an example.
///
/// Walks start in order; one that takes many steps may be overtaken by all that follow.
#[inline]
pub fn interleaved<W: Walk>(
    walks: impl IntoIterator<Item = W>,
    in_flight: usize,
    mut done: impl FnMut(usize, W::Output),
) {
    fly::<Stepping<W>, _>(walks.into_iter().enumerate(), in_flight, &mut done);
}

/// As [`interleaved`], for async functions that await nothing but [`prefetch`](super::prefetch()).
///
/// They are stored in `in_flight` boxes, which are reused. Other futures that are awaited inside
/// are polled again and again, without waiting for their wake-up.
#[inline]
pub fn interleaved_async<F: Future>(
    tasks: impl IntoIterator<Item = F>,
    in_flight: usize,
    mut done: impl FnMut(usize, F::Output),
) {
    fly::<Polling<F>, _>(tasks.into_iter().enumerate(), in_flight, &mut done);
}

/// The place of a task in flight.
pub(super) trait Slot {
    type Task;
    type Output;

    fn new(task: Self::Task) -> Self;

    /// The task that was here is over; another takes its place.
    fn refill(&mut self, task: Self::Task);

    fn advance(&mut self) -> Option<Self::Output>;
}

/// The loop of both forms. Tasks come with labels, which `done` gets back.
#[inline(always)]
pub(super) fn fly<S: Slot, L>(
    mut tasks: impl Iterator<Item = (L, S::Task)>,
    in_flight: usize,
    done: &mut impl FnMut(L, S::Output),
) {
    let first = tasks.by_ref().take(in_flight.max(1));
    let mut slots: Vec<(L, S)> = first.map(|(label, task)| (label, S::new(task))).collect();
    // While there are tasks to come, each turn goes over all slots and none is empty.
    'full: while !slots.is_empty() {
        for turn in 0..slots.len() {
            let (label, slot) = &mut slots[turn];
            if let Some(answer) = slot.advance() {
                let Some((next, task)) = tasks.next() else {
                    done(slots.swap_remove(turn).0, answer);
                    break 'full;
                };
                slot.refill(task);
                done(std::mem::replace(label, next), answer);
            }
        }
    }
    while !slots.is_empty() {
        let mut turn = 0;
        while turn < slots.len() {
            match slots[turn].1.advance() {
                Some(answer) => done(slots.swap_remove(turn).0, answer),
                None => turn += 1,
            }
        }
    }
}

/// A place for a state machine.
pub(super) struct Stepping<W>(W);

impl<W: Walk> Slot for Stepping<W> {
    type Task = W;
    type Output = W::Output;

    #[inline(always)]
    fn new(walk: W) -> Self {
        Self(walk)
    }

    #[inline(always)]
    fn refill(&mut self, walk: W) {
        self.0 = walk;
    }

    #[inline(always)]
    fn advance(&mut self) -> Option<W::Output> {
        match self.0.step() {
            Step::Next(place) => {
                place.prefetch();
                None
            }
            Step::Done(answer) => Some(answer),
        }
    }
}

/// A place for a future, which must not move while it is polled.
pub(super) struct Polling<F>(Pin<Box<F>>);

impl<F: Future> Slot for Polling<F> {
    type Task = F;
    type Output = F::Output;

    #[inline(always)]
    fn new(task: F) -> Self {
        Self(Box::pin(task))
    }

    #[inline(always)]
    fn refill(&mut self, task: F) {
        self.0.set(task);
    }

    #[inline(always)]
    fn advance(&mut self) -> Option<F::Output> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => None,
            Poll::Ready(answer) => Some(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Touch, prefetch};

    /// Counts down; answers where it started.
    struct Countdown {
        start: usize,
        left: usize,
        place: [u8; 8],
    }

    impl Walk for Countdown {
        type Output = usize;
        fn step(&mut self) -> Step<usize> {
            if self.left == 0 {
                return Step::Done(self.start);
            }
            self.left -= 1;
            Step::to(&self.place)
        }
    }

    /// Of all lengths, in no order.
    fn length(i: usize) -> usize {
        i * 7919 % 13
    }

    #[test]
    fn each_walk_ends_once_and_its_answer_goes_to_its_place() {
        for count in [0, 1, 3, 100] {
            for in_flight in [0, 1, 2, 32, 200] {
                let mut answers = vec![None; count];
                let walks = (0..count).map(|i| Countdown {
                    start: length(i),
                    left: length(i),
                    place: [0; 8],
                });
                interleaved(walks, in_flight, |i, answer| {
                    assert_eq!(answers[i].replace(answer), None)
                });
                assert!(answers.into_iter().eq((0..count).map(|i| Some(length(i)))));
            }
        }
    }

    #[test]
    fn async_functions_end_once_and_their_answers_go_to_their_places() {
        let places = [0u64; 13];
        for count in [0, 1, 100] {
            for in_flight in [0, 1, 32, 200] {
                let mut answers = vec![None; count];
                let tasks = (0..count).map(async |i| {
                    for place in &places[..length(i)] {
                        prefetch(Touch::of(place)).await;
                    }
                    length(i).to_string()
                });
                interleaved_async(tasks, in_flight, |i, answer| {
                    assert_eq!(answers[i].replace(answer), None)
                });
                assert!(answers.into_iter().eq((0..count).map(|i| Some(length(i).to_string()))));
            }
        }
    }

    #[test]
    fn no_more_walks_are_in_flight_than_asked_for() {
        use std::cell::Cell;
        let (live, most) = (Cell::new(0), Cell::new(0));
        let tasks = (0..50).map(|i| {
            live.set(live.get() + 1);
            most.set(most.get().max(live.get()));
            Countdown { start: i, left: length(i), place: [0; 8] }
        });
        interleaved(tasks, 5, |_, _| live.set(live.get() - 1));
        // The next one is made when one has ended, before its answer is handed over.
        assert_eq!((live.get(), most.get()), (0, 6));
    }
}
