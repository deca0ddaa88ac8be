//! Where a task goes next: an address and a length, and the instruction that fetches it ahead of
//! use.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// Bytes of a cache line. On machines with longer lines some prefetches are wasted, nothing else.
const LINE: usize = 64;

/// The most lines that one prefetch asks for. Cores track 10 to 50 lines in flight: more would only
/// wait.
const MOST_LINES: usize = 16;

/// Memory that a task is going to touch: its address and its length. It is a hint, and keeps
/// nothing alive.
///
/// ```
/// use befit_queue::Touch;
///
/// let nodes = [[0u64; 8]; 100];
/// assert_eq!(Touch::of(&nodes[3]).bytes(), 64);
/// assert_eq!(Touch::of(&nodes[10..20]).bytes(), 640);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    address: usize,
    bytes: usize,
}

impl Touch {
    /// All of `place`. Taking a reference to an element (`&nodes[i]`) loads nothing of it.
    #[inline(always)]
    pub fn of<T: ?Sized>(place: &T) -> Self {
        Self { address: (&raw const *place).cast::<u8>().addr(), bytes: size_of_val(place) }
    }

    /// `bytes` bytes from `address` on.
    #[inline(always)]
    pub fn at<T>(address: *const T, bytes: usize) -> Self {
        Self { address: address.addr(), bytes }
    }

    /// The first byte's address.
    #[inline(always)]
    pub fn address(self) -> usize {
        self.address
    }

    /// Length in bytes.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Asks the processor to fetch the lines of it (at most 16), and does not wait for them.
    #[inline(always)]
    pub fn prefetch(self) {
        prefetch_line(self.address);
        // Mostly there is no second line.
        let last =
            self.address.wrapping_add(self.bytes.clamp(1, LINE * MOST_LINES) - 1) & !(LINE - 1);
        let mut line = self.address & !(LINE - 1);
        while line != last {
            line = line.wrapping_add(LINE);
            prefetch_line(line);
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(befit_record), not(miri)))]
#[inline(always)]
fn prefetch_line(address: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of SSE, which every x86-64 processor has. It reads nothing
    // that the program can see, and does nothing for an address that is not mapped, so any address
    // will do.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
}

/// There is no stable prefetch elsewhere: interleaving then gains only what out-of-order execution
/// does.
#[cfg(not(all(target_arch = "x86_64", not(befit_record), not(miri))))]
#[inline(always)]
fn prefetch_line(_: usize) {}

/// For async functions: prefetches `place` and lets the other tasks in flight go on meanwhile.
///
/// Under [`interleaved_async`](super::interleaved_async) and
/// [`Queue::in_coroutines`](super::Queue::in_coroutines); any other executor would take it for a
/// task that sleeps and is never woken.
///
/// ```
/// use befit_queue::{Touch, interleaved_async, prefetch};
///
/// let (next, values) = ([3, 0, 1, 2], [10, 11, 12, 13]);
/// let two_hops = async |start: usize| {
///     prefetch(Touch::of(&next[start])).await;
///     let hop = next[start];
///     prefetch(Touch::of(&values[hop])).await;
///     values[hop]
/// };
/// let mut found = [0; 4];
/// interleaved_async((0..4).map(two_hops), 2, |i, value| found[i] = value);
/// assert_eq!(found, [13, 10, 11, 12]);
/// ```
#[inline(always)]
pub fn prefetch(place: Touch) -> Prefetch {
    Prefetch { place, asked: false }
}

/// What [`prefetch`] answers: await it.
#[derive(Debug)]
#[must_use = "a Prefetch does nothing until it is awaited"]
pub struct Prefetch {
    place: Touch,
    asked: bool,
}

impl Future for Prefetch {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.asked {
            return Poll::Ready(());
        }
        self.asked = true;
        self.place.prefetch();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_can_be_prefetched() {
        for (address, bytes) in
            [(0, 0), (0, 64), (1, 1000), (usize::MAX, 1), (usize::MAX - 3, usize::MAX)]
        {
            Touch { address, bytes }.prefetch();
        }
        Touch::of(&()).prefetch();
    }

    #[test]
    fn a_touch_covers_its_whole_place() {
        let numbers = [0u32; 10];
        let touch = Touch::of(&numbers[2..5]);
        assert_eq!((touch.address(), touch.bytes()), (numbers.as_ptr().addr() + 8, 12));
        assert_eq!(Touch::at(&raw const numbers[2], 12), touch);
    }
}
