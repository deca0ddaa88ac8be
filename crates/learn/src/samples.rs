//! The tasks of recordings, as rows of figures to learn from.

use std::collections::BTreeMap;

use befit_machine::Bytes;
use befit_program::{Declared, Footprint, Op, Program, Site, TaskId};
use befit_sched::sizes::{Predicted, SiteIndex, SiteKey, SizeTable, Word, Words};

/// One recorded task.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// What it captured, its depth, and the measured size of the task that forks it, if that has a
    /// site.
    pub(crate) task: Words,
    /// Which recording it is of.
    pub(crate) recording: u32,
    /// Its size, its largest strand, and its work, in bytes and operations.
    pub(crate) figures: [f64; 3],
}

/// So many tasks of a site, depth and recording are kept at most.
const KEPT: usize = 256;

/// The tasks of one depth and recording: all, or each so-many-th.
#[derive(Clone, Debug, Default)]
struct Stratum {
    seen: usize,
    stride: usize,
    kept: Vec<Sample>,
}

impl Stratum {
    /// Keeps every `stride`-th sample; when they get too many, every second one of those.
    fn add(&mut self, sample: impl FnOnce() -> Sample) {
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(sample());
        }
        self.seen += 1;
        if self.kept.len() > KEPT {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

/// The tasks of one site.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteSamples {
    /// How many there are.
    pub(crate) tasks: u64,
    /// By recording and depth.
    strata: BTreeMap<(u32, u32), Stratum>,
}

impl SiteSamples {
    fn add(&mut self, recording: u32, depth: u32, sample: impl FnOnce() -> Sample) {
        self.tasks += 1;
        self.strata.entry((recording, depth)).or_default().add(sample);
    }

    /// Whether more than one task of a recording, or different words of one a recording, tell how
    /// its tasks differ. Where they do not, a guess would be dangerous: a task that stands alone
    /// often holds the whole program, and a size that is too small binds all of that to one cache.
    pub(crate) fn tells(&self) -> bool {
        let mut recordings: Vec<u32> =
            self.strata.keys().map(|(recording, _)| *recording).collect();
        recordings.dedup();
        let mut samples = self.strata.values().flat_map(|stratum| &stratum.kept);
        let first = samples.next().map(|sample| &sample.task);
        let differs =
            |sample: &Sample| first.is_some_and(|first| !first.iter().eq(sample.task.iter()));
        self.tasks > recordings.len() as u64 || samples.any(differs)
    }

    /// The samples of each recording and depth, and how many tasks each stands for.
    pub(crate) fn strata(&self) -> impl Iterator<Item = (u32, u32, u64, &[Sample])> {
        self.strata.iter().map(|((recording, depth), stratum)| {
            (*recording, *depth, stratum.seen as u64, &stratum.kept[..])
        })
    }
}

/// All sites' samples.
pub(crate) type Samples = BTreeMap<SiteKey, SiteSamples>;

/// Adds the tasks of recording `number`. Time O(tasks · log sites).
pub(crate) fn add(samples: &mut Samples, number: u32, program: &Program, footprints: &[Footprint]) {
    let keys = keys(program);
    let depths = depths(program);
    let work = work(program);
    let line = program.meta().line_size.0;
    let bytes = |lines: u64| (lines * line) as f64;
    for task in (0..program.tasks()).map(TaskId) {
        let has_site = |task: TaskId| keys[program.site(task).0 as usize];
        let Some(site) = has_site(task) else { continue };
        let (place, footprint) = (task.0 as usize, footprints[task.0 as usize]);
        let parent = program.parent(task).filter(|parent| has_site(*parent).is_some());
        let sample = || {
            let mut words = words(program, task);
            words.depth = depths[place];
            words.parent = parent.map(|parent| {
                let size = Bytes(footprints[parent.0 as usize].task.0 * line);
                (size, depths[parent.0 as usize])
            });
            let figures = [bytes(footprint.task.0), bytes(footprint.strand.0), work[place] as f64];
            Sample { task: words, recording: number, figures }
        };
        samples.entry(site).or_default().add(number, depths[place], sample);
    }
}

/// What a task captured.
fn words(program: &Program, task: TaskId) -> Words {
    let captured = program.captured(task).into_iter();
    captured.filter_map(|(number, value)| Some((Word::of_number(number)?, value))).collect()
}

/// How much memory a program used, as far as a recording knows: the pages that it touched.
pub(crate) fn memory(program: &Program) -> Bytes {
    Bytes(u64::from(program.lines()) * program.meta().line_size.0)
}

/// Predicts the sizes of a program's tasks as engines do: the declared one or, of a task that
/// declares none, the table's, each from the size of the task around it.
pub struct Predictor<'a> {
    table: &'a SizeTable,
    sites: Vec<Option<SiteIndex>>,
    depths: Vec<u32>,
    memory: Bytes,
    /// Of each task, the nearest one of known size that it is in, or is itself; with its depth.
    known: Vec<Option<(Bytes, u32)>>,
}

