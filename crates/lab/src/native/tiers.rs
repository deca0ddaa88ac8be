//! What schedulers with two tiers found out about a program, over the repeats.

use std::collections::BTreeSet;

use super::{child::Run, stats::Tiers};
use crate::Spread;

/// How a scheduler with two tiers has cut the program: of each run, in its largest pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TiersSummary {
    /// Where the sizes come from: `hardware counters`, `declared sizes`; of several runs all that
    /// there were. Empty if none has seen a size.
    pub sources: Vec<String>,
    /// Why it stole as if there were one tier, in runs where it did.
    pub plain: Vec<String>,
    /// How often a computation was cut in tiers.
    pub partitions: Spread<u64>,
    /// Bytes that one iteration of the latest involves.
    pub root_bytes: Spread<u64>,
    /// Its inter-socket tasks, the root included.
    pub inter: Spread<u64>,
    /// Its intra-socket subtrees, as many as there are leaf inter-socket tasks.
    pub subtrees: Spread<u64>,
    /// Bytes that the largest of them involves.
    pub largest_bytes: Spread<u64>,
    /// Subtrees that were run in all.
    pub run: Spread<u64>,
    /// Of these, on another socket than the last time.
    pub moved: Spread<u64>,
}

impl TiersSummary {
    /// `None` if the scheduler makes no tiers.
    pub(super) fn of(runs: &[Run]) -> Option<Self> {
        let tiers: Vec<&Tiers> =
            runs.iter().filter_map(|run| run.largest_pool()?.tiers.as_ref()).collect();
        let figure = |of: fn(&Tiers) -> u64| Spread::of(tiers.iter().map(|tiers| of(tiers)));
        let words = |of: fn(&Tiers) -> &Option<String>| {
            tiers
                .iter()
                .filter_map(|tiers| of(tiers).clone())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect()
        };
        Some(Self {
            sources: words(|t| &t.source),
            plain: words(|t| &t.plain),
            partitions: figure(|t| t.partitions)?,
            root_bytes: figure(|t| t.root_bytes)?,
            inter: figure(|t| t.inter)?,
            subtrees: figure(|t| t.subtrees.len() as u64)?,
            largest_bytes: figure(|t| {
                t.subtrees.iter().map(|subtree| subtree.bytes).max().unwrap_or(0)
            })?,
            run: figure(|t| t.subtrees_run)?,
            moved: figure(|t| t.subtrees_moved)?,
        })
    }
}
