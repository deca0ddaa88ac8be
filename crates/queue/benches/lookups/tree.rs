//! A balanced binary search tree in three forms. The nodes of two lie in random places, as if
//! allocated one by one over a long life: one cache line each, or half a line. Those of the third
//! lie level by level.

use befit_queue::{MemorySpan, Walk, WalkStep};

use crate::{Index, Random, value};

/// No node.
const NONE: u32 = u32::MAX;

/// With a record of `8 N` bytes, the first eight of which are looked up. What a search reads of it
/// is in its first half line.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Node<const N: usize> {
    key: u64,
    /// Left and right.
    children: [u32; 2],
    record: [u64; N],
}

/// With its nodes level by level, or in random places.
pub(crate) struct Tree<const N: usize, const LEVELS: bool> {
    nodes: Vec<Node<N>>,
    root: u32,
}

/// A record of 40 bytes: a node is a cache line.
pub(crate) type Lines = Tree<5, false>;

/// A record of 8 bytes: a node is half a line.
pub(crate) type Compact = Tree<1, false>;

/// Each level's upper neighbours share lines and pages.
pub(crate) type Levels = Tree<1, true>;

/// Random places for the nodes of each rank.
fn scattered(len: usize) -> Vec<u32> {
    let mut places: Vec<u32> = (0..len as u32).collect();
    let mut random = Random(1);
    for i in (1..len).rev() {
        places.swap(i, random.below(i as u64 + 1) as usize);
    }
    places
}

/// Places level by level, from left to right.
fn levels(len: usize) -> Vec<u32> {
    let depth = (len + 1).trailing_zeros();
    // In a full tree the rank says the level: ranks that end in k ones stand k levels above the
    // leaves.
    let place = |rank: u32| {
        let above = rank.trailing_ones();
        (1 << (depth - 1 - above)) - 1 + (rank >> (above + 1))
    };
    (0..len as u32).map(place).collect()
}

/// A search under way.
pub(crate) struct Search<'a, const N: usize> {
    nodes: &'a [Node<N>],
    key: u64,
    at: u32,
}

impl<const N: usize> Walk for Search<'_, N> {
    type Output = Option<u64>;

    // The root is in the cache always: the first step goes through it at once.
    #[inline(always)]
    fn step(&mut self) -> WalkStep<Option<u64>> {
        let node = &self.nodes[self.at as usize];
        if node.key == self.key {
            return WalkStep::Done(Some(node.record[0]));
        }
        self.at = node.children[usize::from(self.key > node.key)];
        match self.nodes.get(self.at as usize) {
            Some(next) => WalkStep::Next(MemorySpan::at(next, 24)),
            None => WalkStep::Done(None),
        }
    }
}

impl<const N: usize, const LEVELS: bool> Index for Tree<N, LEVELS> {
    const NAME: &str = match (N, LEVELS) {
        (_, true) => "level-ordered tree",
        (1, false) => "compact tree",
        _ => "tree",
    };
    type Search<'a> = Search<'a, N>;

    fn build(bytes: usize) -> Self {
        // Full to the last level.
        let len = ((bytes / size_of::<Node<N>>() + 1).next_power_of_two() >> 1).max(2) - 1;
        let places = if LEVELS { levels(len) } else { scattered(len) };
        let mut nodes = vec![Node { key: 0, record: [0; N], children: [NONE; 2] }; len];
        // Ranks from `first` to `end`, which hang together: the middle one above the two halves.
        let mut rest = vec![(0, len)];
        let middle = |(first, end): (usize, usize)| {
            if first < end { places[(first + end) / 2] } else { NONE }
        };
        while let Some((first, end)) = rest.pop() {
            let rank = (first + end) / 2;
            let (left, right) = ((first, rank), (rank + 1, end));
            let key = 2 * rank as u64 + 1;
            nodes[places[rank] as usize] =
                Node { key, record: [value(key); N], children: [middle(left), middle(right)] };
            rest.extend([left, right].into_iter().filter(|(first, end)| first < end));
        }
        Self { nodes, root: places[len / 2] }
    }

    fn len(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }

    fn get(&self, key: u64) -> Option<u64> {
        let mut at = self.root;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.key == key {
                return Some(node.record[0]);
            }
            at = node.children[usize::from(key > node.key)];
        }
        None
    }

    fn search(&self, key: u64) -> Search<'_, N> {
        Search { nodes: &self.nodes, key, at: self.root }
    }
}
