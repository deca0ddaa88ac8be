//! A recorded program.

use std::sync::Arc;

use crate::codec::Touches;
use crate::lines::Spans;
use crate::site::{Origins, Words};
use crate::spot::{Block, Seen, Spots};
use crate::strands::{Strand, Strands};
use crate::tables::Blobs;
use crate::tree::{OpPlace, Ops, Step, Tree};
use crate::{
    Class, ClassId, Declared, Meta, Op, PlaceId, Site, SiteId, SizesFrom, Source, StrandId, TaskId,
    Work, WorkRun,
};
use crate::{hot::HotLines, sample::Taken};

/// What a strand costs, and its class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cost {
    /// Without touches, which a strand's blob knows.
    pub(crate) work: Work,
    pub(crate) class: u32,
}

/// A recorded nested-parallel program: its task tree, and the cost and the touches of each strand.
///
/// It comes from a [`ProgramBuilder`](crate::ProgramBuilder) or from a file, and does not change.
/// Touches stay encoded (see [`Touches`]). Memory: 7 to 10 bytes a task, 1 to 5 an operation, 1 to
/// 4 a strand, 24 for each different strand, the different blobs, and 16 bytes and some for each
/// different combination of declared sizes, site and captured words.
///
/// Methods that take a [`TaskId`] or [`StrandId`] panic when the program has no such task or
/// strand. A clone shares the blobs.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) meta: Meta,
    pub(crate) root_declared: Declared,
    pub(crate) tree: Tree,
    /// The sizes that tasks other than the root declare; each different pair once.
    pub(crate) declared: Vec<Declared>,
    pub(crate) sizes_from: SizesFrom,
    pub(crate) origins: Origins,
    /// The first is unknown.
    pub(crate) sites: Vec<Site>,
    /// By site.
    pub(crate) sources: Vec<Option<Source>>,
    pub(crate) strands: Strands,
    pub(crate) costs: Vec<Cost>,
    pub(crate) places: Vec<Box<str>>,
    pub(crate) classes: Vec<Class>,
    pub(crate) work_run: Option<WorkRun>,
    pub(crate) blobs: Arc<Blobs>,
    pub(crate) spans: Spans,
    /// Dense lines, ascending.
    pub(crate) atomics: Vec<u32>,
    pub(crate) stack_lines: u32,
    pub(crate) seen: Seen,
    /// Found when first asked for; of the blobs and the tasks.
    pub(crate) hot: Arc<HotLines>,
    /// Of the blobs and the tasks, too.
    pub(crate) taken: Arc<Taken>,
}

impl Program {
    /// The properties of the recording as a whole.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Number of tasks, the root included.
    pub fn tasks(&self) -> u32 {
        self.tree.tasks()
    }

    /// Number of strands.
    pub fn strands(&self) -> u32 {
        self.tree.strands
    }

    /// Number of scopes, scope 0 included.
    pub fn scopes(&self) -> u32 {
        self.tree.scopes
    }

