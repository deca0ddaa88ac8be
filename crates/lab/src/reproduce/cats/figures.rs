//! The paper's claims beside what was measured.

use befit_machine::Machine;

use super::{
    super::{Figure, Range},
    measure::Measured,
    paper::{self, Reported},
};

/// Percentage points by which a change may differ from the paper's and still agree with it.
const GIVE: f64 = 15.0;

/// Of one memory-bound program at 1024 rows: time and misses under `cats` and `cats-s` against the
/// baseline, which is first in `measured`.
pub(super) fn memory_bound(
    reported: &Reported,
    machine: &Machine,
    measured: &[Measured],
    figures: &mut Vec<Figure>,
) {
    let base = &measured[0];
    for of in &measured[1..] {
        let (name, scheduler) = (reported.name, of.scheduler);
        let why = why(machine, base, of);
        let range = reported.time.map_or(Range::new(paper::TIMES.0, paper::TIMES.1), around);
        let said = reported
            .time
            .map_or("-74.4 to -35.3 % over all six".to_owned(), |time| format!("{time:+.1} %"));
        let time = paper::change((base.time, of.time));
        figures.push(
            Figure::new(
                format!("time/{name}/{scheduler}"),
                format!("time of {name}, {scheduler} against cilk-a"),
                said,
                range,
                time,
                "%",
            )
            .if_out(&why),
        );
        for (level, counts) in [("l3", reported.l3), ("l2", reported.l2)] {
            let index =
                if level == "l3" { of.misses.len() - 1 } else { of.misses.len().saturating_sub(2) };
            let said = paper::change(counts);
            figures.push(
                Figure::new(
                    format!("{level}-misses/{name}/{scheduler}"),
                    format!(
                        "{} misses of {name}, {scheduler} against cilk-a",
                        level.to_uppercase()
                    ),
                    format!("{said:+.1} %"),
                    around(said),
                    paper::change((base.misses[index], of.misses[index])),
                    "%",
                )
                .if_out(&why),
            );
        }
    }
}

/// Of one memory-bound program at 8192 rows.
pub(super) fn large(
    reported: &Reported,
    machine: &Machine,
    measured: &[Measured],
    figures: &mut Vec<Figure>,
) {
    let base = &measured[0];
    for of in &measured[1..] {
        let (name, scheduler) = (reported.name, of.scheduler);
        let claims = [
            ("time", reported.time_8192, paper::change((base.time, of.time))),
            ("l3-misses", reported.l3_8192, paper::change((base.last(), of.last()))),
        ];
        for (what, said, value) in claims {
            let Some(said) = said else { continue };
            figures.push(
                Figure::new(
                    format!("{what}-8192/{name}/{scheduler}"),
                    format!("{what} of {name} with 8192 rows, {scheduler} against cilk-a"),
                    format!("{said:+.1} %"),
                    around(said),
                    value,
                    "%",
                )
                .if_out(why(machine, base, of)),
            );
        }
    }
}

/// Of one CPU-bound program: no difference in time.
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
                paper::change((base.time, of.time)),
                "%",
            )
            .because(why),
        );
    }
}

/// Of the sizes that CATS calculates: against the data really involved, in percent, the farthest of
/// all subtrees.
pub(super) fn sizes(name: &str, worst: f64) -> Figure {
    Figure::new(
        format!("soid/{name}"),
        format!("calculated against real size of involved data of {name}'s subtrees, the farthest"),
        "close to the real size",
        Range::new(-20.0, 20.0),
        worst,
        "%",
    )
    .if_out("misses count a line again that fell out of the private cache, and none for a line that was still there")
}

fn around(said: f64) -> Range {
    Range::new(said - GIVE, said + GIVE)
}

/// What the counts say about a change that is not the paper's.
fn why(machine: &Machine, base: &Measured, of: &Measured) -> String {
    let sockets = machine
        .workers()
        .iter()
        .enumerate()
        .map(|(w, _)| machine.last_level(befit_machine::WorkerId(w as u32)));
    let mut sockets: Vec<_> = sockets.collect();
    sockets.dedup();
    let percent = |share: f64| (100.0 * share).round();
    let (stayed, before) = (percent(of.stayed), percent(base.stayed));
    let mut why = match &of.tiers {
        Some(tiers) if tiers.partitions > 0 => format!(
            "{} subtrees for {} sockets; {} of {} runs of a subtree were on another socket than the last; ",
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
    why += &format!(
        "{stayed} % of leaves on the socket of their last time (cilk-a: {before} %); workers idle {} % of the time (cilk-a: {} %)",
        percent(of.idle),
        percent(base.idle)
    );
    why
}
