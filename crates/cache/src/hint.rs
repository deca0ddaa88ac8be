//! Hints to the host: they make the model faster and change nothing.

/// Asks the host to bring `slice[at]` near; nothing where it cannot. `at` may be out of range.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    ask(slice.as_ptr().wrapping_add(at));
}

/// Asks the host to bring near the word of eight bytes at `word` of `slice`. It may be out of
/// range.
#[inline(always)]
pub(crate) fn prefetch_word<T>(slice: &[T], word: u32) {
    ask(slice.as_ptr().cast::<u64>().wrapping_add(word as usize));
}

/// Asks the host to bring near both of its lines that `slice[at]` lies in. `at` may be out of range.
#[inline(always)]
pub(crate) fn prefetch_two<T>(slice: &[T], at: usize) {
    const HOST_LINE: usize = 64;
    let first = slice.as_ptr().wrapping_add(at).cast::<u8>();
    ask(first);
    ask(first.wrapping_add(HOST_LINE));
}

#[inline(always)]
fn ask<T>(item: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of x86-64's baseline (SSE), and being a hint it neither
        // reads nor writes nor faults, so that the pointer need not be valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(item.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}

/// `len` times `value`, on huge pages where the host gives them: the model looks at random places
/// of it, and with small pages nearly every look would have to walk the host's page table as well.
pub(crate) fn on_huge_pages<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut items: Vec<T> = Vec::with_capacity(len);
    advise_huge_pages(items.spare_capacity_mut());
    items.resize(len, value);
    items
}

/// Tables of zeros of no more bytes than this are written when they are made. Linux before 6.13
/// gives small pages where a huge one is read before it is written, and the first look at a row is
/// a read.
const WRITTEN_AT_ONCE: usize = 512 << 20;

/// [`on_huge_pages`] of zeros. `T` is an integer, or a short array of them. Of a large table the
/// host gives only the pages that are touched: a recording may name far more lines than it touches.
pub(crate) fn zeros_on_huge_pages<T: Copy + Default>(len: usize) -> Vec<T> {
    if len.saturating_mul(size_of::<T>()) <= WRITTEN_AT_ONCE {
        return on_huge_pages(T::default(), len);
    }
    // Of zeros `vec!` asks for memory that is zero already, and writes nothing.
    let mut items = vec![T::default(); len];
    advise_huge_pages(&mut items);
    items
}

/// Asks the host for huge pages under `items`, before they are first touched.
fn advise_huge_pages<T>(items: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const PAGE: usize = 1 << 21;
        let start = items.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let whole = size_of_val(items).saturating_sub(skipped) / PAGE * PAGE;
        if whole > 0 {
            // SAFETY: the range is within `items`, which nothing else uses meanwhile, and the
            // advice leaves contents and access rights of the pages as they are. A refusal is of
            // no consequence.
            let _ = unsafe {
                madvise(start.wrapping_add(skipped).cast(), whole, Advice::LinuxHugepage)
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}
