//! What is known of each task: its size of involved data (SOID), and where it belongs.
//!
//! CATS names a task by its parent's name and its number among the parent's children, which
//! restarts at each sync; a table gives each name its SOID. Here the table is the tree of names
//! itself: a node per task, found from its parent's.
//!
//! Memory: about 100 bytes a node, at most [`LIMIT`] nodes. A task for which there is no room has
//! no node, and is not measured.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::plan::Part;
use crate::WorkerCounts;

/// The most nodes that are kept.
pub(super) const LIMIT: usize = 1 << 17;
/// The most children that a task of a divide-and-conquer tree has.
const WIDEST: u32 = 64;

/// Where a task belongs, once its computation is cut in tiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Inter,
    /// The root of a subtree; on a socket if it is bound to one, and its place in serial order.
    Leaf {
        socket: Option<u32>,
        position: u32,
    },
}

/// What is known of a task.
#[derive(Debug, Default)]
pub(super) struct Node {
    parent: u32,
    index: u32,
    /// By index; 0 for none (node 0 is no task's child).
    children: SmallVec<[u32; 4]>,
    /// Of its own strands, in bytes.
    own: u64,
    /// Of the children that it has forked in this round, and the most of any round: a task that
    /// forks the same children again works on the same data again.
    below: u64,
    below_most: u64,
    /// Known when it has ended, or has been cut.
    pub(super) soid: Option<u64>,
    pub(super) place: Option<Place>,
    /// Rounds of forks that it has made; a round ends where a child is forked again.
    pub(super) round: u32,
    /// The parent's round in which it was forked last.
    forked_in: u32,
    /// How often it was forked.
    pub(super) times: u32,
    /// Which of the program's computations it belongs to: an index into [`Table::computation`].
    computation: u32,
    /// The socket that it ran on last, as a subtree's root, and the bytes that it was taken for.
    pub(super) ran_on: Option<(u32, u64)>,
    /// Of the root of a cut: the last round whose traffic was looked at, and rounds in a row with
    /// too much of it.
    pub(super) checked: u32,
    pub(super) stale: u32,
}

/// What is known of all that descends from one place in the program.
#[derive(Debug, Default)]
pub(super) struct Computation {
    pub(super) bound: Bound,
    /// Why it is not cut, if so.
    pub(super) plain: Option<&'static str>,
}

/// What became of a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fork {
    /// There is no room for it.
    Untold,
    /// The task is new, or it is forked again before it has ended: nothing is known of it.
    New(u32),
    /// The task has ended before, and belongs to no computation that was cut: its parent's is to be
    /// cut now (or, where there is no parent, its own).
    Again { slot: u32, root: u32 },
    /// It belongs somewhere.
    Placed(u32, Place),
    /// Its parent was cut, but it is new.
    Late(u32),
}

/// The tree of names.
#[derive(Debug)]
pub(super) struct Table {
    nodes: Vec<Node>,
    /// Tasks without parents, by the place in the program that they come from.
    roots: HashMap<u32, u32>,
    computations: Vec<Computation>,
}

impl Default for Table {
    fn default() -> Self {
        // Node 0 stands for "none".
        Self { nodes: vec![Node::default()], roots: HashMap::new(), computations: Vec::new() }
    }
}

impl Table {
    pub(super) fn node(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    pub(super) fn node_mut(&mut self, slot: u32) -> &mut Node {
        &mut self.nodes[slot as usize]
    }

    /// What the task is a part of.
    pub(super) fn computation(&mut self, slot: u32) -> &mut Computation {
        let computation = self.node(slot).computation;
        &mut self.computations[computation as usize]
    }

    /// Why some computation is not cut.
    pub(super) fn why_plain(&self) -> Option<&'static str> {
        self.computations.iter().find_map(|computation| computation.plain)
    }

