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
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const PAGE: usize = 1 << 21;
        let start = items.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let whole = (items.capacity() * size_of::<T>()).saturating_sub(skipped) / PAGE * PAGE;
        if whole > 0 {
            // SAFETY: the range is within the allocation of `items`, which holds no value yet, and
            // the advice leaves contents and access rights of the pages as they are. A refusal is
            // of no consequence.
            let _ = unsafe {
                madvise(start.wrapping_add(skipped).cast(), whole, Advice::LinuxHugepage)
            };
        }
    }
    items.resize(len, value);
    items
}
