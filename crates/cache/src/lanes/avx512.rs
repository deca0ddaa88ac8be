//! The inner loops on AVX-512: sets of up to 32 ways in one go, without a branch on where the line
//! is.

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_alignr_epi32, _mm256_and_si256, _mm256_cmpeq_epi32_mask,
    _mm256_mask_blend_epi32, _mm256_set1_epi32, _mm512_alignr_epi32, _mm512_and_si512,
    _mm512_castsi512_si256, _mm512_cmpeq_epi32_mask, _mm512_inserti64x4, _mm512_loadu_si512,
    _mm512_mask_blend_epi32, _mm512_set1_epi32, _mm512_storeu_si512,
};

use super::{
    Avx2, EMPTY, LINE, Lanes, Lookup, WIDTH,
    avx2::{load as load_8, store as store_8},
};

/// Proof that the processor has AVX-512 (F, VL and BW) and the features of [`Avx2`]: only
/// [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    /// The proof, where the processor has it all.
    pub(crate) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        Avx2::detect().filter(|_| all).map(Self)
    }
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn find(self, set: &[u32], line: u32) -> usize {
        if set.len() > 32 {
            return self.0.find(set, line);
        }
        // SAFETY: `find_32` asks for AVX-512, which `self` proves: it is made only where the
        // processor was found to have it.
        unsafe { find_32(set, line) }
    }

    #[inline(always)]
    fn rotate(self, set: &mut [u32], way: usize, front: u32) {
        self.0.rotate(set, way, front);
    }

    #[inline(always)]
    fn touch(self, set: &mut [u32], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Lookup {
        if let Ok(set) = <&mut [u32; WIDTH]>::try_from(&mut *set) {
            // SAFETY: `touch_8` asks for AVX-512, which `self` proves (see `find`).
            return unsafe { touch_8(set, ways, line, on_hit, on_miss) };
        }
        if set.len() <= 32 {
            // SAFETY: `touch_32` asks for AVX-512, which `self` proves (see `find`).
            return unsafe { touch_32(set, ways, line, on_hit, on_miss) };
        }
        self.0.touch(set, ways, line, on_hit, on_miss)
    }

    #[inline(always)]
    fn remove(self, set: &mut [u32], ways: usize, line: u32) -> u32 {
        if set.len() > WIDTH && set.len() <= 32 {
            // SAFETY: `remove_32` asks for AVX-512, which `self` proves (see `find`).
            return unsafe { remove_32(set, ways, line) };
        }
        self.0.remove(set, ways, line)
    }
}

/// The entries of a set of 16, 24 or 32; [`EMPTY`] in the lanes beyond its end.
///
/// Whole vectors are loaded and stored, never masked ones: the host hands a store on to a load that
/// soon follows only where the load is of nothing else.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load(set: &[u32]) -> (__m512i, __m512i) {
    let empty = _mm512_set1_epi32(EMPTY as i32);
    if let Ok(set) = <&[u32; 24]>::try_from(set) {
        // Many last-level caches; a shorter way to the same.
        let (low, rest) = (set.first_chunk::<16>(), set.last_chunk::<WIDTH>());
        if let (Some(low), Some(rest)) = (low, rest) {
            return (load_16(low), _mm512_inserti64x4::<0>(empty, load_8(rest)));
        }
    }
    let Some((low, rest)) = set.split_first_chunk::<16>() else { return (empty, empty) };
    let high = if let Some(rest) = rest.first_chunk::<16>() {
        load_16(rest)
    } else if let Some(rest) = rest.first_chunk::<WIDTH>() {
        _mm512_inserti64x4::<0>(empty, load_8(rest))
    } else {
        empty
    };
    (load_16(low), high)
}

