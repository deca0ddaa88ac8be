//! Main memory and the wires to it: what a line passes on its way, and where pages lie.
//!
//! ```text
//!  last-level cache ══ link ══╗                            ╔══ link ══ last-level cache
//!  last-level cache ══ link ══╬═ fabric ══ packages' links ═ fabric ══╬══ …
//!                controller ══╝                            ╚══ controller
//! ```
//!
//! Each is a [`Wire`], and those that a machine does not tell of never bind. A line takes its turn
//! on all that it passes at once: it is there when the latest of them has it.

use befit_machine::{ClusterId, Machine, Placement, WorkerId};

use crate::{SimError, clock::Ticks, wire::Wire};

/// Bytes of a page: what the placement goes by.
const PAGE: u64 = 4096;
const UNPLACED: u8 = u8::MAX;

/// The controllers, the wires between them and the last-level caches, and where pages lie.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    controllers: Vec<Controller>,
    /// Per package.
    packages: Vec<Package>,
    /// Per last-level cache.
    links: Vec<Link>,
    /// Per cluster directly under memory, which of `links`.
    link_of: Vec<Option<u32>>,
    /// Per worker: its package and its last-level cache.
    workers: Vec<(u32, Option<u32>)>,
    /// Lines of a page, as a power of two.
    page_shift: u32,
    placement: Placement,
    /// First touch: each page's controller, once touched.
    home: Vec<u8>,
    /// First touch: each worker's nearest controller. None of another package's, where all packages
    /// have as many.
    nearest: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Controller {
    wire: Wire,
    package: u32,
}

/// One package's wires.
#[derive(Clone, Debug)]
struct Package {
    fabric: Option<Wire>,
    /// Its link to the others, in each direction.
    outward: Option<Wire>,
    inward: Option<Wire>,
}

/// One last-level cache's wires.
#[derive(Clone, Debug)]
struct Link {
    package: u32,
    inward: Option<Wire>,
    outward: Option<Wire>,
}

/// A line on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    /// The lines of the program before it.
    pub(crate) place: u64,
    /// Whether it stands for itself only, where others stand for as many as the sample says.
    pub(crate) single: bool,
    /// When it sets out.
    pub(crate) now: Ticks,
}

impl Passing {
    /// When the wire has it.
    fn pass(self, wire: &mut Wire) -> Ticks {
        wire.pass(self.now, self.single)
    }

    /// The same; a wire that is not told of has it at once.
    fn pass_if_told(self, wire: &mut Option<Wire>) -> Ticks {
        wire.as_mut().map_or(self.now, |wire| self.pass(wire))
    }
}

impl Memory {
    /// Wires and places for `lines` lines of `line` bytes. Each stands for `each` of the program's
    /// ([`crate::sampled`]): it takes as many times longer to pass.
    pub(crate) fn new(
        machine: &Machine,
        line: u64,
        lines: u32,
        each: u64,
    ) -> Result<Self, SimError> {
        let memory = &machine.memory;
        let count = match memory.placement {
            Placement::Bound(k) => k.min(memory.controllers),
            _ => memory.controllers,
        };
        if count == 0 || count >= u32::from(UNPLACED) {
            return Err(SimError::Machine(format!("{count} memory controllers (1 to 254 can be)")));
        }
        if !(memory.bandwidth > 0.0 && memory.bandwidth.is_finite()) {
            return Err(SimError::Machine(format!(
                "memory bandwidth of {} bytes a cycle",
                memory.bandwidth
            )));
        }
        let wire = |width: f64| Wire::new(line, width, each);
        let packages = machine.workers().iter().map(|w| w.package + 1).max().unwrap_or(1);
        let clusters = &machine.cluster(ClusterId::ROOT).children;
        let links = clusters.iter().zip(machine.packages()).map(|(cluster, package)| {
            let link = machine.cluster(*cluster).cache.and_then(|cache| cache.link);
            Link {
                package,
                inward: link.map(|link| wire(link.read)),
                outward: link.map(|link| wire(link.write)),
            }
        });
        let mut link_of = vec![None; machine.clusters().len()];
        for (link, cluster) in (0..).zip(clusters) {
            link_of[cluster.index()] = Some(link);
        }
        let lines_per_page = (PAGE / line).max(1) as u32;
        let first_touch = memory.placement == Placement::FirstTouch;
        // A package's controllers stand together.
        let package = |controller: u32| {
            (u64::from(controller) * u64::from(packages) / u64::from(memory.controllers)) as u32
        };
        let controller = |c| Controller { wire: wire(memory.bandwidth), package: package(c) };
        Ok(Self {
            controllers: (0..count).map(controller).collect(),
            packages: (0..packages)
                .map(|_| Package {
                    fabric: memory.fabric.map(wire),
                    outward: memory.package_link.map(wire),
                    inward: memory.package_link.map(wire),
                })
                .collect(),
            links: links.collect(),
            workers: (0..)
                .zip(machine.workers())
                .map(|(w, worker)| {
                    (worker.package, link_of[machine.last_level(WorkerId(w)).index()])
                })
                .collect(),
            link_of,
            page_shift: lines_per_page.trailing_zeros(),
            placement: memory.placement,
            home: if first_touch {
                vec![UNPLACED; (u64::from(lines) * each) as usize / lines_per_page as usize + 1]
            } else {
                Vec::new()
            },
            nearest: nearest(machine, packages, count),
        })
    }

