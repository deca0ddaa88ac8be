//! The claims of Chen et al., beside what was measured.

use befit_machine::{Bytes, Machine, WorkerId};

use super::measure::Measured;
use crate::reproduce::{Figure, Range};

/// A memory-bound program and the paper's figures for it against Cilk-a, in percent.
pub(super) struct Reported {
    pub(super) name: &'static str,
    /// Misses in millions at 1024 rows, under Cilk-a and under CATS: L2, then L3.
    misses: [(f64, f64); 2],
    /// Change of time at 1024 rows, where the text gives it for the program.
    time: Option<f64>,
    /// Changes of time and of L3 misses at 8192 rows.
    large: [Option<f64>; 2],
}

/// The range that the paper gives for the change of time over all six.
const TIMES: Range = Range { low: -74.4, high: -35.3 };

/// The six memory-bound programs.
pub(super) const MEMORY_BOUND: [Reported; 6] = {
    const fn reported(
        name: &'static str,
        misses: [(f64, f64); 2],
        time: Option<f64>,
        large: [Option<f64>; 2],
    ) -> Reported {
        Reported { name, misses, time, large }
    }
    [
        reported("heat", [(79.6, 67.5), (24.8, 5.9)], Some(-40.4), [Some(-12.3), Some(-55.9)]),
        reported("heat-ub", [(78.7, 67.6), (29.7, 3.72)], Some(-35.3), [Some(-11.4), None]),
        reported("sor", [(85.0, 66.2), (29.6, 4.75)], Some(-56.1), [Some(-21.1), None]),
        reported("sor-ub", [(85.5, 67.4), (30.7, 8.27)], Some(-44.9), [Some(-18.0), Some(-38.2)]),
        reported("ge", [(58.8, 50.3), (14.5, 2.94)], None, [None, None]),
        reported("ge-ub", [(37.1, 20.0), (10.7, 2.15)], None, [None, None]),
    ]
};

/// The CPU-bound programs, each with its size in simulations.
pub(super) const CPU_BOUND: [(&str, u64); 5] =
    [("mandelbrot", 1024), ("queens", 14), ("fft", 1 << 18), ("ga", 256), ("knapsack", 24)];

/// From one count to another, in percent.
pub(super) fn change((from, to): (f64, f64)) -> f64 {
    100.0 * (to / from - 1.0)
}

/// Percentage points by which a change may differ from the paper's and still agree with it.
const GIVE: f64 = 15.0;

/// The claims about one memory-bound program with so many rows: time and misses under `cats` and
/// `cats-s` against the baseline, which is first in `measured`.
pub(super) fn memory_bound(
    reported: &Reported,
    rows: u64,
    machine: &Machine,
    measured: &[Measured],
    figures: &mut Vec<Figure>,
) {
    let (base, name) = (&measured[0], reported.name);
    let said = |change: f64| (format!("{change:+.1} %"), around(change));
    for of in &measured[1..] {
        let scheduler = of.scheduler;
        let last = of.misses.len() - 1;
        let time = change((base.time, of.time));
        let misses = |index: usize| change((base.misses[index], of.misses[index]));
        let claims = if rows == 1024 {
            let over_all = || ("-74.4 to -35.3 % over all six".to_owned(), TIMES);
            let of_time = reported.time.map_or_else(over_all, said);
            let [l2, l3] = reported.misses.map(|counts| Some(said(change(counts))));
            vec![
                ("time", format!("time of {name}"), Some(of_time), time),
                ("l3-misses", format!("L3 misses of {name}"), l3, misses(last)),
                ("l2-misses", format!("L2 misses of {name}"), l2, misses(last.saturating_sub(1))),
            ]
        } else {
            let [of_time, l3] = reported.large.map(|change| change.map(said));
            let rows = format!("{name} with 8192 rows");
            vec![
                ("time-8192", format!("time of {rows}"), of_time, time),
                ("l3-misses-8192", format!("l3-misses of {rows}"), l3, misses(last)),
            ]
        };
        for (id, what, claim, value) in claims {
            let Some((said, range)) = claim else { continue };
            let (id, what) =
                (format!("{id}/{name}/{scheduler}"), format!("{what}, {scheduler} against cilk-a"));
            let figure = Figure::new(id, what, said, range, value, "%");
            figures.push(figure.if_out(|| Some(why(machine, base, of))));
        }
    }
}

