//! What tasks declare of themselves beside what they touch.
//!
//! Space-bounded schedulers trust the sizes that a program declares. One that is too small lets
//! tasks overflow the cache that they share; one that is too large leaves cache unused, or places
//! the task further out than it need be. [`Sizes::of`] measures every task's footprint in the
//! recording, exactly, and compares.

mod by_site;
mod learned;

use befit_machine::{Bytes, Level, Lines, Machine};
use befit_program::{Op, Program, TaskId};
use befit_sched::Thresholds;
use serde::{Serialize, Serializer};

pub use self::{
    by_site::{SiteSizes, SizeGroup},
    learned::{Errors, LearnedSite, LearnedSizes},
};
use crate::{Progress, kept};

/// One task that declares a size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TaskSize {
    /// Which child of which it is, from the root down, each counted from 0 in the order in which
    /// they were forked: `0.2.1`. Empty for the root.
    pub path: String,
    /// The line of the program's source at which it was forked, where that is known:
    /// `src/main.rs:12`.
    pub source: Option<String>,
    /// The size that it declares.
    pub declared: Bytes,
    /// Distinct lines that it and all that it forked touch, in bytes; without stacks.
    pub measured: Bytes,
    /// Measured over declared; infinite where nothing was declared and something touched.
    pub ratio: f64,
    /// What it declares of its strands, if anything.
    pub declared_strand: Option<Bytes>,
    /// Its largest strand, measured.
    pub measured_strand: Bytes,
}

/// How many tasks befit the caches of one level.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Befitting {
    /// The level; none for memory.
    #[serde(serialize_with = "level_name")]
    pub level: Option<Level>,
    /// Tasks that befit it, and no smaller cache, by what they declare.
    pub declared: u64,
    /// The same by what they touch.
    pub measured: u64,
    /// Those that befit it by what they declare but touch more than σM: they overflow it.
    pub overflowing: u64,
}

/// What the tasks of a program declare beside what they touch; serialised, the document
/// `befit.sizes/1` (docs/json.md) without its version.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sizes {
    /// The command that was recorded.
    pub command: String,
    /// The machine that tasks are to befit.
    pub machine: String,
    /// Dilation σ.
    pub sigma: f64,
    /// All tasks.
    pub tasks: u64,
    /// Those that declare a size.
    pub declaring: u64,
    /// How many of them touch at most half of what they declare, up to 0.9 of it, 1.1, 2, and more.
    pub ratios: [u64; 5],
    /// Tasks with a strand more than a tenth larger than the strand size that they declare.
    pub strands_exceeding: u64,
    /// By cache level, ascending, memory last.
    pub befitting: Vec<Befitting>,
    /// The worst tasks: those that touch over a tenth more than they declare, then those that touch
    /// over a tenth less, each by bytes, worst first.
    pub worst: Vec<TaskSize>,
    /// All that declare a size, by the line that forked them: for pages.
    #[serde(skip)]
    pub by_site: Vec<SiteSizes>,
}

/// Where one class of [`Sizes::ratios`] ends and the next begins.
const RATIOS: [f64; 4] = [0.5, 0.9, 1.1, 2.0];

impl Sizes {
    /// Measures `program` and compares; keeps the `worst` worst tasks of either kind. Time
    /// O(touches · log depth + tasks · log tasks).
    pub fn of(
        program: &Program,
        machine: &Machine,
        sigma: f64,
        worst: usize,
        progress: &dyn Progress,
    ) -> Self {
        let footprints = kept::footprints_alone(program, progress);
        let bytes = |lines: Lines| Bytes(lines.0 * program.meta().line_size.0);
        let caches = largest_caches(machine);
        let thresholds = Thresholds::new(caches.iter().map(|(_, size)| *size), sigma);
        let none = |level| Befitting { level, declared: 0, measured: 0, overflowing: 0 };
        let mut befitting: Vec<_> = caches.iter().map(|(level, _)| none(*level)).collect();
        let mut ratios = [0; 5];
        let (mut declaring, mut strands_exceeding) = (0, 0);
        let (mut differences, mut sizes) = (Vec::new(), Vec::new());
        for (number, footprint) in footprints.iter().enumerate() {
            let declared = program.declared(TaskId(number as u32));
            let strand = bytes(footprint.strand);
            let exceeds = |most: Bytes| strand.0 as f64 > RATIOS[2] * most.0 as f64;
            strands_exceeding += u64::from(declared.strand.is_some_and(exceeds));
            let Some(size) = declared.size else { continue };
            let measured = bytes(footprint.task);
            declaring += 1;
            ratios[RATIOS.partition_point(|end| *end < ratio(measured, size))] += 1;
            let (by_declared, by_measured) =
                (thresholds.too_small_for(size), thresholds.too_small_for(measured));
            befitting[by_declared].declared += 1;
            befitting[by_measured].measured += 1;
            befitting[by_declared].overflowing += u64::from(by_measured > by_declared);
            differences.push((measured.0 as i128 - size.0 as i128, number as u32));
            sizes.push((TaskId(number as u32), size, measured));
        }
        differences.sort_unstable();
        let task = |number: u32| {
            let (of_task, found) = (program.declared(TaskId(number)), footprints[number as usize]);
            let (declared, measured) = (of_task.size.unwrap_or_default(), bytes(found.task));
            TaskSize {
                path: path(program, TaskId(number)),
                source: source(program, TaskId(number)),
                declared,
                measured,
                ratio: ratio(measured, declared),
                declared_strand: of_task.strand,
                measured_strand: bytes(found.strand),
            }
        };
        let name = |task| match program.parent(task) {
            None => "the root".to_owned(),
            Some(_) => source(program, task).unwrap_or_else(|| "not known".to_owned()),
        };
        let sizes = sizes.into_iter().map(|(task, given, measured)| (name(task), given, measured));
        let by_site = by_site::by_site(sizes);
        let over = differences.iter().take_while(|(difference, _)| *difference < 0);
        let under = differences.iter().rev().take_while(|(difference, _)| *difference > 0);
        let [_, least, most, _] = RATIOS;
        let over = over.map(|(_, number)| task(*number)).filter(|task| task.ratio < least);
        let under = under.map(|(_, number)| task(*number)).filter(|task| task.ratio > most);
        Self {
            command: program.meta().name.clone(),
            machine: machine.name.clone(),
            sigma,
            tasks: u64::from(program.tasks()),
            declaring,
            ratios,
            strands_exceeding,
            befitting,
            worst: under.take(worst).chain(over.take(worst)).collect(),
            by_site,
        }
    }
}

