//! The row of workers.

use std::ops::Range;

use super::home::{Home, Kind, PLACES};

/// Into so many parts the widest place in the row is divided, or fewer where a mark has no room for
/// so many of each worker.
const PARTS: u32 = 1 << 12;
/// The most parts that a subtree of one worker is dealt out in. More parts come out more even where
/// the tree does not divide by the number of workers; each part is one more fork that the policy
/// sees.
const FINEST: u32 = 8;
/// The row of workers: each has a place as wide as its weight.
#[derive(Debug)]
pub(in crate::policy) struct Row {
    /// Which of the machine's rows it is.
    index: u8,
    /// Into how many parts the widest place is divided.
    parts: u32,
    /// Where each worker's place begins, and where the last one's ends.
    bounds: Vec<u32>,
}

impl Row {
    /// Of workers with these weights, none of them 0.
    pub(in crate::policy) fn new(index: u8, weights: impl Iterator<Item = f64> + Clone) -> Self {
        let most = weights.clone().fold(f64::MIN_POSITIVE, f64::max);
        let workers = weights.clone().count() as u32;
        let parts = PARTS.min(PLACES / workers.max(1)).max(1);
        let mut end = 0;
        let ends = weights.map(|weight| {
            end += ((weight / most * f64::from(parts)) as u32).max(1);
            end
        });
        Self { index, parts, bounds: std::iter::once(0).chain(ends).collect() }
    }

    /// These workers, whole.
    pub(in crate::policy) fn of(&self, workers: Range<u32>, kind: Kind) -> Home {
        let [from, to] = [workers.start, workers.end].map(|w| self.bounds[w as usize]);
        Home { from, to, kind, row: self.index }
    }

    /// One worker, whole.
    pub(in crate::policy) fn at(&self, worker: u32, kind: Kind) -> Home {
        self.of(worker..worker + 1, kind)
    }

    /// The worker in whose place this lies.
    fn worker(&self, place: u32) -> u32 {
        self.bounds.partition_point(|bound| *bound <= place) as u32 - 1
    }

    /// The first worker of a home.
    pub(in crate::policy) fn first(&self, home: Home) -> u32 {
        self.worker(home.from)
    }

    /// The last.
    pub(in crate::policy) fn last(&self, home: Home) -> u32 {
        self.worker(home.to - 1)
    }

    /// The one in whose place its middle lies.
    pub(in crate::policy) fn middle(&self, home: Home) -> u32 {
        self.worker(home.from + (home.to - 1 - home.from) / 2)
    }

    /// How far apart two places are: first in the tree of halves of the row, where they are under
    /// the same part as long as their digits agree, as binary fractions of it; then in the row.
    pub(in crate::policy) fn apart(&self, one: u32, other: u32) -> (u32, u32) {
        let whole = u64::from(*self.bounds.last().expect("a row begins at 0")).max(1);
        let digits = |place: u32| ((u64::from(place) << 31) / whole) as u32;
        let differ = digits(one) ^ digits(other);
        (u32::BITS - differ.leading_zeros(), one.abs_diff(other))
    }

    /// How many homes of this width the places of `workers` have room for.
    pub(in crate::policy) fn times_in(&self, home: Home, workers: Range<u32>) -> f64 {
        let all = self.of(workers, home.kind);
        f64::from(all.to - all.from) / f64::from(home.to - home.from)
    }

    /// How many of `workers` have their whole places in a home.
    pub(in crate::policy) fn whole(&self, home: Home, workers: Range<u32>) -> u32 {
        let bounds = &self.bounds[workers.start as usize..=workers.end as usize];
        let first = bounds.partition_point(|bound| *bound < home.from);
        let end = bounds.partition_point(|bound| *bound <= home.to);
        (end as u32).saturating_sub(first as u32 + 1)
    }

