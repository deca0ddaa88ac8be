//! A machine with something changed: less memory bandwidth, fewer sockets or cores, caches scaled
//! down.
//!
//! ```
//! use befit_machine::Machine;
//!
//! let half = Machine::find("xeon-7560")?.with_bandwidth(50)?.with_cores(4)?;
//! assert_eq!(half.name, "xeon-7560, 50 % bandwidth, 4 cores a socket");
//! assert_eq!(half.workers().len(), 16);
//! # Ok::<(), befit_machine::MachineError>(())
//! ```

use crate::{Bytes, Cluster, ClusterId, Machine, MachineError, Placement, WorkerId};

impl Machine {
    /// The same machine with `percent` of its memory bandwidth. Where that is a whole number of the
    /// memory controllers that have pages, pages are bound to so many of them, round robin
    /// (Simhadri et al., SPAA 2014, section 5.3: the *bandwidth gap*). Elsewhere each controller,
    /// which then stands for several channels, is as much slower; so it is where pages lie at the
    /// worker that touches them first, as binding would move them. 100 leaves the machine as it is.
    ///
    /// # Errors
    /// Where `percent` is not from 1 to 100.
    pub fn with_bandwidth(mut self, percent: u32) -> Result<Self, MachineError> {
        if !(1..=100).contains(&percent) {
            let what =
                format!("it can have 1 to 100 percent of its memory bandwidth, not {percent}");
            return Err(MachineError::object(self.name, what));
        }
        if percent == 100 {
            return Ok(self);
        }
        let memory = &mut self.memory;
        let used = match memory.placement {
            Placement::Bound(k) => k,
            _ => memory.controllers,
        };
        let left = u64::from(used) * u64::from(percent);
        if left.is_multiple_of(100) && memory.placement != Placement::FirstTouch {
            memory.placement = Placement::Bound((left / 100) as u32);
        } else {
            memory.bandwidth *= f64::from(percent) / 100.0;
        }
        self.name += &format!(", {percent} % bandwidth");
        Ok(self)
    }

    /// Its first `count` sockets (caches directly under memory), each with its memory controllers.
    /// Where these are each package's rather than each socket's, those of the packages that are
    /// left stay.
    ///
    /// # Errors
    /// Where it has not so many, or `count` is 0.
    pub fn with_sockets(mut self, count: u32) -> Result<Self, MachineError> {
        let sockets = self.sockets()?;
        let all = sockets.len() as u32;
        if count == 0 || count > all {
            let what = format!("it has 1 to {all} sockets, not {count}");
            return Err(MachineError::object(self.name, what));
        }
        if count == all {
            return Ok(self);
        }
        // Workers directly under memory, beside the sockets, go too.
        let kept = &sockets[..count as usize];
        let keeps = |w| kept.iter().any(|s| self.cluster(*s).has(WorkerId(w)));
        let keep: Vec<bool> = (0..self.workers().len() as u32).map(keeps).collect();
        self.keep(&keep);
        self.name += &format!(", {count} socket{}", if count == 1 { "" } else { "s" });
        Ok(self)
    }

    /// The first `count` cores under each last-level cache, with all their hardware threads; the
    /// last-level caches keep their sizes.
    ///
    /// # Errors
    /// Where there is none, or some last-level cache has not so many, or `count` is 0.
    pub fn with_cores(mut self, count: u32) -> Result<Self, MachineError> {
        let mut keep = vec![false; self.workers().len()];
        let mut all = true;
        for socket in self.sockets()? {
            let workers = self.cluster(socket).workers.clone();
            let first = self.workers()[workers.start as usize].core;
            let cores = self.workers()[workers.end as usize - 1].core - first + 1;
            if count == 0 || count > cores {
                let what = format!("a socket of it has 1 to {cores} cores, not {count}");
                return Err(MachineError::object(self.name, what));
            }
            all &= count == cores;
            for w in workers {
                keep[w as usize] = self.workers()[w as usize].core - first < count;
            }
        }
        if !all {
            self.name += &format!(", {count} core{} a socket", if count == 1 { "" } else { "s" });
            self.keep(&keep);
        }
        Ok(self)
    }

