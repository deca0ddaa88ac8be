//! The tasks of recordings, as rows of figures to learn from.

use std::collections::{BTreeMap, HashMap};

use befit_machine::Bytes;
use befit_program::{Declared, Footprint, Op, Program, Site, TaskId};
use befit_sched::sizes::{Predicted, SiteIndex, SiteKey, SizeTable, Word, Words};

use crate::ancestors::{Ancestor, Ancestors};

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
#[derive(Clone, Debug)]
struct Stratum<T> {
    seen: usize,
    stride: usize,
    kept: Vec<T>,
}

impl<T> Default for Stratum<T> {
    fn default() -> Self {
        Self { seen: 0, stride: 1, kept: Vec::new() }
    }
}

impl<T> Stratum<T> {
    /// Keeps every `stride`-th task; when they get too many, every second one of those.
    fn add(&mut self, task: T) {
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(task);
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
    strata: BTreeMap<(u32, u32), Stratum<Sample>>,
}

impl SiteSamples {
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

/// A task that is kept, and the task with a site that forks it.
#[derive(Clone, Copy, Debug)]
struct Kept {
    task: TaskId,
    /// With its depth.
    parent: Option<(TaskId, u32)>,
}

/// What is measured of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    footprint: Footprint,
    work: u64,
}

/// Adds the tasks of recording `number`; `looked_at` hears of its touches. Time O(touches · log
/// depth + tasks · log sites), memory as [`Program::each_footprint`] and for what is kept.
pub(crate) fn add(samples: &mut Samples, number: u32, program: &Program, looked_at: &dyn Fn(u64)) {
    let strata = strata(program);
    let mut figures = HashMap::new();
    for kept in strata.values().flat_map(|stratum| &stratum.kept) {
        let with_parent = [Some(kept.task), kept.parent.map(|(parent, _)| parent)];
        figures.extend(with_parent.into_iter().flatten().map(|task| (task, Figures::default())));
    }
    measure(program, &mut figures, looked_at);
    let line = program.meta().line_size.0;
    let size = |task: TaskId| figures[&task].footprint.task.0 * line;
    for ((site, depth), stratum) in strata {
        let sample = |Kept { task, parent }| {
            let mut words = words(program, task);
            words.depth = depth;
            words.parent = parent.map(|(parent, depth)| (Bytes(size(parent)), depth));
            let Figures { footprint, work } = figures[&task];
            let strand = footprint.strand.0 * line;
            let figures = [size(task), strand, work].map(|figure| figure as f64);
            Sample { task: words, recording: number, figures }
        };
        let Stratum { seen, stride, kept } = stratum;
        let kept = kept.into_iter().map(sample).collect();
        let of_site = samples.entry(site).or_default();
        of_site.tasks += seen as u64;
        of_site.strata.insert((number, depth), Stratum { seen, stride, kept });
    }
}

/// The tasks to keep, by site and depth.
fn strata(program: &Program) -> BTreeMap<(SiteKey, u32), Stratum<Kept>> {
    let keys = keys(program);
    let mut strata: BTreeMap<_, Stratum<Kept>> = BTreeMap::new();
    let mut walk = Ancestors::<Option<SiteKey>>::new();
    for task in (0..program.tasks()).map(TaskId) {
        let (entered, parent) = walk.enter(program, task, |_, _| {});
        entered.value = keys[program.site(task).0 as usize];
        let Some(site) = entered.value else { continue };
        let parent = parent.filter(|parent| parent.value.is_some());
        let parent = parent.map(|parent| (parent.task, parent.depth));
        strata.entry((site, entered.depth)).or_default().add(Kept { task, parent });
    }
    strata
}

/// Measures the tasks that have a place in `figures`. Work is in operations, descendants included.
fn measure(program: &Program, figures: &mut HashMap<TaskId, Figures>, looked_at: &dyn Fn(u64)) {
    program.each_footprint(looked_at, |task, footprint| {
        if let Some(figures) = figures.get_mut(&task) {
            figures.footprint = footprint;
        }
    });
    let mut left = |of: Ancestor<u64>, around: Option<&mut Ancestor<u64>>| {
        if let Some(figures) = figures.get_mut(&of.task) {
            figures.work = of.value;
        }
        if let Some(around) = around {
            around.value += of.value;
        }
    };
    let mut walk = Ancestors::<u64>::new();
    for task in (0..program.tasks()).map(TaskId) {
        let own = program.ops(task).map(|op| match op {
            Op::Strand(strand) => program.work(strand).operations(),
            Op::Fork { .. } | Op::Sync(_) => 0,
        });
        walk.enter(program, task, &mut left).0.value = own.sum();
    }
    walk.end(left);
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
    memory: Bytes,
    /// Of the task and those around it, the nearest one of known size that it is in, or is itself;
    /// with its depth.
    known: Ancestors<Option<(Bytes, u32)>>,
}

impl<'a> Predictor<'a> {
    /// At the first task.
    pub fn new(program: &Program, table: &'a SizeTable) -> Self {
        let sites = keys(program).into_iter().map(|key| table.site(key?)).collect();
        Self { table, sites, memory: memory(program), known: Ancestors::new() }
    }

    /// The table's sizes of a task. Tasks are predicted in order, each once; a task of which a size
    /// is `declared` has that for those that it forks.
    pub fn predict(
        &mut self,
        program: &Program,
        task: TaskId,
        declared: Declared,
    ) -> Option<Predicted> {
        let (entered, parent) = self.known.enter(program, task, |_, _| {});
        let (depth, parent) = (entered.depth, parent.and_then(|parent| parent.value));
        let found = self.sites[program.site(task).0 as usize].and_then(|site| {
            let mut words = words(program, task);
            (words.depth, words.parent, words.memory) = (depth, parent, Some(self.memory));
            self.table.predict(site, &words)
        });
        let size = declared.size.or(found.map(|found| found.size));
        entered.value = size.map(|size| (size, depth)).or(parent);
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
