//! The space-bounded schedulers' options: the dilation σ, the share μ, and how strands are counted.

use befit_sched::{
    Counting, Options,
    SchedulerKind::{Sb, SbD},
};

use super::{
    Lab,
    measure::{GIVEN_OUT, IDLE, MISSES, ResultTable, TIME, miss_change, occupancy, time_change},
};
use crate::{
    LabError, Summary,
    reproduce::{Axis, Figure, Plot, PlotKind, Range, Reproduction, Series},
};

const SIGMAS: [f64; 6] = [0.2, 0.4, 0.5, 0.6, 0.8, 1.0];
const MUS: [f64; 5] = [0.05, 0.1, 0.2, 0.5, 1.0];

pub(super) fn run(lab: &Lab<'_>, to: &mut Reproduction) -> Result<(), LabError> {
    let defaults = Options::default();
    let sigmas = SIGMAS.map(|sigma| (sigma.to_string(), Options { sigma, ..defaults }));
    let mut mus: Vec<_> =
        MUS.iter().map(|mu| (mu.to_string(), Options { mu: *mu, ..defaults })).collect();
    mus.push(("in full".to_owned(), Options { counting: Counting::Full, ..defaults }));
    let mut by_sigma = Sweep::new("Dilation", "sigma");
    let mut by_mu = Sweep::new("What a passing strand claims", "mu");
    for program in ["rrm", "rgm"] {
        to.figures.extend(sigma_figures(program, &by_sigma.run(lab, program, &sigmas)?));
        to.figures.push(mu_figure(program, &by_mu.run(lab, program, &mus)?));
    }
    let plot =
        |title, x, lines| Plot::new(title, PlotKind::Lines, Axis::linear(x), "change, %", lines);
    to.plots.extend([
        plot("Last-level misses by dilation, against sigma = 0.5", "sigma", by_sigma.lines),
        plot("Last-level misses by mu, against mu = 0.2", "mu", by_mu.lines),
    ]);
    to.tables.extend([by_sigma.table.table, by_mu.table.table]);
    Ok(())
}

/// The results of varying one option.
struct Sweep {
    table: ResultTable,
    lines: Vec<Series>,
}

impl Sweep {
    fn new(title: &str, option: &'static str) -> Self {
        let columns = &[TIME, IDLE, MISSES, GIVEN_OUT];
        let table = ResultTable::new(title, &["program", option], columns);
        Self { table, lines: Vec::new() }
    }

    /// Simulates one program under sb and sb-d with each of `options`. Returns the results of sb,
    /// in the same order.
    fn run(
        &mut self,
        lab: &Lab<'_>,
        program: &str,
        options: &[(String, Options)],
    ) -> Result<Vec<Summary>, LabError> {
        let mut all = Vec::new();
        for (name, options) in options {
            let schedulers: &[_] = if lab.request.quick { &[Sb] } else { &[Sb, SbD] };
            let results = lab.simulate(program, &lab.machine, schedulers, *options)?;
            self.table.add(&[program, name], &results);
            all.extend(results.into_iter().next());
        }
        let default = Options::default();
        if let Some(at) = options.iter().position(|(_, options)| *options == default) {
            let points =
                options.iter().zip(&all).map(|((name, _), r)| miss_change(&all[at], r).point(name));
            self.lines.push(Series { name: format!("{program}, sb"), points: points.collect() });
        }
        Ok(all)
    }
}

fn sigma_figures(program: &str, sweep: &[Summary]) -> [Figure; 2] {
    let at = |sigma: f64| sweep.iter().find(|r| r.options.sigma == sigma).expect("one of SIGMAS");
    let (low, default, high) = (at(0.2), at(0.5), at(1.0));
    // Idle time goes by how many tasks have room in a cache at once, not by σ alone: where sizes
    // halve from level to level, a larger σ may leave less of the cache unused.
    let fuller = || {
        let (before, after) = (occupancy(default)?, occupancy(high)?);
        let anchors = |of: &Summary| {
            let last = of.caches.iter().map(|cache| cache.level).max();
            let outer = of.caches.iter().filter(|cache| Some(cache.level) == last);
            outer.map(|cache| cache.anchors.median).sum::<u64>()
        };
        (after >= before).then(|| {
            format!(
                "with sigma = 1 more of the L3s is given out on average ({after:.0} %, not \
                 {before:.0} %), to {} tasks instead of {}",
                anchors(high),
                anchors(default)
            )
        })
    };
    [
        miss_change(low, high).figure(
            format!("sigma/{program}/misses"),
            format!("last-level misses of {program} under sb with sigma = 1, against 0.2"),
            "fewer misses as sigma grows",
            Range::at_most(0.0),
        ),
        Figure::new(
            format!("sigma/{program}/idle"),
            format!(
                "workers of {program} without work under sb with sigma = 1, points more than \
                 with 0.5"
            ),
            "more load imbalance as sigma grows",
            Range::at_least(0.0),
            100.0 * (high.shares().idle - default.shares().idle),
            "points",
        )
        .if_out(fuller),
    ]
}

fn mu_figure(program: &str, results: &[Summary]) -> Figure {
    let default = results.iter().find(|r| r.options == Options::default()).expect("one of MUS");
    let farthest = results
        .iter()
        .filter(|r| r.options.counting == Counting::Capped)
        .map(|r| time_change(default, r))
        .max_by(|a, b| a.percent.abs().total_cmp(&b.percent.abs()));
    let range = Range::new(-10.0, 10.0);
    Figure::new(
        format!("mu/{program}/time"),
        format!(
            "running time of {program} under sb with mu from 0.05 to 1: what is farthest from \
             mu = 0.2"
        ),
        "mu = 0.2 throughout: it hardly matters",
        range,
        farthest.map_or(0.0, |change| change.percent),
        "%",
    )
    .if_out(|| farthest?.by_seeds(range))
}