    /// `worker` reads `line` from memory. Returns when all wires have passed it on.
    pub(crate) fn read(&mut self, worker: WorkerId, line: Passing) -> Ticks {
        let controller = self.controller(worker, line.place);
        let (package, link) = self.workers[worker.index()];
        let Controller { wire, package: home } = &mut self.controllers[controller];
        let (home, arrives) = (*home, line.pass(wire));
        arrives.max(self.between(home, package, line)).max(self.enter(link, line))
    }

    /// `worker` reads a line from the last-level cache of cluster `from`. Returns when all wires
    /// have passed it on.
    pub(crate) fn supply(&mut self, worker: WorkerId, from: ClusterId, line: Passing) -> Ticks {
        let (package, link) = self.workers[worker.index()];
        let Some(supplier) = self.link_of[from.index()] else { return line.now };
        let Link { package: home, outward, .. } = &mut self.links[supplier as usize];
        let (home, leaves) = (*home, line.pass_if_told(outward));
        leaves.max(self.between(home, package, line)).max(self.enter(link, line))
    }

    /// A line leaves the last-level cache of `worker`, which had it modified. No worker waits.
    pub(crate) fn write_back(&mut self, worker: WorkerId, line: Passing) {
        let (package, link) = self.workers[worker.index()];
        if let Some(link) = link {
            line.pass_if_told(&mut self.links[link as usize].outward);
        }
        self.write(worker, package, line);
    }

    /// A modified line that the cache of cluster `from` has just supplied to `worker` goes to
    /// memory as well. It has left that cache already.
    pub(crate) fn write_shared(&mut self, worker: WorkerId, from: ClusterId, line: Passing) {
        let supplier = self.link_of[from.index()].map(|link| self.links[link as usize].package);
        self.write(worker, supplier.unwrap_or(0), line);
    }

    /// Whether the cluster directly under memory is of another package than `worker`.
    pub(crate) fn is_far(&self, worker: WorkerId, from: ClusterId) -> bool {
        let link = self.link_of[from.index()].map(|link| &self.links[link as usize]);
        link.is_some_and(|link| link.package != self.workers[worker.index()].0)
    }

    /// Whether the line at `place` lies in the memory of another package than that of `worker`,
    /// which reads it.
    pub(crate) fn is_far_home(&mut self, worker: WorkerId, place: u64) -> bool {
        let controller = self.controller(worker, place);
        self.controllers[controller].package != self.workers[worker.index()].0
    }

    /// Whether two workers are of different packages.
    pub(crate) fn are_far(&self, one: WorkerId, other: WorkerId) -> bool {
        self.workers[one.index()].0 != self.workers[other.index()].0
    }

    /// From a package to the controller of `line`.
    fn write(&mut self, worker: WorkerId, package: u32, line: Passing) {
        let controller = self.controller(worker, line.place);
        self.between(package, self.controllers[controller].package, line);
        line.pass(&mut self.controllers[controller].wire);
    }