    /// Its first `count` workers (hardware threads); the caches above them keep their sizes.
    /// Sockets that are left out take their memory controllers along, as in
    /// [`Self::with_sockets`].
    ///
    /// # Errors
    /// Where it has not so many, or `count` is 0.
    pub fn with_workers(mut self, count: u32) -> Result<Self, MachineError> {
        let all = self.workers().len() as u32;
        if count == 0 || count > all {
            let what = format!("it has 1 to {all} workers, not {count}");
            return Err(MachineError::object(self.name, what));
        }
        if count < all {
            self.name += &format!(", {count} worker{}", if count == 1 { "" } else { "s" });
            let keep: Vec<bool> = (0..all).map(|worker| worker < count).collect();
            self.keep(&keep);
        }
        Ok(self)
    }

    /// The first hardware thread of each core only.
    #[must_use]
    pub fn with_one_worker_a_core(mut self) -> Self {
        let cores: Vec<u32> = self.workers().iter().map(|worker| worker.core).collect();
        let keep: Vec<bool> = (0..cores.len()).map(|w| !cores[..w].contains(&cores[w])).collect();
        if keep.contains(&false) {
            self.name += ", one worker a core";
            self.keep(&keep);
        }
        self
    }

    /// With the sizes of its last-level caches times `factor`, in whole sets, and never less than
    /// a cache below them.
    #[must_use]
    pub fn with_last_level(mut self, factor: f64) -> Self {
        let outermost = self.cluster(ClusterId::ROOT).children.clone();
        for id in outermost {
            let below = self.cluster(id).children.iter().map(|child| self.cluster(*child).size());
            let least = below.max().unwrap_or(Bytes(0)).0;
            if let Some(cache) = &mut self.clusters[id.index()].cache {
                let set = cache.line.0 * u64::from(cache.ways.max(1));
                let sets = (cache.size.0 as f64 * factor / set as f64).round() as u64;
                cache.size = Bytes((sets.max(1) * set).max(least.next_multiple_of(set)));
            }
        }
        self.name += &format!(", last-level caches x {factor}");
        self
    }

    /// With memory that is as fast as its quickest last-level cache, over wires that never
    /// bind: what a run takes less there, it waits for memory.
    #[must_use]
    pub fn with_memory_like_cache(mut self) -> Self {
        let outermost = self.cluster(ClusterId::ROOT).children.clone();
        let caches = outermost.iter().filter_map(|id| self.cluster(*id).cache);
        let Some(latency) = caches.map(|cache| cache.latency).min() else { return self };
        let memory = &mut self.memory;
        (memory.latency, memory.remote_latency, memory.far_latency) = (latency, latency, latency);
        (memory.fabric, memory.package_link) = (None, None);
        // A line in no time at all, as far as cycles go.
        memory.bandwidth = 1e6;
        for id in outermost {
            if let Some(cache) = &mut self.clusters[id.index()].cache {
                cache.link = None;
            }
        }
        self.name += ", memory like a cache";
        self
    }

    /// All caches, with as many ways, and TLBs `factor` times smaller, for a model of a large run:
    /// a program whose data and cut-offs are as many times smaller misses in as many times fewer
    /// lines. Caches have whole sets, and none is larger than the one above it. Latencies and
    /// bandwidths stay.
    ///
    /// # Errors
    /// Where a cache would have less than one set.
    pub fn shrunk(mut self, factor: u32) -> Result<Self, MachineError> {
        // Parents come before their children.
        for at in 0..self.clusters.len() {
            let above = self.clusters[at].parent.map(|parent| self.cluster(parent).size());
            let Some(cache) = &mut self.clusters[at].cache else { continue };
            let set = cache.line.0 * u64::from(cache.ways.max(1));
            let room = above.unwrap_or(cache.size).0 / set;
            let sets = (cache.size.0 / set / u64::from(factor.max(1))).min(room);
            if sets == 0 {
                let cache = format!("{} of {}", cache.level, cache.size);
                let what = format!("is less than one set when it is {factor} times smaller");
                return Err(MachineError::object(self.name, format!("{cache} {what}")));
            }
            cache.size = Bytes(sets * set);
        }
        if let Some(pages) = &mut self.memory.pages {
            pages.tlb = (pages.tlb / factor.max(1)).max(1);
        }
        if factor > 1 {
            self.name += &format!(", caches / {factor}");
        }
        Ok(self)
    }

