//! Interleaved execution: many tasks in flight on one core, each of which waits for its memory
//! while the others work.
//!
//! A look-up in a large index is a chain of cache misses: the next address is known only when the
//! last miss has arrived. A core can have ten or more misses on the way. So several look-ups take
//! turns: each does one step, prefetches the memory of its next one, and hands over. This is
//! asynchronous memory access chaining (Kocberber, Falsafi and Grot, "Asynchronous Memory Access
//! Chaining", PVLDB 9(4), 2015, §3): a slot is refilled as soon as its task ends, so tasks of
//! different length do not wait for each other. Async functions as coroutines follow Psaropoulos et
//! al. ("Interleaving with Coroutines", PVLDB 11(2), 2017, §4).

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::{Walk, WalkStep};

/// The default number of tasks in flight: about as many lines as a recent core keeps on the way
/// to its second cache. The state of more tasks still fits in the first cache, so more cost little.
pub(crate) const IN_FLIGHT: usize = 32;

/// Takes all of `walks` to their ends, `in_flight` at a time in turns, on the calling thread.
/// `done` gets each one's place among `walks` and its result, in the order in which they end.
///
/// `walks` is asked for the next one when a place becomes free, so nothing is allocated but
/// `in_flight` places. An `in_flight` of 0 counts as 1. See [`Walk`] for an example.
///
/// Walks start in order; one that takes many steps may be overtaken by all that follow.
#[inline]
pub fn interleaved<W: Walk>(
    walks: impl IntoIterator<Item = W>,
    in_flight: usize,
    done: impl FnMut(usize, W::Output),
) {
    fly_walks(walks.into_iter().enumerate(), in_flight, done);
}

/// As [`interleaved`], for async functions that await nothing but [`prefetch`](crate::prefetch()).
///
/// They are stored in `in_flight` boxes, which are reused. Other futures that are awaited inside
/// are polled again and again, without waiting for their wake-up.
#[inline]
pub fn interleaved_async<F: Future>(
    tasks: impl IntoIterator<Item = F>,
    in_flight: usize,
    done: impl FnMut(usize, F::Output),
) {
    fly_futures(tasks.into_iter().enumerate(), in_flight, done);
}

/// [`interleaved`] with any labels, which `done` gets back.
#[inline(always)]
pub(crate) fn fly_walks<L, W: Walk>(
    walks: impl Iterator<Item = (L, W)>,
    in_flight: usize,
    done: impl FnMut(L, W::Output),
) {
    let advance = |walk: &mut W| match walk.step() {
        WalkStep::Next(span) => {
            span.prefetch();
            None
        }
        WalkStep::Done(result) => Some(result),
    };
    fly(walks, in_flight, |walk| walk, |slot, walk| *slot = walk, advance, done);
}

/// [`interleaved_async`] with any labels, which `done` gets back.
#[inline(always)]
pub(crate) fn fly_futures<L, F: Future>(
    tasks: impl Iterator<Item = (L, F)>,
    in_flight: usize,
    done: impl FnMut(L, F::Output),
) {
    let advance = |slot: &mut Pin<Box<F>>| match slot
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Pending => None,
        Poll::Ready(result) => Some(result),
    };
    fly(tasks, in_flight, Box::pin, |slot, task| slot.set(task), advance, done);
}

/// The loop of both forms. `start` puts a task into a new slot and `refill` into one whose task has
/// ended; `advance` runs a slot's task up to its next prefetch.
#[inline(always)]
fn fly<L, T, S, R>(
    mut tasks: impl Iterator<Item = (L, T)>,
    in_flight: usize,
    start: impl Fn(T) -> S,
    refill: impl Fn(&mut S, T),
    advance: impl Fn(&mut S) -> Option<R>,
    mut done: impl FnMut(L, R),
) {
    let first = tasks.by_ref().take(in_flight.max(1));
    let mut slots: Vec<(L, S)> = first.map(|(label, task)| (label, start(task))).collect();
    // While there are tasks to come, each turn goes over all slots and none is empty.
    'full: while !slots.is_empty() {
        for turn in 0..slots.len() {
            let (label, slot) = &mut slots[turn];
            if let Some(result) = advance(slot) {
                let Some((next, task)) = tasks.next() else {
                    done(slots.swap_remove(turn).0, result);
                    break 'full;
                };
                refill(slot, task);
                done(std::mem::replace(label, next), result);
            }
        }
    }
    while !slots.is_empty() {
        let mut turn = 0;
        while turn < slots.len() {
            match advance(&mut slots[turn].1) {
                Some(result) => done(slots.swap_remove(turn).0, result),
                None => turn += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemorySpan, prefetch};

    /// Counts down; its result is where it started.
    struct Countdown {
        start: usize,
        left: usize,
        place: [u8; 8],
    }

    impl Walk for Countdown {
        type Output = usize;
        fn step(&mut self) -> WalkStep<usize> {
            if self.left == 0 {
                return WalkStep::Done(self.start);
            }
            self.left -= 1;
            WalkStep::to(&self.place)
        }
    }

    /// Of all lengths, in no order.
    fn length(i: usize) -> usize {
        i * 7919 % 13
    }

    #[test]
    fn each_walk_and_async_function_ends_once_and_its_result_goes_to_its_place() {
        let places = [0u64; 13];
        for count in [0, 1, 3, 100] {
            for in_flight in [0, 1, 2, 32, 200] {
                let mut results = vec![None; count];
                let walks = (0..count).map(|i| Countdown {
                    start: length(i),
                    left: length(i),
                    place: [0; 8],
                });
                interleaved(walks, in_flight, |i, result| {
                    assert_eq!(results[i].replace(result), None)
                });
                assert!(results.into_iter().eq((0..count).map(|i| Some(length(i)))));

                let mut results = vec![None; count];
                let tasks = (0..count).map(async |i| {
                    for place in &places[..length(i)] {
                        prefetch(MemorySpan::of(place)).await;
                    }
                    length(i).to_string()
                });
                interleaved_async(tasks, in_flight, |i, result| {
                    assert_eq!(results[i].replace(result), None)
                });
                assert!(results.into_iter().eq((0..count).map(|i| Some(length(i).to_string()))));
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
        // The next one is made when one has ended, before its result is handed over.
        assert_eq!((live.get(), most.get()), (0, 6));
    }
}
