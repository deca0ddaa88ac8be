//! Tasks that share nothing: what deciding costs where it cannot gain.

use befit_sched::footprint::{Order, Settings};

use super::super::{
    super::{Figure, Range, Reproduction, Table},
    setup::{ARRAY_INSTRUCTIONS, Setup, shuffled},
};
use crate::{
    LabError,
    footprint::{Fbs, How, Latencies, Oracle, in_order},
};

/// Adds what it shows.
pub(super) fn run(setup: &Setup, to: &mut Reproduction) -> Result<(), LabError> {
    let mut table = Table::new(
        "Tasks that share nothing: time against FIFO, deciding included, % (N_decide 64, N_execute 32, age 16)",
        ["rows a task", "oracle", "oracle, budget", "learned, budget", "key"],
    );
    let settings = Settings { decide: 64, execute: 32, age: 16 };
    let mut most = f64::NEG_INFINITY;
    for (window, count) in [(256u64, 2048u64), (16, 16_384)] {
        let tasks = setup.record(&format!("array-windows:overlap=none,window={window}"), count)?;
        let mut core = setup.core(&tasks, ARRAY_INSTRUCTIONS, Latencies::Exclusive)?;
        in_order(&mut core, &tasks, 0..count as u32);
        let oracle = Oracle::new(&core, &tasks, setup.innermost());
        let classes: Vec<u32> = (0..count as u32).map(|task| task * 64 / count as u32).collect();
        let arrival = shuffled(tasks.len(), 1);
        let fifo = in_order(&mut core.clone(), &tasks, arrival.iter().copied()).total();
        let against = |how, budget| {
            let fbs = Fbs { settings, how, charge: setup.charge(), budget };
            let ran = fbs.run(&setup.machine, &mut core.clone(), &tasks, &arrival);
            100.0 * (ran.total() / fifo - 1.0)
        };
        let oracle = || How::Oracle(&oracle, Order::Greedy);
        let learned = How::Learned(&classes, setup.innermost(), Order::Greedy);
        let shown =
            [against(oracle(), false), against(oracle(), true), against(learned, true), against(How::Key, false)];
        most = shown[1..3].iter().copied().fold(most, f64::max);
        table.row(std::iter::once(window.to_string()).chain(shown.map(|change| format!("{change:+.2}"))));
    }
    to.tables.push(table);
    to.figures.push(Figure::new(
        "fbs/share-nothing",
        "tasks that share nothing: time of fbs against FIFO, deciding included, the worst of all measured",
        "future work; at most 2 % expected",
        Range::at_most(2.0),
        most,
        "%",
    ));
    Ok(())
}
