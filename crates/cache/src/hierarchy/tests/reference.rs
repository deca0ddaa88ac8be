//! The slow, obvious model that the fast one is held against: no directory, no packed entries,
//! every question answered by looking through all caches.

use befit_machine::{ClusterId, Inclusion, Machine, Replacement, WorkerId};

use crate::{Access, Found, hierarchy::seed_of};

#[derive(Clone, Copy, Debug)]
struct Frame {
    line: u32,
    dirty: bool,
    used: u64,
}

struct Cache {
    sets: Vec<Vec<Option<Frame>>>,
    /// Tree-PLRU: per set, per inner node, whether the next victim is on the right.
    trees: Vec<Vec<bool>>,
    rng: fastrand::Rng,
    lost: Vec<u32>,
    counts: [u64; 5],
}

pub(super) struct Reference<'a> {
    machine: &'a Machine,
    caches: Vec<Option<Cache>>,
    clock: u64,
    pub(super) memory: [u64; 4],
}

impl<'a> Reference<'a> {
    pub(super) fn new(machine: &'a Machine, seed: u64) -> Self {
        let cache = |(i, cluster): (usize, &befit_machine::Cluster)| {
            let c = cluster.cache?;
            let lines = c.size.0 / c.line.0;
            let ways = if c.ways == 0 { lines } else { u64::from(c.ways) };
            Some(Cache {
                sets: vec![vec![None; ways as usize]; (lines / ways) as usize],
                trees: vec![vec![false; ways as usize]; (lines / ways) as usize],
                rng: fastrand::Rng::with_seed(seed_of(seed, i as u64)),
                lost: Vec::new(),
                counts: [0; 5],
            })
        };
        let caches = machine.clusters().iter().enumerate().map(cache).collect();
        Self { machine, caches, clock: 0, memory: [0; 4] }
    }

    /// accesses, misses, coherence misses, write-backs, invalidations.
    pub(super) fn counts(&self, c: usize) -> [u64; 5] {
        self.caches[c].as_ref().map_or([0; 5], |c| c.counts)
    }

    fn cache(&mut self, c: usize) -> &mut Cache {
        self.caches[c].as_mut().unwrap()
    }

    fn frame(&mut self, c: usize, line: u32) -> Option<&mut Frame> {
        let sets = self.cache(c).sets.len();
        self.cache(c).sets[line as usize % sets].iter_mut().flatten().find(|f| f.line == line)
    }

    fn has(&mut self, c: usize, line: u32) -> bool {
        self.frame(c, line).is_some()
    }

    fn inclusion(&self, c: usize) -> Inclusion {
        self.machine.clusters()[c].cache.unwrap().inclusion
    }

    fn parent(&self, c: usize) -> Option<usize> {
        self.machine.clusters()[c].parent.map(|p| p.index()).filter(|p| *p != 0)
    }

    fn is_above(&self, a: usize, c: usize) -> bool {
        std::iter::successors(self.parent(c), |at| self.parent(*at)).any(|at| at == a)
    }

    fn point_away(&mut self, c: usize, set: usize, way: usize) {
        let tree = &mut self.cache(c).trees[set];
        let (mut low, mut high, mut node) = (0, tree.len(), 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            let right = way >= middle;
            tree[node] = !right;
            node = 2 * node + usize::from(right);
            if right { low = middle } else { high = middle }
        }
    }

    fn used(&mut self, c: usize, line: u32) {
        self.clock += 1;
        let clock = self.clock;
        self.frame(c, line).unwrap().used = clock;
        if self.machine.clusters()[c].cache.unwrap().replacement == Replacement::TreePlru {
            let set = line as usize % self.cache(c).sets.len();
            let ways = &self.cache(c).sets[set];
            let way = ways.iter().position(|f| f.is_some_and(|f| f.line == line));
            self.point_away(c, set, way.unwrap());
        }
    }

    /// Puts the line in; returns what made room.
    fn put(&mut self, c: usize, line: u32, dirty: bool) -> Option<Frame> {
        assert!(!self.has(c, line));
        let policy = self.machine.clusters()[c].cache.unwrap().replacement;
        let cache = self.cache(c);
        let index = line as usize % cache.sets.len();
        let set = &cache.sets[index];
        let ways = set.len();
        let way = match set.iter().position(Option::is_none) {
            Some(free) => free,
            None => match policy {
                Replacement::Lru => (0..ways).min_by_key(|w| set[*w].unwrap().used).unwrap(),
                Replacement::Random => cache.rng.usize(..ways),
                Replacement::TreePlru => {
                    let (mut low, mut high, mut node) = (0, ways, 1);
                    while high - low > 1 {
                        let middle = (low + high) / 2;
                        let right = cache.trees[index][node];
                        node = 2 * node + usize::from(right);
                        if right { low = middle } else { high = middle }
                    }
                    low
                }
            },
        };
        let old = self.cache(c).sets[index][way].replace(Frame { line, dirty, used: 0 });
        self.used(c, line);
        old
    }

    fn remove(&mut self, c: usize, line: u32) -> Option<Frame> {
        let cache = self.cache(c);
        let index = line as usize % cache.sets.len();
        cache.sets[index].iter_mut().find(|f| f.is_some_and(|f| f.line == line))?.take()
    }

