//! The hot lines of a sample, which workers take from one another again and again.
//!
//! They are in all samples, and each stands for itself only ([`crate::sampled`]). The functions
//! with a parameter `HOT` are told whether there are any: all touches run through them, and without
//! hot lines they have nothing to decide.

use befit_cache::{Hierarchy, LineAccess, PrefetchPlan};
use befit_machine::{ClusterId, Lines, Machine, WorkerId};
use befit_program::{Sample, Touch};

use crate::{
    SimError,
    clock::Ticks,
    engine::SLICE,
    hardware::Hardware,
    waits::{Now, Waits},
};

/// The hot lines of a sample.
#[derive(Debug)]
pub(crate) struct Hot {
    /// The sample's number of the first.
    first: u32,
    /// By number, from the first on: the lines of the program before it.
    places: Vec<u32>,
    /// They are few: no cache is ever full of them.
    pub(crate) caches: Hierarchy,
    /// Per worker: those of them that are in flight.
    pub(crate) waits: Vec<Waits>,
}

impl Hot {
    /// `None` where the sample has none.
    pub(crate) fn new(
        sample: Option<&Sample>,
        machine: &Machine,
        seed: u64,
    ) -> Result<Option<Self>, SimError> {
        let Some(sample) = sample.filter(|sample| !sample.hot().is_empty()) else {
            return Ok(None);
        };
        let places = sample.hot().to_vec();
        let (count, first) = (places.len() as u32, sample.lines() - places.len() as u32);
        let waits = vec![Waits::default(); machine.workers().len()];
        let caches = caches_for(machine, sample.one_in(), count, seed)?;
        Ok(Some(Self { first, places, caches, waits }))
    }

    /// Which of them a touch is of.
    #[inline]
    pub(crate) fn number(&self, touch: Touch) -> Option<u32> {
        touch.line.checked_sub(self.first).filter(|_| !touch.stack)
    }

    /// The lines of the program before the one with this number.
    pub(crate) fn place(&self, number: u32) -> u64 {
        u64::from(self.places[number as usize])
    }
}

impl Hardware {
    /// Whether there are hot lines.
    pub(crate) fn has_hot(&self) -> bool {
        self.hot.is_some()
    }

    /// Whether a touch is of a hot line.
    #[inline(always)]
    pub(crate) fn is_hot<const HOT: bool>(&self, touch: Touch) -> bool {
        HOT && self.hot.as_ref().is_some_and(|hot| hot.number(touch).is_some())
    }

    /// Plans touches of `worker`, and asks the host to bring near what they will look at.
    #[inline]
    pub(crate) fn plan<const HOT: bool>(
        &self,
        worker: WorkerId,
        touches: &[Touch],
        plans: &mut [PrefetchPlan],
    ) {
        let physical = |touch: &Touch| self.physical(self.line(worker, *touch));
        let Some(hot) = self.hot.as_ref().filter(|_| HOT) else {
            let lines = touches.iter().map(|touch| (physical(touch), touch.write));
            return self.caches.prefetch_all(worker, lines, plans);
        };
        for (touch, plan) in touches.iter().zip(plans) {
            let (caches, line) = match hot.number(*touch) {
                Some(number) => (&hot.caches, number),
                None => (&self.caches, physical(touch)),
            };
            *plan = caches.prefetch(LineAccess { worker, line, write: touch.write });
        }
    }

    /// Whether a worker that is `ahead` of the next one waits for its turn before a planned touch:
    /// of a line of atomics, or of a hot one further ahead than workers are without a sample.
    #[inline]
    pub(crate) fn awaits_its_turn<const HOT: bool>(
        &self,
        worker: WorkerId,
        plan: &PrefetchPlan,
        touch: Touch,
        ahead: Ticks,
    ) -> bool {
        if self.is_hot::<HOT>(touch) {
            ahead > SLICE || self.atomics.has(touch.line)
        } else {
            self.atomics.has(self.planned(worker, plan, touch))
        }
    }

    /// How long `worker` waits at `now` for the hot lines that are in flight and whose window has
    /// ended.
    #[inline]
    pub(crate) fn before_hot(&mut self, worker: WorkerId, now: Now) -> Ticks {
        let Some(hot) = &mut self.hot else { return Ticks::default() };
        let waits = &mut hot.waits[worker.index()];
        let (wait, reason) = (waits.before(now), waits.waited);
        self.charge(worker, wait, &reason);
        wait
    }

    /// Coherence misses of the cache of `cluster` on hot lines.
    pub(crate) fn fought_misses(&self, cluster: ClusterId) -> Lines {
        let of = |hot: &Hot| hot.caches.counts(cluster).coherence_misses;
        self.hot.as_ref().map_or(Lines(0), of)
    }
}

