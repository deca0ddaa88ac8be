//! Recognising a computation that is done again, and cutting it in tiers.

use std::sync::atomic::Ordering::Relaxed;

use befit_machine::{Bytes, WorkerId};

use super::{
    Cats, ENOUGH, Fork, Known, Mark, Place,
    plan::{self, Part},
    table::Table,
};
use crate::{Env, Handle, Subtree, TaskInfo, Tiers};

/// A round that moves so many times what was measured is not the computation that was measured.
const STALE: u64 = 2;
/// So many of them in a row have it measured again.
const PATIENCE: u32 = 2;

/// Why a program that computes more than it moves is not cut.
const CPU_BOUND: &str = "CPU-bound: few cache misses per instruction";

/// A task's number in the table, and where it belongs. A leaf inter-socket task also has the order
/// in which it waits, and its bytes.
#[derive(Default)]
pub(super) struct Found {
    pub(super) slot: u32,
    pub(super) place: Option<Place>,
    pub(super) order: i64,
    pub(super) bytes: u64,
}

impl<T: Handle> Cats<T> {
    /// What is known of `task`, which was forked on `w` and has its parent's mark. Cuts the
    /// computation if this shows that it is done again. `None`: it belongs to no tier, and will
    /// not.
    pub(super) fn lookup(
        &self,
        known: &mut Known,
        w: WorkerId,
        task: &TaskInfo,
        env: &mut dyn Env,
    ) -> Option<Found> {
        let parent = Mark::of(task.mark).slot;
        let fork = match (parent, task.depth) {
            (0, 0) => known.table.root(task.index),
            (0, _) => return None,
            _ => known.table.fork(parent, task.index),
        };
        let (slot, place) = match fork {
            Fork::Untold => return None,
            Fork::New(slot) => {
                let enough = ENOUGH * self.workers;
                let computation = known.table.computation(slot);
                if computation.plain.is_none() && computation.bound.is_by_cpu(enough) {
                    computation.plain = Some(CPU_BOUND);
                }
                return computation.plain.is_none().then(|| Found { slot, ..Found::default() });
            }
            Fork::Again { slot, root } => {
                self.cut(known, root, env)?;
                (slot, known.table.node(slot).place?)
            }
            Fork::Placed(slot, place) => {
                if self.has_grown(known, parent) {
                    known.table.forget(parent);
                    return Some(Found { slot, ..Found::default() });
                }
                (slot, place)
            }
            Fork::Late(slot) => {
                let socket = self.sticky.then_some(self.pools.sockets.of(w) as u32);
                (slot, Place::Leaf { socket, position: u32::MAX })
            }
        };
        let node = known.table.node(slot);
        let Place::Leaf { position, .. } = place else {
            return Some(Found { slot, place: Some(place), ..Found::default() });
        };
        let sockets = &self.pools.sockets;
        let all_caches = sockets.cache.saturating_mul(sockets.count() as u64);
        let backwards = known.tiers.root.0 > all_caches && node.times % 2 == 1;
        let order = if backwards { -i64::from(position) } else { i64::from(position) };
        Some(Found { slot, place: Some(place), order, bytes: node.soid.unwrap_or(0) })
    }

