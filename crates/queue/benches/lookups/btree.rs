//! A B-tree with 16 keys in each node, two cache lines, and 17 children, which need no links: they
//! lie level by level.

use befit_queue::{Walk, WalkStep};

use crate::{Index, value};

const KEYS: usize = 16;
const CHILDREN: usize = KEYS + 1;

/// Keys in order; past the last one of the tree `u64::MAX`.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node([u64; KEYS]);

impl Node {
    /// The number of keys below `key`.
    #[inline(always)]
    fn below(&self, key: u64) -> usize {
        // Halving, without a branch that could be predicted wrongly.
        let mut below = 0;
        for half in [8, 4, 2, 1] {
            below += half * usize::from(self.0[below + half - 1] < key);
        }
        below + usize::from(self.0[below] < key)
    }
}

/// The children of node `k` are the nodes `17 k + 1 …= 17 k + 17`.
pub(crate) struct BTree {
    nodes: Vec<Node>,
}

impl BTree {
    /// Puts the ranks from `next` on into node `k` and all below it, in order.
    fn fill(&mut self, k: usize, next: &mut u64) {
        for i in 0..=KEYS {
            let child = k * CHILDREN + 1 + i;
            if child < self.nodes.len() {
                self.fill(child, next);
            }
            if i < KEYS {
                self.nodes[k].0[i] = 2 * *next + 1;
                *next += 1;
            }
        }
    }
}

/// A search under way.
pub(crate) struct Search<'a> {
    nodes: &'a [Node],
    key: u64,
    at: usize,
}

impl Walk for Search<'_> {
    type Output = Option<u64>;

    #[inline(always)]
    fn step(&mut self) -> WalkStep<Option<u64>> {
        let Some(node) = self.nodes.get(self.at) else { return WalkStep::Done(None) };
        let below = node.below(self.key);
        if node.0.get(below) == Some(&self.key) {
            return WalkStep::Done(Some(value(self.key)));
        }
        self.at = self.at * CHILDREN + 1 + below;
        match self.nodes.get(self.at) {
            Some(node) => WalkStep::to(node),
            None => WalkStep::Done(None),
        }
    }
}

impl Index for BTree {
    const NAME: &str = "B-tree";
    type Search<'a> = Search<'a>;

    fn build(bytes: usize) -> Self {
        let nodes = vec![Node([0; KEYS]); (bytes / size_of::<Node>()).max(1)];
        let mut tree = Self { nodes };
        tree.fill(0, &mut 0);
        tree
    }

    fn len(&self) -> u64 {
        (self.nodes.len() * KEYS) as u64
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }

    fn get(&self, key: u64) -> Option<u64> {
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            let below = node.below(key);
            if node.0.get(below) == Some(&key) {
                return Some(value(key));
            }
            at = at * CHILDREN + 1 + below;
        }
        None
    }

    fn search(&self, key: u64) -> Search<'_> {
        Search { nodes: &self.nodes, key, at: 0 }
    }
}
