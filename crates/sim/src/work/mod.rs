//! How long a program's operations take, from how long its strands took on the machine at hand.
//!
//! A strand's time is its operations' and what it waits for. The model knows the waits: [`fit`]
//! runs all strands in serial order through the caches of the host, at several paces of the
//! operations at once. Where lines were found does not depend on the pace, so one pass through the
//! caches serves all of them. The pace of a class of strands is the one at which its modelled time
//! is the measured one. Of a class with many strands some at random stand for all: the caches see
//! every access, but only those strands' waits are modelled, which is most of the effort.

#[cfg(test)]
mod tests;

use befit_cache::{Access, Found, LineAccess};
use befit_machine::{ClusterId, Machine, WorkerId};
use befit_program::{ClassId, ClassWork, Program, StrandId, TaskId, Timing, Touch, WorkRun};

use crate::{
    SimError,
    account::Part,
    clock::Ticks,
    execution::OPERATION,
    hardware::{Hardware, Level},
    memory::{Memory, Passing},
    waits::{InFlight, Now, Reason, Takes, Waits},
};

/// The method of [`fit`], counted up where it changes: what other methods found is not kept.
pub const GENERATION: u32 = 11;

/// Cycles of an operation that are tried. Between two of them time is taken to be linear, and
/// beyond the last it grows by the operations.
const PACES: [f64; 9] = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];
/// Strands of a class that take less than this in the mean are too short for a clock.
const SHORT: u64 = 100_000;

/// The line touches of a class that suffice, and the strands that these come from at least.
const ENOUGH: (u64, u64) = (3_000_000, 200);

/// How long a serial run of an uninstrumented build took.
#[derive(Clone, Debug)]
pub struct Timed {
    /// By strand of the recording.
    pub strands: Vec<Timing>,
    /// All of the recorded regions, in picoseconds, of a run without a look at the clock between.
    pub total: u64,
    /// Page faults in the regions.
    pub faults: u64,
    /// Picoseconds of processor time that the recorded regions used in that run.
    pub regions: u64,
    /// The same of the whole process; 0 where it is not known.
    pub process: u64,
}

impl Timed {
    /// The share of the process's processor time that the recorded regions used; 0 where it is not
    /// known.
    fn recorded(&self) -> f64 {
        if self.process == 0 { 0.0 } else { (self.regions as f64 / self.process as f64).min(1.0) }
    }
}

/// The sums over a class's strands, in host cycles.
#[derive(Clone, Debug, Default)]
struct Sums {
    strands: u64,
    measured: f64,
    touches: u64,
    chosen: Chosen,
}

/// The sums over those of its strands whose waits are modelled.
#[derive(Clone, Debug, Default)]
struct Chosen {
    operations: u64,
    measured: f64,
    modelled: [f64; PACES.len()],
    /// Of the distances between the two.
    missed: [f64; PACES.len()],
}

/// The work of `program`, of whose strands `timed` says how long they took on `host`. `fault` is
/// the price of a page fault there, in cycles.
///
/// Takes time linear in the line touches, less than a simulation where classes have many strands.
///
/// # Errors
/// Where the host cannot be modelled.
///
/// # Panics
/// Where `timed` has not as many strands as the program.
pub fn fit(
    program: &Program,
    timed: &Timed,
    host: &Machine,
    fault: f64,
) -> Result<WorkRun, SimError> {
    assert_eq!(timed.strands.len(), program.strands() as usize, "a timing for each strand");
    let cycles = |picoseconds: u64| picoseconds as f64 * f64::from(host.mhz) * 1e-6;
    let mut classes = vec![Sums::default(); program.classes().len()];
    let strand_times = || {
        // They are numbered in serial order.
        (0..program.strands()).map(StrandId).zip(&timed.strands).map(|(strand, timing)| {
            let faults = f64::from(timing.faults) * fault;
            (strand, (cycles(timing.picoseconds) - faults).max(0.0))
        })
    };
    for (strand, measured) in strand_times() {
        let sums = &mut classes[class(program, strand)];
        sums.strands += 1;
        sums.touches += program.work(strand).touches;
        sums.measured += measured;
    }
    let pages = f64::from((program.lines() / 64).max(1));
    let faults_per_page = timed.faults as f64 / pages;
    let mut serial = Serial::new(program, host)?;
    serial.hardware.prepare_all_but(faults_per_page.min(1.0));
    for (strand, measured) in strand_times() {
        let sums = &mut classes[class(program, strand)];
        if !sums.chooses(strand) {
            serial.pass(strand);
            continue;
        }
        let chosen = &mut sums.chosen;
        chosen.operations += program.work(strand).operations();
        chosen.measured += measured;
        for (k, modelled) in serial.run(strand).into_iter().enumerate() {
            chosen.modelled[k] += modelled;
            chosen.missed[k] += (modelled - measured).abs();
        }
    }
    // The program timed as a whole inlines all forks, as a pool of one thread does. What they take
    // there, the simulator adds again.
    let joins = |task| program.joins(task).count();
    let forks = (0..program.tasks()).map(TaskId).map(joins).sum::<usize>();
    let forks = forks as f64 * host.prices.inlined;
    let total = cycles(timed.total) - forks - timed.faults as f64 * fault;
    share_what_is_short(&mut classes, total, cycles(SHORT));
    let measured = classes.iter().map(|sums| sums.measured).sum::<f64>();
    let longer = if measured > 0.0 { (total / measured).max(1.0) } else { 1.0 };
    classes.iter_mut().for_each(|sums| sums.take_longer(longer));
    Ok(WorkRun {
        host_mhz: host.mhz,
        host_operation: host.cycles_per_operation,
        host: host.name.clone(),
        faults_per_page,
        recorded: timed.recorded(),
        classes: classes.iter().map(|sums| sums.work(host)).collect(),
    })
}