    /// The operations of a task, in order. Constant time.
    pub fn ops(&self, task: TaskId) -> Ops<'_> {
        self.tree.ops(task)
    }

    /// The operations of a task from a place among them on, which [`Ops::place`] of this program
    /// has returned. Constant time.
    pub fn ops_from(&self, place: OpPlace) -> Ops<'_> {
        self.tree.ops_from(place)
    }

    /// The `join`s of a task, in order, each by its halves: two forks and a sync of one scope
    /// without a strand between. Time linear in the task's operations.
    pub fn joins(&self, task: TaskId) -> impl Iterator<Item = [TaskId; 2]> + '_ {
        let mut last = [None; 2];
        self.ops(task).filter_map(move |op| {
            let before = last;
            last = [last[1], Some(op)];
            match (before, op) {
                (
                    [Some(Op::Fork { child: a, scope }), Some(Op::Fork { child: b, scope: of_b })],
                    Op::Sync(end),
                ) if (scope, scope) == (of_b, end) => Some([a, b]),
                _ => None,
            }
        })
    }

    /// Whether this is a clone of `other`, or the other way round, as far as touches and tasks go:
    /// [samples](Self::samples) of one are samples of the other. True of what
    /// [`Self::with_sizes`] has made of a clone.
    pub fn has_touches_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.blobs, &other.blobs)
    }

    /// The steps of the serial execution, the root's end the last.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.tree.serial()
    }

    /// The sizes that a task declares, or has from elsewhere ([`Program::with_sizes`]). Constant
    /// time.
    pub fn declared(&self, task: TaskId) -> Declared {
        if task == TaskId(0) {
            self.root_declared
        } else {
            self.declared[self.origins.declared(self.origin(task)) as usize]
        }
    }

    /// Where a task other than the root was forked, and with what.
    fn origin(&self, task: TaskId) -> u32 {
        self.tree.origins.get(task.0 as usize)
    }

    /// Where a task was forked; 0 for the root task. Constant time.
    pub fn site(&self, task: TaskId) -> SiteId {
        if task == TaskId(0) { SiteId(0) } else { self.origins.site(self.origin(task)) }
    }

    /// All sites, by [`SiteId`].
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The line of the program's own source at which tasks were forked: not of a library that forks
    /// for it. None where it is not known.
    ///
    /// # Panics
    /// When the program has no such site.
    pub fn source(&self, site: SiteId) -> Option<&Source> {
        self.sources[site.0 as usize].as_ref()
    }

    /// What a task's closure captures, as plain numbers: words of the closure, and behind its
    /// references, with their numbers, ascending. Words that are 0, and addresses, are left out.
    /// The recorder defines the numbers (befit_sched's `Word`). O(words).
    pub fn captured(&self, task: TaskId) -> Vec<(u16, u64)> {
        if task == TaskId(0) { Words::default() } else { self.origins.words(self.origin(task)) }
    }

    /// The task that forked a task; none forked the root. Constant time.
    pub fn parent(&self, task: TaskId) -> Option<TaskId> {
        (task != TaskId(0)).then(|| self.tree.parent(task))
    }

    /// The cost of a strand. Constant time.
    pub fn work(&self, strand: StrandId) -> Work {
        let Strand { blob, cost } = self.strands.get(strand);
        let touches = self.blobs.table[blob as usize].touches;
        Work { touches, ..self.costs[cost as usize].work }
    }

    /// The touches of a strand, in order. Constant time; a decoder is about 1.5 KiB.
    pub fn touches(&self, strand: StrandId) -> Touches<'_> {
        self.touches_of_blob(self.strands.get(strand).blob)
    }

    /// The touches of the strands that share a blob.
    pub(crate) fn touches_of_blob(&self, blob: u32) -> Touches<'_> {
        let (blob, touches) = self.blobs.get(blob);
        Touches::new(blob, touches, &self.spans)
    }

    /// Whether it was recorded with the spots of touches.
    pub fn has_spots(&self) -> bool {
        !self.blobs.spots.is_empty()
    }

    /// The lines of the program's own source that touches are made at, by
    /// [`SpotId`](crate::SpotId); the first is unknown.
    pub fn spots(&self) -> &[Option<Source>] {
        &self.seen.spots
    }

    /// The spots of a strand's touches, in order. Constant time.
    pub fn touch_spots(&self, strand: StrandId) -> Spots<'_> {
        Spots::new(self.blobs.spots_of(self.strands.get(strand).blob))
    }

    /// The large blocks of memory that the program took, by their lines, ascending. Empty in a
    /// program that was recorded without spots.
    pub fn blocks(&self) -> &[Block] {
        &self.seen.blocks
    }

    /// The class of a strand. Constant time.
    pub fn class(&self, strand: StrandId) -> ClassId {
        ClassId(self.costs[self.strands.get(strand).cost as usize].class)
    }

    /// All classes, by [`ClassId`].
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The name of a place: the type of a task's closure. Empty for the root task, and in a
    /// program that was recorded without places.
    pub fn place(&self, place: PlaceId) -> &str {
        self.places.get(place.0 as usize).map_or("", |name| name)
    }

    /// How long the operations of each class take; none in an uncalibrated recording.
    pub fn work_run(&self) -> Option<&WorkRun> {
        self.work_run.as_ref()
    }

    /// The program with what serial runs have shown of its work. The host's name and its figures
    /// are cut to what a file can hold, a figure that is no number to 0; a class with a figure that
    /// is negative or not finite counts as not measured.
    ///
    /// # Panics
    /// When `work` does not have an entry for each class.
    #[must_use]
    pub fn with_work(self, mut work: WorkRun) -> Self {
        assert_eq!(work.classes.len(), self.classes.len(), "an entry for each class");
        work.cut();
        Self { work_run: Some(work), ..self }
    }

    /// Touches of all strands. Time for the number of strands.
    pub fn total_touches(&self) -> u64 {
        let touches = |strand| {
            let Strand { blob, .. } = self.strands.get(StrandId(strand));
            self.blobs.table[blob as usize].touches
        };
        (0..self.strands()).map(touches).fold(0, u64::saturating_add)
    }

    /// Number of dense lines of shared data: whole pages, of which at least one line is touched
    /// each.
    pub fn lines(&self) -> u32 {
        self.spans.lines
    }

    /// The dense lines on which the program makes atomic read-modify-writes, ascending. All
    /// accesses to them are touches.
    pub fn atomics(&self) -> &[u32] {
        &self.atomics
    }

    /// The deepest stack line touched, plus one; 0 when the stack is not touched.
    pub fn stack_lines(&self) -> u32 {
        self.stack_lines
    }
}
