//! The inner loops on AVX-512, sixteen entries a step; sets of up to 32 ways without a branch on where the line is.

use std::arch::x86_64::{
    __m512i, _mm256_alignr_epi32, _mm256_and_si256, _mm256_cmpeq_epi32_mask, _mm256_loadu_si256,
    _mm256_mask_storeu_epi32, _mm256_set1_epi32, _mm512_alignr_epi32, _mm512_and_si512, _mm512_cmpeq_epi32_mask,
    _mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32, _mm512_set1_epi32,
};

use super::{Avx2, EMPTY, LINE, Lanes, Touch, WIDTH};

/// Proof that the processor has AVX-512 (F and VL) and what [`Avx2`] needs: only [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    /// The proof, where the processor has it all.
    pub(crate) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
        Avx2::detect().filter(|_| all).map(Self)
    }
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn find(self, set: &[u32], line: u32) -> usize {
        // SAFETY: `find` asks for AVX-512, which `self` proves: it is made only where the processor was found to have it.
        unsafe { find(set, line) }
    }

    #[inline(always)]
    fn rotate(self, set: &mut [u32], way: usize, front: u32) {
        self.0.rotate(set, way, front);
    }

    #[inline(always)]
    fn touch(self, set: &mut [u32], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Touch {
        if let Ok(set) = <&mut [u32; WIDTH]>::try_from(&mut *set) {
            // SAFETY: `touch_8` asks for AVX-512, which `self` proves (see `find`).
            return unsafe { touch_8(set, ways, line, on_hit, on_miss) };
        }
        if set.len() <= 32 {
            // SAFETY: `touch_32` asks for AVX-512, which `self` proves (see `find`).
            return unsafe { touch_32(set, ways, line, on_hit, on_miss) };
        }
        let found = self.find(set, line);
        let hit = found < set.len();
        let way = if hit { found } else { ways - 1 };
        let old = set[way];
        self.rotate(set, way, if hit { old | on_hit } else { line | on_miss });
        Touch { hit, old }
    }

    #[inline(always)]
    fn remove(self, set: &mut [u32], ways: usize, line: u32) -> u32 {
        if set.len() <= 32 {
            // SAFETY: `remove_32` asks for AVX-512, which `self` proves (see `find`).
            return unsafe { remove_32(set, ways, line) };
        }
        self.0.remove(set, ways, line)
    }
}

/// Up to sixteen entries from `at` on; [`EMPTY`] in the lanes beyond the end.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load(set: &[u32], at: usize) -> __m512i {
    let rest = set.get(at..).unwrap_or_default();
    let lanes = lanes_of(rest.len());
    // SAFETY: the masked load reads only the lanes in `lanes`, which are no more than `rest` has entries; it asks for
    // no alignment.
    unsafe { _mm512_mask_loadu_epi32(_mm512_set1_epi32(EMPTY as i32), lanes, rest.as_ptr().cast()) }
}

/// Writes the lanes in `mask` to the entries from `at` on; lanes beyond the end are left out.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn store(set: &mut [u32], at: usize, mask: u16, v: __m512i) {
    let rest = set.get_mut(at..).unwrap_or_default();
    let lanes = mask & lanes_of(rest.len());
    // SAFETY: the masked store writes only the lanes in `lanes`, which are no more than `rest`, borrowed mutably, has
    // entries; it asks for no alignment.
    unsafe { _mm512_mask_storeu_epi32(rest.as_mut_ptr().cast(), lanes, v) }
}

/// The first `n` lanes, sixteen at the most.
#[inline(always)]
fn lanes_of(n: usize) -> u16 {
    if n >= 16 { u16::MAX } else { (1 << n) - 1 }
}

/// Bit i is set where lane i is of `line`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn hits(v: __m512i, line: u32) -> u16 {
    let lines = _mm512_and_si512(v, _mm512_set1_epi32(LINE as i32));
    _mm512_cmpeq_epi32_mask(lines, _mm512_set1_epi32(line as i32))
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn find(set: &[u32], line: u32) -> usize {
    for at in (0..set.len()).step_by(64) {
        let mut mask = 0u64;
        for i in (0..64).step_by(16) {
            if at + i < set.len() {
                mask |= u64::from(hits(load(set, at + i), line)) << i;
            }
        }
        if mask != 0 {
            // The lanes beyond the end are of the line `LINE`.
            return set.len().min(at + mask.trailing_zeros() as usize);
        }
    }
    set.len()
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn touch_8(set: &mut [u32; WIDTH], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Touch {
    // SAFETY: `set` is valid for reads of its 32 bytes, and the unaligned load asks for no alignment.
    let v = unsafe { _mm256_loadu_si256(set.as_ptr().cast()) };
    let lines = _mm256_and_si256(v, _mm256_set1_epi32(LINE as i32));
    let hits = u32::from(_mm256_cmpeq_epi32_mask(lines, _mm256_set1_epi32(line as i32)));
    let hit = hits != 0;
    // The bit of the way that the line was in, or that makes room.
    let way = if hit { hits } else { 1 << ((ways - 1) % WIDTH) };
    let old = set[way.trailing_zeros() as usize % WIDTH];
    let front = if hit { old | on_hit } else { line | on_miss };
    let moved = _mm256_alignr_epi32::<7>(v, _mm256_set1_epi32(front as i32));
    // The lanes up to that way.
    let lanes = (way ^ (way - 1)) as u8;
    // SAFETY: `set` is valid for writes of its 32 bytes, and the unaligned store asks for no alignment.
    unsafe { _mm256_mask_storeu_epi32(set.as_mut_ptr().cast(), lanes, moved) };
    Touch { hit, old }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn touch_32(set: &mut [u32], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Touch {
    let (low, high) = (load(set, 0), load(set, 16));
    let hits = u32::from(hits(low, line)) | u32::from(hits(high, line)) << 16;
    let hit = hits != 0;
    let way = if hit { hits } else { 1 << ((ways - 1) % 32) };
    let old = set.get(way.trailing_zeros() as usize).copied().unwrap_or(EMPTY);
    let front = if hit { old | on_hit } else { line | on_miss };
    let lanes = way ^ (way - 1);
    store(set, 0, lanes as u16, _mm512_alignr_epi32::<15>(low, _mm512_set1_epi32(front as i32)));
    store(set, 16, (lanes >> 16) as u16, _mm512_alignr_epi32::<15>(high, low));
    Touch { hit, old }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt")]
fn remove_32(set: &mut [u32], ways: usize, line: u32) -> u32 {
    let (low, high) = (load(set, 0), load(set, 16));
    let hits = u32::from(hits(low, line)) | u32::from(hits(high, line)) << 16;
    let Some(&old) = set.get(hits.trailing_zeros() as usize) else { return EMPTY };
    // The lanes from the line's way to the last. What moves into the last is padding or beyond the end: empty.
    let lanes = !(hits - 1) & (u32::MAX >> (32 - ways.min(32)));
    store(set, 0, lanes as u16, _mm512_alignr_epi32::<1>(high, low));
    store(set, 16, (lanes >> 16) as u16, _mm512_alignr_epi32::<1>(_mm512_set1_epi32(EMPTY as i32), high));
    old
}
