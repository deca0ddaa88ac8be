//! How long a program's operations take, from how long its strands took on the machine at hand.
//!
//! A strand's time is its operations' and what it waits for. The model knows the waits: [`fit`]
//! runs all strands in serial order through the caches of the host, at several paces of the
//! operations at once. Where lines were found does not depend on the pace, so one pass through the
//! caches serves all of them. The pace of a class of strands is the one at which its modelled time
//! is the measured one. Of a class with many strands some at random stand for all: the caches see
//! every access, but only those strands' waits are modelled, which is most of the effort.

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
pub const GENERATION: u32 = 10;

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
                for _ in 0..access.written_back {
                    core.memory.write_back(worker, passing);
                }
                let bus = if from_memory { core.memory.read(worker, passing) } else { now.clock };
                let reason = Reason { part: Part::Memory, line, ..Reason::default() };
                core.clock += if followed {
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

#[cfg(test)]
mod tests {
    use befit_program::{Declared, ScopeId};

    use super::*;
    use crate::tests::{program, task};

    const HOST: &str = "(mhz=1000 latency=200 bandwidth=16 parallelism=8 streams=20 window=50)
                        l2:1(size=256KiB latency=14) l1:1(size=32KiB latency=4) core:1 pu:1";

    /// Twenty forks, of a stream of many lines and a loop over few.
    fn two_kinds() -> Program {
        program(|b| {
            let (stream, few) = (b.place("stream").unwrap(), b.place("few").unwrap());
            for round in 0..20u64 {
                b.fork_at(ScopeId(1), Declared::default(), stream).unwrap();
                (0..5000).for_each(|i| b.touch(round * 5000 + i, true, false));
                b.work(20_000, 20_000, 0);
                b.end().unwrap();
                b.fork_at(ScopeId(1), Declared::default(), few).unwrap();
                (0..64).for_each(|i| b.touch(i * 3, false, false));
                b.work(50_000, 0, 1000);
                b.end().unwrap();
                b.sync(ScopeId(1)).unwrap();
            }
        })
    }

    /// The paces, in cycles, that are found where the model has those of [`PACES`] at these places,
    /// all strands were so much faster, and each fork took so many nanoseconds of the whole, and
    /// each of the program's page faults as many.
    fn found(paces: [usize; 2], faster: f64, fork: u64, fault: u64) -> Vec<f64> {
        let (program, mut host) = (two_kinds(), HOST.parse::<Machine>().unwrap());
        host.prices.inlined = fork as f64;
        let mut serial = Serial::new(&program, &host).unwrap();
        let times: Vec<u64> = (0..program.strands())
            .map(StrandId)
            .map(|strand| {
                let modelled = serial.run(strand);
                (modelled[paces[class(&program, strand)]] * 1000.0) as u64
            })
            .collect();
        // One in each strand, and none in the model, whose pages are all there.
        let faults = times.len() as u64;
        let total = times.iter().sum::<u64>() + (20 * fork + faults * fault) * 1000;
        let strand = |time: u64| Timing {
            picoseconds: (time as f64 / faster) as u64 + fault * 1000,
            faults: 1,
        };
        let strands = times.into_iter().map(strand).collect();
        let timed = Timed { strands, total, faults, regions: 0, process: 0 };
        let run = fit(&program, &timed, &host, fault as f64).unwrap();
        run.classes.iter().flatten().map(|c| c.ps_per_operation / 1000.0).collect()
    }

    #[test]
    fn the_pace_of_each_class_comes_back_from_its_times() {
        let (k, j) = (5, 3);
        // Also from times that are short of the whole's, and without what forks and faults took.
        for (faster, fork, fault) in [(1.0, 0, 0), (1.2, 0, 0), (1.2, 10_000, 0), (1.2, 0, 50_000)]
        {
            let found = found([k, j], faster, fork, fault);
            for (found, pace) in found.iter().zip([PACES[k], PACES[j]]) {
                let off = (found / pace - 1.0).abs();
                assert!(off < 0.02, "{found} {pace} {faster} {fork} {fault}");
            }
        }
    }

    #[test]
    fn a_strand_that_waits_for_nothing_takes_its_operations_at_each_pace() {
        let (program, host) = (program(|b| b.work(1_000_000, 0, 0)), HOST.parse().unwrap());
        let operations = program.work(StrandId(0)).operations() as f64;
        let found = Serial::new(&program, &host).unwrap().run(StrandId(0));
        for (cycles, pace) in found.into_iter().zip(PACES) {
            assert!((cycles / (operations * pace) - 1.0).abs() < 0.01, "{cycles} {pace}");
        }
    }

    #[test]
    fn measured_work_scales_by_cycles_and_by_the_widths_of_the_cores() {
        let program = two_kinds();
        let kinds = [0, 1].map(|strand| class(&program, StrandId(strand)));
        assert_ne!(kinds[0], kinds[1]);
        let mut classes = vec![None; program.classes().len()];
        let work = |ps, strands| Some(ClassWork { ps_per_operation: ps, strands, spread: 0.0 });
        (classes[kinds[0]], classes[kinds[1]]) = (work(500.0, 30), work(100.0, 10));
        let run = WorkRun {
            host_mhz: 2000,
            host_operation: 0.5,
            host: String::new(),
            faults_per_page: 0.0,
            recorded: 0.0,
            classes,
        };
        // 500 ps are a cycle there, and half a one on cores of twice the width.
        let machine = "(mhz=4000 operation=0.25) pu:1".parse().unwrap();
        let found = cycles_per_operation(&program.with_work(run), &machine);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        for (class, cycles) in found.into_iter().enumerate() {
            // The others take the mean of all strands.
            let expected = [0.5, 0.1][..].iter().zip(kinds).find(|(_, kind)| *kind == class);
            assert!(near(cycles, expected.map_or(0.4, |(cycles, _)| *cycles)), "{class} {cycles}");
        }
    }

    #[test]
    fn pages_that_a_strand_met_when_it_was_passed_are_found_when_it_is_run() {
        let host = HOST.replace("window=50", "window=50 frames=random tlb=256 walk=1000");
        let (host, pages) = (host.parse().unwrap(), 200);
        let program = program(|b| {
            (0..pages).for_each(|page| b.touch(page * 64, false, false));
            b.work(pages, 0, 0);
        });
        let serial = || Serial::new(&program, &host).unwrap();
        let mut passed = serial();
        passed.pass(StrandId(0));
        let (first, second) = (serial().run(StrandId(0)), passed.run(StrandId(0)));
        // Two walks at once.
        let walks = pages as f64 * 1000.0 / 2.0;
        for (first, second) in first.into_iter().zip(second) {
            assert!(first > 0.9 * walks && second < 0.1 * walks, "{first} {second}");
        }
    }

    #[test]
    fn strands_too_short_for_the_clock_share_what_the_others_leave() {
        let mut classes = [(10, 10_000.0), (1000, 20_000.0)].map(|(strands, measured)| Sums {
            strands,
            measured,
            ..Sums::default()
        });
        share_what_is_short(&mut classes, 15_000.0, 100.0);
        assert_eq!([classes[0].measured, classes[1].measured], [10_000.0, 5_000.0]);
        // A whole of which forks and faults leave nothing tells nothing.
        share_what_is_short(&mut classes, -1.0, 100.0);
        assert_eq!([classes[0].measured, classes[1].measured], [10_000.0, 5_000.0]);
    }

    #[test]
    fn the_share_that_was_recorded_is_known_where_the_process_s_time_is() {
        for (regions, process, share) in [(30, 120, 0.25), (7, 0, 0.0), (121, 120, 1.0)] {
            let timed = Timed { strands: Vec::new(), total: 0, faults: 0, regions, process };
            assert_eq!(timed.recorded(), share);
        }
    }

    /// A thousand operations whose waits take 500 cycles at any pace, and which took so long.
    fn chosen(measured: f64) -> Chosen {
        let modelled = PACES.map(|pace| 500.0 + 1000.0 * pace);
        let missed = std::array::from_fn(|k| 100.0 + k as f64);
        Chosen { operations: 1000, measured, modelled, missed }
    }

    #[test]
    fn the_pace_is_the_one_at_which_the_modelled_time_is_the_measured_one() {
        for (measured, expected, nearest) in [
            // The waits alone take as long, or longer.
            (400.0, PACES[0], 0),
            (520.0, PACES[0], 0),
            // Between 0.1 and 0.2.
            (620.0, 0.12, 2),
            (650.0, 0.15, 3),
            (700.0, 0.2, 3),
            // As slow as the slowest, and slower.
            (6900.0, 6.4, 8),
            (8500.0, 8.0, 8),
        ] {
            let (pace, at) = chosen(measured).pace();
            assert!((pace - expected).abs() < 1e-9, "{measured}: {pace}");
            assert_eq!(at, nearest, "{measured}");
        }
    }

    #[test]
    fn a_class_s_work_is_in_the_host_s_time_and_tells_how_far_its_strands_are_from_the_model() {
        let host: Machine = "(mhz=2000) pu:1".parse().unwrap();
        let sums = Sums { strands: 7, chosen: chosen(700.0), ..Sums::default() };
        let work = sums.work(&host).unwrap();
        // A cycle is 500 ps.
        assert!((work.ps_per_operation - 0.2 * 500.0).abs() < 1e-9, "{work:?}");
        assert_eq!((work.strands, work.spread), (7, 103.0 / 700.0));
        assert_eq!(Sums { strands: 7, ..Sums::default() }.work(&host), None);
    }

    #[test]
    fn of_a_class_as_many_strands_are_chosen_as_suffice() {
        for (strands, touches, expected) in [
            (150, 30_000_000, 150),
            (2000, 0, 2000),
            (2000, 3_000_000, 2000),
            // By the strands, and by their touches.
            (2000, 300_000_000, 200),
            (2000, 6_000_000, 1000),
        ] {
            let sums = Sums { strands, touches, ..Sums::default() };
            let chosen = (0..strands as u32).filter(|strand| sums.chooses(StrandId(*strand)));
            let off = chosen.count().abs_diff(expected);
            assert!(off <= expected / 8 && (expected < strands as usize || off == 0), "{sums:?}");
        }
    }

    #[test]
    fn strands_that_took_no_time_have_the_fastest_pace() {
        let program = program(|b| {
            (0..100).for_each(|line| b.touch(line, false, false));
            b.work(100, 0, 0);
        });
        let host = HOST.parse().unwrap();
        let strands = vec![Timing { picoseconds: 0, faults: 0 }; program.strands() as usize];
        let timed = Timed { strands, total: 1000, faults: 0, regions: 1, process: 4 };
        let run = fit(&program, &timed, &host, 0.0).unwrap();
        let paces: Vec<f64> = run.classes.iter().flatten().map(|c| c.ps_per_operation).collect();
        assert_eq!(paces, [PACES[0] * 1000.0]);
        assert_eq!((run.host_mhz, run.faults_per_page, run.recorded), (1000, 0.0, 0.25));
    }

    #[test]
    fn a_host_that_cannot_be_modelled_is_no_host() {
        let program = program(|b| b.touch(1, false, false));
        let strands = vec![Timing { picoseconds: 1000, faults: 0 }];
        let timed = Timed { strands, total: 1000, faults: 0, regions: 0, process: 0 };
        let host = "l1:1(size=4KiB line=32) pu:1".parse().unwrap();
        let error = fit(&program, &timed, &host, 0.0).unwrap_err().to_string();
        assert!(
            error.ends_with("lines of 32 bytes are finer than the recorded ones of 64"),
            "{error}"
        );
    }

    #[test]
    fn a_strand_on_the_host_waits_for_memory_then_for_the_second_cache_then_for_nothing() {
        // One load at a time; the L2 has all of the lines, the L1 those that were read last.
        let host = HOST.replace("window=50", "window=0").parse().unwrap();
        let program = program(|b| {
            for reads in [0..2000u64, 0..2000, 1900..2000] {
                task(b, 1, None, |b| {
                    b.work(reads.end - reads.start, 0, 0);
                    // Eleven lines apart, which is no stream.
                    reads.for_each(|i| b.touch(i * 11 % 2000, false, false));
                });
            }
            b.sync(ScopeId(1)).unwrap();
        });
        let mut serial = Serial::new(&program, &host).unwrap();
        for (strand, (count, wait)) in (0..).zip([(2000.0, 196.0), (2000.0, 10.0), (100.0, 0.0)]) {
            let found = serial.run(StrandId(strand));
            for (cycles, pace) in found.into_iter().zip(PACES) {
                let expected = count * (pace + wait);
                // Each step is rounded to a 256th of a cycle.
                let off = (cycles - expected).abs();
                assert!(off <= count / 256.0, "strand {strand} at {pace}: {cycles} of {expected}");
            }
        }
    }
}
