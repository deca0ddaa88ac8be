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
        ("l3-misses", "matmul/sb") => BLOCKS,
        ("l3-misses", "rrm/sb-d-as-sb" | "rgm/sb-d-as-sb") | ("mu", _) => CHANCE,
        ("time", "quicksort/sb" | "samplesort/sb" | "aware-samplesort/sb" | "quadtree/sb") => {
            NOT_BOUND
        }
        ("sigma", "rrm/idle" | "rgm/idle") => PACKING,
        ("cores", "rgm/sb") => RANGES,
        _ => return None,
    })
}

/// By hand: two arrays of 0.8 GB (quicksort) or 1.6 GB (quadtree), halved or quartered until they
/// befit 12.6 MB under sb, or 3 MB, a core's share, under ws.
const LEVELS: &str = "by hand: its arrays are cut until a part befits an L3, 12.6 MB, under sb, or a core's share, 3 MB, under ws; \
    that is seven levels against nine for quicksort, four against five for quadtree, and the levels above miss under any scheduler: \
    at most -22 and -20 % can be saved at this n";

/// By the time breakdown, and misses against the bandwidth.
const NOT_BOUND: &str = "by count: the last level's misses fill about half of the memory bandwidth, so the time is that of the operations, \
    which are the same under all schedulers (the recorded build is not vectorised, so they weigh more than natively); what sb saves in misses it loses \
    in load imbalance. See the bandwidth gap for what it gains where memory is the bound";

/// By hand: 5120³ products of 8-byte elements, three blocks of order b read for each b³ of them.
const BLOCKS: &str = "by hand: each product of two blocks that befit brings in three blocks; the largest that befit an L3 under sb have order 640, those that befit a core's \
    share of 3 MB under ws 320, so sb can have half the misses. They are few against the operations, and the time hardly changes";

/// By the table of dilations.
const PACKING: &str = "by the table: sizes halve from level to level, so idle time goes by how many tasks have room in an L3 at once, not by sigma alone: \
    two of 0.41 M at 0.5, one of 0.81 M at 1 (rrm), which leaves no less of the cache in use and has half as many syncs";

/// By simulating n/2, n/4 and n/8 too: the excess over one core a socket comes with the second
/// level above those that befit an L3.
const RANGES: &str = "by n: what is more than with one core a socket comes from the second level, where two ranges are gathered at the same time. A socket's \
    eight workers gather from both, whose lines then share its L3; a single one goes through one at a time. sb leaves to chance which socket takes which strand";

/// By seeds: over ten of them `rrm` has 0.44 to 0.49 M misses under sb and under sb-d, medians 0.47
/// and 0.46 M, and times of 1.90 to 2.12 M cycles.
const CHANCE: &str = "by seeds: sb leaves to chance which socket takes which strand, so its misses and its time differ by 5 % either way from one seed to the next; \
    medians of few seeds differ by as much";
