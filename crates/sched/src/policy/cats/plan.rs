//! Which tasks become leaf inter-socket tasks, and on which socket each first runs (`cats-s`).

/// A candidate for a leaf inter-socket task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Its number in the table.
    pub(super) slot: u32,
    /// Its size of involved data, in bytes.
    pub(super) soid: u64,
}

/// The most by which the socket with most to do may exceed the mean before subtrees are cut
/// further.
const SLACK: f64 = 1.0 / 8.0;
/// Subtrees per socket beyond which balance is not sought by cutting: each has its price at its
/// beginning and end.
const FINEST: usize = 8;

/// Cuts the tree below `root` into subtrees of at most `cap` bytes, at least one for each of
/// `sockets` sockets, and further as long as they cannot be dealt out evenly; in serial order.
/// `children` returns a task's children in serial order, none for a task that is not cut.
///
/// Time O(n) for the n tasks that are larger than `cap`, or children of such; and for each that is
/// cut besides, O(8 · sockets + the largest number of children).
pub(super) fn cut(
    root: Part,
    sockets: usize,
    cap: u64,
    children: impl Fn(u32) -> Vec<Part>,
) -> Vec<Part> {
    let mut parts = down_to(cap, children(root.slot), &children);
    loop {
        // What may be cut is no larger than the cap now.
        let largest = (0..parts.len())
            .filter(|i| !parts[*i].is_whole)
            .max_by_key(|i| (parts[*i].part.soid, usize::MAX - i));
        let is_enough = parts.len() >= sockets
            && (parts.len() >= FINEST * sockets || excess(&plain(&parts), sockets) <= SLACK);
        let Some(at) = largest.filter(|_| !is_enough) else { return plain(&parts) };
        let below = children(parts[at].part.slot);
        if below.is_empty() {
            parts[at].is_whole = true;
        } else {
            parts.splice(at..=at, down_to(cap, below, &children));
        }
    }
}

/// A part, and whether it is known to have no children.
#[derive(Clone, Copy)]
struct Piece {
    part: Part,
    is_whole: bool,
}

fn plain(pieces: &[Piece]) -> Vec<Part> {
    pieces.iter().map(|piece| piece.part).collect()
}

/// Cuts `parts` until each is no larger than `cap` or has no children; in the same order.
fn down_to(cap: u64, parts: Vec<Part>, children: impl Fn(u32) -> Vec<Part>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut left = parts;
    left.reverse();
    while let Some(part) = left.pop() {
        let below = if part.soid > cap { children(part.slot) } else { Vec::new() };
        if below.is_empty() {
            pieces.push(Piece { part, is_whole: part.soid > cap });
        } else {
            left.extend(below.into_iter().rev());
        }
    }
    pieces
}

/// Deals `parts`, in serial order, out to sockets 0, 1, …: neighbours together, about as many bytes
/// to each socket.
pub(super) fn deal(parts: &[Part], sockets: usize) -> Vec<u32> {
    let total: u128 = parts.iter().map(|part| u128::from(part.soid)).sum();
    let mut before: u128 = 0;
    let socket = |part: &Part| {
        let middle = 2 * before + u128::from(part.soid);
        before += u128::from(part.soid);
        // A part belongs where its middle lies.
        (middle * sockets as u128).checked_div(2 * total).unwrap_or(0).min(sockets as u128 - 1)
            as u32
    };
    parts.iter().map(socket).collect()
}