    /// What left cache `c` goes its way; returns lines written to memory.
    fn leave(&mut self, c: usize, frame: Frame) -> u8 {
        let (line, mut dirty) = (frame.line, frame.dirty);
        if self.inclusion(c) == Inclusion::Inclusive {
            for below in 1..self.caches.len() {
                if self.is_above(c, below) {
                    dirty |= self.remove(below, line).is_some_and(|f| f.dirty);
                }
            }
        }
        if dirty {
            self.cache(c).counts[3] += 1;
        }
        let Some(parent) = self.parent(c) else {
            self.memory[1] += u64::from(dirty);
            return u8::from(dirty);
        };
        if let Some(frame) = self.frame(parent, line) {
            frame.dirty |= dirty;
        } else if dirty || self.inclusion(parent) == Inclusion::Exclusive {
            let inclusive = self.inclusion(parent) == Inclusion::Inclusive;
            assert!(!inclusive, "an inclusive cache has what is below");
            if let Some(old) = self.put(parent, line, dirty) {
                return self.leave(parent, old);
            }
        }
        0
    }

    /// The child of the root that supplies a line of which it and others have copies: of the
    /// worker's own package before others, and then the first in the order from the worker on.
    fn supplier(&self, worker: WorkerId, copies: &[usize]) -> ClusterId {
        let machine = self.machine;
        let children = &machine.cluster(ClusterId::ROOT).children;
        let first = |c: &ClusterId| machine.cluster(*c).workers.end > worker.0;
        let own = children.iter().position(first).unwrap_or(0);
        let order: Vec<ClusterId> =
            children[own..].iter().chain(&children[..own]).copied().collect();
        let package = |w: u32| machine.workers()[w as usize].package;
        let near =
            |c: &&ClusterId| package(machine.cluster(**c).workers.start) == package(worker.0);
        let has =
            |c: &&ClusterId| copies.iter().any(|o| *o == c.index() || self.is_above(c.index(), *o));
        let supplier = order.iter().filter(has).find(near);
        *supplier.or_else(|| order.iter().find(has)).unwrap()
    }

    pub(super) fn access(&mut self, worker: WorkerId, line: u32, write: bool) -> Access {
        let path = self.machine.path(worker).map(ClusterId::index).filter(|c| *c != 0);
        let path: Vec<usize> = path.collect();
        let others: Vec<usize> =
            (1..self.caches.len()).filter(|c| !path.contains(c) && self.has(*c, line)).collect();
        let found = path.iter().position(|c| self.has(*c, line)).unwrap_or(path.len());
        let mut written_back = 0;
        // Look-up, and room for the line.
        let mut pending: Vec<(usize, Frame)> = Vec::new();
        for (i, c) in path.iter().enumerate().take(found + 1) {
            self.cache(*c).counts[0] += 1;
            let victims_only = i > 0 && self.inclusion(*c) == Inclusion::Exclusive;
            if i == found {
                if !victims_only {
                    self.used(*c, line);
                }
                break;
            }
            self.cache(*c).counts[1] += 1;
            if let Some(at) = self.cache(*c).lost.iter().position(|l| *l == line) {
                self.cache(*c).lost.swap_remove(at);
                self.cache(*c).counts[2] += 1;
            }
            if !victims_only {
                pending.extend(self.put(*c, line, false).map(|old| (*c, old)));
            }
        }
        let common = |c: usize| path.iter().position(|p| self.is_above(*p, c));
        let source = if found < path.len() {
            Found::Own(ClusterId(path[found] as u32))
        } else if others.is_empty() {
            self.memory[0] += 1;
            Found::Memory
        } else if let Some(nearest) = others.iter().filter_map(|o| common(*o)).min() {
            self.memory[3] += 1;
            Found::Sibling(ClusterId(path[nearest] as u32))
        } else {
            self.memory[2] += 1;
            let modified = others.iter().any(|o| self.frame(*o, line).unwrap().dirty);
            Found::Remote { from: self.supplier(worker, &others), modified }
        };
        // Other copies.
        if write {
            for o in &others {
                self.remove(*o, line);
                self.cache(*o).counts[4] += 1;
                self.cache(*o).lost.push(line);
            }
            match path.first() {
                Some(innermost) => self.frame(*innermost, line).unwrap().dirty = true,
                None => {
                    self.memory[1] += 1;
                    written_back += 1;
                }
            }
        } else {
            let dirty: Vec<usize> =
                others.iter().copied().filter(|o| self.frame(*o, line).unwrap().dirty).collect();
            dirty.iter().for_each(|d| self.frame(*d, line).unwrap().dirty = false);
            let nearest =
                dirty.iter().filter_map(|d| path.iter().position(|p| self.is_above(*p, *d))).min();
            match nearest {
                _ if dirty.is_empty() => {}
                None => {
                    self.memory[1] += 1;
                    written_back += 1;
                }
                Some(i) => match self.frame(path[i], line) {
                    Some(frame) => frame.dirty = true,
                    None => {
                        if let Some(old) = self.put(path[i], line, true) {
                            written_back += self.leave(path[i], old);
                        }
                    }
                },
            }
        }
        // A hit in a victim cache.
        if found > 0 && found < path.len() && self.inclusion(path[found]) == Inclusion::Exclusive {
            let sharers: Vec<usize> =
                others.iter().copied().filter(|o| self.is_above(path[found], *o)).collect();
            if sharers.into_iter().any(|o| self.has(o, line)) {
                self.used(path[found], line);
            } else if self.remove(path[found], line).unwrap().dirty {
                self.frame(path[0], line).unwrap().dirty = true;
            }
        }
        // What made room, the outermost first; a line that leaves an inclusive cache leaves those
        // below at once.
        while let Some((c, mut frame)) = pending.pop() {
            if self.inclusion(c) == Inclusion::Inclusive {
                for (_, inner) in pending.iter().filter(|(_, p)| p.line == frame.line) {
                    frame.dirty |= inner.dirty;
                }
                pending.retain(|(_, p)| p.line != frame.line);
            }
            written_back += self.leave(c, frame);
        }
        Access { found: source, invalidated: write && !others.is_empty(), written_back }
    }
}
