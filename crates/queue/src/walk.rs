//! A task in steps, each of which announces the memory that the next one touches, and the
//! instruction that fetches this memory ahead of use.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// A task written as a state machine: a look-up in an index, say, that goes from node to node.
///
/// Other tasks run between two steps, while the memory for the next step is on its way. So a step
/// should touch only the span that the step before announced.
///
/// ```
/// use befit_queue::{Walk, WalkStep, interleaved};
///
/// struct Node {
///     key: u32,
///     children: [usize; 2], // 0: none
/// }
///
/// struct Search<'a> {
///     nodes: &'a [Node],
///     key: u32,
///     at: usize,
///     asked: bool,
/// }
///
/// impl Walk for Search<'_> {
///     type Output = bool;
///     fn step(&mut self) -> WalkStep<bool> {
///         let node = &self.nodes[self.at];
///         if !std::mem::replace(&mut self.asked, true) {
///             return WalkStep::to(node); // the first one announces the root
///         }
///         if node.key == self.key {
///             return WalkStep::Done(true);
///         }
///         self.at = node.children[usize::from(self.key > node.key)];
///         if self.at == 0 { WalkStep::Done(false) } else { WalkStep::to(&self.nodes[self.at]) }
///     }
/// }
///
/// let leaf = |key| Node { key, children: [0, 0] };
/// let nodes = [Node { key: 5, children: [1, 2] }, leaf(3), leaf(8)];
/// let keys = [1, 3, 5, 8, 9];
/// let mut found = [false; 5];
/// let searches = keys.iter().map(|key| Search { nodes: &nodes, key: *key, at: 0, asked: false });
/// interleaved(searches, 4, |i, result| found[i] = result);
/// assert_eq!(found, [false, true, true, true, false]);
/// ```
pub trait Walk {
    /// The result of the task.
    type Output;

    /// Does the next piece of work. Not called again after [`WalkStep::Done`].
    fn step(&mut self) -> WalkStep<Self::Output>;
}

/// The outcome of a step of a [`Walk`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalkStep<R> {
    /// The task goes on, and will touch this span.
    Next(MemorySpan),
    /// The task is over.
    Done(R),
}

impl<R> WalkStep<R> {
    /// The task goes on, and will touch `place`.
    #[inline(always)]
    pub fn to<T: ?Sized>(place: &T) -> Self {
        Self::Next(MemorySpan::of(place))
    }
}

/// Bytes of a cache line. On machines with longer lines some prefetches are superfluous.
const LINE: usize = 64;

/// The most lines that one prefetch asks for. Cores track 10 to 50 lines in flight, so more would
/// only wait.
const MOST_LINES: usize = 16;

/// Memory that a task is going to touch: its address and its length. A span is a hint and keeps
/// nothing alive.
///
/// ```
/// use befit_queue::MemorySpan;
///
/// let nodes = [[0u64; 8]; 100];
/// assert_eq!(MemorySpan::of(&nodes[3]).bytes(), 64);
/// assert_eq!(MemorySpan::of(&nodes[10..20]).bytes(), 640);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemorySpan {
    address: usize,
    bytes: usize,
}

impl MemorySpan {
    /// All of `place`. A reference to an element (`&nodes[i]`) loads nothing of it.
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

/// Prefetches a line on x86-64. Other processors have no stable prefetch: there interleaving gains
/// only what out-of-order execution does.
#[inline(always)]
fn prefetch_line(address: usize) {
    let line: *const i8 = std::ptr::without_provenance(address);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has SSE, which the instruction is part of. The instruction
    // reads nothing that the program can see and ignores an address that is not mapped, so any
    // address is valid.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line);
    }
    let _ = line;
}

/// For async functions: prefetches `span` and lets the other tasks in flight go on meanwhile.
///
/// It works under [`interleaved_async`](crate::interleaved_async) and
/// [`Queue::in_coroutines`](crate::Queue::in_coroutines). Any other executor takes it for a task
/// that sleeps and is never woken.
///
/// ```
/// use befit_queue::{MemorySpan, interleaved_async, prefetch};
///
/// let (next, values) = ([3, 0, 1, 2], [10, 11, 12, 13]);
/// let two_hops = async |start: usize| {
///     prefetch(MemorySpan::of(&next[start])).await;
///     let hop = next[start];
///     prefetch(MemorySpan::of(&values[hop])).await;
///     values[hop]
/// };
/// let mut found = [0; 4];
/// interleaved_async((0..4).map(two_hops), 2, |i, value| found[i] = value);
/// assert_eq!(found, [13, 10, 11, 12]);
/// ```
#[inline(always)]
pub fn prefetch(span: MemorySpan) -> Prefetch {
    Prefetch { span, asked: false }
}

/// The future that [`prefetch`] returns.
#[derive(Debug)]
#[must_use = "a Prefetch does nothing until it is awaited"]
pub struct Prefetch {
    span: MemorySpan,
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
        self.span.prefetch();
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
            MemorySpan { address, bytes }.prefetch();
        }
        MemorySpan::of(&()).prefetch();
    }

    #[test]
    fn a_span_covers_its_whole_place() {
        let numbers = [0u32; 10];
        let span = MemorySpan::of(&numbers[2..5]);
        assert_eq!((span.address(), span.bytes()), (numbers.as_ptr().addr() + 8, 12));
        assert_eq!(MemorySpan::at(&raw const numbers[2], 12), span);
    }
}
