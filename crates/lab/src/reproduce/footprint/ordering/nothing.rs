//! Tasks that share nothing: what deciding costs where it cannot gain.

use befit_sched::footprint::{Order, Settings};
use befit_sim::footprint::How;

use super::{Case, Trial};
use crate::{
    LabError, Spread,
    reproduce::{
        Figure, Range, Reproduction, Table,
        footprint::setup::{Setup, spread},
    },
};

const COLUMNS: [&str; 5] = ["oracle", "learned", "oracle, no budget", "learned, no budget", "key"];
/// So many of the first columns are the setting for all.
const USUAL: usize = 2;

/// Adds what such tasks show.
pub(super) fn run(setup: &Setup, to: &mut Reproduction) -> Result<(), LabError> {
    let settings = Settings::default();
    let title = format!(
        "Tasks that share nothing: time against FIFO, deciding included, % (N_decide {}, \
         N_execute {}, age {}; budget where nothing is said)",
        settings.decide, settings.execute, settings.age
    );
    let mut table = Table::new(title, std::iter::once("rows a task").chain(COLUMNS));
    let mut worst = spread([f64::NEG_INFINITY]);
    for (window, count) in [(256u64, 2048u64), (16, 16_384)] {
        let kernel = format!("overlap=none,window={window}");
        let what = format!("windows of {window} rows that share nothing");
        let case = Case::windows(setup, &kernel, count, format!("nothing-{window}"), &what)?;
        let oracle = How::Oracle(&case.oracle, Order::Greedy);
        let learned = How::Learned(&case.classes, setup.innermost(), Order::Greedy);
        let mut trials = Vec::new();
        for seed in 0..case.load.arrivals.len() {
            let ways = [
                (oracle.clone(), true),
                (learned.clone(), true),
                (oracle.clone(), false),
                (learned.clone(), false),
                (How::Key, false),
            ];
            trials.extend(COLUMNS.into_iter().zip(ways).map(|(series, (how, budget))| Trial {
                series,
                settings,
                how,
                budget,
                seed,
            }));
        }
        let results = case.run(setup, &trials)?;
        let columns = COLUMNS.map(|name| -> Spread<f64> {
            let own = results.iter().filter(|(trial, _)| trial.series == name);
            spread(own.map(|result| case.against_fifo(result)))
        });
        let medians = columns.iter().map(|column| format!("{:+.2}", column.median));
        table.row(std::iter::once(window.to_string()).chain(medians));
        let usual = columns[..USUAL].iter().copied();
        worst = usual.fold(worst, |a, b| if b.median > a.median { b } else { a });
    }
    to.tables.push(table);
    to.figures.push(Figure::over(
        "fbs/share-nothing",
        "tasks that share nothing, the setting for all: time against FIFO, deciding included, the \
         worst of all measured",
        "future work; at most 2 % expected",
        Range::at_most(2.0),
        worst,
        "%",
    ));
    Ok(())
}
