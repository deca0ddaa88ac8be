//! A balanced binary search tree in an array of nodes.

use std::cmp::Ordering;

use super::word::Word;
use crate::{KernelError, array};

/// No node.
const NONE: u32 = u32::MAX;

/// Its word, and the places of its children.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Node<const FOURS: usize> {
    word: Word<FOURS>,
    left: u32,
    right: u32,
}

const _: () = assert!(size_of::<Node<3>>() == 20 && size_of::<Node<4>>() == 24);

/// A balanced tree of the words of ranks 0..n.
#[derive(Debug)]
pub(super) struct Tree<const FOURS: usize> {
    nodes: Vec<Node<FOURS>>,
    root: u32,
}

impl<const FOURS: usize> Tree<FOURS> {
    /// `layout` says where nodes lie: `sorted`, `preorder`, `level` (breadth first), or at random.
    /// O(n).
    pub(super) fn new(
        n: u32,
        layout: &str,
        random: &mut fastrand::Rng,
    ) -> Result<Self, KernelError> {
        let place = places(n, layout, random)?;
        let at = |rank: Option<u32>| rank.map_or(NONE, |rank| place[rank as usize]);
        let empty = Node { word: Word::of(0, n), left: NONE, right: NONE };
        let mut nodes = array::filled(n as usize, |_| empty)?;
        let mut open = vec![(0, n)];
        while let Some((from, to)) = open.pop() {
            let Some(rank) = middle(from, to) else { continue };
            nodes[place[rank as usize] as usize] = Node {
                word: Word::of(rank, n),
                left: at(middle(from, rank)),
                right: at(middle(rank + 1, to)),
            };
            open.extend([(from, rank), (rank + 1, to)]);
        }
        Ok(Self { nodes, root: at(middle(0, n)) })
    }

    /// True if it has this word. O(log n).
    pub(super) fn has(&self, word: &Word<FOURS>) -> bool {
        let mut at = self.root;
        // `get` is none for `NONE`: there are fewer nodes.
        while let Some(node) = self.nodes.get(at as usize) {
            at = match word.compare(&node.word) {
                Ordering::Less => node.left,
                Ordering::Greater => node.right,
                Ordering::Equal => return true,
            };
        }
        false
    }
}

/// The rank at the root of the subtree of ranks `from..to`.
fn middle(from: u32, to: u32) -> Option<u32> {
    (from < to).then(|| from + (to - from) / 2)
}

/// The place of the node of each rank.
fn places(n: u32, layout: &str, random: &mut fastrand::Rng) -> Result<Vec<u32>, KernelError> {
    let mut place = array::filled(n as usize, |rank| rank as u32)?;
    match layout {
        "sorted" => {}
        "preorder" | "level" => {
            let depth_first = layout == "preorder";
            let mut open = std::collections::VecDeque::from([(0, n)]);
            let mut next = 0;
            while let Some((from, to)) =
                if depth_first { open.pop_back() } else { open.pop_front() }
            {
                let Some(rank) = middle(from, to) else { continue };
                place[rank as usize] = next;
                next += 1;
                let (left, right) = ((from, rank), (rank + 1, to));
                open.extend(if depth_first { [right, left] } else { [left, right] });
            }
        }
        _ => random.shuffle(&mut place),
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_gives_each_node_a_place_of_its_own() {
        for layout in ["sorted", "preorder", "level", "random"] {
            let mut places = places(1000, layout, &mut fastrand::Rng::with_seed(1)).unwrap();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..1000), "{layout}");
        }
    }

    #[test]
    fn levels_lie_behind_one_another_and_preorder_puts_the_left_child_next() {
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(places(7, "level", &mut random).unwrap(), [3, 1, 4, 0, 5, 2, 6]);
        assert_eq!(places(7, "preorder", &mut random).unwrap(), [2, 1, 3, 0, 5, 4, 6]);
    }

    #[test]
    fn a_word_that_is_not_there_is_not_found() {
        let tree = Tree::<4>::new(100, "level", &mut fastrand::Rng::with_seed(1)).unwrap();
        assert!((0..100).all(|rank| tree.has(&Word::of(rank, 100))));
        assert!(!tree.has(&Word::of(0, 1_000_000)));
    }
}
