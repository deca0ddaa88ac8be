//! How schedulers with two tiers have cut the program, as a table.

use befit_lab::{NativeSummary, TiersSummary};

use crate::table::Columns;

/// A row for each scheduler with two tiers; `None` if there is none.
pub(super) fn tiers(block: &[NativeSummary]) -> Option<String> {
    let rows: Vec<_> =
        block.iter().filter_map(|s| Some((s.scheduler.to_string(), s.tiers.as_ref()?))).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns =
        Columns::new(&rows, "tiers of\nscheduler", |(scheduler, _)| scheduler.clone());
    columns.name("\nsizes from", |(_, tiers)| source(tiers));
    let mib = |bytes: u64| format!("{:.2}", bytes as f64 / f64::from(1 << 20));
    columns.add("an iteration,\nMiB", |(_, tiers)| mib(tiers.root_bytes.median));
    columns.add("inter-socket\ntasks", |(_, tiers)| tiers.inter.median.to_string());
    columns.add("\nsubtrees", |(_, tiers)| tiers.subtrees.median.to_string());
    columns.add("largest,\nMiB", |(_, tiers)| mib(tiers.largest_bytes.median));
    columns.add("times\ncut", |(_, tiers)| tiers.partitions.median.to_string());
    columns.add("subtrees\nrun", |(_, tiers)| tiers.run.median.to_string());
    columns.add("on another\nsocket", |(_, tiers)| tiers.moved.median.to_string());
    Some(columns.table())
}

/// Where sizes come from, and why there are no tiers.
fn source(tiers: &TiersSummary) -> String {
    match (tiers.sources.is_empty(), tiers.plain.is_empty()) {
        (_, false) => format!("no tiers: {}", tiers.plain.join("; ")),
        (false, true) => tiers.sources.join(", "),
        (true, true) => "nothing measured".to_owned(),
    }
}