/// A clock that is looked at every few nanoseconds takes longer than what it measures. So classes
/// of strands that are that short share what the others leave of the whole region's time, in
/// proportion to what was measured.
fn share_what_is_short(classes: &mut [Sums], total: f64, short: f64) {
    let is_short = |sums: &Sums| sums.measured < short * sums.strands as f64;
    let (mut long, mut rest) = (0.0, 0.0);
    for sums in classes.iter() {
        *if is_short(sums) { &mut rest } else { &mut long } += sums.measured;
    }
    if rest == 0.0 || total <= 0.0 {
        return;
    }
    let share = ((total - long).max(0.0) / rest).min(1.0);
    for sums in classes.iter_mut().filter(|sums| is_short(sums)) {
        sums.measured *= share;
        sums.chosen.measured *= share;
    }
}

impl Sums {
    /// Whether this strand of the class is one of those that stand for all.
    fn chooses(&self, StrandId(strand): StrandId) -> bool {
        let (touches, strands) = ENOUGH;
        let of = |enough: u64, all: u64| enough as f64 / all.max(1) as f64;
        let share = of(touches, self.touches).max(of(strands, self.strands));
        // The same ones in every run, and no pattern of the program's.
        let random = u64::from(strand).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((random ^ (random >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as f64
            <= share * f64::from(u32::MAX)
    }

    /// The least times of strands come from different runs: in none of these are all strands as
    /// fast. So each takes a share of what they are short of a whole run.
    fn take_longer(&mut self, factor: f64) {
        self.measured *= factor;
        self.chosen.measured *= factor;
    }

    fn work(&self, host: &Machine) -> Option<ClassWork> {
        if self.chosen.operations == 0 {
            return None;
        }
        let (pace, at) = self.chosen.pace();
        Some(ClassWork {
            ps_per_operation: pace * 1e6 / f64::from(host.mhz.max(1)),
            strands: self.strands,
            spread: self.chosen.missed[at] / self.chosen.measured.max(1.0),
        })
    }
}

impl Chosen {
    /// The cycles of an operation at which the modelled time is the measured one, and the nearest
    /// pace that was tried. Where the waits alone take longer, the fastest.
    fn pace(&self) -> (f64, usize) {
        let above = self.modelled.iter().position(|modelled| *modelled >= self.measured);
        match above {
            Some(0) => (PACES[0], 0),
            Some(k) => {
                let (low, high) = (self.modelled[k - 1], self.modelled[k]);
                let part = (self.measured - low) / (high - low).max(1e-9);
                let pace = PACES[k - 1] + part * (PACES[k] - PACES[k - 1]);
                (pace, if part < 0.5 { k - 1 } else { k })
            }
            None => {
                let last = PACES.len() - 1;
                let more = (self.measured - self.modelled[last]) / self.operations as f64;
                (PACES[last] + more, last)
            }
        }
    }
}

/// One core of the host, at several paces at once.
struct Serial<'a> {
    program: &'a Program,
    hardware: Hardware,
    cores: [Core; PACES.len()],
    position: u64,
    /// Whether the line that was touched last, or one that it depends on, was a miss.
    missed: bool,
}

#[derive(Debug)]
struct Core {
    clock: Ticks,
    waits: Waits,
    memory: Memory,
}

impl<'a> Serial<'a> {
    fn new(program: &'a Program, host: &Machine) -> Result<Self, SimError> {
        let hardware = Hardware::new(program, None, host, 1, false)?;
        let core = |_| Core {
            clock: Ticks::default(),
            waits: Waits::default(),
            memory: hardware.memory.clone(),
        };
        Ok(Self { program, cores: std::array::from_fn(core), hardware, position: 0, missed: false })
    }

    /// The strand's accesses to the caches, without their waits.
    fn pass(&mut self, strand: StrandId) {
        self.program.touches(strand).for_each(|touch| {
            let (line, access) = access(&mut self.hardware, touch);
            let near =
                matches!(access.found, Found::Own(at) if self.hardware.level(at).is_nearest());
            if !near {
                self.hardware.walk(WorkerId(0), line);
                self.hardware.is_followed(WorkerId(0), touch, line);
            }
        });
    }

    /// The cycles that the strand takes at each pace.
    fn run(&mut self, strand: StrandId) -> [f64; PACES.len()] {
        let (hardware, worker) = (&mut self.hardware, WorkerId(0));
        let before = self.cores.each_ref().map(|core| core.clock);
        let work = self.program.work(strand);
        let operations = work.operations() * OPERATION;
        let stride = operations.checked_div(work.touches).unwrap_or(0);
        let end = self.position + operations;
        let pace = |k: usize| Ticks::cycles(1).0 as f64 * PACES[k] / OPERATION as f64;
        let steps: [Ticks; PACES.len()] =
            std::array::from_fn(|k| Ticks((stride as f64 * pace(k)) as u64));
        let flights: [InFlight; PACES.len()] =
            std::array::from_fn(|k| hardware.flight.at_pace(pace(k)));
        self.program.touches(strand).for_each(|touch| {
            let (line, access) = access(hardware, touch);
            let (from, from_memory) = match access.found {
                Found::Own(cluster) | Found::Sibling(cluster) => (cluster, false),
                _ => (ClusterId::ROOT, true),
            };
            let Level { latency, stream, .. } = *hardware.level(from);
            let beyond = latency != Ticks::default();
            let walk = if beyond { hardware.walk(worker, line) } else { None }.unwrap_or_default();
            let followed =
                if beyond { hardware.is_followed(worker, touch, line) } else { touch.streaming };
            self.position += stride;
            let misses = latency != Ticks::default() || access.written_back != 0;
            let awaited = hardware.awaits(touch, line, &access);
            let dependent = touch.dependent && self.missed;
            self.missed = misses || dependent || touch.stack && self.missed;
            for (k, core) in self.cores.iter_mut().enumerate() {
                core.clock += steps[k];
                if !misses {
                    continue;
                }
                let mut now = Now { clock: core.clock, position: self.position, pace: pace(k) };
                now.clock += core.waits.before(now);
                core.clock = now.clock;
                let passing = Passing { place: u64::from(line), single: false, now: now.clock };
                for _ in 0..u32::from(access.written_back) + walk.written_back {
                    core.memory.write_back(worker, passing);
                }
                let bus = if from_memory { core.memory.read(worker, passing) } else { now.clock };
                let reason = Reason { part: Part::Memory, line, ..Reason::default() };
                core.clock += if awaited {
                    let tables = (0..walk.from_memory).map(|_| core.memory.read(worker, passing));
                    let begins = tables.last().unwrap_or(now.clock).max(bus) + walk.time;
                    let all = core.waits.all(&flights[k], now.clock);
                    all.max((begins + latency).since(now.clock))
                } else if followed {
                    core.waits.stream(&flights[k], now.clock, latency, stream, bus, reason)
                } else {
                    let latency = latency + bus.since(now.clock);
                    let tables = (0..walk.from_memory).map(|_| core.memory.read(worker, passing));
                    let tables = tables.last().map_or(Ticks::default(), |at| at.since(now.clock));
                    let takes = Takes { walk: walk.time + tables, latency, dependent };
                    core.waits.miss(&flights[k], now, takes, reason)
                };
            }
        });
        let rest = end - self.position;
        self.position = end;
        for (k, core) in self.cores.iter_mut().enumerate() {
            core.clock += Ticks((rest as f64 * pace(k)) as u64);
        }
        let cycle = Ticks::cycles(1).0 as f64;
        std::array::from_fn(|k| self.cores[k].clock.since(before[k]).0 as f64 / cycle)
    }
}

/// Makes the touch on the only worker: the machine's line, and where it was found.
fn access(hardware: &mut Hardware, touch: Touch) -> (u32, Access) {
    let line = hardware.line(WorkerId(0), touch);
    let physical = hardware.physical(line);
    let access = LineAccess { worker: WorkerId(0), line: physical, write: touch.write };
    (line, hardware.caches.access_planned(&hardware.caches.prefetch(access)))
}

/// Cycles of an operation of each class on `machine`.
///
/// Measured work scales by the relative widths of the cores (their `operation=`), as cycles do. A
/// class of which nothing was measured takes the mean of those of which something was; without any
/// it is the machine's `operation=`.
pub(crate) fn cycles_per_operation(program: &Program, machine: &Machine) -> Vec<f64> {
    let classes = program.classes().len().max(1);
    let Some(run) = program.work_run() else {
        return vec![machine.cycles_per_operation; classes];
    };
    let cycles = f64::from(run.host_mhz) * 1e-6 * machine.cycles_per_operation
        / run.host_operation.max(f64::MIN_POSITIVE);
    let known = || run.classes.iter().flatten();
    let strands: f64 = known().map(|class| class.strands as f64).sum();
    let mean = known().map(|class| class.ps_per_operation * class.strands as f64).sum::<f64>();
    let unknown =
        if strands > 0.0 { mean / strands * cycles } else { machine.cycles_per_operation };
    let of = |class: usize| run.classes.get(class).copied().flatten();
    (0..classes).map(|c| of(c).map_or(unknown, |w| w.ps_per_operation * cycles)).collect()
}

/// The class of a strand, as an index.
pub(crate) fn class(program: &Program, strand: StrandId) -> usize {
    let ClassId(class) = program.class(strand);
    class as usize
}
