//! Which lines of a program's source its misses come from, and which of its data.

use std::collections::{BTreeMap, HashMap, HashSet};

use befit_machine::{Bytes, Cycles, Machine};
use befit_program::{Program, Source};
use befit_sched::SchedulerKind;
use befit_sim::{Ledger, MissCounts, run_booked};
use serde::Serialize;

use crate::{
    LabError, Progress, SimulationPlan,
    conclude::writers::{self, LineSize},
    summary,
};

/// Lines that went to and fro of which is found out whether they are shared falsely: those that did
/// so most often.
const JUDGED: usize = 4096;

/// How many lines workers took, and from where. 64 bytes each, or what the machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Shares {
    /// From memory.
    pub memory: u64,
    /// From another last-level cache.
    pub other_caches: u64,
    /// Those of both that came from another socket.
    pub other_sockets: u64,
    /// Lines, from anywhere, that go to and fro between workers of which at least one writes them.
    pub to_and_fro: u64,
    /// Those of them that no two workers may share a word of: they are falsely shared.
    pub false_sharing: u64,
}

impl Shares {
    /// From outside of the last-level cache.
    pub fn misses(&self) -> u64 {
        self.memory + self.other_caches
    }

    fn add(&mut self, counts: &MissCounts, falsely: u64) {
        self.memory += counts.memory;
        self.other_caches += counts.other_caches;
        self.other_sockets += counts.other_sockets;
        self.to_and_fro += counts.handovers;
        self.false_sharing += falsely;
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// By which places are ordered.
    fn key(&self) -> std::cmp::Reverse<(u64, u64)> {
        std::cmp::Reverse((self.misses(), self.to_and_fro))
    }
}

/// The misses of one line of the source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CodeLine {
    /// `src/main.rs`, from the package's folder on; none where the line is not known.
    pub file: Option<String>,
    /// From 1; none where it is not known.
    pub line: Option<u32>,
    /// The function that the line is in.
    pub function: Option<String>,
    /// Its misses.
    #[serde(flatten)]
    pub shares: Shares,
}

/// The misses of the data that was made at one line of the source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DataBlock {
    /// `heap`: large blocks; `other`: small blocks, statics and the data of `main`; `stack`.
    pub kind: &'static str,
    /// As in [`CodeLine`]; none except of the heap's.
    pub file: Option<String>,
    /// The same.
    pub line: Option<u32>,
    /// The same.
    pub function: Option<String>,
    /// Blocks that were made there.
    pub blocks: u64,
    /// What of them lies on pages that are touched.
    pub bytes: Bytes,
    /// Its misses.
    #[serde(flatten)]
    pub shares: Shares,
}

/// What [`CodeLine`]s are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MissesBy {
    /// The lines that touch.
    Line,
    /// The lines at which the tasks are forked that do: the recording knows no others.
    Fork,
}

/// Where one simulated run of a program has its misses; serialised, the document `befit.misses/1`
/// (docs/json.md) without its version. `code` adds up to `total`, and so does `data`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProgramMisses {
    /// The command that was recorded.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// The policy.
    pub scheduler: String,
    /// The seed.
    pub seed: u64,
    /// Bytes of a line.
    pub line_bytes: Bytes,
    /// The running time.
    pub time_cycles: Cycles,
    /// What the lines of `code` are.
    pub by: MissesBy,
    /// As [`Summary::recorded`](crate::Summary::recorded).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
    /// All misses.
    pub total: Shares,
    /// By line of the source; those with most misses first.
    pub code: Vec<CodeLine>,
    /// By the line that took the memory; those with most misses first. Of a recording without the
    /// lines that touch, large blocks are among the other data.
    pub data: Vec<DataBlock>,
}

impl SimulationPlan {
    /// Finds where `program` has its misses on the plan's first machine, under its first scheduler,
    /// with seed 1 and all lines.
    ///
    /// Takes time linear in the program's line touches.
    ///
    /// # Errors
    /// When the simulation fails, or the plan has no machine or no scheduler.
    pub fn misses(
        &self,
        program: &Program,
        progress: &dyn Progress,
    ) -> Result<ProgramMisses, LabError> {
        let first = self.machines.first().zip(self.schedulers.first());
        let (machine, scheduler) =
            first.ok_or_else(|| LabError::Usage("a machine and a scheduler are needed".into()))?;
        self.misses_on(machine, *scheduler, program, progress)
    }