/// Writes back what [`load`] read, changed.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn store(set: &mut [u32], low: __m512i, high: __m512i) {
    if let Ok(set) = <&mut [u32; 24]>::try_from(&mut *set) {
        if let Some((first, rest)) = set.split_first_chunk_mut::<16>() {
            store_16(first, low);
            if let Some(rest) = rest.first_chunk_mut::<WIDTH>() {
                store_8(rest, _mm512_castsi512_si256(high));
            }
        }
        return;
    }
    let Some((first, rest)) = set.split_first_chunk_mut::<16>() else { return };
    store_16(first, low);
    if let Some(rest) = rest.first_chunk_mut::<16>() {
        store_16(rest, high);
    } else if let Some(rest) = rest.first_chunk_mut::<WIDTH>() {
        store_8(rest, _mm512_castsi512_si256(high));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_16(from: &[u32; 16]) -> __m512i {
    // SAFETY: `from` is valid for reads of its 64 bytes, and the unaligned load asks for no
    // alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_16(to: &mut [u32; 16], v: __m512i) {
    // SAFETY: `to` is borrowed mutably and valid for writes of its 64 bytes; the unaligned store
    // asks for no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
}

/// Bit i is set where lane i is of `line`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn hits(v: __m512i, line: u32) -> u16 {
    let lines = _mm512_and_si512(v, _mm512_set1_epi32(LINE as i32));
    _mm512_cmpeq_epi32_mask(lines, _mm512_set1_epi32(line as i32))
}

/// Bit i is set where entry i of a set of up to 32 is of `line`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn hits_8(v: __m256i, line: u32) -> u32 {
    let lines = _mm256_and_si256(v, _mm256_set1_epi32(LINE as i32));
    u32::from(_mm256_cmpeq_epi32_mask(lines, _mm256_set1_epi32(line as i32)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn hits_32((low, high): (__m512i, __m512i), line: u32) -> u32 {
    u32::from(hits(low, line)) | u32::from(hits(high, line)) << 16
}

/// Up to 32 entries.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn find_32(set: &[u32], line: u32) -> usize {
    let hits = match <&[u32; WIDTH]>::try_from(set) {
        Ok(set) => hits_8(load_8(set), line),
        Err(_) => hits_32(load(set), line),
    };
    // The lanes beyond the end are of the line `LINE`; without a hit there are 32 zeros.
    set.len().min(hits.trailing_zeros() as usize)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn touch_8(set: &mut [u32; WIDTH], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Lookup {
    let v = load_8(set);
    let hits = hits_8(v, line);
    let hit = hits != 0;
    // The bit of the way that the line was in, or that makes room.
    let way = if hit { hits } else { 1 << ((ways - 1) % WIDTH) };
    let old = set[way.trailing_zeros() as usize % WIDTH];
    let front = if hit { old | on_hit } else { line | on_miss };
    let shifted = _mm256_alignr_epi32::<7>(v, _mm256_set1_epi32(front as i32));
    // The lanes up to that way.
    let lanes = (way ^ (way - 1)) as u8;
    store_8(set, _mm256_mask_blend_epi32(lanes, v, shifted));
    Lookup { hit, old }
}

/// 16, 24 or 32 entries.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn touch_32(set: &mut [u32], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Lookup {
    let (low, high) = load(set);
    let hits = hits_32((low, high), line);
    let hit = hits != 0;
    let way = if hit { hits } else { 1 << ((ways - 1) % 32) };
    let old = set.get(way.trailing_zeros() as usize).copied().unwrap_or(EMPTY);
    let front = if hit { old | on_hit } else { line | on_miss };
    let lanes = way ^ (way - 1);
    let shifted_low = _mm512_alignr_epi32::<15>(low, _mm512_set1_epi32(front as i32));
    let shifted_high = _mm512_alignr_epi32::<15>(high, low);
    let low = _mm512_mask_blend_epi32(lanes as u16, low, shifted_low);
    store(set, low, _mm512_mask_blend_epi32((lanes >> 16) as u16, high, shifted_high));
    Lookup { hit, old }
}

/// 16, 24 or 32 entries.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn remove_32(set: &mut [u32], ways: usize, line: u32) -> u32 {
    let (low, high) = load(set);
    let hits = hits_32((low, high), line);
    let Some(&old) = set.get(hits.trailing_zeros() as usize) else { return EMPTY };
    // The lanes from the line's way to the last. The entry that moves into the last is padding or
    // beyond the end, and so empty.
    let lanes = hits.wrapping_neg() & (u32::MAX >> (32 - ways.min(32)));
    let shifted_low = _mm512_alignr_epi32::<1>(high, low);
    let shifted_high = _mm512_alignr_epi32::<1>(_mm512_set1_epi32(EMPTY as i32), high);
    let low = _mm512_mask_blend_epi32(lanes as u16, low, shifted_low);
    store(set, low, _mm512_mask_blend_epi32((lanes >> 16) as u16, high, shifted_high));
    old
}
