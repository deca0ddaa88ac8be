//! Where the figures of a table come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Grid, Shard, VERSION,
    programs::{Name, Recording},
};

/// The key under which a table holds its manifest.
pub(crate) const KEY: &str = "befit.sweep";

/// Where the figures of a table come from: all that they depend on, by hash.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// `befit.sweep/1`.
    pub(crate) schema: String,
    /// [`VERSION`].
    pub(crate) befit: String,
    /// The hash of the whole grid, of which the table may be a shard.
    pub(crate) grid: String,
    /// How many configurations the whole grid has.
    pub(crate) configurations: usize,
    /// Which shard; none for the whole.
    pub(crate) shard: Option<String>,
    /// By the name in the grid: the command and the recording's hash.
    pub(crate) programs: BTreeMap<Name, Recorded>,
    /// By the name in the grid: a hash of all that is known of the machine.
    pub(crate) machines: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Recorded {
    pub(crate) command: String,
    pub(crate) recording: String,
}

impl Manifest {
    /// That of a sweep over `grid`, of which `shard` runs, on the machines of these hashes.
    pub(crate) fn of(
        grid: &Grid,
        shard: Option<Shard>,
        recordings: &BTreeMap<Name, Recording>,
        machines: BTreeMap<String, String>,
    ) -> Self {
        let programs = recordings.iter().map(|(name, recording)| {
            let Recording { command, hash, .. } = recording.clone();
            (name.clone(), Recorded { command, recording: hash })
        });
        Self {
            schema: "befit.sweep/1".to_owned(),
            befit: VERSION.to_owned(),
            grid: grid.hash(),
            configurations: grid.configurations().len(),
            shard: shard.map(|shard| shard.to_string()),
            programs: programs.collect(),
            machines,
        }
    }

    /// The hash of each recording.
    pub(crate) fn hashes(&self) -> BTreeMap<Name, String> {
        let hashes = self.programs.iter();
        hashes.map(|(name, recorded)| (name.clone(), recorded.recording.clone())).collect()
    }

    /// Why rows of `self` must not stand in one table with rows of `other`, which are newer; none
    /// if they may.
    pub(crate) fn conflict(&self, other: &Self) -> Option<String> {
        if self.befit != other.befit {
            let (then, now) = (&self.befit, &other.befit);
            return Some(format!("befit was {then}, and is {now}"));
        }
        for (name, then) in &self.programs {
            if let Some(now) = other.programs.get(name).filter(|now| *now != then) {
                let (then, now) = (&then.recording[..8], &now.recording[..8]);
                return Some(format!("the recording {name} has changed: {then}…, and now {now}…"));
            }
        }
        let mut machines = self.machines.iter();
        let changed = |(name, then): &(&String, &String)| {
            other.machines.get(*name).is_some_and(|now| now != *then)
        };
        machines.find(changed).map(|(name, _)| format!("the machine {name} has changed"))
    }
}
