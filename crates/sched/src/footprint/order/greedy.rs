//! The nearest neighbour, again and again.

use super::Chosen;

/// Each next task is the one with the greatest affinity to the task before it; of equals the oldest.
///
/// `affinity(before, next)`: of the window's task `next` to its task `before`, or to the one that ran last where `before` is none.
/// O(execute × window).
pub fn greedy(
    window: usize,
    execute: usize,
    due: usize,
    mut affinity: impl FnMut(Option<usize>, usize) -> i64,
) -> Chosen {
    let execute = execute.min(window);
    let mut due = due.min(execute);
    let mut chosen = Chosen { order: Vec::with_capacity(execute), gain: 0, looks: 0 };
    // Ascending, so that those due come first: `waiting[..left_due]`.
    let mut waiting: Vec<usize> = (0..window).collect();
    let mut before = None;
    for places in (1..=execute).rev() {
        // When only enough places for the due ones are left, they are theirs.
        let candidates = if places == due { &waiting[..due] } else { &waiting[..] };
        let mut best: Option<(usize, i64)> = None;
        for (at, &task) in candidates.iter().enumerate() {
            let value = affinity(before, task);
            if best.is_none_or(|(_, greatest)| value > greatest) {
                best = Some((at, value));
            }
        }
        chosen.looks += candidates.len() as u64;
        let Some((at, value)) = best else { break };
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