    /// The caches directly under memory; an error where there is none.
    fn sockets(&self) -> Result<Vec<ClusterId>, MachineError> {
        let sockets = self.cluster(ClusterId::ROOT).children.clone();
        if sockets.is_empty() {
            return Err(MachineError::object(&self.name, "it has no last-level cache"));
        }
        Ok(sockets)
    }

    /// How many sockets and how many packages it has.
    fn sockets_and_packages(&self) -> [u32; 2] {
        // Packages are numbered from left to right.
        let packages = self.workers.last().map_or(1, |worker| worker.package + 1);
        [self.cluster(ClusterId::ROOT).children.len() as u32, packages]
    }

    /// Leaves the memory controllers of the sockets that are left of so many, or, where they are
    /// each package's rather than each socket's, those of the packages that are left.
    fn keep_controllers(&mut self, before: [u32; 2]) {
        let mut shares = before.into_iter().zip(self.sockets_and_packages());
        let memory = &mut self.memory;
        let is_shared = |count: u32| count > 0 && memory.controllers.is_multiple_of(count);
        if let Some((before, left)) = shares.find(|(before, _)| is_shared(*before)) {
            memory.controllers = (memory.controllers / before * left).max(1);
        }
        memory.placement = memory.placement.within(memory.controllers);
    }

