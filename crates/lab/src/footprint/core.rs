//! One core: caches and a clock.

use befit_cache::{Access, CacheError, Found, Hierarchy, Touch, footprint::Frames};
use befit_machine::{ClusterId, Machine, WorkerId};

use super::{FootprintError, Tasks};

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

impl Reading {
    /// Cycles of a task but for its waits for the lines that it touches.
    fn cycles(self, tasks: &Tasks, task: usize, innermost: u64) -> f64 {
        let accesses = tasks.accesses(task);
        // What is no touch was an access to the line touched just before.
        let again = accesses - tasks.touches(task).len() as u64;
        (again * innermost) as f64 + accesses as f64 * self.instructions / self.width
    }
}

/// Touches that go through the caches together: the model then brings near what it will look at some touches ahead, which takes half the time.
const TOGETHER: usize = 1024;

/// One worker's caches, and what an access costs there. Nothing overlaps: the core waits for each access.
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
        let line = machine.clusters().iter().filter_map(|c| c.cache).map(|c| c.line.0).max().unwrap_or(64);
        if line < tasks.line().0 || !line.is_power_of_two() {
            return Err(FootprintError::Lines { machine: machine.name.clone(), line, recorded: tasks.line().0 });
        }
        let coarser = (line / tasks.line().0).trailing_zeros();
        let model = |source: CacheError| FootprintError::Machine { machine: machine.name.clone(), source };
        let caches = Hierarchy::new(machine, (tasks.lines() >> coarser) + 1, 1).map_err(model)?;
        let latency = |c: ClusterId| machine.cluster(c).cache.map_or(machine.memory.latency.0, |cache| cache.latency.0);
        let mut reach: Vec<u64> = (0..machine.clusters().len() as u32).map(|c| latency(ClusterId(c))).collect();
        if reading.latencies == Latencies::Additive {
            let mut passed = 0;
            for cluster in machine.path(worker) {
                passed += latency(cluster);
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

    /// Runs task `task` of `tasks`; `frames` see its accesses, and it ends for them. Answers its cycles. O(its touches).
    ///
    /// # Panics
    /// Where there is no such task, or `tasks` are not those that the core was made for.
    pub fn run(&mut self, tasks: &Tasks, task: usize, frames: Option<&mut Frames>) -> f64 {
        let Some(frames) = frames else { return self.run_all(tasks, [task]) };
        let mut waits = 0;
        for (line, write) in tasks.touches(task) {
            let line = line >> self.coarser;
            let access = self.caches.access(self.worker, line, write);
            waits += reach(&self.reach, access);
            frames.observe(&self.caches, line, access);
        }
        self.reading.cycles(tasks, task, self.innermost) + waits as f64
    }

    /// Runs these of `tasks` one after another. Answers the cycles of all. O(their touches).
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn run_all(&mut self, tasks: &Tasks, order: impl IntoIterator<Item = usize>) -> f64 {
        let (worker, coarser, innermost, reading) = (self.worker, self.coarser, self.innermost, self.reading);
        let mut together = Vec::with_capacity(TOGETHER);
        let (mut cycles, mut waits) = (0.0, 0);
        let mut flush = |together: &mut Vec<Touch>| {
            self.caches.run(together, |_, access| waits += reach(&self.reach, access));
            together.clear();
        };
        for task in order {
            cycles += reading.cycles(tasks, task, innermost);
            for (line, write) in tasks.touches(task) {
                if together.len() == TOGETHER {
                    flush(&mut together);
                }
                together.push(Touch { worker, line: line >> coarser, write });
            }
        }
        flush(&mut together);
        cycles + waits as f64
    }

    /// Cycles that task `task` would wait for lines if it began now and none came in meanwhile. O(its touches × caches).
    pub fn would_wait(&self, machine: &Machine, tasks: &Tasks, task: usize) -> u64 {
        let has = |line: u32| {
            let found = machine.path(self.worker).find(|c| self.caches.holds(*c, line >> self.coarser));
            self.reach[found.unwrap_or(ClusterId::ROOT).index()]
        };
        tasks.touches(task).map(|(line, _)| has(line)).sum()
    }

    /// The number by which this core's caches know a recorded line.
    pub(super) fn line(&self, recorded: u32) -> u32 {
        recorded >> self.coarser
    }
}

/// Cycles that an access waits.
fn reach(reach: &[u64], access: Access) -> u64 {
    let at = match access.found {
        Found::Own(cluster) | Found::Sibling(cluster) => cluster,
        Found::Remote | Found::Memory => ClusterId::ROOT,
    };
    reach[at.index()]
}
