//! A description of the machine at hand, held against what was found there.

use befit_machine::{Machine, WorkerId};
use serde::Serialize;

use crate::{Calibration, Figure};

/// By how much what was found may differ from a claim, as a factor: √2. A claim that is further off
/// is nearer to twice or half the figure than to the figure itself.
pub const TOLERANCE: f64 = std::f64::consts::SQRT_2;

/// A figure of a machine's description that was found to be another.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Contradiction {
    /// Which: `L3 capacity`.
    pub figure: String,
    /// The unit of the numbers.
    pub unit: &'static str,
    /// What the description says.
    pub claimed: f64,
    /// What was found.
    pub found: Figure,
}

impl Calibration {
    /// The figures of `machine`, a description of the measured one, that are off by more than
    /// [`TOLERANCE`] from all of the middle half of the samples: clock, capacity and latency of
    /// each cache above the first worker, latency and bandwidth of memory.
    ///
    /// Capacities are effective ones, as everywhere in a calibration. A level that only one of the
    /// two has is not compared.
    pub fn contradictions(&self, machine: &Machine) -> Vec<Contradiction> {
        let ns = |cycles: u64| cycles as f64 * 1e3 / f64::from(machine.mhz.max(1));
        let mut figures = vec![("clock".to_owned(), "MHz", f64::from(machine.mhz), self.mhz_all)];
        for cluster in machine.path(WorkerId(0)) {
            let Some(cache) = machine.cluster(cluster).cache else { continue };
            let Some(level) = self.levels.iter().find(|l| l.level == cache.level.0) else {
                continue;
            };
            let (name, kib) = (cache.level, 1.0 / 1024.0);
            let capacity = level.capacity.map(|bytes| bytes * kib);
            figures.extend([
                (format!("{name} capacity"), "KiB", cache.size.0 as f64 * kib, capacity),
                (format!("{name} latency"), "ns", ns(cache.latency.0), level.latency),
            ]);
        }
        let memory = &machine.memory;
        let bytes = memory.bandwidth * f64::from(memory.controllers.max(1));
        figures.extend([
            ("memory latency".to_owned(), "ns", ns(memory.latency.0), self.memory_latency()),
            ("memory bandwidth".to_owned(), "GB/s", bytes / ns(1), self.bandwidth_of_all()),
        ]);
        let contradicted = figures.into_iter().filter(|(_, _, claimed, found)| {
            *claimed * TOLERANCE < found.quartiles.0 || *claimed > found.quartiles.1 * TOLERANCE
        });
        let named = contradicted.map(|(figure, unit, claimed, found)| Contradiction {
            figure,
            unit,
            claimed,
            found,
        });
        named.collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::LevelFound;

    const MACHINE: &str = "(mhz=3000 latency=300 controllers=2 bandwidth=10) l3:1(size=8MiB \
                           latency=60) core:2 l1:1(size=32KiB latency=6) pu:1";

    fn machine() -> Machine {
        MACHINE.parse().unwrap()
    }

    /// What is found on [`machine`], each figure with quartiles a tenth to either side.
    pub(crate) fn found() -> Calibration {
        let figure = |median: f64| Figure {
            value: median,
            median,
            quartiles: (median * 0.9, median * 1.1),
            halves: (median, median),
        };
        let level = |level, claimed: u64, latency| LevelFound {
            level,
            claimed,
            capacity: figure(claimed as f64),
            latency: figure(latency),
            read: figure(1.0),
            copy: figure(1.0),
        };
        let any = figure(1.0);
        Calibration {
            rounds: 3,
            as_described: 1.0,
            mhz: figure(3000.0),
            mhz_all: figure(3000.0),
            levels: vec![level(1, 32 << 10, 2.0), level(3, 8 << 20, 20.0)],
            memory: figure(100.0),
            memory_huge: any,
            memory_pages: 1 << 14,
            tlb: None,
            walk: None,
            walk_gather: None,
            tables: 1,
            random_frames: true,
            read: any,
            copy: any,
            update: any,
            bandwidth: vec![(1, figure(30.0)), (2, figure(60.0))],
            bandwidth_update: figure(50.0),
            link_update: None,
            gather: any,
            window: any,
            scattered: any,
            runs: Vec::new(),
            operation: any,
            inlined: any,
            pending: any,
            region: any,
            published: any,
            stolen: None,
            spawn: any,
            job: any,
            call: any,
            lock: any,
            steal: None,
            far_steal: None,
            near_modified: None,
            near_clean: None,
            far_modified: None,
            far_clean: None,
            wake: None,
            fault: any,
        }
    }

    #[test]
    fn a_right_description_is_not_contradicted_nor_one_that_is_off_by_a_quarter() {
        assert_eq!(found().contradictions(&machine()), []);
        let mut machine = machine().with_last_level(0.75);
        machine.memory.bandwidth *= 1.25;
        assert_eq!(found().contradictions(&machine), []);
    }

    #[test]
    fn half_of_the_last_level_cache_is_contradicted() {
        let [contradiction] = &found().contradictions(&machine().with_last_level(0.5))[..] else {
            panic!("one figure");
        };
        assert_eq!((&*contradiction.figure, contradiction.unit), ("L3 capacity", "KiB"));
        assert_eq!((contradiction.claimed, contradiction.found.median), (4096.0, 8192.0));
    }

    #[test]
    fn memory_latency_is_what_the_walks_leave_of_a_load() {
        let mut found = found();
        assert_eq!(found.memory_latency().value, 100.0);
        found.tlb = Some(Figure { value: 1400.0, ..found.gather });
        // A walk of 30 ns, with two lines of tables from an L3 18 ns beyond L1: 12 ns without.
        (found.walk, found.tables) = (Some(Figure { value: 48.0, ..found.gather }), 2);
        // Tables of 128 KiB each, and as much data: nearly all of it stays in the L3.
        let latency = found.memory_latency().value;
        assert!((latency - (100.0 - 12.0 - 2.0 * 18.0)).abs() < 4.0, "{latency}");
        // Of many pages a line of tables comes from memory, as the data does.
        found.memory_pages = 1 << 30;
        let latency = found.memory_latency().value;
        assert!((latency - (100.0 - 12.0) / 3.0).abs() < 2.0, "{latency}");
    }

    #[test]
    fn each_figure_that_is_off_by_two_is_named() {
        let mut machine = machine();
        machine.memory.latency.0 *= 2;
        machine.memory.bandwidth /= 2.0;
        let found = found().contradictions(&machine);
        let names: Vec<_> = found.iter().map(|c| &*c.figure).collect();
        assert_eq!(names, ["memory latency", "memory bandwidth"]);
    }
}