    /// Leaves only the workers for which `keep` is true, with the clusters that hold one and their
    /// memory controllers.
    fn keep(&mut self, keep: &[bool]) {
        let all = self.sockets_and_packages();
        // How many are left before each: its new number.
        let mut before = vec![0];
        for (at, kept) in keep.iter().enumerate() {
            before.push(before[at] + u32::from(*kept));
        }
        let left =
            |range: &std::ops::Range<u32>| before[range.start as usize]..before[range.end as usize];
        let mut next = 0;
        let new_place = |cluster: &Cluster| {
            let kept = !left(&cluster.workers).is_empty();
            next += u32::from(kept);
            kept.then(|| ClusterId(next - 1))
        };
        let place: Vec<Option<ClusterId>> = self.clusters.iter().map(new_place).collect();
        let moved = |id: ClusterId| place[id.index()];
        self.clusters.retain_mut(|cluster| {
            cluster.workers = left(&cluster.workers);
            cluster.parent = cluster.parent.and_then(moved);
            cluster.children = cluster.children.iter().filter_map(|c| moved(*c)).collect();
            !cluster.workers.is_empty()
        });
        let mut kept = keep.iter();
        self.workers.retain(|_| kept.next() == Some(&true));
        let (mut cores, mut packages) = (Vec::new(), Vec::new());
        for worker in &mut self.workers {
            worker.leaf = moved(worker.leaf).unwrap_or(ClusterId::ROOT);
            if cores.last() != Some(&worker.core) {
                cores.push(worker.core);
            }
            worker.core = cores.len() as u32 - 1;
            if packages.last() != Some(&worker.package) {
                packages.push(worker.package);
            }
            worker.package = packages.len() as u32 - 1;
        }
        self.keep_controllers(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, invariants};

    fn xeon(threads: &str) -> Machine {
        Machine::find(&format!("xeon-7560{threads}")).unwrap()
    }

    #[test]
    fn fewer_cores_and_sockets_leave_a_proper_tree() {
        for (threads, per_core) in [("", 1), ("-ht", 2)] {
            for (sockets, cores) in (1..=4).flat_map(|s| [1, 2, 4, 8].map(|c| (s, c))) {
                let machine = xeon(threads).with_sockets(sockets).unwrap();
                let machine = machine.with_cores(cores).unwrap();
                invariants::check(&machine);
                assert_eq!(machine.workers().len() as u32, sockets * cores * per_core);
                assert_eq!(machine.cluster(ClusterId::ROOT).children.len() as u32, sockets);
                assert_eq!(machine.memory.controllers, sockets);
                let caches = |level| {
                    let caches = machine.clusters().iter().filter_map(|c| c.cache);
                    caches.filter(|c| c.level == Level(level)).count() as u32
                };
                let all = sockets * cores;
                assert_eq!([3, 2, 1].map(caches), [sockets, all, all]);
            }
        }
        assert_eq!(xeon("").with_sockets(4).unwrap().with_cores(8).unwrap(), xeon(""));
    }

    #[test]
    fn fewer_sockets_leave_the_controllers_of_the_packages_that_are_left() {
        let two = || Machine::find("epyc-9654-2p").unwrap();
        let controllers = |sockets| {
            let machine = two().with_sockets(sockets).unwrap();
            invariants::check(&machine);
            machine.memory.controllers
        };
        assert_eq!([1, 12, 13, 24].map(controllers), [1, 1, 2, 2]);
        let mut bound = two();
        bound.memory.placement = Placement::Bound(2);
        let placement = bound.with_sockets(12).unwrap().memory.placement;
        assert_eq!(placement, Placement::Bound(1));
    }

    #[test]
    fn fewer_workers_leave_the_controllers_of_the_packages_that_are_left() {
        let left = |placement: &str, workers| {
            let text = format!(
                "(controllers=2 bandwidth=10 placement={placement}) pack:2 l3:1 core:2 pu:1"
            );
            let machine = Machine::find(&text).unwrap().with_workers(workers).unwrap();
            invariants::check(&machine);
            (machine.memory.controllers, machine.memory.placement)
        };
        assert_eq!(left("interleaved", 2), (1, Placement::Interleaved));
        assert_eq!(left("interleaved", 3), (2, Placement::Interleaved));
        assert_eq!(left("2", 2), (1, Placement::Bound(1)));
        assert_eq!(left("2", 3), (2, Placement::Bound(2)));
        // No cache is shared there.
        let machine = Machine::find("pack:2 core:2 pu:1").unwrap().with_workers(1).unwrap();
        assert_eq!(machine.memory.controllers, 1);
    }

    #[test]
    fn bandwidth_is_cut_by_whole_controllers_where_it_can_be() {
        let memory = |name: &str, percent| {
            Machine::find(name).unwrap().with_bandwidth(percent).map(|m| m.memory)
        };
        assert_eq!(memory("xeon-7560", 100).unwrap().placement, Placement::Interleaved);
        assert_eq!(memory("xeon-7560", 75).unwrap().placement, Placement::Bound(3));
        assert_eq!(memory("xeon-7560", 25).unwrap().placement, Placement::Bound(1));
        let one = memory("epyc-9654", 25).unwrap();
        assert_eq!((one.placement, one.bandwidth), (Placement::Interleaved, 36.0));
        for bad in [0, 125] {
            let error = memory("xeon-7560", bad).unwrap_err().to_string();
            let expected = format!("1 to 100 percent of its memory bandwidth, not {bad}");
            assert!(error.contains(&expected));
        }
    }

    #[test]
    fn bandwidth_is_cut_from_the_controllers_that_have_pages_and_where_they_are_touched_first() {
        let cut = |placement, percent| {
            let text = format!("(controllers=4 bandwidth=8 placement={placement}) pu:1");
            let memory = Machine::find(&text).unwrap().with_bandwidth(percent).unwrap().memory;
            (memory.placement, memory.bandwidth)
        };
        assert_eq!(cut("1", 75), (Placement::Bound(1), 6.0));
        assert_eq!(cut("2", 50), (Placement::Bound(1), 8.0));
        assert_eq!(cut("interleaved", 50), (Placement::Bound(2), 8.0));
        assert_eq!(cut("firsttouch", 50), (Placement::FirstTouch, 4.0));
        assert_eq!(cut("firsttouch", 30), (Placement::FirstTouch, 2.4));
    }

    #[test]
    fn memory_like_a_cache_has_its_latency_and_wires_that_never_bind() {
        for name in ["xeon-7560", "epyc-9654-2p"] {
            let machine = Machine::find(name).unwrap().with_memory_like_cache();
            invariants::check(&machine);
            let cache = machine.clusters()[1].cache.unwrap();
            let memory = machine.memory;
            for latency in [memory.latency, memory.remote_latency, memory.far_latency] {
                assert_eq!(latency, cache.latency, "{name}");
            }
            assert_eq!((cache.link, memory.fabric, memory.package_link), (None, None, None));
        }
    }

    #[test]
    fn the_first_workers_leave_a_proper_tree() {
        for count in [1, 3, 8, 9, 32] {
            let machine = xeon("").with_workers(count).unwrap();
            invariants::check(&machine);
            assert_eq!(machine.workers().len() as u32, count);
        }
        for count in [0, 33] {
            let error = xeon("").with_workers(count).unwrap_err().to_string();
            assert!(error.contains("1 to 32 workers"), "{error}");
        }
    }

    #[test]
    fn last_level_caches_grow_and_shrink_but_not_below_the_caches_under_them() {
        for (factor, size) in [(0.5, "12 MiB"), (2.0, "48 MiB"), (1e-6, "262656 B")] {
            let machine = xeon("").with_last_level(factor);
            invariants::check(&machine);
            let last = machine.cluster(machine.last_level(WorkerId(0)));
            assert_eq!(last.size().to_string(), size);
        }
    }

    #[test]
    fn caches_shrink_to_whole_sets() {
        let small = xeon("").shrunk(16).unwrap();
        invariants::check(&small);
        let sizes: Vec<_> =
            small.path(WorkerId(0)).map(|c| small.cluster(c).size().to_string()).take(3).collect();
        assert_eq!(sizes, ["2 KiB", "16 KiB", "1536 KiB"]);
        assert!(xeon("").shrunk(100_000).unwrap_err().to_string().contains("less than one set"));
    }

    #[test]
    fn no_cache_shrinks_to_more_than_the_cache_above_it() {
        // Thirds are 10 and 21 sets: 10,240 bytes and 10,752.
        let equal = "l2:1(size=32KiB ways=16) l1:1(size=32KiB ways=8) pu:1";
        let small = Machine::find(equal).unwrap().shrunk(3).unwrap();
        invariants::check(&small);
        let sizes = small.path(WorkerId(0)).map(|cluster| small.cluster(cluster).size().0);
        assert_eq!(sizes.take(2).collect::<Vec<_>>(), [10 << 10, 10 << 10]);
    }

    #[test]
    fn what_cannot_be_is_said_with_what_can() {
        let (sockets, cores) = (xeon("").with_sockets(5), xeon("").with_cores(0));
        assert!(sockets.unwrap_err().to_string().contains("1 to 4 sockets, not 5"));
        assert!(cores.unwrap_err().to_string().contains("1 to 8 cores, not 0"));
    }

    #[test]
    fn a_machine_without_caches_has_no_sockets_to_take_cores_or_others_from() {
        let without = || Machine::find("core:8 pu:1").unwrap();
        for varied in [without().with_sockets(1), without().with_cores(4)] {
            let error = varied.unwrap_err().to_string();
            assert!(error.contains("it has no last-level cache"), "{error}");
        }
    }
}