    /// Cuts the computation of `root`. `None` if it is not to be cut.
    fn cut(&self, known: &mut Known, root: u32, env: &mut dyn Env) -> Option<()> {
        let computation = known.table.computation(root);
        if computation.plain.is_none() && computation.bound.is_by_cpu(1) {
            computation.plain = Some(CPU_BOUND);
        }
        if computation.plain.is_some() {
            return None;
        }
        let sockets = &self.pools.sockets;
        let (soid, cache) = (known.table.measure(root), sockets.cache);
        // A part of something larger that is not known yet stays together if it can. The root of
        // all is spread even so.
        if soid <= cache && !known.table.is_whole(root) {
            return None;
        }
        let staffed: Vec<_> = (0..sockets.count()).filter(|s| sockets.head(*s).is_some()).collect();
        let why = if soid == 0 {
            env.tell("there are neither hardware counters nor sizes: plain stealing, no tiers");
            Some("neither counters nor sizes")
        } else if staffed.len() < 2 {
            // Others may be slow to start: the next round asks again.
            known.tiers.plain = Some("threads on one socket only");
            return None;
        } else if known.table.is_wide(root) {
            Some("no divide-and-conquer tree")
        } else {
            None
        };
        if why.is_some() {
            known.table.computation(root).plain = why;
            return None;
        }
        let (parts, large) = if self.sticky {
            let children = |slot: u32| {
                if known.table.is_wide(slot) { Vec::new() } else { known.table.parts(slot) }
            };
            let parts = plan::cut(Part { slot: root, soid }, staffed.len(), cache / 2, children);
            (parts, Vec::new())
        } else {
            literal(&known.table, root, cache)
        };
        if parts.len() < 2 {
            known.table.computation(root).plain = Some("fewer than two subtrees to spread");
            return None;
        }
        let mut inter = large.into_iter().map(|slot| known.table.mark_inter(slot)).sum();
        let mut subtrees = Vec::new();
        for (position, (part, socket)) in
            (0..).zip(parts.iter().zip(plan::deal(&parts, staffed.len())))
        {
            let socket = self.sticky.then_some(staffed[socket as usize] as u32);
            known.table.node_mut(part.slot).place = Some(Place::Leaf { socket, position });
            inter += mark_above(&mut known.table, root, part.slot);
            let path = known.table.path(part.slot);
            subtrees.push(Subtree { path, soid: Bytes(part.soid), socket });
        }
        known.tiers = Tiers {
            partitions: known.tiers.partitions + 1,
            plain: None,
            root: Bytes(soid),
            inter,
            subtrees,
            ..known.tiers
        };
        self.moved.store(0, Relaxed);
        Some(())
    }

    /// A task below `parent`, which was cut, is forked again: whether the computation has grown,
    /// and is to be measured again from this round on.
    fn has_grown(&self, known: &mut Known, parent: u32) -> bool {
        let is_root = parent > 0
            && known
                .table
                .parent(parent)
                .is_none_or(|above| known.table.node(above).place.is_none());
        if !is_root || known.table.node(parent).checked == known.table.node(parent).round {
            return false;
        }
        let moved = self.moved.swap(0, Relaxed);
        let node = known.table.node_mut(parent);
        node.checked = node.round;
        let soid = node.soid.unwrap_or(u64::MAX);
        node.stale = if moved / STALE > soid { node.stale + 1 } else { 0 };
        if node.stale < PATIENCE {
            return false;
        }
        node.stale = 0;
        true
    }
}

/// The leaf inter-socket tasks of Chen et al., in serial order: no larger than a shared cache,
/// children of tasks that are (the root always counts as one). Then the latter.
fn literal(table: &Table, root: u32, cache: u64) -> (Vec<Part>, Vec<u32>) {
    let (mut leaves, mut large, mut left) = (Vec::new(), Vec::new(), vec![root]);
    while let Some(slot) = left.pop() {
        large.push(slot);
        for part in table.parts(slot) {
            if part.soid > cache {
                left.push(part.slot);
            } else {
                leaves.push(part);
            }
        }
    }
    leaves.sort_by_key(|part| table.path(part.slot));
    (leaves, large)
}

/// Everything from `leaf`'s parent up to `root` is inter-socket. Returns how many tasks were not
/// marked so before.
fn mark_above(table: &mut Table, root: u32, leaf: u32) -> u64 {
    let mut marked = 0;
    let mut next = table.parent(leaf).filter(|_| leaf != root);
    while let Some(slot) = next {
        marked += table.mark_inter(slot);
        next = table.parent(slot).filter(|_| slot != root);
    }
    marked
}
