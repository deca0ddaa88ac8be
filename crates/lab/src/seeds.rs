//! How many seeds each scheduler is simulated with.

use std::num::NonZeroU32;

/// The seeds after which intervals are looked at, where their number is not fixed: the first of
/// them at least, the last at most. Few looks, further and further apart, because each is one more
/// chance for an interval to be narrow by luck, and because a round has work for several cores.
/// With them the intervals cover the true ratio in 90 to 97 % of cases (a test of
/// `summary/interval.rs` measures it).
pub(crate) const LOOKS: [u32; 5] = [3, 5, 8, 13, 20];

/// The usual budget of [`Seeds::Enough`], in line touches.
pub const BUDGET: u64 = 1_500_000_000;

/// The number of seeds of each scheduler on each machine; the seeds are 1, 2, … up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeds {
    /// The same for all.
    Fixed(NonZeroU32),
    /// 3, then up to 20 for each scheduler whose ratio of times to the first has an interval that
    /// is not [narrow](crate::Interval::is_narrow).
    ///
    /// Seeds are added in rounds. What a round adds follows from results alone, so it is the same
    /// whatever the number of threads.
    Enough {
        /// No seed is added that would make all simulations together touch more lines than this.
        /// The first three always run.
        budget: u64,
    },
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Enough { budget: BUDGET }
    }
}

impl Seeds {
    /// The number that every scheduler gets at least.
    pub fn first(self) -> u32 {
        match self {
            Self::Fixed(number) => number.get(),
            Self::Enough { .. } => LOOKS[0],
        }
    }

    /// The touches that there are left of the budget after so many.
    pub(crate) fn left(self, spent: u64) -> u64 {
        match self {
            Self::Fixed(_) => u64::MAX,
            Self::Enough { budget } => budget.saturating_sub(spent),
        }
    }

    /// The number that one may get at most.
    pub(crate) fn last(self) -> u32 {
        match self {
            Self::Fixed(number) => number.get(),
            Self::Enough { .. } => LOOKS[LOOKS.len() - 1],
        }
    }
}

/// The number of seeds that each scheduler of one machine needs next. `so_far` has, for each, the
/// number that it has run with, and whether it needs more; the first is the baseline, which runs
/// with as many as any other that needs more.
pub(crate) fn next(so_far: &[(u32, bool)]) -> Vec<u32> {
    let further = |(seeds, wide): (u32, bool)| {
        let look = LOOKS.into_iter().find(|look| *look > seeds);
        look.filter(|_| wide).unwrap_or(seeds)
    };
    let mut next: Vec<_> = so_far.iter().copied().map(further).collect();
    let needed = so_far.iter().zip(&next).filter(|((_, wide), _)| *wide);
    if let Some(most) = needed.map(|(_, seeds)| *seeds).max() {
        next[0] = next[0].max(most);
    }
    next
}

/// `next` where the seeds that it adds to `so_far` cost at most `left`, of which one of an
/// experiment costs as much as `each` says; else `so_far`. Part of a round would end before the
/// next look, so it would take time and make nothing narrow enough.
pub(crate) fn within(so_far: &[u32], next: Vec<u32>, each: &[u64], left: u64) -> Vec<u32> {
    let added = so_far.iter().zip(&next).map(|(now, next)| u64::from(next - now));
    let cost = added.zip(each).map(|(seeds, each)| seeds.saturating_mul(*each));
    if cost.fold(0, u64::saturating_add) <= left { next } else { so_far.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_need_more_go_to_the_next_look_and_the_baseline_with_them() {
        assert_eq!(next(&[(3, false), (3, true), (3, false)]), [5, 5, 3]);
        assert_eq!(next(&[(5, false), (5, true), (3, true)]), [8, 8, 5]);
        assert_eq!(next(&[(8, false), (5, true), (3, false)]), [8, 8, 3]);
        // The baseline itself asks where what a sample says of it is too rough.
        assert_eq!(next(&[(8, true), (3, false)]), [13, 3]);
        assert_eq!(next(&[(3, false)]), [3]);
    }

    #[test]
    fn twenty_seeds_are_the_most() {
        assert_eq!(next(&[(13, false), (13, true)]), [20, 20]);
        assert_eq!(next(&[(20, false), (20, true)]), [20, 20]);
    }

    #[test]
    fn a_round_that_the_budget_does_not_cover_is_not_begun() {
        let so_far = [5, 5, 3];
        assert_eq!(within(&so_far, vec![8, 8, 3], &[1; 3], 6), [8, 8, 3]);
        assert_eq!(within(&so_far, vec![8, 8, 3], &[1; 3], 5), so_far);
        // Those of a machine whose lines cannot be sampled cost more.
        assert_eq!(within(&so_far, vec![8, 8, 3], &[1, 10, 10], 33), [8, 8, 3]);
        assert_eq!(within(&so_far, vec![8, 8, 3], &[1, 10, 10], 32), so_far);
    }
}