    /// The same on any machine, under any scheduler.
    ///
    /// # Errors
    /// When the simulation fails.
    pub fn misses_on(
        &self,
        machine: &Machine,
        scheduler: SchedulerKind,
        program: &Program,
        progress: &dyn Progress,
    ) -> Result<ProgramMisses, LabError> {
        progress.simulating(&program.meta().name, 1, program.total_touches());
        let settings = self.settings(machine, scheduler, 1);
        let run = run_booked(program, machine, &settings, &|touches| progress.advance(touches));
        progress.finished();
        let (outcome, ledger) = run.map_err(|error| {
            LabError::Failed(format!("cannot simulate {scheduler} on {}: {error}", machine.name))
        })?;
        let size = LineSize::of(program, machine);
        let falsely = Falsely::of(program, &ledger, size);
        let code = code(program, &ledger, &falsely);
        let mut total = Shares::default();
        ledger.by_code.iter().for_each(|counts| total.add(counts, 0));
        total.false_sharing = code.iter().map(|line| line.shares.false_sharing).sum();
        Ok(ProgramMisses {
            program: program.meta().name.clone(),
            machine: machine.name.clone(),
            scheduler: scheduler.to_string(),
            seed: 1,
            line_bytes: size.bytes,
            time_cycles: outcome.time,
            by: if program.has_spots() { MissesBy::Line } else { MissesBy::Fork },
            recorded: summary::recorded(program),
            total,
            code,
            data: data(program, &ledger, &falsely),
        })
    }
}

/// Lines that are falsely shared: how often they went to and fro.
struct Falsely {
    by_code: HashMap<u32, u64>,
    by_line: BTreeMap<u32, u64>,
}

impl Falsely {
    fn of(program: &Program, ledger: &Ledger, size: LineSize) -> Self {
        let mut often: HashMap<u32, u64> = HashMap::new();
        for ((line, _), times) in &ledger.handed {
            *often.entry(*line).or_default() += times;
        }
        let mut lines: Vec<_> = often.into_iter().collect();
        lines.sort_unstable_by_key(|(line, times)| (std::cmp::Reverse(*times), *line));
        let lines: Vec<u32> = lines.into_iter().take(JUDGED).map(|(line, _)| line).collect();
        let writers = writers::of(program, size, &lines);
        let is_false = |line: &u32| writers[line].may_be_false(size.bytes);
        let falsely: HashSet<u32> = lines.into_iter().filter(is_false).collect();
        let mut found = Self { by_code: HashMap::new(), by_line: BTreeMap::new() };
        for ((line, code), times) in ledger.handed.iter().filter(|((l, _), _)| falsely.contains(l))
        {
            *found.by_code.entry(*code).or_default() += times;
            *found.by_line.entry(*line).or_default() += times;
        }
        found
    }
}

/// The parts of a source's name, each none where it is not known.
type Place = (Option<String>, Option<u32>, Option<String>);

fn place(source: Option<&Source>) -> Place {
    let Some(Source { file, line, function }) = source else { return Place::default() };
    (Some(file.to_string()), Some(*line), Some(function.to_string()))
}

/// By line: lines of one name are one.
fn code(program: &Program, ledger: &Ledger, falsely: &Falsely) -> Vec<CodeLine> {
    let mut found: BTreeMap<Place, Shares> = BTreeMap::new();
    for (code, counts) in (0..).zip(&ledger.by_code) {
        let source = if program.has_spots() {
            program.spots()[code as usize].as_ref()
        } else {
            program.source(befit_program::SiteId(code))
        };
        let falsely = falsely.by_code.get(&code).copied().unwrap_or(0);
        found.entry(place(source)).or_default().add(counts, falsely);
    }
    let found = found.into_iter().filter(|(_, shares)| !shares.is_none());
    let line = |((file, line, function), shares)| CodeLine { file, line, function, shares };
    let mut lines: Vec<_> = found.map(line).collect();
    lines.sort_by_key(|line| line.shares.key());
    lines
}

