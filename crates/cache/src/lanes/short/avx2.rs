//! Short sets on AVX2: a set of entries is one vector, a set of tags two.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_alignr_epi8, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_blendv_epi8, _mm256_castsi256_ps, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32,
    _mm256_cmpgt_epi16, _mm256_cmpgt_epi32, _mm256_i32gather_epi32, _mm256_load_si256,
    _mm256_loadu_si256, _mm256_min_epu32, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_mullo_epi32, _mm256_or_si256, _mm256_packs_epi16, _mm256_permute2x128_si256,
    _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_setr_epi16, _mm256_setr_epi32, _mm256_store_si256, _mm256_storeu_si256,
};

use super::{
    BATCH, ENTRIES, Entries, LINE, NO_TAG, Short, TABLE, TAGS, Tags, Ways,
    x86::{Plain, forward, load, store},
};
use crate::lanes::{Avx2, Portable};

forward!(Avx2);

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn pick(table: &[u32; TABLE], at: &[u32; BATCH]) -> [u32; BATCH] {
    let at = at.map(|at| at % TABLE as u32);
    gather(table, &at, 0).unwrap_or_else(|| Portable.pick(table, &at))
}

/// The `word`th four bytes of the items at these places, of the last one where a place is out of
/// range; none where there is no item, or the last is too far for an index of 32 bits, or `T` has
/// no such four bytes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn gather<T: Plain>(items: &[T], at: &[u32; BATCH], word: usize) -> Option<[u32; BATCH]> {
    let last = items.len().checked_sub(1)?;
    let words = size_of::<T>() / 4;
    if word >= words || items.len().checked_mul(words)? > i32::MAX as usize {
        return None;
    }
    let mut gathered = [0; BATCH];
    let (from, _) = at.as_chunks::<8>();
    let (to, _) = gathered.as_chunks_mut::<8>();
    for (from, to) in from.iter().zip(to) {
        // SAFETY: `from` is valid for reads of its 32 bytes; the load asks for no alignment.
        let at = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
        let at = _mm256_min_epu32(at, _mm256_set1_epi32(last as i32));
        let at = _mm256_mullo_epi32(at, _mm256_set1_epi32(words as i32));
        let at = _mm256_add_epi32(at, _mm256_set1_epi32(word as i32));
        // SAFETY: each of the addresses is within `items`: the place is at most that of the last
        // item, the word one of the item's, and no product overflows, as all of `items` has no more
        // words than an i32 counts. `T` is plain: its bytes are all initialised, and any are a u32.
        // The items start where a u32 may.
        let found = unsafe { _mm256_i32gather_epi32::<4>(items.as_ptr().cast(), at) };
        // SAFETY: `to` is valid for writes of its 32 bytes; the store asks for no alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), found) };
    }
    Some(gathered)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_tags(from: &Tags) -> (__m256i, __m256i) {
    let (low, high) = from.0.split_at(TAGS / 2);
    // SAFETY: `low` is valid for reads of its 32 bytes, and aligned to them as its set is to 64.
    let low = unsafe { _mm256_load_si256(low.as_ptr().cast()) };
    // SAFETY: `high` is valid for reads of its 32 bytes, and aligned to them: it starts 32 after
    // the set.
    (low, unsafe { _mm256_load_si256(high.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_tags(to: &mut Tags, low: __m256i, high: __m256i) {
    let (to_low, to_high) = to.0.split_at_mut(TAGS / 2);
    // SAFETY: `to_low` is borrowed mutably and valid for writes of its 32 bytes, and aligned to
    // them as its set is to 64.
    unsafe { _mm256_store_si256(to_low.as_mut_ptr().cast(), low) }
    // SAFETY: `to_high` is borrowed mutably and valid for writes of its 32 bytes, and aligned: it
    // starts 32 after the set.
    unsafe { _mm256_store_si256(to_high.as_mut_ptr().cast(), high) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(v: __m256i, line: u32) -> __m256i {
    let lines = _mm256_and_si256(v, _mm256_set1_epi32(LINE as i32));
    _mm256_cmpeq_epi32(lines, _mm256_set1_epi32(line as i32))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn find(set: &Entries, line: u32) -> u32 {
    _mm256_movemask_ps(_mm256_castsi256_ps(equal(load(set), line))) as u32
}

/// Moves the entries that `moved` has all bits of one place back, the first of them in from
/// `front`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn shift(set: &mut Entries, moved: __m256i, front: u32) {
    let v = load(set);
    let turned = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    let shifted = _mm256_blend_epi32::<1>(turned, _mm256_set1_epi32(front as i32));
    store(set, _mm256_blendv_epi8(v, shifted, moved));
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn to_front(set: &mut Entries, hits: u32, flags: u32) -> u32 {
    let way = hits.trailing_zeros() as usize % ENTRIES;
    let old = set.0[way];
    let end = _mm256_set1_epi32(way as i32 + 1);
    shift(set, _mm256_cmpgt_epi32(end, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), old | flags);
    old
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn push(set: &mut Entries, ways: &Ways, entry: u32) -> u32 {
    let old = set.0[ways.last()];
    shift(set, load(&ways.entries), entry);
    old
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn flag(set: &mut Entries, line: u32, flags: u32) -> u32 {
    let v = load(set);
    let equal = equal(v, line);
    store(set, _mm256_or_si256(v, _mm256_and_si256(equal, _mm256_set1_epi32(flags as i32))));
    _mm256_movemask_ps(_mm256_castsi256_ps(equal)) as u32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn hits((low, high): (__m256i, __m256i), tags: __m256i) -> u32 {
    let equal = _mm256_packs_epi16(_mm256_cmpeq_epi16(low, tags), _mm256_cmpeq_epi16(high, tags));
    // Packing takes the vectors' halves in turn.
    _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(equal)) as u32
}

/// Each place's number.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn places() -> (__m256i, __m256i) {
    (
        _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
        _mm256_setr_epi16(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
    )
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn touch(set: &mut Tags, last: usize, tag: u16) -> (bool, u16) {
    let (low, high) = load_tags(set);
    let tags = _mm256_set1_epi16(tag as i16);
    let hits = hits((low, high), tags);
    // The lowest bit is the hit's or else the last way's.
    let way = (hits | 1 << (last % TAGS)).trailing_zeros() as usize % TAGS;
    let old = set.0[way];
    let shifted_low = _mm256_alignr_epi8::<14>(low, _mm256_permute2x128_si256::<0x20>(tags, low));
    let shifted_high = _mm256_alignr_epi8::<14>(high, _mm256_permute2x128_si256::<0x21>(low, high));
    let (places_low, places_high) = places();
    let end = _mm256_set1_epi16(way as i16 + 1);
    let low = _mm256_blendv_epi8(low, shifted_low, _mm256_cmpgt_epi16(end, places_low));
    store_tags(
        set,
        low,
        _mm256_blendv_epi8(high, shifted_high, _mm256_cmpgt_epi16(end, places_high)),
    );
    (hits != 0, old)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn take_out(set: &mut Tags, tag: u16) {
    let (low, high) = load_tags(set);
    let hits = hits((low, high), _mm256_set1_epi16(tag as i16));
    let none = _mm256_set1_epi16(NO_TAG as i16);
    let shifted_low = _mm256_alignr_epi8::<2>(_mm256_permute2x128_si256::<0x21>(low, high), low);
    let shifted_high = _mm256_alignr_epi8::<2>(_mm256_permute2x128_si256::<0x21>(high, none), high);
    let (places_low, places_high) = places();
    // Without a hit there are 32 zeros: all stay.
    let start = _mm256_set1_epi16(hits.trailing_zeros() as i16);
    let low = _mm256_blendv_epi8(shifted_low, low, _mm256_cmpgt_epi16(start, places_low));
    store_tags(
        set,
        low,
        _mm256_blendv_epi8(shifted_high, high, _mm256_cmpgt_epi16(start, places_high)),
    );
}
