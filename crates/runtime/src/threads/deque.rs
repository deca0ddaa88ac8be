//! A deque of pointers that needs no lock: its owner puts in and takes out at the *new* end, any
//! thread takes out at the *old* end.
//!
//! Chase & Lev, *Dynamic circular work-stealing deque* (SPAA 2005), with the memory orders of Lê,
//! Pop, Cohen & Zappa Nardelli, *Correct and efficient work-stealing for weak memory models* (PPoPP
//! 2013). Deviations:
//! - Buffers that have become too small stay until the deque goes, as a thief may read them. Each
//!   is half as large as the next.
//! - The owner remembers what it last saw of the old end, and reads the thieves' line only when the
//!   deque seems full, empty, or nearly so.
//! - The owner stores its end with release order throughout, where theirs has a fence before.

use std::{
    fmt, ptr,
    ptr::NonNull,
    sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use crossbeam_utils::CachePadded;

use crate::threads::primitive::{AtomicPtr, AtomicUsize, fence};

/// Places in the first buffer.
const PLACES: usize = if cfg!(loom) { 2 } else { 64 };

/// The deque. Both ends are numbers that only grow, but for the new end when the owner takes out;
/// entry number i lies at place i of the buffer, modulo its length.
pub(crate) struct Deque<T> {
    new: CachePadded<NewEnd<T>>,
    /// The number of the oldest entry.
    old: CachePadded<AtomicUsize>,
}

/// What the owner writes.
struct NewEnd<T> {
    /// The number after that of the newest entry.
    end: AtomicUsize,
    /// The old end is at least here. The owner's alone.
    old_was: AtomicUsize,
    buffer: AtomicPtr<Buffer<T>>,
}

struct Buffer<T> {
    places: Box<[AtomicPtr<T>]>,
    /// The buffer that was in use before; null for the first.
    before: *mut Self,
}

// SAFETY: the deque gives out the pointers that were put in, and touches nothing behind them; all
// of its own is atomic, but for buffers, which do not change once others can see them.
unsafe impl<T> Send for Deque<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Deque<T> {}

impl<T> Buffer<T> {
    fn leak(places: usize, before: *mut Self) -> *mut Self {
        let places = (0..places).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Box::into_raw(Box::new(Self { places, before }))
    }

    #[inline]
    fn place(&self, number: usize) -> &AtomicPtr<T> {
        &self.places[number & (self.places.len() - 1)]
    }
}

/// How many entries lie between the two ends; negative while the owner takes out the last one.
#[inline]
fn between(old: usize, new: usize) -> isize {
    new.wrapping_sub(old).cast_signed()
}

impl<T> Deque<T> {
    pub(crate) fn new() -> Self {
        let new = NewEnd {
            end: AtomicUsize::new(0),
            old_was: AtomicUsize::new(0),
            buffer: AtomicPtr::new(Buffer::leak(PLACES, ptr::null_mut())),
        };
        Self { new: CachePadded::new(new), old: CachePadded::new(AtomicUsize::new(0)) }
    }

    /// How many entries there seem to be.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let new = self.new.end.load(Acquire);
        between(self.old.load(Acquire), new).max(0).cast_unsigned()
    }

    /// The owner's buffer.
    #[inline]
    fn buffer(&self) -> &Buffer<T> {
        // SAFETY: buffers live as long as the deque.
        unsafe { &*self.new.buffer.load(Relaxed) }
    }

    /// Puts in the newest entry.
    ///
    /// # Safety
    /// Only on the owner's thread.
    #[inline]
    pub(crate) unsafe fn push(&self, entry: NonNull<T>) {
        let new = self.new.end.load(Relaxed);
        let mut buffer = self.buffer();
        let room = buffer.places.len().cast_signed();
        if between(self.new.old_was.load(Relaxed), new) >= room {
            // A thief has read its entry before it moved the end: acquired here, so the place may
            // be written.
            let old = self.old.load(Acquire);
            self.new.old_was.store(old, Relaxed);
            if between(old, new) >= room {
                self.grow(old, new);
                buffer = self.buffer();
            }
        }
        buffer.place(new).store(entry.as_ptr(), Relaxed);
        self.new.end.store(new.wrapping_add(1), Release);
    }

    /// The owner: goes on in a buffer of twice the length.
    #[cold]
    #[inline(never)]
    fn grow(&self, old: usize, new: usize) {
        let before = self.new.buffer.load(Relaxed);
        // SAFETY: buffers live as long as the deque.
        let small = unsafe { &*before };
        let large = Buffer::leak(2 * small.places.len(), before);
        // SAFETY: just made.
        let places = unsafe { &*large };
        let mut number = old;
        while number != new {
            places.place(number).store(small.place(number).load(Relaxed), Relaxed);
            number = number.wrapping_add(1);
        }
        self.new.buffer.store(large, Release);
    }

    /// Takes out the newest entry.
    ///
    /// # Safety
    /// Only on the owner's thread.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<NonNull<T>> {
        let end = self.new.end.load(Relaxed);
        // The old end only grows: what seems empty is.
        if between(self.old.load(Relaxed), end) <= 0 {
            return None;
        }
        let newest = end.wrapping_sub(1);
        self.new.end.store(newest, Release);
        fence(SeqCst);
        let old = self.old.load(Relaxed);
        let left = between(old, newest);
        if left <= 0 {
            // Nothing else is left: a thief may be about to take it.
            let own = left == 0 && self.old.compare_exchange(old, end, SeqCst, Relaxed).is_ok();
            self.new.end.store(end, Release);
            if !own {
                return None;
            }
        }
        NonNull::new(self.buffer().place(newest).load(Relaxed))
    }

    /// Takes out the oldest entry; on any thread.
    pub(crate) fn take_old(&self) -> Option<NonNull<T>> {
        loop {
            let old = self.old.load(Acquire);
            fence(SeqCst);
            let end = self.new.end.load(Acquire);
            if between(old, end) <= 0 {
                return None;
            }
            // SAFETY: buffers live as long as the deque.
            let buffer = unsafe { &*self.new.buffer.load(Acquire) };
            let entry = buffer.place(old).load(Relaxed);
            // Else another has taken it, and what was read may be anything.
            if self.old.compare_exchange(old, old.wrapping_add(1), SeqCst, Relaxed).is_ok() {
                return NonNull::new(entry);
            }
        }
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        let mut buffer = self.new.buffer.load(Relaxed);
        while !buffer.is_null() {
            // SAFETY: leaked by `Buffer::leak`; each is in the chain once; nobody else is left.
            buffer = unsafe { Box::from_raw(buffer) }.before;
        }
    }
}

