//! Common parts of AVX2 and AVX-512.

use std::arch::x86_64::{__m256i, _mm256_load_si256, _mm256_store_si256};

use super::{Entries, Tags};

/// Implements [`Short`](super::Short) by the functions of the same names in the module that uses
/// it. These ask for the instructions that the lanes prove.
macro_rules! forward {
    ($lanes:ty) => {
        impl Short for $lanes {
            #[inline(always)]
            fn find(self, set: &Entries, line: u32) -> u32 {
                // SAFETY: `find` asks for instructions that `self` proves: it is made only where
                // the processor was found to have them.
                unsafe { find(set, line) }
            }

            #[inline(always)]
            fn to_front(self, set: &mut Entries, hits: u32, flags: u32) -> u32 {
                // SAFETY: `self` proves the instructions (see `find`).
                unsafe { to_front(set, hits, flags) }
            }

            #[inline(always)]
            fn push(self, set: &mut Entries, ways: &Ways, entry: u32) -> u32 {
                // SAFETY: `self` proves the instructions (see `find`).
                unsafe { push(set, ways, entry) }
            }

            #[inline(always)]
            fn flag(self, set: &mut Entries, line: u32, flags: u32) -> u32 {
                // SAFETY: `self` proves the instructions (see `find`).
                unsafe { flag(set, line, flags) }
            }

            #[inline(always)]
            fn touch(self, set: &mut Tags, last: usize, tag: u16) -> (bool, u16) {
                // SAFETY: `self` proves the instructions (see `find`).
                unsafe { touch(set, last, tag) }
            }

            #[inline(always)]
            fn take_out(self, set: &mut Tags, tag: u16) {
                // SAFETY: `self` proves the instructions (see `find`).
                unsafe { take_out(set, tag) }
            }

            #[inline(always)]
            fn pick(self, table: &[u32; TABLE], at: &[u32; BATCH]) -> [u32; BATCH] {
                // SAFETY: `self` proves the instructions (see `find`).
                unsafe { pick(table, at) }
            }

            #[inline(always)]
            fn entries(self, sets: &[Entries], at: &[u32; BATCH], way: usize) -> [u32; BATCH] {
                // SAFETY: `self` proves the instructions (see `find`).
                let gathered = unsafe { gather(sets, at, way % ENTRIES) };
                gathered.unwrap_or_else(|| Portable.entries(sets, at, way))
            }

            #[inline(always)]
            fn tags(self, sets: &[Tags], at: &[u32; BATCH], way: usize) -> [u32; BATCH] {
                // SAFETY: `self` proves the instructions (see `find`).
                let Some(pairs) = (unsafe { gather(sets, at, way % TAGS / 2) }) else {
                    return Portable.tags(sets, at, way);
                };
                pairs.map(|pair| pair >> (way % 2 * 16) & 0xffff)
            }

            #[inline(always)]
            fn words(self, rows: &[[u64; 2]], at: &[u32; BATCH]) -> [u64; BATCH] {
                // SAFETY: `self` proves the instructions (see `find`).
                let Some(low) = (unsafe { gather(rows, at, 0) }) else {
                    return Portable.words(rows, at);
                };
                // SAFETY: `self` proves the instructions (see `find`).
                let Some(high) = (unsafe { gather(rows, at, 1) }) else {
                    return Portable.words(rows, at);
                };
                std::array::from_fn(|i| u64::from(high[i]) << 32 | u64::from(low[i]))
            }
        }
    };
}
pub(super) use forward;

#[inline]
#[target_feature(enable = "avx")]
pub(super) fn load(from: &Entries) -> __m256i {
    // SAFETY: `from` is valid for reads of its 32 bytes and aligned to them.
    unsafe { _mm256_load_si256(from.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx")]
pub(super) fn store(to: &mut Entries, v: __m256i) {
    // SAFETY: `to` is borrowed mutably, valid for writes of its 32 bytes, and aligned to them.
    unsafe { _mm256_store_si256(to.0.as_mut_ptr().cast(), v) }
}

/// Types that may be read four bytes at a time.
///
/// # Safety
/// All bytes of it are initialised (it has no padding), and it is aligned to four bytes or more.
pub(super) unsafe trait Plain {}
// SAFETY: eight `u32` in 32 bytes, aligned to 32.
unsafe impl Plain for Entries {}
// SAFETY: 32 `u16` in 64 bytes, aligned to 64.
unsafe impl Plain for Tags {}
// SAFETY: integers side by side, aligned to eight (four on some hosts of 32 bits).
unsafe impl Plain for [u64; 2] {}
// SAFETY: integers without padding.
unsafe impl Plain for u32 {}
