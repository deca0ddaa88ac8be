//! Which tasks of a window run next, and in which order.
//!
//! All functions take the number of tasks in the window, oldest first, how many are to run
//! (`execute`), and how many of the oldest are due and must be among those (`due`). They are pure.

use std::cmp::Reverse;

use super::Budget;

/// How a window is put in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Each next task is the one with the greatest affinity to the task before it.
    Greedy,
    /// The greatest sum of affinities; of windows larger than [`EXACT_UP_TO`], greedy.
    Exact,
}

/// What was chosen.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Chosen {
    /// The tasks to run, in order, as indices into the window.
    pub(super) order: Vec<usize>,
    /// How many affinities were looked at: what deciding costs.
    pub(super) looks: u64,
}

/// Each next task is the one with the greatest affinity to the task before it; of equals the
/// oldest.
///
/// `affinity(before, next)` is that of the window's task `next` to its task `before`, or to the one
/// that ran last where `before` is none. With a `budget`, each step asks whether it affords the
/// looks, one of them at the pair that arrival order would have in this place, and tells it what
/// the choice gains against that. From the first step that it does not afford on, tasks go as they
/// came. O(execute × window).
pub(super) fn greedy(
    window: usize,
    execute: usize,
    due: usize,
    mut affinity: impl FnMut(Option<usize>, usize) -> i64,
    mut budget: Option<&mut Budget>,
) -> Chosen {
    let execute = execute.min(window);
    let mut due = due.min(execute);
    let mut chosen = Chosen { order: Vec::with_capacity(execute), looks: 0 };
    // Ascending, so that those due come first: `waiting[..due]`.
    let mut waiting: Vec<usize> = (0..window).collect();
    let mut before = None;
    for places in (1..=execute).rev() {
        // When only enough places for the due ones are left, they are theirs.
        let candidates = if places == due { &waiting[..due] } else { &waiting[..] };
        let looks = candidates.len() as u64 + u64::from(budget.is_some());
        if budget.as_ref().is_some_and(|budget| !budget.may(looks)) {
            // The oldest, so those that are due are among them.
            chosen.order.extend(&waiting[..places]);
            break;
        }
        let values = candidates.iter().map(|task| affinity(before, *task)).enumerate();
        let Some((at, value)) = values.min_by_key(|(_, value)| Reverse(*value)) else { break };
        chosen.looks += looks;
        if let Some(budget) = &mut budget {
            let place = execute - places;
            budget.looked(looks, value - affinity(place.checked_sub(1), place));
        }
        due -= usize::from(at < due);
        let task = waiting.remove(at);
        chosen.order.push(task);
        before = Some(task);
    }
    chosen
}

/// The largest window that `exact` goes through; its tables have window × 2^window entries.
pub const EXACT_UP_TO: usize = 12;

/// The choice and order with the greatest sum of affinities; [`greedy`] for windows above
/// [`EXACT_UP_TO`].
///
/// Held and Karp's recursion for the travelling salesman (*A dynamic programming approach to
/// sequencing problems*, SIAM 1962), for an open path from the task that ran last through `execute`
/// tasks: the best sum for a set of tasks and the last of them follows from the best sums for the
/// set without it. O(2^window × window²).
pub(super) fn exact(
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
    let (_, mut set, mut last) = end;
    let mut order = Vec::with_capacity(execute);
    while set != 0 {
        order.push(last);
        let before = best[set * window + last].1;
        set &= !(1 << last);
        last = usize::from(before);
    }
    order.reverse();
    Chosen { order, looks }
}

