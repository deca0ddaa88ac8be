//! Tasks that share nothing: what deciding costs where it cannot gain.

use befit_sched::footprint::{Order, Settings};
use befit_sim::footprint::How;

use super::{
    super::{
        super::{Figure, Range, Reproduction, Table},
        cost::spread,
        setup::Setup,
    },
    Case,
};
use crate::{
    LabError, Spread,
    parallel::{self, threads},
};

/// One thing to run: the place of its column, and the number of its order of arrival.
struct Job<'a> {
    column: usize,
    seed: usize,
    how: How<'a>,
    budget: bool,
}

const COLUMNS: [&str; 5] = ["oracle", "learned", "oracle, no budget", "learned, no budget", "key"];
/// The first columns are the setting for all.
const USUAL: usize = 2;

/// Adds what it shows.
pub(super) fn run(setup: &Setup, to: &mut Reproduction) -> Result<(), LabError> {
    let settings = Settings::default();
    let title = format!(
        "Tasks that share nothing: time against FIFO, deciding included, % (N_decide {}, N_execute {}, age {}; budget where nothing is said)",
        settings.decide, settings.execute, settings.age
    );
    let mut table = Table::new(title, std::iter::once("rows a task").chain(COLUMNS));
    let mut worst = spread([f64::NEG_INFINITY]);
    for (window, count) in [(256u64, 2048u64), (16, 16_384)] {
        let kernel = format!("overlap=none,window={window}");
        let what = format!("windows of {window} rows that share nothing");
        let case = Case::windows(setup, &kernel, count, format!("nothing-{window}"), &what)?;
        let mut jobs = Vec::new();
        for seed in 0..case.arrivals.len() {
            let oracle = How::Oracle(&case.oracle, Order::Greedy);
            let learned = How::Learned(&case.classes, setup.innermost(), Order::Greedy);
            let ways = [
                (oracle.clone(), true),
                (learned.clone(), true),
                (oracle, false),
                (learned, false),
                (How::Key, false),
            ];
            jobs.extend((0..).zip(ways).map(|(column, (how, budget))| Job {
                column,
                seed,
                how,
                budget,
            }));
        }
        let run = |job: &Job| {
            let ran = case.fbs(setup, job.seed, settings, job.how.clone(), job.budget);
            Ok::<_, LabError>(100.0 * (ran.total() / case.cost.random[job.seed] - 1.0))
        };
        let changes =
            parallel::map(&jobs, threads(), |job| u64::from(job.column < COLUMNS.len() - 1), run)?;
        let of = |column: usize| {
            spread(
                jobs.iter()
                    .zip(&changes)
                    .filter(|(job, _)| job.column == column)
                    .map(|(_, change)| *change),
            )
        };
        let columns: Vec<Spread<f64>> = (0..COLUMNS.len()).map(of).collect();
        table.row(
            std::iter::once(window.to_string())
                .chain(columns.iter().map(|c| format!("{:+.2}", c.median))),
        );
        worst = columns[..USUAL]
            .iter()
            .copied()
            .fold(worst, |a, b| if b.median > a.median { b } else { a });
    }
    to.tables.push(table);
    to.figures.push(
        Figure::new(
            "fbs/share-nothing",
            "tasks that share nothing, the setting for all: time against FIFO, deciding included, the worst of all measured",
            "future work; at most 2 % expected",
            Range::at_most(2.0),
            worst.median,
            "%",
        )
        .spread(worst.min, worst.max),
    );
    Ok(())
}
