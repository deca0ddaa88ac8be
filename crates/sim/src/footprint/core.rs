//! One core: caches and a clock.

use befit_cache::{Access, Found, Hierarchy, footprint::Frames};
use befit_machine::{ClusterId, Machine, WorkerId};

use super::{FootprintError, Tasks};
use crate::{latency, line_size};

/// How latencies of caches behind one another are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Latencies {
    /// An access costs the latency of the cache that has the line: L1 1, L2 13, memory 200.
    Exclusive,
    /// An access costs the latencies of all that it passes: L1 1, L2 1 + 13, memory 1 + 13 + 200.
    Additive,
}

/// How a recorded access becomes cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// Instructions of the program for each load or store of it, that one included.
    pub instructions: f64,
    /// Instructions that the core issues in a cycle.
    pub width: f64,
    /// How latencies add up.
    pub latencies: Latencies,
}

/// One worker's caches, and what an access costs there. Nothing overlaps: the core waits for each
/// access.
#[derive(Clone, Debug)]
pub struct Core {
    caches: Hierarchy,
    worker: WorkerId,
    /// Recorded lines per line of this machine, as a power of two.
    coarser: u32,
    reading: Reading,
    /// Per cluster, the root included: cycles of an access that finds its line there.
    reach: Vec<u64>,
    /// Cycles of an access to the innermost cache.
    innermost: u64,
}

impl Core {
    /// The first worker of `machine`, with empty caches. O(cache lines and lines of `tasks`).
    ///
    /// # Errors
    /// Where the machine cannot be modelled, or its lines are finer than the recorded ones.
    pub fn new(machine: &Machine, tasks: &Tasks, reading: Reading) -> Result<Self, FootprintError> {
        let worker = WorkerId(0);
        let cannot = |why: String| FootprintError::Machine(machine.name.clone(), why);
        let (_, coarser) = line_size(machine, tasks.line).map_err(cannot)?;
        let caches = Hierarchy::new(machine, (tasks.lines >> coarser) + 1, 1);
        let caches = caches.map_err(|error| cannot(error.to_string()))?;
        let clusters = (0..machine.clusters().len() as u32).map(ClusterId);
        let mut reach: Vec<u64> = clusters.map(|c| latency(machine, c)).collect();
        if reading.latencies == Latencies::Additive {
            let mut passed = 0;
            for cluster in machine.path(worker) {
                passed += latency(machine, cluster);
                reach[cluster.index()] = passed;
            }
        }
        let innermost = machine.path(worker).next().map_or(0, |c| reach[c.index()]);
        Ok(Self { caches, worker, coarser, reading, reach, innermost })
    }

    /// The caches as they are.
    pub fn caches(&self) -> &Hierarchy {
        &self.caches
    }

    /// Runs task `task` of `tasks`, whose accesses and end `frames` see. Returns its cycles. O(its
    /// touches).
    ///
    /// # Panics
    /// Where there is no such task, or `tasks` are not those that the core was made for.
    pub fn run(&mut self, tasks: &Tasks, task: usize, frames: Option<&mut Frames>) -> f64 {
        let touches = tasks.touches(task);
        // The other accesses were to the line touched just before.
        let again = tasks.accesses(task) - touches.len() as u64;
        let mut waits = again * self.innermost;
        match frames {
            None => touches.for_each(|(line, write)| waits += self.access(line, write).1),
            Some(frames) => touches.for_each(|(line, write)| {
                let (access, wait) = self.access(line, write);
                waits += wait;
                frames.observe(&self.caches, line >> self.coarser, access);
            }),
        }
        waits as f64 + tasks.accesses(task) as f64 * self.reading.instructions / self.reading.width
    }

    fn access(&mut self, line: u32, write: bool) -> (Access, u64) {
        let access = self.caches.access(self.worker, self.line(line), write);
        let at = match access.found {
            Found::Own(cluster) | Found::Sibling(cluster) => cluster,
            Found::Remote { .. } | Found::Memory => ClusterId::ROOT,
        };
        (access, self.reach[at.index()])
    }

    /// Cycles that task `task` would wait for lines if it began now and none came in meanwhile.
    /// O(its touches × caches).
    pub fn would_wait(&self, machine: &Machine, tasks: &Tasks, task: usize) -> u64 {
        let has = |line: u32| {
            let found = machine.path(self.worker).find(|c| self.caches.holds(*c, self.line(line)));
            self.reach[found.unwrap_or(ClusterId::ROOT).index()]
        };
        tasks.touches(task).map(|(line, _)| has(line)).sum()
    }

    /// How many sets the innermost cache has, and which of them a recorded line belongs to; none
    /// where a set has several lines.
    pub(super) fn direct_mapped(
        &self,
        machine: &Machine,
    ) -> Option<(u32, impl Fn(u32) -> u32 + '_)> {
        let cluster = machine.path(self.worker).next()?;
        let (sets, ways) = self.caches.sets_and_ways(cluster)?;
        (ways == 1).then_some((sets, move |line| self.caches.set_of(cluster, self.line(line))))
    }

    /// The number by which this core's caches know a recorded line.
    pub(super) fn line(&self, recorded: u32) -> u32 {
        recorded >> self.coarser
    }
}
