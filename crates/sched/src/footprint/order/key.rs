//! Along a key, round and round.

use super::Chosen;

/// Tasks in the order of their keys, from the first key not below `last` up and on from the
/// smallest: like a lift that goes up only.
///
/// For tasks whose keys run along what they touch (the key looked up, the first row of a block),
/// where near keys mean shared lines. Of those that are not due the next along the way are taken.
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
