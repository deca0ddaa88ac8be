//! The nearest neighbour, again and again.

use super::{super::Budget, Chosen};

/// Each next task is the one with the greatest affinity to the task before it; of equals the
/// oldest.
///
/// `affinity(before, next)`: of the window's task `next` to its task `before`, or to the one that
/// ran last where `before` is none. With a `budget`, each step asks whether it affords the looks,
/// one of them at the pair that arrival order would have in this place, and tells it what the
/// choice gains against that; from the first step that it does not afford on, tasks go as they
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
