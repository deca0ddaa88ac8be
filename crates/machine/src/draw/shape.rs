//! Which subtrees look the same.

use std::collections::HashMap;

use crate::{Cache, ClusterId, Machine, WorkerId};

/// What stands directly under a cluster.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Cluster(ClusterId),
    Worker(WorkerId),
}

/// Per cluster, a number that equal subtrees share.
pub(super) struct Shapes(Vec<usize>);

/// What makes a subtree look as it does. (Bandwidths and the like belong to the machine.)
#[derive(PartialEq, Eq, Hash)]
struct Look {
    cache: Option<[u64; 7]>,
    items: Vec<(usize, Seen)>,
}

/// How an item looks, from outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    Cluster(usize),
    Worker { speed: u32 },
}

impl Shapes {
    /// Numbers all subtrees, from the leaves up. O(clusters + workers).
    pub(super) fn new(machine: &Machine) -> Self {
        let mut known: HashMap<Look, usize> = HashMap::new();
        let mut shapes = Self(vec![0; machine.clusters().len()]);
        // Parents stand before their children, so backwards every child is known before its parent.
        for at in (0..machine.clusters().len()).rev() {
            let id = ClusterId(at as u32);
            let items = items(machine, id, Some(&shapes)).into_iter();
            let items = items.map(|(count, item)| (count, shapes.seen(machine, item))).collect();
            let look = Look { cache: machine.cluster(id).cache.map(key), items };
            let next = known.len();
            shapes.0[at] = *known.entry(look).or_insert(next);
        }
        shapes
    }

    fn seen(&self, machine: &Machine, item: Item) -> Seen {
        match item {
            Item::Cluster(id) => Seen::Cluster(self.0[id.index()]),
            Item::Worker(id) => Seen::Worker { speed: machine.workers()[id.index()].speed },
        }
    }
}

fn key(cache: Cache) -> [u64; 7] {
    let Cache { level, size, line, ways, replacement, inclusion, latency } = cache;
    [
        u64::from(level.0),
        size.0,
        line.0,
        u64::from(ways),
        replacement as u64,
        inclusion as u64,
        latency.0,
    ]
}

/// What stands directly under `cluster`, from left to right; with `shapes`, runs of what looks the
/// same are one, counted.
pub(super) fn items(
    machine: &Machine,
    cluster: ClusterId,
    shapes: Option<&Shapes>,
) -> Vec<(usize, Item)> {
    let cluster_at = machine.cluster(cluster);
    let mut all = Vec::new();
    let mut next = cluster_at.workers.start;
    for child in &cluster_at.children {
        let range = machine.cluster(*child).workers.clone();
        // Workers between the children stand directly here.
        all.extend((next..range.start).map(|w| Item::Worker(WorkerId(w))));
        all.push(Item::Cluster(*child));
        next = range.end;
    }
    all.extend((next..cluster_at.workers.end).map(|w| Item::Worker(WorkerId(w))));
    let mut runs: Vec<(usize, Item)> = Vec::new();
    for item in all {
        match (runs.last_mut(), shapes) {
            (Some((count, first)), Some(shapes))
                if shapes.seen(machine, *first) == shapes.seen(machine, item) =>
            {
                *count += 1;
            }
            _ => runs.push((1, item)),
        }
    }
    runs
}