/// The claim about one CPU-bound program: no difference in time.
pub(super) fn cpu_bound(name: &str, measured: &[Measured], figures: &mut Vec<Figure>) {
    let base = &measured[0];
    for of in &measured[1..] {
        let tiers = of.tiers.as_ref();
        let plain = tiers.and_then(|tiers| tiers.plain);
        let why = match (plain, tiers.map_or(0, |tiers| tiers.partitions)) {
            (Some(why), _) => format!("stolen plainly ({why}) after some strands parent-first"),
            (None, 0) => "nothing in it is done again, so it was measured to its end, parent-first"
                .to_owned(),
            (None, cuts) => format!("taken for memory-bound and cut {cuts} times"),
        };
        figures.push(
            Figure::new(
                format!("time/{name}/{}", of.scheduler),
                format!("time of {name} (CPU-bound), {} against cilk-a", of.scheduler),
                "no difference",
                Range::new(-2.0, 2.0),
                change((base.time, of.time)),
                "%",
            )
            .because(why),
        );
    }
}

/// The size that CATS calculated for a subtree, beside the data really involved.
#[derive(Clone, Copy)]
pub(super) struct Sized {
    pub(super) calculated: Bytes,
    pub(super) real: Bytes,
}

impl Sized {
    /// By how much the calculated size is off, in percent.
    pub(super) fn off(self) -> f64 {
        change((self.real.0 as f64, self.calculated.0 as f64))
    }
}

/// The claim about the sizes that CATS calculates: `worst` is the one that is farthest off.
pub(super) fn sizes(name: &str, worst: Sized, machine: &Machine) -> Figure {
    // Sizes are calculated from misses of the private cache, the one below the last level.
    let last = machine.last_level(WorkerId(0));
    let private = machine.path(WorkerId(0)).take_while(|cluster| *cluster != last).last();
    let private = private.and_then(|cluster| machine.cluster(cluster).cache);
    let why = || {
        let (Sized { calculated, real }, private) = (worst, private?.size);
        let because = match (calculated > real, real > private) {
            (true, true) => "more than the private cache's {}: lines that fell out count again",
            (false, false) => "no more than the private cache's {}: lines still there do not count",
            _ => return None,
        };
        Some(format!("it involves {real}, {}", because.replace("{}", &private.to_string())))
    };
    Figure::new(
        format!("soid/{name}"),
        format!("calculated against real size of involved data of {name}'s subtrees, the farthest"),
        "close to the real size",
        Range::new(-20.0, 20.0),
        worst.off(),
        "%",
    )
    .if_out(why)
}

fn around(said: f64) -> Range {
    Range::new(said - GIVE, said + GIVE)
}

/// The counts that explain a change that is not the paper's.
fn why(machine: &Machine, base: &Measured, of: &Measured) -> String {
    let workers = (0..machine.workers().len() as u32).map(WorkerId);
    let mut sockets: Vec<_> = workers.map(|worker| machine.last_level(worker)).collect();
    sockets.dedup();
    let percent = |share: f64| (100.0 * share).round();
    let tiers = match &of.tiers {
        Some(tiers) if tiers.partitions > 0 => format!(
            "{} subtrees for {} sockets; {} of {} runs of a subtree were on another socket than \
             the last; ",
            tiers.subtrees.len(),
            sockets.len(),
            tiers.moved,
            tiers.ran
        ),
        Some(tiers) => {
            format!("not cut in tiers ({}); ", tiers.plain.unwrap_or("nothing was done again"))
        }
        None => String::new(),
    };
    format!(
        "{tiers}{} % of leaves on the socket of their last time (cilk-a: {} %); workers idle {} % \
         of the time (cilk-a: {} %)",
        percent(of.stayed),
        percent(base.stayed),
        percent(of.idle),
        percent(base.idle)
    )
}