impl<T> fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Entries are only told apart, so their addresses are numbers.
    fn entry(number: usize) -> NonNull<u8> {
        NonNull::new(ptr::without_provenance_mut(number)).unwrap()
    }

    #[test]
    fn the_owner_gets_the_newest_and_others_get_the_oldest() {
        let deque = Deque::new();
        for number in 1..=1000 {
            // SAFETY: this thread is the owner.
            unsafe { deque.push(entry(number)) };
        }
        assert_eq!(deque.len(), 1000);
        for number in 1..=500 {
            assert_eq!(deque.take_old(), Some(entry(number)));
            // SAFETY: this thread is the owner.
            assert_eq!(unsafe { deque.pop() }, Some(entry(1001 - number)));
        }
        // SAFETY: this thread is the owner.
        assert_eq!((deque.take_old(), unsafe { deque.pop() }), (None, None));
    }

    #[test]
    fn a_deque_is_used_again_after_it_was_empty() {
        let deque = Deque::new();
        for number in 1..=1000 {
            // SAFETY: this thread is the owner.
            unsafe { deque.push(entry(number)) };
            // SAFETY: this thread is the owner.
            let own = || unsafe { deque.pop() };
            let taken = if number % 2 == 0 { own() } else { deque.take_old() };
            assert_eq!(taken, Some(entry(number)));
        }
        assert_eq!(deque.len(), 0);
    }
}