/// Caches that hold so many lines that follow one another: those of `machine`, as much smaller as
/// that allows, but not more than `most` times.
fn caches_for(machine: &Machine, most: u32, lines: u32, seed: u64) -> Result<Hierarchy, SimError> {
    let why = |why: String| SimError::Machine(why);
    let caches = machine.clusters().iter().filter_map(|cluster| cluster.cache);
    let least = caches.map(|cache| cache.size.0 / cache.line.0).min().unwrap_or(u64::MAX);
    let spare = least / u64::from(lines.max(1)).next_power_of_two();
    let smaller = u64::from(most).min(spare.max(1)) as u32;
    let part = machine.clone().shrunk(1 << smaller.ilog2());
    Hierarchy::new(&part.map_err(|e| why(e.to_string()))?, lines, seed)
        .map_err(|e| why(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        execution::OPERATION,
        tests::{fight_for, program, samples},
    };

    const CORES: &str = "core:2 l2:1(size=64KiB ways=8) l1:1(size=32KiB ways=8) pu:1";

    fn machine(text: &str) -> Machine {
        text.parse().unwrap()
    }

    #[test]
    fn hot_lines_follow_the_sample_s_own_and_know_their_places() {
        let program = program(|b| fight_for(b, &[5, 7, 300]));
        let machine = machine(CORES);
        let sample = &samples(&program, &machine, 2)[1];
        let hot = Hot::new(Some(sample), &machine, 1).unwrap().unwrap();
        let first = sample.lines() - 3;
        let number = |line, stack| {
            let touch = Touch { line, write: true, stack, streaming: false, dependent: false };
            hot.number(touch)
        };
        assert_eq!([0, first - 1].map(|line| number(line, false)), [None; 2]);
        assert_eq!([0, 1, 2].map(|i| number(first + i, false)), [0, 1, 2].map(Some));
        assert_eq!(number(first, true), None, "a stack has lines of its own");
        assert_eq!([0, 1, 2].map(|number| hot.place(number)), [5, 7, 300]);
        assert_eq!(hot.waits.len(), 2, "for each worker");
    }

    #[test]
    fn without_hot_lines_there_is_nothing_to_keep() {
        let program = program(|b| fight_for(b, &[]));
        let machine = machine(CORES);
        let sample = &samples(&program, &machine, 2)[0];
        for sample in [None, Some(&**sample)] {
            assert!(Hot::new(sample, &machine, 1).unwrap().is_none());
        }
    }

    #[test]
    fn the_caches_of_hot_lines_are_as_small_as_hold_all_of_them() {
        // The L1 has 512 lines in 64 sets, or 768.
        let sets_of = |text: &str, most, lines| {
            let machine = machine(text);
            let caches = caches_for(&machine, most, lines, 1).unwrap();
            caches.sets_and_ways(machine.workers()[0].leaf).unwrap()
        };
        let sets = |most, lines| sets_of(CORES, most, lines);
        assert_eq!([sets(1, 3), sets(16, 3), sets(20, 3)], [(64, 8), (4, 8), (4, 8)]);
        // Five take the room of eight, nine that of sixteen.
        assert_eq!([sets(64, 5), sets(64, 8), sets(64, 9)], [(1, 8), (1, 8), (2, 8)]);
        let larger = CORES.replace("size=32KiB ways=8", "size=48KiB ways=12");
        assert_eq!(sets_of(&larger, 64, 9), (2, 12));
        assert_eq!(sets(64, 513), (64, 8), "no smaller than the machine's");
    }

    #[test]
    fn caches_that_cannot_be_so_small_say_why() {
        let error = caches_for(&machine(CORES), 128, 1, 1).unwrap_err().to_string();
        let why = "L1 of 32 KiB is less than one set when it is 128 times smaller";
        assert!(error.ends_with(why), "{error}");
    }

    /// At the cycle 1000 `worker` writes `line`, which may be hot: its wait.
    fn write(hardware: &mut Hardware, worker: u32, line: u32) -> Option<Ticks> {
        let (worker, flight) = (WorkerId(worker), hardware.flight.single());
        let touch = Touch { line, write: true, stack: false, streaming: false, dependent: false };
        let mut plans = [PrefetchPlan::default()];
        hardware.plan::<true>(worker, &[touch], &mut plans);
        let now = Now { clock: Ticks::cycles(1000), position: 0, pace: 1.0 };
        hardware.touch_hot(worker, &flight, now, &plans[0], touch)
    }

    #[test]
    fn a_hot_line_takes_the_time_of_one_and_counts_as_one() {
        let program = program(|b| fight_for(b, &[5]));
        let machine = machine("(latency=200 remote=100 window=0) core:2 l1:1(latency=4) pu:1");
        let sample = &samples(&program, &machine, 2)[0];
        let mut hardware = Hardware::new(&program, Some(sample), &machine, 1, true).unwrap();
        let hot = sample.lines() - 1;
        // From memory, at hand, from the other; 4 cycles are hidden.
        let waits = [0, 0, 1].map(|worker| write(&mut hardware, worker, hot));
        assert_eq!(waits, [196, 0, 96].map(|cycles| Some(Ticks::cycles(cycles))));
        assert_eq!(write(&mut hardware, 0, hot - 1), None, "it is one of the sample's");
        assert_eq!((hardware.memory_reads(), hardware.remote_hits()), (Lines(1), Lines(1)));
        let misses =
            hardware.counts.iter().map(|counts| [counts.private_misses, counts.llc_misses]);
        assert_eq!(misses.collect::<Vec<_>>(), [[1, 1]; 2]);
    }

    #[test]
    fn a_hot_line_in_flight_is_waited_for_at_the_end_of_its_window() {
        let program = program(|b| fight_for(b, &[5]));
        let machine = machine("(latency=200 window=50) core:2 l1:1(latency=4) pu:1");
        let sample = &samples(&program, &machine, 2)[0];
        let mut hardware = Hardware::new(&program, Some(sample), &machine, 1, true).unwrap();
        assert_eq!(write(&mut hardware, 1, sample.lines() - 1), Some(Ticks(0)));
        let mut before = |worker, operations| {
            let (clock, position) = (Ticks::cycles(1000 + operations), operations * OPERATION);
            hardware.before_hot(WorkerId(worker), Now { clock, position, pace: 1.0 })
        };
        let waits = [before(1, 49), before(0, 50), before(1, 50), before(1, 50)];
        assert_eq!(waits, [0, 0, 196 - 50, 0].map(Ticks::cycles));
        assert_eq!(hardware.accounts[1].get(crate::Part::Memory), Ticks::cycles(146));
    }
}