    /// Through the fabric of a package and, where it is another, over both links and through its
    /// fabric.
    fn between(&mut self, from: u32, to: u32, line: Passing) -> Ticks {
        let mut arrives = line.pass_if_told(&mut self.packages[from as usize].fabric);
        if from != to {
            let outward = &mut self.packages[from as usize].outward;
            arrives = arrives.max(line.pass_if_told(outward));
            let package = &mut self.packages[to as usize];
            arrives = arrives.max(line.pass_if_told(&mut package.inward));
            arrives = arrives.max(line.pass_if_told(&mut package.fabric));
        }
        arrives
    }

    /// Into a last-level cache.
    fn enter(&mut self, link: Option<u32>, line: Passing) -> Ticks {
        link.map_or(line.now, |link| line.pass_if_told(&mut self.links[link as usize].inward))
    }

    fn controller(&mut self, worker: WorkerId, place: u64) -> usize {
        let page = place >> self.page_shift;
        match self.placement {
            Placement::Interleaved | Placement::Bound(_) => {
                (page as u32 % self.controllers.len() as u32) as usize
            }
            Placement::FirstTouch => {
                let home = &mut self.home[page as usize];
                if *home == UNPLACED {
                    *home = self.nearest[worker.index()];
                }
                usize::from(*home)
            }
        }
    }
}

