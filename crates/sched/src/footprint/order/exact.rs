//! The best of all orders, by dynamic programming over subsets.

use super::{Chosen, greedy};

/// The largest window that [`exact`] goes through; its tables have window × 2^window entries.
pub const EXACT_UP_TO: usize = 12;

/// The choice and order with the greatest sum of affinities; [`greedy`] for windows above
/// [`EXACT_UP_TO`].
///
/// Held and Karp's recursion for the travelling salesman (*A dynamic programming approach to
/// sequencing problems*, SIAM 1962), for an open path from the task that ran last through `execute`
/// tasks: the best sum for a set of tasks and the last of them follows from the best sums for the
/// set without it. O(2^window × window²).
pub fn exact(
    window: usize,
    execute: usize,
    due: usize,
    mut affinity: impl FnMut(Option<usize>, usize) -> i64,
) -> Chosen {
    if window > EXACT_UP_TO {
        return greedy(window, execute, due, affinity, None);
    }
    let execute = execute.min(window);
    if execute == 0 {
        return Chosen::default();
    }
    let due_set = (1usize << due.min(execute)) - 1;
    let between: Vec<i64> =
        (0..window * window).map(|i| affinity(Some(i / window), i % window)).collect();
    let mut looks = (window * window + window) as u64;
    const NEVER: i64 = i64::MIN;
    // Per set of tasks and the last of them: the best sum, and the one before the last.
    let mut best = vec![(NEVER, 0u8); window << window];
    for last in 0..window {
        best[((1 << last) * window) + last].0 = affinity(None, last);
    }
    let mut end = (NEVER, 0, 0);
    for set in 1usize..1 << window {
        let size = set.count_ones() as usize;
        for last in (0..window).filter(|last| set >> last & 1 != 0) {
            let (value, _) = best[set * window + last];
            if size == execute && set & due_set == due_set && value > end.0 {
                end = (value, set, last);
            }
            if size >= execute {
                continue;
            }
            for next in (0..window).filter(|next| set >> next & 1 == 0) {
                let with = &mut best[(set | 1 << next) * window + next];
                let sum = value.saturating_add(between[last * window + next]);
                looks += 1;
                if sum > with.0 {
                    *with = (sum, last as u8);
                }
            }
        }
    }
    let (gain, mut set, mut last) = end;
    let mut order = Vec::with_capacity(execute);
    while set != 0 {
        order.push(last);
        let before = best[set * window + last].1;
        set &= !(1 << last);
        last = usize::from(before);
    }
    order.reverse();
    Chosen { order, gain, looks }
}
