//! Which machines are inclusive.

use super::rows::{MOST_CORES, MOST_SOCKETS, MOST_WORKERS};
use crate::{
    hierarchy::layout::{Layout, PathStep, Role},
    lanes::{ENTRIES, LINE, NO_TAG, TAGS, Ways},
    sets::Geometry,
};

/// Sets left out between the caches of two cores, and of two sockets (192 bytes), so that equal
/// sets of equal caches do not all fall into the same set of the host's.
const SKEW: u32 = 6;
const SKEW_LAST: u32 = 3;

/// The caches, all of a level alike.
#[derive(Clone, Copy, Debug)]
pub(in crate::hierarchy) struct Shape {
    pub(super) lines: u32,
    /// Sets less one: their number is a power of two.
    pub(super) inner_sets: u32,
    pub(super) outer_sets: u32,
    pub(super) inner_ways: Ways,
    pub(super) outer_ways: Ways,
    pub(super) last_sets: u32,
    pub(super) last_way: usize,
    /// ⌈2ˢ / sets of the last-level cache⌉, below 2³², and s.
    inverse: u32,
    shift: u32,
}

impl Shape {
    /// The machine's shape, where the model can take it:
    ///
    /// - private caches are alike, with sets a power of two and no more than eight ways;
    /// - last-level caches are alike, with no more than 32 ways;
    /// - line numbers divided by the sets of the last-level cache fit a tag.
    pub(in crate::hierarchy) fn find(layout: &Layout, lines: u32) -> Option<Self> {
        let first = layout.paths.first()?;
        let [inner, outer, last] = &layout.steps[first.range()] else { return None };
        let alike = |a: &Geometry, b: &Geometry| (a.sets, a.ways, a.lru) == (b.sets, b.ways, true);
        let fits = |steps: &[PathStep]| match steps {
            [i, o, l] => {
                [i.role, o.role, l.role] == [Role::Inner, Role::Outer, Role::Tracked]
                    && alike(&i.geometry, &inner.geometry)
                    && alike(&o.geometry, &outer.geometry)
                    && alike(&l.geometry, &last.geometry)
            }
            _ => false,
        };
        if !layout.paths.iter().all(|p| p.private == 2 && fits(&layout.steps[p.range()])) {
            return None;
        }
        let sockets = layout.chains.iter().filter(|c| c.tracked).count();
        let cores = layout.chains.len() - sockets;
        let few =
            cores <= MOST_CORES && sockets <= MOST_SOCKETS && layout.paths.len() <= MOST_WORKERS;
        let private = |g: &Geometry| g.sets.is_power_of_two() && g.ways as usize <= ENTRIES;
        // No line has the number of an empty entry.
        let tags = lines < LINE
            && lines / last.geometry.sets < u32::from(NO_TAG)
            && last.geometry.ways as usize <= TAGS;
        // Every cache must be on some worker's path, or it would have no core or socket.
        let all = layout.caches.len() == 2 * cores + sockets;
        // All lines of a set of the outer cache are then of one set of the inner one.
        let nested = inner.geometry.sets <= outer.geometry.sets;
        let short = private(&inner.geometry) && private(&outer.geometry) && nested;
        let (inverse, shift) = inverse(last.geometry.sets);
        (few && tags && all && short).then(|| Self {
            lines,
            inner_sets: inner.geometry.sets - 1,
            outer_sets: outer.geometry.sets - 1,
            inner_ways: Ways::new(inner.geometry.ways as usize),
            outer_ways: Ways::new(outer.geometry.ways as usize),
            last_sets: last.geometry.sets,
            last_way: last.geometry.ways as usize - 1,
            inverse,
            shift,
        })
    }

    /// The tag of `line` in the last-level caches, and its set: the quotient and the remainder of
    /// the line number and the number of sets.
    #[inline(always)]
    pub(super) fn place(&self, line: u32) -> (u16, u32) {
        let tag = quotient(line, self.inverse, self.shift);
        (tag as u16, line.wrapping_sub(tag.wrapping_mul(self.last_sets)))
    }

    /// The line with this tag in this set. Of [`NO_TAG`], one beyond the last line.
    #[inline(always)]
    pub(super) fn line(&self, tag: u16, set: u32) -> u64 {
        u64::from(tag) * u64::from(self.last_sets) + u64::from(set)
    }

    /// From one core's sets to the next one's.
    pub(super) fn inner_stride(&self) -> u32 {
        self.inner_sets + 1 + SKEW
    }

    /// The same of the outer caches.
    pub(super) fn outer_stride(&self) -> u32 {
        self.outer_sets + 1 + SKEW
    }

    /// From one socket's sets to the next one's.
    pub(super) fn last_stride(&self) -> u32 {
        self.last_sets + SKEW_LAST
    }
}

/// The factor and the shift by which [`quotient`] divides by `sets`.
fn inverse(sets: u32) -> (u32, u32) {
    let shift = 31 + sets.next_power_of_two().trailing_zeros();
    ((1u64 << shift).div_ceil(u64::from(sets)) as u32, shift)
}

/// ⌊line / sets⌋ by a multiplication that vectors have, too (Lemire, Kaser, Kurz: Faster remainder
/// by direct computation, 2019, section 3).
///
/// The factor is too large by less than 1/sets·2ˢ, so that the quotient's error is below line/2ˢ <
/// 1/sets. It is exact, as lines are below 2³⁰ and 2ˢ is at least 2³¹·sets.
#[inline(always)]
fn quotient(line: u32, inverse: u32, shift: u32) -> u32 {
    ((u64::from(line) * u64::from(inverse)) >> shift) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_tag_is_the_line_number_divided_by_the_sets(
            sets in 1u32..1 << 30,
            small in 1u32..100_000,
            line in 0u32..1 << 30,
        ) {
            for sets in [sets, small, small.next_power_of_two()] {
                let (inverse, shift) = inverse(sets);
                let multiple = line / sets * sets;
                for line in [line, multiple, multiple.saturating_sub(1)] {
                    let quotient = quotient(line, inverse, shift);
                    prop_assert_eq!(quotient, line / sets, "{} / {}", line, sets);
                }
            }
        }
    }
}