/// By what made the data: blocks of one line are one.
fn data(program: &Program, ledger: &Ledger, falsely: &Falsely) -> Vec<DataBlock> {
    let blocks = program.blocks();
    let line_size = program.meta().line_size.0;
    let mut found: BTreeMap<(&'static str, Place), (u64, u64, Shares)> = BTreeMap::new();
    let mut in_blocks = 0;
    for (block, counts) in blocks.iter().zip(&ledger.by_data) {
        let lines = block.first..block.first + block.lines;
        let handed: u64 = falsely.by_line.range(lines).map(|(_, times)| times).sum();
        in_blocks += handed;
        let source = program.spots()[block.spot.0 as usize].as_ref();
        let (count, bytes, shares) = found.entry(("heap", place(source))).or_default();
        *count += 1;
        *bytes += u64::from(block.lines) * line_size;
        shares.add(counts, handed);
    }
    let other = falsely.by_line.values().sum::<u64>() - in_blocks;
    for ((kind, handed), counts) in
        [("other", other), ("stack", 0)].into_iter().zip(&ledger.by_data[blocks.len()..])
    {
        let (.., shares) = found.entry((kind, Place::default())).or_default();
        shares.add(counts, handed);
    }
    let found = found.into_iter().filter(|(_, (.., shares))| !shares.is_none());
    let block = |((kind, (file, line, function)), (blocks, bytes, shares))| DataBlock {
        kind,
        file,
        line,
        function,
        blocks,
        bytes: Bytes(bytes),
        shares,
    };
    let mut blocks: Vec<_> = found.map(block).collect();
    blocks.sort_by_key(|block| block.shares.key());
    blocks
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use befit_machine::Placement;
    use befit_program::{Declared, Meta, ProgramBuilder, ScopeId, SpotId};
    use befit_sched::Options;

    use super::*;
    use crate::{Sampling, Seeds, Silent};

    const FILE: &str = "src/main.rs";

    fn plan(machine: &str) -> SimulationPlan {
        let mut machine: Machine = machine.parse().unwrap();
        machine.memory.placement = Placement::Interleaved;
        SimulationPlan {
            machines: vec![machine],
            schedulers: vec![SchedulerKind::Ws],
            seeds: Seeds::Fixed(NonZeroU32::MIN),
            options: Options::default(),
            shrink: 1,
            sampling: Sampling::Off,
        }
    }

    /// Tasks that read a block of their own at line 7, and all write one line at line 9.
    fn program(spots: bool) -> Program {
        let meta = Meta { name: "places".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let at = |line| Source { file: FILE.into(), line, function: "main".into() };
        let [reads, writes, makes] = if spots {
            [7, 9, 3].map(|line| builder.spot(at(line)).unwrap())
        } else {
            [SpotId(0); 3]
        };
        for task in 0..8 {
            builder.fork(ScopeId(1), Declared::default()).unwrap();
            for i in 0..2000 {
                builder.touch_at(100_000 + task * 10_000 + i, false, false, reads);
                builder.touch_at(64, true, false, writes);
                builder.work(100, 1, 100);
            }
            builder.end().unwrap();
            if spots {
                builder.block(100_000 + task * 10_000, 2000, makes);
            }
        }
        builder.sync(ScopeId(1)).unwrap();
        builder.finish().unwrap()
    }

    const MACHINE: &str = "pack:2 l3:1(size=1048576) core:2 l2:1(size=65536) l1:1(size=8192) pu:1";

    #[test]
    fn rows_add_up_to_the_simulation_s_own_totals() {
        for spots in [true, false] {
            let (plan, program) = (plan(MACHINE), program(spots));
            let misses = plan.misses(&program, &Silent).unwrap();
            let [result] = &plan.simulate(&program, &Silent).unwrap()[..] else { panic!() };
            assert_eq!(misses.time_cycles, result.time.median);
            let sum = |of: fn(&Shares) -> u64| {
                let code: u64 = misses.code.iter().map(|line| of(&line.shares)).sum();
                let data: u64 = misses.data.iter().map(|block| of(&block.shares)).sum();
                assert_eq!((code, data), (of(&misses.total), of(&misses.total)));
                code
            };
            assert_eq!(sum(|s| s.memory), result.memory_reads.median.0);
            assert_eq!(sum(|s| s.other_caches), result.remote_hits.median.0);
            let far = sum(|s| s.other_sockets);
            assert!(far > result.memory_reads.median.0 / 4, "half of memory is far: {far}");
            assert!(sum(|s| s.to_and_fro) > 0 && sum(|s| s.false_sharing) > 0);
        }
    }

    #[test]
    fn misses_are_those_of_the_lines_and_blocks_that_have_them() {
        let misses = plan(MACHINE).misses(&program(true), &Silent).unwrap();
        assert_eq!(misses.by, MissesBy::Line);
        let lines: Vec<_> = misses.code.iter().map(|line| line.line.unwrap()).collect();
        assert_eq!(lines, [7, 9]);
        let [reads, writes] = &misses.code[..] else { panic!() };
        assert_eq!((reads.shares.memory, reads.shares.to_and_fro), (16_000, 0));
        assert!(writes.shares.false_sharing > 10 && writes.shares.memory <= 1, "{writes:?}");
        let [heap, other] = &misses.data[..] else { panic!("{:?}", misses.data) };
        assert_eq!((heap.kind, heap.line, heap.blocks), ("heap", Some(3), 8));
        assert_eq!((other.kind, other.file.as_ref()), ("other", None));
        assert_eq!(other.shares.false_sharing, writes.shares.false_sharing);
    }

    #[test]
    fn without_lines_that_touch_those_of_the_forks_stand_in() {
        let misses = plan(MACHINE).misses(&program(false), &Silent).unwrap();
        assert_eq!((misses.by, misses.code.len(), misses.data.len()), (MissesBy::Fork, 1, 1));
        assert_eq!(misses.code[0].file, None);
    }
}
