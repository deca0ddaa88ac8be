//! Results of finished simulations, by all that they depend on: this program's own bytes, the
//! recording's, the machine and the settings. So a comparison that was stopped goes on where it
//! was, and one with another scheduler simulates only that.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use befit_machine::{Bytes, Cycles, Level, Lines, Machine};
use befit_program::LineGroups;
use befit_sched::Breakdown;
use befit_sim::{Account, Contended, LevelCounts, Occupancy, Outcome, Part, Settings};
use serde::{Deserialize, Serialize};

use super::{bound, read, used, write};
use crate::{Progress, recording};

/// Simulations of fewer touches are not kept: they take less than a second.
pub(super) const LEAST: u64 = 10_000_000;

/// The results of one program that are kept.
pub(crate) struct Results<'a> {
    folder: PathBuf,
    /// This program's bytes and the recording's.
    of: String,
    /// Something could not be written, and a note has said so.
    failed: AtomicBool,
    /// Something was added.
    added: AtomicBool,
    progress: &'a dyn Progress,
}

impl<'a> Results<'a> {
    /// Those of a program of this content. None where this program cannot be read or has no folder.
    pub(crate) fn open(content: &str, progress: &'a dyn Progress) -> Option<Self> {
        let own = std::env::current_exe().and_then(fs::read).ok()?;
        let folder = recording::kept_folder().ok()?.join("results");
        let of = format!("{:032x} {}", xxhash_rust::xxh3::xxh3_128(&own), content);
        Some(Self::at(folder, of, progress))
    }

    fn at(folder: PathBuf, of: String, progress: &'a dyn Progress) -> Self {
        let (failed, added) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { folder, of, failed, added, progress }
    }

    fn file(&self, machine: &Machine, settings: &Settings, groups: Option<LineGroups>) -> PathBuf {
        let all = format!("{} {machine:?} {settings:?} {groups:?}", self.of);
        let key = xxhash_rust::xxh3::xxh3_128(all.as_bytes());
        self.folder.join(format!("{key:032x}.json"))
    }

    /// What a simulation has found before. What no summary reads is empty: which worker started
    /// which task, and the tiers of the policy.
    pub(crate) fn find(
        &self,
        machine: &Machine,
        settings: &Settings,
        groups: Option<LineGroups>,
    ) -> Option<Outcome> {
        let file = self.file(machine, settings, groups);
        let found: Stored = read(&file)?;
        used(&file);
        found.outcome()
    }

    /// Keeps what a simulation has found. A failure stops nothing, and gives a note.
    pub(crate) fn keep(
        &self,
        machine: &Machine,
        settings: &Settings,
        groups: Option<LineGroups>,
        outcome: &Outcome,
    ) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let file = self.file(machine, settings, groups);
        match write(&file, &Stored::of(outcome)) {
            Ok(()) => self.added.store(true, Ordering::Relaxed),
            Err(why) if !self.failed.swap(true, Ordering::Relaxed) => {
                let folder = self.folder.display();
                self.progress.note(&format!("cannot keep results in {folder}: {why}"));
            }
            Err(_) => {}
        }
    }
}

impl Drop for Results<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.parent().filter(|_| *self.added.get_mut()) {
            bound(folder);
        }
    }
}

/// An outcome as it is kept: what summaries read of it, as numbers.
#[derive(Serialize, Deserialize)]
struct Stored {
    time: u64,
    work: u64,
    span: u64,
    /// Level, and accesses, misses, coherence misses, those on lines that are fought for.
    levels: Vec<(u8, [u64; 4])>,
    /// Memory reads and writes, remote, far and sibling hits.
    lines: [u64; 5],
    /// Active, add, get, done, idle.
    workers: Vec<[u64; 5]>,
    /// Steals, near ones, failed ones.
    steals: [u64; 3],
    anchors: Vec<u64>,
    /// The most and the mean.
    occupancy: Vec<(u64, u64)>,
    tasks: u64,
    strands: u64,
    /// By [`Part::ALL`].
    account: Vec<u64>,
    contended: Vec<(u32, u64, u64)>,
}