/// By how much the socket with most to do exceeds the mean, as a share of it.
fn excess(parts: &[Part], sockets: usize) -> f64 {
    let mut loads = vec![0u128; sockets];
    for (part, socket) in parts.iter().zip(deal(parts, sockets)) {
        loads[socket as usize] += u128::from(part.soid);
    }
    let most = loads.iter().copied().max().unwrap_or(0) as f64;
    let mean = loads.iter().sum::<u128>() as f64 / sockets as f64;
    if mean > 0.0 { most / mean - 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A binary tree by heap numbers: task i has children 2i and 2i + 1 and half its size each.
    fn halves(size: u64, levels: u32) -> impl Fn(u32) -> Vec<Part> {
        move |slot| {
            let depth = slot.ilog2() + 1;
            let soid = size >> depth;
            let children = if depth > levels { 0..0 } else { 2 * slot..2 * slot + 2 };
            children.map(|slot| Part { slot, soid }).collect()
        }
    }

    #[test]
    fn four_sockets_get_a_quarter_each_even_if_two_subtrees_would_fit_a_cache() {
        let parts = cut(Part { slot: 1, soid: 8 << 20 }, 4, 6 << 20, halves(8 << 20, 10));
        assert_eq!(parts.iter().map(|p| p.slot).collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert_eq!(deal(&parts, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn what_exceeds_the_cap_is_cut_down_to_it() {
        let parts = cut(Part { slot: 1, soid: 64 << 20 }, 4, 3 << 20, halves(64 << 20, 10));
        assert_eq!(parts.len(), 32);
        assert!(parts.iter().all(|p| p.soid == 2 << 20));
        assert!(deal(&parts, 4).is_sorted());
    }

    #[test]
    fn twelve_sockets_get_enough_subtrees_to_be_about_even() {
        let parts = cut(Part { slot: 1, soid: 8 << 20 }, 12, 16 << 20, halves(8 << 20, 10));
        let (count, excess) = (parts.len(), excess(&parts, 12));
        assert!(count <= 96 && excess < 0.5, "{count} {excess}");
    }

    #[test]
    fn a_tree_that_ends_early_is_not_cut_forever() {
        assert_eq!(cut(Part { slot: 1, soid: 1 << 30 }, 8, 1, halves(1 << 30, 1)).len(), 2);
        assert!(cut(Part { slot: 1, soid: 1 << 30 }, 8, 1, |_| vec![]).is_empty());
    }

    #[test]
    fn regression_a_tree_with_many_leaves_that_are_too_large_is_cut_at_once() {
        // All that had no children was looked through for each part, for each part: hours for
        // these.
        let levels = 15;
        let parts = cut(Part { slot: 1, soid: 1 << 40 }, 4, 1, halves(1 << 40, levels));
        assert_eq!(parts.len(), 1 << levels);
        assert!(parts.iter().map(|part| part.slot).eq(1 << levels..2 << levels));
    }

    /// As [`cut`] says it: the largest that is not known to have no children is cut, the first of
    /// several, until there are enough.
    fn cut_one_by_one(
        root: Part,
        sockets: usize,
        cap: u64,
        children: impl Fn(u32) -> Vec<Part>,
    ) -> Vec<Part> {
        let (mut parts, mut whole) = (children(root.slot), Vec::new());
        loop {
            let largest = (0..parts.len())
                .filter(|i| !whole.contains(&parts[*i].slot))
                .max_by_key(|i| (parts[*i].soid, usize::MAX - i));
            let Some(at) = largest else { return parts };
            let enough = parts[at].soid <= cap && parts.len() >= sockets;
            if enough && (parts.len() >= FINEST * sockets || excess(&parts, sockets) <= SLACK) {
                return parts;
            }
            let below = children(parts[at].slot);
            if below.is_empty() {
                whole.push(parts[at].slot);
            } else {
                parts.splice(at..=at, below);
            }
        }
    }

    proptest! {
        #[test]
        fn the_largest_is_cut_first_whatever_sizes_a_program_declares(
            sizes in proptest::collection::vec(0u64..100, 2..120),
            width in 1u32..5,
            sockets in 1usize..5,
            cap in 0u64..100,
        ) {
            let children = |slot: u32| -> Vec<Part> {
                let first = slot * width + 1;
                (first..first + width)
                    .filter_map(|slot| {
                        sizes.get(slot as usize).map(|&soid| Part { slot, soid })
                    })
                    .collect()
            };
            let root = Part { slot: 0, soid: sizes[0] };
            prop_assert_eq!(
                cut(root, sockets, cap, children),
                cut_one_by_one(root, sockets, cap, children)
            );
        }

        #[test]
        fn dealing_keeps_order_and_no_socket_gets_more_than_its_share_and_a_part(
            sizes in proptest::collection::vec(1u64..1_000_000, 1..60),
            sockets in 1usize..13,
        ) {
            let parts: Vec<_> =
                sizes.iter().zip(0..).map(|(&soid, slot)| Part { slot, soid }).collect();
            let dealt = deal(&parts, sockets);
            prop_assert!(dealt.is_sorted() && dealt.iter().all(|s| (*s as usize) < sockets));
            let total: u64 = sizes.iter().sum();
            let largest = sizes.iter().max().unwrap();
            for socket in 0..sockets as u32 {
                let here = parts.iter().zip(&dealt).filter(|(_, s)| **s == socket);
                let load: u64 = here.map(|(part, _)| part.soid).sum();
                prop_assert!(load <= total / sockets as u64 + largest + 1);
            }
        }
    }
}