    /// Whether a home is divided further: it reaches over a border between workers, and is more
    /// than the finest part of one.
    pub(in crate::policy) fn is_wide(&self, home: Home) -> bool {
        home.to - home.from > self.parts / FINEST && self.first(home) != self.last(home)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_a_home_those_count_whose_place_is_all_in_it() {
        let row = Row::new(0, (0..4).map(|_| 1.0));
        let quarter = row.at(0, Kind::Dealt).to;
        let home = |from, to| Home { from, to, ..row.at(0, Kind::Dealt) };
        let whole = |from, to| row.whole(home(from, to), 0..4);
        assert_eq!([1, 2, 4].map(|n| whole(0, n * quarter)), [1, 2, 4]);
        assert_eq!(whole(quarter / 2, 3 * quarter), 2);
        assert_eq!([whole(1, quarter), whole(1, 2 * quarter - 1)], [0, 0]);
        let of = |workers| row.whole(home(0, 3 * quarter), workers);
        assert_eq!([of(0..2), of(2..4), of(3..4), of(1..2)], [2, 1, 0, 1]);
    }

    proptest! {
        #[test]
        fn a_home_survives_the_mark(from in 0u32..4000, width in 1u32..96, kind in 0usize..4) {
            let kind = [Kind::Dealt, Kind::Together, Kind::Claims, Kind::Kept][kind];
            let row = Row::new(0, (0..5000).map(|_| 1.0));
            let home = row.of(from..from + width, kind).part(1..2, 3);
            prop_assert_eq!(Home::read(home.word()), Some(home));
        }

        #[test]
        fn the_parts_of_a_home_are_its_own_and_leave_nothing_out(
            workers in 1u32..200, shares in prop::collection::vec(1u64..1 << 40, 1..20),
        ) {
            let home = Row::new(0, (0..workers).map(|_| 1.0)).of(0..workers, Kind::Dealt);
            let of = shares.iter().sum();
            let (mut before, mut to) = (0, home.from);
            for share in shares {
                let part = home.part(before..before + share, of);
                prop_assert!(part.from <= to && part.to >= to && part.to <= home.to);
                (before, to) = (before + share, part.to);
            }
            prop_assert_eq!(to, home.to);
        }
    }

    #[test]
    fn homes_survive_the_mark_on_the_largest_machines() {
        for workers in [1, 4095, 4096, 4224, 16_512, 65_536] {
            for weight in [1.0, 0.001] {
                let weights = (0..workers).map(|w| if w < workers / 2 { weight } else { 1.0 });
                let row = Row::new(255, weights);
                let last = row.at(workers - 1, Kind::Kept);
                for home in [row.of(0..workers, Kind::Claims), last, row.at(0, Kind::Together)] {
                    assert_eq!(Home::read(home.word()), Some(home), "{workers}");
                }
                let ends = [row.first(last), row.last(last)];
                assert_eq!(ends, [workers - 1; 2], "{workers}");
            }
        }
    }

    #[test]
    fn a_task_has_no_home_before_it_is_given_one() {
        assert_eq!(Home::read(0), None);
    }

    #[test]
    fn what_lies_within_one_worker_is_not_divided() {
        let row = Row::new(0, (0..12).map(|_| 1.0));
        let eighth = row.of(0..12, Kind::Dealt).part(0..1, 8);
        assert!(row.is_wide(eighth) && row.first(eighth) == 0 && row.last(eighth) == 1);
        assert!(!row.is_wide(eighth.part(0..1, 2)));
        // The half that reaches over the border is divided down to an eighth of a worker.
        assert!(row.is_wide(eighth.part(1..2, 2)));
        assert!(!row.is_wide(eighth.part(10..11, 16)));
    }

    #[test]
    fn the_sibling_in_the_tree_is_nearer_than_the_neighbour_in_the_row() {
        // 96 workers: no border between halves lies at a power of two of places.
        let row = Row::new(0, (0..96).map(|_| 1.0));
        let quarter = |i: u64| row.of(0..96, Kind::Dealt).part(i..i + 1, 4).place();
        let apart = |one, other| row.apart(quarter(one), quarter(other));
        assert!(apart(1, 0) < apart(1, 2));
        assert!(apart(2, 3) < apart(2, 1));
        // Of cousins the one that lies nearer.
        assert!(apart(3, 1) < apart(3, 0) && apart(0, 2) < apart(0, 3));
        assert_eq!(apart(2, 2), (0, 0));
    }

    #[test]
    fn a_worker_of_half_the_speed_has_half_the_place() {
        let row = Row::new(0, [1.0, 0.5, 0.5].into_iter());
        let [left, right] = [0..1, 1..2].map(|half| row.of(0..3, Kind::Dealt).part(half, 2));
        assert_eq!((row.first(left), row.last(left)), (0, 0));
        assert_eq!((row.first(right), row.last(right)), (1, 2));
    }
}