/// Tasks in the order of their keys, from the first key not below `last` up and on from the
/// smallest: like a lift that goes up only.
///
/// For tasks whose keys run along what they touch (the key looked up, the first row of a block), so
/// that near keys mean shared lines. Of those that are not due the next along the way are taken.
/// O(window log window); `looks` counts the comparisons that sorting takes, a binary logarithm a
/// task.
pub(super) fn by_key<K: Ord + Copy>(
    keys: &[K],
    last: Option<K>,
    execute: usize,
    due: usize,
) -> Chosen {
    let execute = execute.min(keys.len());
    let due = due.min(execute);
    let mut way: Vec<usize> = (0..keys.len()).collect();
    // Those behind the last come after all that are ahead. Equal keys: the oldest first.
    way.sort_by_key(|task| (last.is_some_and(|last| keys[*task] < last), keys[*task], *task));
    let mut free = execute - due;
    let mut take = |task: &usize| {
        let forced = *task < due;
        let taken = forced || free > 0;
        free -= usize::from(taken && !forced);
        taken
    };
    let order: Vec<usize> = way.into_iter().filter(|task| take(task)).collect();
    let depth = u64::from(usize::BITS - keys.len().leading_zeros());
    Chosen { order, looks: depth * keys.len() as u64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::footprint::Price;

    /// Affinities of a window of `n` tasks: the first row is that to the task that ran last.
    fn affinities(most: usize) -> impl Strategy<Value = (usize, Vec<i64>)> {
        (1..=most).prop_flat_map(|n| (Just(n), prop::collection::vec(-20..20i64, (n + 1) * n)))
    }

    fn look(n: usize, table: &[i64]) -> impl FnMut(Option<usize>, usize) -> i64 + '_ {
        move |before, next| table[before.map_or(0, |b| b + 1) * n + next]
    }

    fn sum(order: &[usize], mut affinity: impl FnMut(Option<usize>, usize) -> i64) -> i64 {
        let mut before = None;
        order.iter().map(|next| affinity(before.replace(*next), *next)).sum()
    }

    /// The best sum over all ordered choices that begin with `order`.
    fn best(n: usize, execute: usize, due: usize, table: &[i64], order: &[usize]) -> i64 {
        if order.len() == execute {
            let allowed = (0..due).all(|d| order.contains(&d));
            return if allowed { sum(order, look(n, table)) } else { i64::MIN };
        }
        let left = (0..n).filter(|next| !order.contains(next));
        let with = left.map(|next| best(n, execute, due, table, &[order, &[next]].concat()));
        with.max().unwrap_or(i64::MIN)
    }

    fn is_a_choice(chosen: &Chosen, n: usize, execute: usize, due: usize) -> bool {
        let mut sorted = chosen.order.clone();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() == chosen.order.len()
            && sorted.len() == execute.min(n)
            && sorted.iter().all(|task| *task < n)
            && (0..due.min(execute).min(n)).all(|d| sorted.contains(&d))
    }

    proptest! {
        #[test]
        fn exact_is_the_best_of_all_orders(
            (n, table) in affinities(6), execute in 1..8usize, due in 0..4usize,
        ) {
            let chosen = exact(n, execute, due, look(n, &table));
            prop_assert!(is_a_choice(&chosen, n, execute, due));
            let gain = sum(&chosen.order, look(n, &table));
            let due = due.min(execute).min(n);
            prop_assert_eq!(gain, best(n, execute.min(n), due, &table, &[]));
        }

        #[test]
        fn greedy_is_never_better_than_exact(
            (n, table) in affinities(9), execute in 0..10usize, due in 0..12usize,
        ) {
            let chosen = greedy(n, execute, due, look(n, &table), None);
            prop_assert!(is_a_choice(&chosen, n, execute, due));
            let gain = |chosen: Chosen| sum(&chosen.order, look(n, &table));
            prop_assert!(gain(chosen) <= gain(exact(n, execute, due, look(n, &table))));
        }

        #[test]
        fn keys_are_taken_in_a_circle(
            keys in prop::collection::vec(0..50u32, 0..20), last in prop::option::of(0..50u32),
            execute in 0..25usize, due in 0..6usize,
        ) {
            let chosen = by_key(&keys, last, execute, due);
            prop_assert!(is_a_choice(&chosen, keys.len(), execute, due));
            let last = last.unwrap_or(0);
            let way = chosen.order.iter().map(|task| (keys[*task] < last, keys[*task]));
            prop_assert!(way.is_sorted());
        }

        #[test]
        fn a_budget_that_runs_out_leaves_a_choice_that_ends_by_arrival(
            (n, table) in affinities(9), execute in 1..10usize, due in 0..12usize,
            affinity in 0..6u32,
        ) {
            let price = Price { look: 1.0, affinity: f64::from(affinity) };
            // For a smaller window, so that it may run out.
            let mut budget = Budget::new(price, n / 8);
            let with = greedy(n, execute, due, look(n, &table), Some(&mut budget));
            let without = greedy(n, execute, due, look(n, &table), None);
            prop_assert!(is_a_choice(&with, n, execute, due));
            prop_assert!(with.looks <= without.looks + execute as u64);
            let same = with.order.iter().zip(&without.order).take_while(|(a, b)| a == b).count();
            prop_assert!(with.order[same..].is_sorted());
        }
    }

    #[test]
    fn where_all_share_alike_a_budget_stops_looking() {
        let mut budget = Budget::new(Price { look: 3.0, affinity: 6.0 }, 64);
        // However much: one order is as good as another.
        let chosen = greedy(64, 32, 0, |_, _| 100, Some(&mut budget));
        assert!(chosen.order.into_iter().eq(0..32));
        // It opens with enough for 16 looks at each of 64; the window becomes smaller on the way.
        assert!((15 * 64..=16 * 64).contains(&chosen.looks), "{}", chosen.looks);
    }

    #[test]
    fn where_all_share_alike_the_oldest_run() {
        for (window, execute, due) in [(6, 3, 0), (6, 3, 2), (EXACT_UP_TO, 1, 0)] {
            let mut chosen = exact(window, execute, due, |_, _| -5).order;
            chosen.sort_unstable();
            assert!(chosen.into_iter().eq(0..execute));
        }
    }

    #[test]
    fn a_window_too_large_for_all_orders_is_gone_through_greedily() {
        let affinity =
            |before: Option<usize>, next: usize| -(before.unwrap_or(0).abs_diff(next) as i64);
        assert_eq!(exact(40, 20, 0, affinity), greedy(40, 20, 0, affinity, None));
    }

    #[test]
    fn what_is_looked_at_is_counted() {
        let affinity = |_: Option<usize>, next: usize| next as i64;
        // Three, then two, then the one that is left.
        assert_eq!(greedy(3, 3, 0, affinity, None).looks, 3 + 2 + 1);
        // Each pair and each first one; then two ways on from each of three tasks, and one from
        // each of the six pairs in order.
        assert_eq!(exact(3, 3, 0, affinity).looks, 9 + 3 + 6 + 6);
    }
}
