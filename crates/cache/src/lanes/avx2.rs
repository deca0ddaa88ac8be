//! The inner loops on AVX2, eight entries a step.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_blend_epi32, _mm256_blendv_epi8,
    _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_loadu_si256,
    _mm256_movemask_ps, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
    _mm256_storeu_si256, _mm256_sub_epi32,
};

use super::{LINE, Lanes, Lookup, WIDTH};

/// Proof that the processor has AVX2: only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, where the processor has AVX2 (and the bit instructions that came with it).
    pub(crate) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        all.then_some(Self(()))
    }
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn find(self, set: &[u32], line: u32) -> usize {
        // SAFETY: `find` asks for AVX2, which `self` proves: it is made only where the processor
        // was found to have it.
        unsafe { find(set, line) }
    }

    #[inline(always)]
    fn rotate(self, set: &mut [u32], way: usize, front: u32) {
        // SAFETY: `rotate` asks for AVX2, which `self` proves: it is made only where the processor
        // was found to have it.
        unsafe { rotate(set, way, front) }
    }

    #[inline(always)]
    fn touch(self, set: &mut [u32], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Lookup {
        if let Ok(set) = <&mut [u32; WIDTH]>::try_from(&mut *set) {
            // SAFETY: `touch_8` asks for AVX2, which `self` proves: it is made only where the
            // processor was found to have it.
            return unsafe { touch_8(set, ways, line, on_hit, on_miss) };
        }
        let found = self.find(set, line);
        let hit = found < set.len();
        let way = if hit { found } else { ways - 1 };
        let old = set[way];
        self.rotate(set, way, if hit { old | on_hit } else { line | on_miss });
        Lookup { hit, old }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(from: &[u32; WIDTH]) -> __m256i {
    // SAFETY: `from` is valid for reads of its 32 bytes, and the unaligned load asks for no
    // alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(to: &mut [u32; WIDTH], v: __m256i) {
    // SAFETY: `to` is borrowed mutably and valid for writes of its 32 bytes; the unaligned store
    // asks for no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
}

/// Bit i is set where entry i is of the line.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn hits(step: &[u32; WIDTH], line: __m256i) -> u64 {
    let lines = _mm256_and_si256(load(step), _mm256_set1_epi32(LINE as i32));
    let equal = _mm256_cmpeq_epi32(lines, line);
    u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(equal)) as u32)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn find(set: &[u32], line: u32) -> usize {
    let line = _mm256_set1_epi32(line as i32);
    let (steps, _) = set.as_chunks::<WIDTH>();
    // Up to 64 ways in one mask, without a branch on where the line is: that branch would be
    // mispredicted.
    for (i, block) in steps.chunks(8).enumerate() {
        let mut mask = 0;
        for (j, step) in block.iter().enumerate() {
            mask |= hits(step, line) << (j * WIDTH);
        }
        if mask != 0 {
            return i * 64 + mask.trailing_zeros() as usize;
        }
    }
    set.len()
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn rotate(set: &mut [u32], way: usize, front: u32) {
    let end = _mm256_set1_epi32(way as i32);
    // Lane 0 has the entry for the first place of the step.
    let mut carry = _mm256_set1_epi32(front as i32);
    let mut place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let (steps, _) = set.as_chunks_mut::<WIDTH>();
    for step in steps.iter_mut().take(way / WIDTH + 1) {
        let v = load(step);
        let turned = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
        let shifted = _mm256_blend_epi32::<1>(turned, carry);
        let stays = _mm256_cmpgt_epi32(place, end);
        store(step, _mm256_blendv_epi8(shifted, v, stays));
        carry = turned;
        place = _mm256_add_epi32(place, _mm256_set1_epi32(WIDTH as i32));
    }
}

/// One step's worth of ways, without a branch on where the line is.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn touch_8(set: &mut [u32; WIDTH], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Lookup {
    let hits = hits(set, _mm256_set1_epi32(line as i32));
    let hit = hits != 0;
    let way = if hit { hits.trailing_zeros() as usize } else { ways - 1 } % WIDTH;
    let old = set[way];
    let front = if hit { old | on_hit } else { line | on_miss };
    let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let stays = _mm256_cmpgt_epi32(places, _mm256_set1_epi32(way as i32));
    // Where from: place - 1 up to `way`, place itself behind it. (A comparison that holds gives
    // -1.)
    let from = _mm256_sub_epi32(_mm256_setr_epi32(-1, 0, 1, 2, 3, 4, 5, 6), stays);
    let moved = _mm256_permutevar8x32_epi32(load(set), from);
    store(set, _mm256_blend_epi32::<1>(moved, _mm256_set1_epi32(front as i32)));
    Lookup { hit, old }
}
