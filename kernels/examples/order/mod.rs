//! The order in which things that are compared run.

/// The order of `count` of them in a round, as indices. It is rotated and reversed from round to
/// round, A B C, C B A, B C A, A C B …: none always runs after the same one.
pub(crate) fn of_round(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    order.rotate_left(round / 2 % count.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}