/// Each worker's controller of `count`, of which all packages have the same share: the one that
/// stands in it where the worker stands in its package.
fn nearest(machine: &Machine, packages: u32, count: u32) -> Vec<u8> {
    let workers = machine.workers();
    let mut nearest = Vec::with_capacity(workers.len());
    for own in workers.chunk_by(|one, next| one.package == next.package) {
        let (package, size) = (u64::from(own[0].package), own.len() as u64);
        let whole = size * u64::from(packages);
        let rank = |i| package * size + i;
        nearest.extend((0..size).map(|i| (rank(i) * u64::from(count) / whole) as u8));
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Controllers that take a cycle for a line of 64 bytes.
    fn memory(figures: &str, tree: &str) -> Memory {
        let machine: Machine = format!("(bandwidth=64 {figures}) {tree}").parse().unwrap();
        Memory::new(&machine, 64, 64 * 8, 1).unwrap()
    }

    /// Two packages of two last-level caches, each with two cores: clusters 1 to 4 are the caches.
    const TREE: &str = "pack:2 group:2 l2:1(size=64KiB) core:2 pu:1";

    fn at(place: u64) -> Passing {
        Passing { place, single: false, now: Ticks(0) }
    }

    /// How many cycles a read of the line waits for those before it.
    fn waits(memory: &mut Memory, worker: u32, place: u64) -> u64 {
        memory.read(WorkerId(worker), at(place)).whole().0
    }

    #[test]
    fn pages_go_round_all_controllers_or_those_that_they_are_bound_to() {
        for (figures, homes) in [
            ("controllers=4", [0, 0, 1, 1, 0, 0, 1, 1]),
            // The first three are of both packages, the first two of one.
            ("controllers=4 placement=3", [0, 0, 1, 0, 0, 1, 0, 0]),
            ("controllers=4 placement=2", [0; 8]),
        ] {
            let mut memory = memory(figures, TREE);
            for (page, home) in (0..8).zip(homes) {
                for (worker, package) in [(0, 0), (3, 0), (4, 1), (7, 1)] {
                    for line in [0, 63] {
                        let far = memory.is_far_home(WorkerId(worker), page * 64 + line);
                        assert_eq!(far, package != home, "{figures}: page {page}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_page_stays_with_the_controller_next_to_the_worker_that_touched_it_first() {
        let mut memory = memory("controllers=4 placement=firsttouch", TREE);
        let home =
            |memory: &mut Memory, worker, page: u64| memory.controller(WorkerId(worker), page * 64);
        for worker in 0..8 {
            let page = u64::from(worker);
            assert_eq!(home(&mut memory, worker, page), worker as usize / 2);
            assert_eq!(home(&mut memory, 7 - worker, page), worker as usize / 2);
        }
    }

    #[test]
    fn the_controller_next_to_a_worker_is_of_its_own_package() {
        let figures = "(controllers=4 placement=firsttouch)";
        let machine = format!("{figures} pack:2 l3:1(size=64KiB) core:8 pu:1");
        let machine: Machine = machine.parse().unwrap();
        // The second package has but four workers.
        let machine = machine.with_workers(12).unwrap();
        let mut memory = Memory::new(&machine, 64, 64 * 12, 1).unwrap();
        let homes = (0..12).map(|w| memory.controller(WorkerId(w), u64::from(w) * 64));
        assert_eq!(homes.collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3]);
        assert!((0..12).all(|w| !memory.is_far_home(WorkerId(w), u64::from(w) * 64)));
        // Equal packages have their shares of controllers, and workers theirs, side by side.
        for (controllers, nearest) in
            [(1, [0; 6]), (2, [0, 0, 0, 1, 1, 1]), (3, [0, 0, 1, 1, 2, 2])]
        {
            let figures = format!("controllers={controllers} placement=firsttouch");
            let memory = self::memory(&figures, "pack:2 l3:1(size=64KiB) core:3 pu:1");
            assert_eq!(memory.nearest, nearest);
        }
    }

    #[test]
    fn lines_queue_at_the_controller_of_their_page_only() {
        let mut memory = memory("controllers=2", TREE);
        let first: Vec<_> = (0..3).map(|line| waits(&mut memory, 0, line)).collect();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!([waits(&mut memory, 0, 64), waits(&mut memory, 5, 128)], [0, 3]);
    }

    #[test]
    fn what_is_written_back_takes_its_turn_at_the_controller() {
        // Of a worker under a cache, and of one that has none.
        for tree in [TREE, "core:2 pu:1"] {
            let mut memory = memory("controllers=2", tree);
            memory.write_back(WorkerId(1), at(3));
            memory.write_back(WorkerId(0), at(64));
            memory.write_back(WorkerId(0), at(4));
            assert_eq!([waits(&mut memory, 1, 5), waits(&mut memory, 1, 65)], [2, 1], "{tree}");
        }
    }

    #[test]
    fn a_line_that_is_written_back_passes_the_links_of_its_cache_and_of_its_package() {
        // A line takes two cycles on the cache's link, four between packages, one in a fabric.
        let figures = "controllers=2 package-link=16 fabric=64";
        let tree = TREE.replace("64KiB", "64KiB link=64 link-write=32");
        let supplied = |written: u64| {
            let mut memory = memory(figures, &tree);
            memory.write_back(WorkerId(0), at(written));
            // The same cache hands a line to the other package, whose link into it is free.
            memory.supply(WorkerId(4), ClusterId(1), at(0)).whole().0
        };
        // To the own package's memory: behind the line on the cache's own link. To the other
        // package's: behind it between the two.
        assert_eq!([supplied(0), supplied(64)], [2, 4]);
        let shared = |written: u64| {
            let mut memory = memory(figures, &tree);
            memory.write_shared(WorkerId(4), ClusterId(1), at(written));
            memory.supply(WorkerId(4), ClusterId(1), at(0)).whole().0
        };
        // It has left the cache already.
        assert_eq!([shared(0), shared(64)], [1, 4]);
    }

    #[test]
    fn caches_and_workers_of_another_package_are_far() {
        let memory = memory("", TREE);
        let far = |from| memory.is_far(WorkerId(0), ClusterId(from));
        let outer = memory.link_of.iter().zip(0..).filter(|(link, _)| link.is_some());
        let outer: Vec<u32> = outer.map(|(_, cluster)| cluster).collect();
        assert_eq!(outer.iter().map(|c| far(*c)).collect::<Vec<_>>(), [false, false, true, true]);
        assert!(!far(0), "memory is no cache");
        let are_far = |one, other| memory.are_far(WorkerId(one), WorkerId(other));
        assert!(are_far(0, 4) && are_far(7, 3) && !are_far(0, 3) && !are_far(5, 5));
    }
}