fn ratio(measured: Bytes, declared: Bytes) -> f64 {
    if measured == declared { 1.0 } else { measured.0 as f64 / declared.0 as f64 }
}

fn level_name<S: Serializer>(level: &Option<Level>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&Level::name_of(*level))
}

/// The size of each level's largest cache, ascending, memory last.
fn largest_caches(machine: &Machine) -> Vec<(Option<Level>, Bytes)> {
    let largest = |level: Level| {
        let caches = machine.clusters().iter().filter_map(|cluster| cluster.cache);
        caches.filter(|cache| cache.level == level).map(|cache| cache.size).max()
    };
    let levels = machine.levels().into_iter();
    let levels = levels.map(|level| (Some(level), largest(level).unwrap_or_default()));
    levels.chain([(None, Bytes(u64::MAX))]).collect()
}

/// The tasks that a task forks, in order.
pub(crate) fn children(program: &Program, task: TaskId) -> impl Iterator<Item = TaskId> {
    program.ops(task).filter_map(|op| match op {
        Op::Fork { child, .. } => Some(child),
        _ => None,
    })
}

/// Where a task was forked, in the program's source.
fn source(program: &Program, task: TaskId) -> Option<String> {
    let source = program.source(program.site(task))?;
    Some(format!("{}:{}", source.file, source.line))
}

/// Which child of which a task is, from the root down.
fn path(program: &Program, task: TaskId) -> String {
    let mut steps = Vec::new();
    let mut at = task;
    while let Some(parent) = program.parent(at) {
        steps.push(children(program, parent).take_while(|child| *child != at).count().to_string());
        at = parent;
    }
    steps.reverse();
    steps.join(".")
}

#[cfg(test)]
mod tests {
    use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};

    use super::*;
    use crate::Silent;

    /// Two tasks of 1000 lines, of which the second declares only `second` bytes, in a third that
    /// declares all.
    fn program(second: u64) -> Program {
        let meta = Meta { name: "wrong".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let declared = |bytes| Declared { size: Some(Bytes(bytes)), strand: None };
        builder.fork(ScopeId(1), declared(128_000)).unwrap();
        for (i, bytes) in [(0, 64_000), (1, second)] {
            builder.fork(ScopeId(2), declared(bytes)).unwrap();
            (0..1000).for_each(|line| builder.touch(4096 + i * 1000 + line, false, false));
            builder.end().unwrap();
        }
        builder.sync(ScopeId(2)).unwrap();
        builder.end().unwrap();
        builder.finish().unwrap()
    }

    fn sizes(second: u64) -> Sizes {
        let machine: Machine = "l3:2(size=1048576) l2:2(size=65536) pu:1".parse().unwrap();
        Sizes::of(&program(second), &machine, 0.5, 10, &Silent)
    }

    #[test]
    fn right_sizes_have_no_worst_task() {
        let sizes = sizes(64_000);
        assert_eq!((sizes.tasks, sizes.declaring, sizes.ratios), (4, 3, [0, 0, 3, 0, 0]));
        assert!(sizes.worst.is_empty(), "{sizes:?}");
    }

    #[test]
    fn a_deliberately_wrong_size_is_found_with_its_path() {
        let small = sizes(6_400);
        let worst = &small.worst[0];
        assert_eq!(
            (worst.path.as_str(), worst.declared, worst.measured),
            ("0.1", Bytes(6_400), Bytes(64_000))
        );
        assert_eq!((small.worst.len(), small.ratios), (1, [0, 0, 2, 0, 1]));
        let given = small.by_site.iter().flat_map(|site| &site.groups).map(|group| group.given.min);
        assert_eq!(given.collect::<Vec<_>>(), [6_400, 64_000, 128_000].map(Bytes));
        // It befits an L2 of 64 KiB by what it declares, and overflows it.
        let l2 = &small.befitting[0];
        assert_eq!((l2.level, l2.declared, l2.measured, l2.overflowing), (Some(Level(2)), 1, 0, 1));
        let large = sizes(640_000);
        assert_eq!((large.worst[0].path.as_str(), large.worst[0].ratio), ("0.1", 0.1));
    }
}
