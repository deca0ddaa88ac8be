//! The inner loops of a cache set, on as many lanes as the host has.
//!
//! A set is a short run of packed entries (`u32`, a multiple of eight long, the ways first, then
//! padding that holds no line). Nearly all the time of the model goes into three things: *where is
//! this line* ([`Lanes::find`]), *use it* ([`Lanes::touch`]) and *take it out* ([`Lanes::remove`]),
//! where the order of the entries is the order of recency. [`Portable`] does them in plain Rust on
//! every host; [`Avx2`] eight and [`Avx512`] sixteen lanes at a time where the processor can.
//! Property tests hold them against each other. [`Short`] has the same for sets of a fixed length.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod short;

#[cfg(target_arch = "x86_64")]
pub(crate) use self::{avx2::Avx2, avx512::Avx512};
pub(crate) use short::{BATCH, ENTRIES, Entries, NO_TAG, Short, TAGS, Tags, Ways};

/// The length of a set is a multiple of it.
pub(crate) const WIDTH: usize = 8;

/// The bits of an entry that hold the line number; the others are flags.
pub(crate) const LINE: u32 = (1 << 30) - 1;
/// No line here.
pub(crate) const EMPTY: u32 = u32::MAX;

/// The widest lanes that this host has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Host {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Host {
    /// All that this host has, the widest last.
    pub(crate) fn all() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there are no others"))]
        let mut all = vec![Self::Portable(Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(Avx2::detect().map(Self::Avx2));
            all.extend(Avx512::detect().map(Self::Avx512));
        }
        all
    }

    /// The widest.
    pub(crate) fn detect() -> Self {
        Self::all().pop().unwrap_or(Self::Portable(Portable))
    }
}

/// The result of looking up a line and using it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lookup {
    /// The line was there.
    pub(crate) hit: bool,
    /// On a hit the line's entry as it was, on a miss the entry that made room ([`EMPTY`] where
    /// none had to).
    pub(crate) old: u32,
}

/// A way to run the inner loops.
pub(crate) trait Lanes: Copy {
    /// The first place in `set` whose entry is of `line`, flags aside; `set.len()` where there is
    /// none.
    fn find(self, set: &[u32], line: u32) -> usize;

    /// Moves the entries `0..way` one place back, over the entry at `way`, and puts `front` in
    /// place 0.
    fn rotate(self, set: &mut [u32], way: usize, front: u32);

    /// Brings the entry of `line` to the front, adding the flags `on_hit`; or, where there is none,
    /// lets the entry of the last of `ways` ways make room for it, with the flags `on_miss`.
    #[inline(always)]
    fn touch(self, set: &mut [u32], ways: usize, line: u32, on_hit: u32, on_miss: u32) -> Lookup {
        let found = self.find(set, line);
        let hit = found < set.len();
        let way = if hit { found } else { ways - 1 };
        let old = set[way];
        let front = if hit { old | on_hit } else { line | on_miss };
        self.rotate(set, way, front);
        Lookup { hit, old }
    }

    /// Takes the entry of `line` out of the first `ways` ways, closing the gap; returns it,
    /// [`EMPTY`] where there is none.
    #[inline(always)]
    fn remove(self, set: &mut [u32], ways: usize, line: u32) -> u32 {
        let way = self.find(set, line);
        let Some(&old) = set.get(way) else { return EMPTY };
        set.copy_within(way + 1..ways, way);
        set[ways - 1] = EMPTY;
        old
    }
}

/// The inner loops in plain Rust, for hosts without AVX2 and to test the others against. The
/// compiler vectorises what it can for the baseline of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn find(self, set: &[u32], line: u32) -> usize {
        let (steps, _) = set.as_chunks::<WIDTH>();
        for (i, step) in steps.iter().enumerate() {
            // No early exit within a step: the comparison of all eight is one or two vector
            // instructions.
            let mut hits = 0u32;
            for (lane, entry) in step.iter().enumerate() {
                hits |= u32::from(entry & LINE == line) << lane;
            }
            if hits != 0 {
                return i * WIDTH + hits.trailing_zeros() as usize;
            }
        }
        set.len()
    }

    #[inline(always)]
    fn rotate(self, set: &mut [u32], way: usize, front: u32) {
        set.copy_within(..way, 1);
        set[0] = front;
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;

    use super::{Avx2, Avx512, EMPTY, LINE, Lanes, Portable, WIDTH};

    /// A set with distinct lines (as in life) in the first of its ways, and a way of it.
    fn set() -> impl Strategy<Value = (Vec<u32>, usize, usize)> {
        (1usize..=160).prop_flat_map(|ways| {
            let flags = prop::collection::vec(0u32..4, ways);
            (flags, 0..=ways, any::<prop::sample::Index>()).prop_map(move |(flags, full, pick)| {
                let mut set: Vec<u32> =
                    flags.iter().zip(0..).map(|(f, i)| f << 30 | (i * 37 + 5)).collect();
                set[full..].fill(EMPTY);
                set.resize(ways.next_multiple_of(WIDTH), EMPTY);
                (set, ways, pick.index(ways))
            })
        })
    }

    fn same_as_portable(
        lanes: impl Lanes + Debug,
        set: &[u32],
        ways: usize,
        way: usize,
        flags: (u32, u32),
    ) {
        for line in [set[way] & LINE, 3] {
            assert_eq!(lanes.find(set, line), Portable.find(set, line));
            if line == LINE {
                continue;
            }
            let (mut a, mut b) = (set.to_vec(), set.to_vec());
            let touches = (
                lanes.touch(&mut a, ways, line, flags.0, flags.1),
                Portable.touch(&mut b, ways, line, flags.0, flags.1),
            );
            assert_eq!((touches.0, a), (touches.1, b), "touch");
            let (mut a, mut b) = (set.to_vec(), set.to_vec());
            let removed = (lanes.remove(&mut a, ways, line), Portable.remove(&mut b, ways, line));
            assert_eq!((removed.0, a), (removed.1, b), "remove");
        }
        let (mut a, mut b) = (set.to_vec(), set.to_vec());
        lanes.rotate(&mut a, way, 7);
        Portable.rotate(&mut b, way, 7);
        assert_eq!(a, b, "rotate");
    }

    proptest! {
        #[test]
        fn vector_lanes_do_what_portable_ones_do(
            (set, ways, way) in set(),
            on_hit in 0u32..4,
            on_miss in 0u32..4,
        ) {
            let flags = (on_hit << 30, on_miss << 30);
            if let Some(avx2) = Avx2::detect() {
                same_as_portable(avx2, &set, ways, way, flags);
            }
            if let Some(avx512) = Avx512::detect() {
                same_as_portable(avx512, &set, ways, way, flags);
            }
        }
    }
}
