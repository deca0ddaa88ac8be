//! Why figures are out of range, as found by looking.

use super::super::Figure;

/// Adds what was found, if the figure is out of range.
pub(super) fn explain(figure: Figure) -> Figure {
    match reason(figure.id()) {
        Some(reason) => figure.if_out(reason),
        None => figure,
    }
}

fn reason(id: &str) -> Option<&'static str> {
    let (what, rest) = id.split_once('/')?;
    Some(match (what, rest) {
        ("l3-misses", "quicksort/sb" | "quadtree/sb") => LEVELS,
        ("time", "quicksort/sb" | "samplesort/sb" | "aware-samplesort/sb" | "quadtree/sb") => NOT_BOUND,
        _ => return None,
    })
}

/// By hand: two arrays of 0.8 GB (quicksort) or 1.6 GB (quadtree), halved or quartered until they befit 12.6 MB under sb, or 3 MB, a core's share, under ws.
const LEVELS: &str = "by hand: its arrays are cut until a part befits an L3, 12.6 MB, under sb, or a core's share, 3 MB, under ws; \
    that is seven levels against nine for quicksort, four against five for quadtree, and the levels above miss under any scheduler: \
    at most -22 and -20 % can be saved at this n";

/// By the time breakdown, and misses against the bandwidth.
const NOT_BOUND: &str = "by count: the last level's misses fill about half of the memory bandwidth, so the time is that of the operations, \
    which are the same under all schedulers (the recorded build is not vectorised, so they weigh more than natively); what sb saves in misses it loses \
    in load imbalance. See the bandwidth gap for what it gains where memory is the bound";
