//! What holds for every machine; tests of every source check it.

use crate::{ClusterId, Machine, WorkerId};

/// Panics where `machine` is not a proper tree.
pub(crate) fn check(machine: &Machine) {
    let clusters = machine.clusters();
    let workers = machine.workers().len() as u32;
    assert!(workers > 0);
    assert_eq!(machine.cluster(ClusterId::ROOT).workers, 0..workers);
    assert_eq!(machine.cluster(ClusterId::ROOT).depth, 0);
    for (at, cluster) in clusters.iter().enumerate() {
        let id = ClusterId(at as u32);
        assert_eq!(cluster.cache.is_none(), id == ClusterId::ROOT);
        assert_eq!(cluster.parent.is_none(), id == ClusterId::ROOT);
        assert!(cluster.worker_count() > 0, "{id:?} is empty");
        let mut next = cluster.workers.start;
        for child in &cluster.children {
            let child_at = machine.cluster(*child);
            assert!(child.0 > id.0, "parents stand before their children");
            assert_eq!(child_at.parent, Some(id));
            assert_eq!(child_at.depth, cluster.depth + 1);
            assert!(child_at.workers.start >= next, "children stand from left to right");
            assert!(child_at.size() <= cluster.size(), "sizes ascend towards memory");
            if let (Some(inner), Some(outer)) = (child_at.cache, cluster.cache) {
                assert!(inner.level < outer.level, "levels fall towards the cores");
            }
            next = child_at.workers.end;
        }
        assert!(next <= cluster.workers.end);
        if let Some(cache) = cluster.cache {
            assert!(cache.line.0.is_power_of_two());
            assert_eq!(cache.size.0 % (cache.line.0 * u64::from(cache.ways.max(1))), 0);
        }
    }
    let mut cores = 0;
    for w in (0..workers).map(WorkerId) {
        let path: Vec<ClusterId> = machine.path(w).collect();
        assert_eq!(path.last(), Some(&ClusterId::ROOT));
        assert!(path.iter().all(|c| machine.cluster(*c).has(w)), "the path holds the worker");
        assert_eq!(path.len() as u32, machine.cluster(path[0]).depth + 1);
        let worker = &machine.workers()[w.index()];
        assert!((1..=100).contains(&worker.speed));
        assert!(worker.core <= cores, "cores are numbered from left to right");
        cores = cores.max(worker.core + 1);
    }
}