impl Stored {
    fn of(outcome: &Outcome) -> Self {
        let level = |l: &LevelCounts| {
            let counts = [l.accesses, l.misses, l.coherence_misses, l.fought_misses];
            (l.level.0, counts.map(|count| count.0))
        };
        let worker = |w: &Breakdown<Cycles>| [w.active, w.add, w.get, w.done, w.idle].map(|c| c.0);
        let lines = [
            outcome.memory_reads,
            outcome.memory_writes,
            outcome.remote_hits,
            outcome.far_hits,
            outcome.sibling_hits,
        ];
        Self {
            time: outcome.time.0,
            work: outcome.work.0,
            span: outcome.span.0,
            levels: outcome.levels.iter().map(level).collect(),
            lines: lines.map(|count| count.0),
            workers: outcome.workers.iter().map(worker).collect(),
            steals: [outcome.steals, outcome.near_steals, outcome.failed_steals],
            anchors: outcome.anchors.clone(),
            occupancy: outcome.occupancy.iter().map(|o| (o.max.0, o.mean.0)).collect(),
            tasks: outcome.tasks,
            strands: outcome.strands,
            account: Part::ALL.iter().map(|part| outcome.account.get(*part).0).collect(),
            contended: outcome
                .contended
                .iter()
                .map(|line| (line.line, line.handovers, line.waited.0))
                .collect(),
        }
    }

    /// None of a file with other parts.
    fn outcome(self) -> Option<Outcome> {
        if self.account.len() != Part::ALL.len() {
            return None;
        }
        let level = |(level, counts): (u8, [u64; 4])| {
            let [accesses, misses, coherence_misses, fought_misses] = counts.map(Lines);
            let level = Level(level);
            LevelCounts { level, accesses, misses, coherence_misses, fought_misses }
        };
        let worker = |parts: [u64; 5]| {
            let [active, add, get, done, idle] = parts.map(Cycles);
            Breakdown { active, add, get, done, idle }
        };
        let occupancy = |(max, mean)| Occupancy { max: Bytes(max), mean: Bytes(mean) };
        let contended =
            |(line, handovers, waited)| Contended { line, handovers, waited: Cycles(waited) };
        let [memory_reads, memory_writes, remote_hits, far_hits, sibling_hits] =
            self.lines.map(Lines);
        let [steals, near_steals, failed_steals] = self.steals;
        Some(Outcome {
            time: Cycles(self.time),
            work: Cycles(self.work),
            span: Cycles(self.span),
            levels: self.levels.into_iter().map(level).collect(),
            memory_reads,
            memory_writes,
            remote_hits,
            far_hits,
            sibling_hits,
            workers: self.workers.into_iter().map(worker).collect(),
            steals,
            near_steals,
            failed_steals,
            anchors: self.anchors,
            occupancy: self.occupancy.into_iter().map(occupancy).collect(),
            tasks: self.tasks,
            strands: self.strands,
            started_on: Vec::new(),
            tiers: None,
            account: Account::by(|part| Cycles(self.account[part as usize])),
            contended: self.contended.into_iter().map(contended).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use befit_sched::SchedulerKind;

    use super::*;
    use crate::{Silent, testing};

    #[test]
    fn a_result_is_found_again_by_all_that_it_depends_on() {
        let (folder, program) = (tempfile::tempdir().unwrap(), testing::program());
        let at = |of: &str| Results::at(folder.path().join("results"), of.to_owned(), &Silent);
        let (results, machine) = (at("one"), testing::machine(2));
        let settings = Settings::new(SchedulerKind::Sb, 1);
        let mut outcome = befit_sim::run(&program, &machine, &settings, &|_| {}).unwrap();
        assert_eq!(results.find(&machine, &settings, None), None);
        results.keep(&machine, &settings, None, &outcome);
        (outcome.started_on, outcome.tiers) = (Vec::new(), None);
        assert!(outcome.account.total().0 > 0 && !outcome.occupancy.is_empty());
        assert_eq!(results.find(&machine, &settings, None), Some(outcome));
        // Nothing else is.
        let other = Settings { seed: 2, ..settings.clone() };
        let groups = LineGroups::new(0, 64, 2);
        assert_eq!(results.find(&machine, &other, None), None);
        assert_eq!(results.find(&testing::machine(1), &settings, None), None);
        assert_eq!(results.find(&machine, &settings, groups), None);
        assert_eq!(at("other").find(&machine, &settings, None), None);
    }

    #[test]
    fn a_damaged_result_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::at(folder.path().to_owned(), String::new(), &Silent);
        let (machine, settings) = (testing::machine(1), Settings::new(SchedulerKind::Ws, 1));
        let file = results.file(&machine, &settings, None);
        fs::write(&file, b"{\"time\": 5").unwrap();
        assert_eq!(results.find(&machine, &settings, None), None);
    }
}