impl<'a> Predictor<'a> {
    /// At the first task.
    pub fn new(program: &Program, table: &'a SizeTable) -> Self {
        let sites = keys(program).into_iter().map(|key| table.site(key?)).collect();
        let known = vec![None; program.tasks() as usize];
        Self { table, sites, depths: depths(program), memory: memory(program), known }
    }

    /// The table's sizes of a task. Tasks are predicted in order, each once; a task of which a size
    /// is `declared` has that for those that it forks.
    pub fn predict(
        &mut self,
        program: &Program,
        task: TaskId,
        declared: Declared,
    ) -> Option<Predicted> {
        let (place, depth) = (task.0 as usize, self.depths[task.0 as usize]);
        let parent = program.parent(task).and_then(|parent| self.known[parent.0 as usize]);
        let found = self.sites[program.site(task).0 as usize].and_then(|site| {
            let mut words = words(program, task);
            (words.depth, words.parent, words.memory) = (depth, parent, Some(self.memory));
            self.table.predict(site, &words)
        });
        let size = declared.size.or(found.map(|found| found.size));
        self.known[place] = size.map(|size| (size, depth)).or(parent);
        found
    }
}

/// The keys of a program's sites. A site without a name has none: a region of the library's own, or
/// a task of which nothing was recorded.
pub fn keys(program: &Program) -> Vec<Option<SiteKey>> {
    let key = |site: &Site| match program.place(site.place) {
        "" => None,
        name => Some(SiteKey::of(name, site.bytes as usize, site.index.into())),
    };
    program.sites().iter().map(key).collect()
}

/// Each task's depth. The halves of a `join` are two forks and a sync without a strand between.
pub(crate) fn depths(program: &Program) -> Vec<u32> {
    let mut depths = vec![0; program.tasks() as usize];
    // A parent stands in front of its children.
    for task in (0..program.tasks()).map(TaskId) {
        let ops: Vec<Op> = program.ops(task).collect();
        for ops in ops.windows(3) {
            if let [Op::Fork { child: a, scope }, Op::Fork { child: b, scope: of_b }, Op::Sync(end)] =
                *ops
                && (scope, scope) == (of_b, end)
            {
                let depth = depths[task.0 as usize] + 1;
                (depths[a.0 as usize], depths[b.0 as usize]) = (depth, depth);
            }
        }
    }
    depths
}

/// Each task's work in operations, descendants included.
fn work(program: &Program) -> Vec<u64> {
    let mut work = vec![0; program.tasks() as usize];
    for task in (0..program.tasks()).rev().map(TaskId) {
        let own = program.ops(task).map(|op| match op {
            Op::Strand(strand) => program.work(strand).operations(),
            Op::Fork { .. } | Op::Sync(_) => 0,
        });
        work[task.0 as usize] += own.sum::<u64>();
        if let Some(parent) = program.parent(task) {
            work[parent.0 as usize] += work[task.0 as usize];
        }
    }
    work
}
