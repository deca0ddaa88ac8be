//! Look-ups in a binary search tree, in a good, a random and a bad order (the study's second
//! experiment).

use befit_sim::footprint::Latencies;

use super::setup::{NODE_INSTRUCTIONS, Setup, Workload, spread};
use crate::{
    LabError, Spread,
    reproduce::{Axis, Figure, Plot, PlotKind, Range, Reproduction, Series, Table},
};

/// Nodes of the study's tree.
const NODES: u64 = (1 << 18) - 1;
const LAYOUTS: [&str; 4] = ["random", "sorted", "preorder", "level"];

/// A recorded tree, and what its look-ups cost.
pub(super) struct Tree {
    pub(super) layout: &'static str,
    /// Instructions for each load.
    pub(super) instructions: f64,
    pub(super) lookups: Workload,
}

/// Node visits of looking up each of `n` words once in a balanced tree.
fn visits(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let left = n / 2;
    n + visits(left) + visits(n - 1 - left)
}

fn measure(setup: &Setup, node: &str, layout: &'static str) -> Result<Tree, LabError> {
    let tasks = setup.record(&format!("bst:node={node},layout={layout}"), NODES)?;
    let accesses: u64 = (0..tasks.len()).map(|task| tasks.accesses(task)).sum();
    let instructions = NODE_INSTRUCTIONS * visits(NODES) as f64 / accesses as f64;
    let core = setup.core(&tasks, instructions, Latencies::Exclusive)?;
    let tasks = tasks.condensed(&core, &setup.machine);
    Ok(Tree { layout, instructions, lookups: Workload::measure(setup, core, tasks)? })
}

/// Adds what the trees show. Returns those with nodes of 20 bytes.
pub(super) fn run(setup: &Setup, to: &mut Reproduction) -> Result<Vec<Tree>, LabError> {
    let mut table = Table::new(
        "Tree: cycles per node visited, latencies exclusive; per instruction in brackets (figures \
         5 to 7: tree)",
        [
            "node, layout",
            "sorted",
            "random",
            "worst",
            "worst over sorted",
            "random's place from sorted (0) to worst (1)",
        ],
    );
    let (mut trees, mut bars) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for node in ["20", "24"] {
        // The short form has one layout of the other nodes, which are no figure.
        let layouts = if setup.quick && node == "24" { &LAYOUTS[..1] } else { &LAYOUTS[..] };
        for &layout in layouts {
            let tree = measure(setup, node, layout)?;
            let per_node = |cycles: f64| cycles / visits(NODES) as f64;
            let Workload { sorted, random, worst, .. } = &tree.lookups;
            let (best, worst) = (per_node(*sorted), per_node(*worst));
            let random = random.iter().map(|cycles| per_node(*cycles));
            let place = spread(random.clone().map(|cycles| (cycles - best) / (worst - best)));
            let (random, ratio) = (spread(random).median, worst / best);
            let shown = |c: f64| format!("{c:.1} ({:.2})", c / NODE_INSTRUCTIONS);
            table.row([
                format!("{node} B, {layout}"),
                shown(best),
                shown(random),
                shown(worst),
                format!("{ratio:.2}"),
                format!("{:.2}", place.median),
            ]);
            for (bars, cycles) in bars.iter_mut().zip([best, random, worst]) {
                bars.push((format!("{node} B, {layout}"), cycles));
            }
            if node == "20" {
                figures(layout, ratio, place, to);
                trees.push(tree);
            }
        }
    }
    to.tables.push(table);
    let bars = ["sorted", "random", "worst (bit-reversed ranks)"].into_iter().zip(bars);
    let bars = bars.map(|(name, points)| Series::new(name, points));
    let (title, x) = ("Tree: cycles per node visited", Axis::linear("node and layout"));
    to.plots.push(Plot::new(title, PlotKind::Bars, x, "cycles per node", bars));
    Ok(trees)
}

fn figures(layout: &str, ratio: f64, place: Spread<f64>, to: &mut Reproduction) {
    let tree = format!("tree of 20-byte nodes, layout {layout}");
    to.figures.push(Figure::new(
        format!("tree/worst-over-best/{layout}"),
        format!("{tree}: worst over best order of look-ups"),
        "more than 2x",
        Range::at_least(2.0),
        ratio,
        "x",
    ));
    to.figures.push(Figure::over(
        format!("tree/random-place/{layout}"),
        format!("{tree}: where random order lies from best (0) to worst (1)"),
        "nearer to worst than to best",
        Range::new(0.5, 1.0),
        place,
        "",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_those_of_a_balanced_tree() {
        // One root, two below, four below those.
        assert_eq!(visits(7), 1 + 2 * 2 + 3 * 4);
        assert_eq!((visits(0), visits(1), visits(2)), (0, 1, 3));
    }
}
