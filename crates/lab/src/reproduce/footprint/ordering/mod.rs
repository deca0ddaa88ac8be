//! What the algorithm that the study leaves as future work recovers of the way from random to
//! sorted order.

mod case;
mod nothing;
mod sweep;

use super::{super::Reproduction, setup::Setup, tree::Tree};
use crate::LabError;
use case::Case;

/// Adds what it shows.
pub(super) fn run(setup: &Setup, trees: Vec<Tree>, to: &mut Reproduction) -> Result<(), LabError> {
    let (some, many) = if setup.quick { (4096, 16_384) } else { (16_384, 131_072) };
    for (window, rows, tasks) in [(256, 512, some), (128, 4096, some), (128, 65_536, many)] {
        let case = Case::array(setup, window, rows, tasks)?;
        sweep::run(setup, &case, to)?;
    }
    // The others' look-ups touch the same nodes in other lines.
    let kept = if setup.quick { 1 } else { trees.len() };
    for tree in trees.into_iter().take(kept) {
        sweep::run(setup, &Case::tree(setup, tree), to)?;
    }
    nothing::run(setup, to)
}
