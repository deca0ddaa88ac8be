//! Which tasks of a window run next, and in which order.
//!
//! All functions take the number of tasks in the window, oldest first, how many are to run
//! (`execute`), and how many of the oldest are due and must be among those (`due`). They are pure.

#[cfg(test)]
mod tests;

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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// The tasks to run, in order, as indices into the window.
    pub order: Vec<usize>,
    /// The sum of their affinities, each to the one before it, as far as they were looked at.
    pub gain: i64,
    /// How many affinities were looked at: what deciding costs.
    pub looks: u64,
}

/// Each next task is the one with the greatest affinity to the task before it; of equals the
/// oldest.
///
/// `affinity(before, next)` is that of the window's task `next` to its task `before`, or to the one
/// that ran last where `before` is none. With a `budget`, each step asks whether it affords the
/// looks, one of them at the pair that arrival order would have in this place, and tells it what
/// the choice gains against that. From the first step that it does not afford on, tasks go as they
/// came. O(execute × window).
pub fn greedy(
    window: usize,
    execute: usize,
    due: usize,
    mut affinity: impl FnMut(Option<usize>, usize) -> i64,
    mut budget: Option<&mut Budget>,
) -> Chosen {
    let execute = execute.min(window);
    let mut due = due.min(execute);
    let mut chosen = Chosen { order: Vec::with_capacity(execute), gain: 0, looks: 0 };
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
        let mut best: Option<(usize, i64)> = None;
        for (at, &task) in candidates.iter().enumerate() {
            let value = affinity(before, task);
            if best.is_none_or(|(_, greatest)| value > greatest) {
                best = Some((at, value));
            }
        }
        let Some((at, value)) = best else { break };
        chosen.looks += looks;
        if let Some(budget) = &mut budget {
            let place = execute - places;
            budget.looked(looks, value - affinity(place.checked_sub(1), place));
        }
        if at < due {
            due -= 1;
        }
        let task = waiting.remove(at);
        chosen.gain += value;
        chosen.order.push(task);
        before = Some(task);
    }
    chosen
}

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

/// Tasks in the order of their keys, from the first key not below `last` up and on from the
/// smallest: like a lift that goes up only.
///
/// For tasks whose keys run along what they touch (the key looked up, the first row of a block), so
/// that near keys mean shared lines. Of those that are not due the next along the way are taken.
/// O(window log window); `looks` counts the comparisons that sorting takes, a binary logarithm a
/// task.
pub fn by_key<K: Ord + Copy>(keys: &[K], last: Option<K>, execute: usize, due: usize) -> Chosen {
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
    Chosen { order, gain: 0, looks: depth * keys.len() as u64 }
}
