//! Short sets on AVX-512: one vector each, with masks.

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_alignr_epi32, _mm256_mask_blend_epi32, _mm256_mask_or_epi32,
    _mm256_set1_epi32, _mm256_testn_epi32_mask, _mm256_xor_si256, _mm512_add_epi32,
    _mm512_and_si512, _mm512_cmpeq_epi16_mask, _mm512_i32gather_epi32, _mm512_load_si512,
    _mm512_loadu_si512, _mm512_mask_permutexvar_epi16, _mm512_mask_set1_epi16, _mm512_min_epu32,
    _mm512_mullo_epi32, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_store_si512,
    _mm512_storeu_si512,
};

use super::{
    BATCH, ENTRIES, Entries, LINE, NO_TAG, Short, TABLE, TAGS, Tags, Ways,
    x86::{Plain, forward, load, store},
};
use crate::lanes::{Avx512, Portable};

/// Each place's left neighbour.
static LEFT: Tags = neighbours(TAGS - 1);
/// Each place's right neighbour.
static RIGHT: Tags = neighbours(1);

const fn neighbours(offset: usize) -> Tags {
    let mut places = [0; TAGS];
    let mut i = 0;
    while i < TAGS {
        places[i] = ((i + offset) % TAGS) as u16;
        i += 1;
    }
    Tags(places)
}

forward!(Avx512);

/// The `word`th four bytes of the items at these places, of the last one where a place is out of
/// range; none where there is no item, or the last is too far for an index of 32 bits, or `T` has
/// no such four bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw")]
fn gather<T: Plain>(items: &[T], at: &[u32; BATCH], word: usize) -> Option<[u32; BATCH]> {
    let last = items.len().checked_sub(1)?;
    let words = size_of::<T>() / 4;
    if word >= words || items.len().checked_mul(words)? > i32::MAX as usize {
        return None;
    }
    // SAFETY: `at` is valid for reads of its 64 bytes; the load asks for no alignment.
    let at = unsafe { _mm512_loadu_si512(at.as_ptr().cast()) };
    let at = _mm512_min_epu32(at, _mm512_set1_epi32(last as i32));
    let at = _mm512_mullo_epi32(at, _mm512_set1_epi32(words as i32));
    let at = _mm512_add_epi32(at, _mm512_set1_epi32(word as i32));
    // SAFETY: each of the addresses is within `items`: the place is at most that of the last item,
    // the word one of the item's, and no product overflows, as all of `items` has no more words
    // than an i32 counts. `T` is plain: its bytes are all initialised, and any are a u32. The items
    // start where a u32 may.
    let gathered = unsafe { _mm512_i32gather_epi32::<4>(at, items.as_ptr().cast()) };
    let mut words = [0; BATCH];
    // SAFETY: `words` is valid for writes of its 64 bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), gathered) };
    Some(words)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw")]
fn pick(table: &[u32; TABLE], at: &[u32; BATCH]) -> [u32; BATCH] {
    // SAFETY: `at` is valid for reads of its 64 bytes; the load asks for no alignment.
    let at = unsafe { _mm512_loadu_si512(at.as_ptr().cast()) };
    let at = _mm512_and_si512(at, _mm512_set1_epi32(TABLE as i32 - 1));
    // SAFETY: each of the places is within `table`.
    let picked = unsafe { _mm512_i32gather_epi32::<4>(at, table.as_ptr().cast()) };
    let mut figures = [0; BATCH];
    // SAFETY: `figures` is valid for writes of its 64 bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_si512(figures.as_mut_ptr().cast(), picked) };
    figures
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw")]
fn load_tags(from: &Tags) -> __m512i {
    // SAFETY: `from` is valid for reads of its 64 bytes and aligned to them.
    unsafe { _mm512_load_si512(from.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw")]
fn store_tags(to: &mut Tags, v: __m512i) {
    // SAFETY: `to` is borrowed mutably, valid for writes of its 64 bytes, and aligned to them.
    unsafe { _mm512_store_si512(to.0.as_mut_ptr().cast(), v) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw")]
fn hits(v: __m256i, line: u32) -> u8 {
    let differ = _mm256_xor_si256(v, _mm256_set1_epi32(line as i32));
    _mm256_testn_epi32_mask(differ, _mm256_set1_epi32(LINE as i32))
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn find(set: &Entries, line: u32) -> u32 {
    u32::from(hits(load(set), line))
}

/// Moves the entries in the lanes `lanes` one place back, the first of them in from `front`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn shift(set: &mut Entries, lanes: u8, front: u32) {
    let v = load(set);
    let shifted = _mm256_alignr_epi32::<7>(v, _mm256_set1_epi32(front as i32));
    store(set, _mm256_mask_blend_epi32(lanes, v, shifted));
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn to_front(set: &mut Entries, hits: u32, flags: u32) -> u32 {
    let old = set.0[hits.trailing_zeros() as usize % ENTRIES];
    // The lanes up to the hit.
    shift(set, (hits ^ hits.wrapping_sub(1)) as u8, old | flags);
    old
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn push(set: &mut Entries, ways: &Ways, entry: u32) -> u32 {
    let old = set.0[ways.last()];
    shift(set, ways.lanes, entry);
    old
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn flag(set: &mut Entries, line: u32, flags: u32) -> u32 {
    let v = load(set);
    let hits = hits(v, line);
    store(set, _mm256_mask_or_epi32(v, hits, v, _mm256_set1_epi32(flags as i32)));
    u32::from(hits)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn touch(set: &mut Tags, last: usize, tag: u16) -> (bool, u16) {
    let v = load_tags(set);
    let tags = _mm512_set1_epi16(tag as i16);
    let hits = _mm512_cmpeq_epi16_mask(v, tags);
    // The lowest bit is the hit's or else the last way's.
    let way = hits | 1 << (last % TAGS);
    let old = set.0[way.trailing_zeros() as usize % TAGS];
    // The lanes up to that way take their left neighbours.
    let v = _mm512_mask_permutexvar_epi16(v, way ^ way.wrapping_sub(1), load_tags(&LEFT), v);
    store_tags(set, _mm512_mask_set1_epi16(v, 1, tag as i16));
    (hits != 0, old)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2")]
fn take_out(set: &mut Tags, tag: u16) {
    let v = load_tags(set);
    let hits = _mm512_cmpeq_epi16_mask(v, _mm512_set1_epi16(tag as i16));
    // The lanes from the hit on take their right neighbours; the last one becomes empty.
    let lanes = hits.wrapping_neg();
    let v = _mm512_mask_permutexvar_epi16(v, lanes, load_tags(&RIGHT), v);
    store_tags(set, _mm512_mask_set1_epi16(v, lanes & 1 << (TAGS - 1), NO_TAG as i16));
}