    /// Whether no more tasks can be told apart.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() >= LIMIT
    }

    /// A task without a parent begins, from `site` of the program.
    pub(super) fn root(&mut self, site: u32) -> Fork {
        let slot = match self.roots.get(&site) {
            Some(slot) => *slot,
            None if self.is_full() => return Fork::Untold,
            None => {
                let computation = self.computations.len() as u32;
                self.computations.push(Computation::default());
                let slot = self.push(Node { computation, ..Node::default() });
                self.roots.insert(site, slot);
                slot
            }
        };
        let node = self.node_mut(slot);
        node.times += 1;
        match (node.place, node.soid) {
            (Some(place), _) => Fork::Placed(slot, place),
            (None, Some(_)) => Fork::Again { slot, root: slot },
            (None, None) => Fork::New(slot),
        }
    }

    /// Task `parent` forks its child number `index`.
    pub(super) fn fork(&mut self, parent: u32, index: u32) -> Fork {
        let Some(slot) = self.child(parent, index) else { return Fork::Untold };
        let round = self.node(parent).round;
        let again = self.node(slot).forked_in == round && round > 0;
        if again || round == 0 {
            self.begin_round(parent);
        }
        let of_parent = self.node(parent);
        let (cut, round) = (of_parent.place.is_some(), of_parent.round);
        let node = self.node_mut(slot);
        node.forked_in = round;
        node.times += 1;
        match (node.place, node.soid) {
            (Some(place), _) => Fork::Placed(slot, place),
            (None, _) if cut => Fork::Late(slot),
            (None, Some(_)) => Fork::Again { slot, root: parent },
            (None, None) => Fork::New(slot),
        }
    }

    fn begin_round(&mut self, slot: u32) {
        let node = self.node_mut(slot);
        node.round += 1;
        node.below_most = node.below_most.max(node.below);
        node.below = 0;
    }

    fn child(&mut self, parent: u32, index: u32) -> Option<u32> {
        let known = self.node(parent).children.get(index as usize).copied();
        if known.is_some_and(|slot| slot > 0) {
            return known;
        }
        if self.is_full() || index as usize >= LIMIT {
            return None;
        }
        let computation = self.node(parent).computation;
        let slot = self.push(Node { parent, index, computation, ..Node::default() });
        let children = &mut self.node_mut(parent).children;
        if children.len() <= index as usize {
            children.resize(index as usize + 1, 0);
        }
        children[index as usize] = slot;
        Some(slot)
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// A strand of the task has touched `bytes`.
    pub(super) fn touched(&mut self, slot: u32, bytes: u64) {
        let own = &mut self.node_mut(slot).own;
        *own = own.saturating_add(bytes);
    }

    /// The task has ended, with all that it forked. `declared` is its size, where nothing counts.
    pub(super) fn ended(&mut self, slot: u32, declared: Option<u64>) {
        let node = self.node_mut(slot);
        if node.place.is_some() || node.soid.is_some() {
            return;
        }
        node.soid = declared;
        let (parent, soid) = (node.parent, self.measure(slot));
        // Programs may declare anything.
        let below = &mut self.node_mut(parent).below;
        *below = below.saturating_add(soid);
    }

    /// The task is inter-socket. Returns 1 if it was not marked so before, else 0.
    pub(super) fn mark_inter(&mut self, slot: u32) -> u64 {
        u64::from(self.node_mut(slot).place.replace(Place::Inter) != Some(Place::Inter))
    }

    /// The SOID of a task that begins its second round, or has ended.
    pub(super) fn measure(&mut self, slot: u32) -> u64 {
        let node = self.node_mut(slot);
        *node.soid.get_or_insert(node.own.saturating_add(node.below.max(node.below_most)))
    }

    /// The children of a task in serial order; as many as it had in any round.
    pub(super) fn parts(&self, slot: u32) -> Vec<Part> {
        let children = self.node(slot).children.iter().filter(|slot| **slot > 0);
        children.map(|&slot| Part { slot, soid: self.node(slot).soid.unwrap_or(0) }).collect()
    }

    /// Whether the task has more children than divide and conquer makes.
    pub(super) fn is_wide(&self, slot: u32) -> bool {
        self.node(slot).children.len() > WIDEST as usize
    }

    /// Whether the task is all that goes on: nothing above it has forked more than the one child
    /// that leads to it.
    pub(super) fn is_whole(&self, slot: u32) -> bool {
        let mut above = std::iter::successors(self.parent(slot), |slot| self.parent(*slot));
        above.all(|slot| self.node(slot).children.len() == 1)
    }

    /// Forgets sizes and places of all tasks below `slot`, and its own: they are to be measured
    /// anew.
    pub(super) fn forget(&mut self, slot: u32) {
        let mut left = vec![slot];
        while let Some(slot) = left.pop() {
            let node = self.node_mut(slot);
            (node.own, node.below, node.below_most, node.soid, node.place) = (0, 0, 0, None, None);
            left.extend(node.children.iter().filter(|slot| **slot > 0));
        }
    }

    /// The parent, for tasks that have one.
    pub(super) fn parent(&self, slot: u32) -> Option<u32> {
        Some(self.node(slot).parent).filter(|slot| *slot > 0)
    }

    /// Which child of which child … of its farthest ancestor the task is.
    pub(super) fn path(&self, slot: u32) -> Vec<u32> {
        let up = std::iter::successors(Some(slot), |slot| self.parent(*slot));
        let below = up.take_while(|slot| self.parent(*slot).is_some());
        let mut path: Vec<_> = below.map(|slot| self.node(slot).index).collect();
        path.reverse();
        path
    }
}

/// Tells programs that compute from programs that move data.
///
/// CATS: a task is CPU-bound if its normalised misses per instruction (CMPI) are below a threshold;
/// a program, if most of its tasks are. The misses of each level are weighted with what they cost,
/// against what a miss of the last level costs.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// Strands seen; of these, CPU-bound ones.
    seen: u32,
    by_cpu: u32,
}

/// Normalised misses per instruction below which a strand is CPU-bound.
const CMPI: f64 = 0.002;
/// Strands of fewer instructions say nothing.
const SHORTEST: u64 = 1000;

impl Bound {
    /// Counts a strand. `near` is what a miss of the private caches costs that hits the shared one,
    /// in misses of the shared one.
    pub(super) fn count(&mut self, strand: WorkerCounts, near: f64) {
        if strand.instructions < SHORTEST {
            return;
        }
        let misses = strand.private_misses as f64 * near + strand.llc_misses as f64;
        self.seen += 1;
        self.by_cpu += u32::from(misses / (strand.instructions as f64) < CMPI);
    }

    /// Whether most strands are CPU-bound, once enough were seen.
    pub(super) fn is_by_cpu(&self, enough: u32) -> bool {
        self.seen >= enough && 2 * self.by_cpu > self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strand_with_two_misses_in_a_thousand_instructions_is_not_bound_by_the_processor() {
        let by_cpu = |instructions, private_misses, llc_misses| {
            let mut bound = Bound::default();
            bound.count(WorkerCounts { instructions, private_misses, llc_misses }, 0.25);
            (bound.is_by_cpu(1), bound.seen)
        };
        assert_eq!(by_cpu(1000, 0, 2), (false, 1));
        assert_eq!(by_cpu(1000, 4, 1), (false, 1), "four near ones are as one");
        assert_eq!(by_cpu(1000, 3, 1), (true, 1));
        assert_eq!(by_cpu(999, 0, 0), (false, 0), "too short to tell");
    }
}
