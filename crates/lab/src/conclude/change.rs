//! The program as it would be with something changed, for simulations that try it.
//!
//! Where touches or tasks change, the program is built anew from the steps of the recorded one. Its
//! strands' work is theirs. All else that misses cost stays as it is, or what is tried would gain
//! by that: loads that wait for the line before still do, and lines of atomics still are.

use std::collections::HashSet;

use befit_program::{
    BuildError, ClassWork, Declared, Footprint, Op, Program, ProgramBuilder, RawTouch, ScopeId,
    SizesFrom, StrandId, TaskId, WorkRun,
};

use super::writers::LineSize;

/// Forks below one another in a program that can be built anew.
const DEEPEST: u32 = 4096;

/// What to change.
#[derive(Debug)]
pub(super) enum Rewrite<'a> {
    /// Each worker has its own copy of these lines.
    Private(Private<'a>),
    /// Tasks of fewer operations are no tasks of their own: their parents run them, or several
    /// siblings are one task of about so many operations.
    Coarser(u64),
}

/// Lines of a machine's of which each worker has its own copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Private<'a> {
    /// Each is named by the first recorded line in it.
    pub(super) lines: &'a HashSet<u32>,
    pub(super) size: LineSize,
}

impl Private<'_> {
    fn has(&self, line: u32) -> bool {
        self.lines.contains(&self.size.first(line))
    }
}

/// `program`, of which each task that declares a size declares what it touches.
pub(super) fn with_measured_sizes(program: &Program, footprints: &[Footprint]) -> Program {
    let line = program.meta().line_size;
    let measured = |program: &Program, task: TaskId| {
        let (declared, found) = (program.declared(task), footprints[task.0 as usize].sizes(line));
        Declared { size: declared.size.and(found.size), strand: declared.strand.and(found.strand) }
    };
    // The root, too: without a size it would be placed otherwise than with a right one.
    let root = measured(program, TaskId(0));
    program.clone().with_sizes(SizesFrom::Measured, measured).with_root(root)
}

/// `program`, changed; `None` if it nests too deeply or has too many of something.
pub(super) fn rewritten(program: &Program, rewrite: &Rewrite) -> Option<Program> {
    let (work, depth) = subtrees(program);
    if depth > DEEPEST {
        return None;
    }
    let mut rewriter = Rewriter {
        program,
        rewrite,
        work,
        builder: ProgramBuilder::new(program.meta().clone()),
        strand: Picoseconds::default(),
        strands: Vec::new(),
    };
    rewriter.builder.declare_root(program.declared(TaskId(0)));
    rewriter.task(TaskId(0), ScopeId(0)).ok()?;
    rewriter.finish().ok()
}

/// Per task, the operations of it and all that it forks; and how deep forks nest.
fn subtrees(program: &Program) -> (Vec<u64>, u32) {
    let tasks = program.tasks();
    let mut work = vec![0; tasks as usize];
    let (mut depths, mut deepest) = (vec![0u32; tasks as usize], 0);
    for task in (0..tasks).map(TaskId) {
        if let Some(parent) = program.parent(task) {
            depths[task.0 as usize] = depths[parent.0 as usize] + 1;
            deepest = deepest.max(depths[task.0 as usize]);
        }
    }
    for task in (0..tasks).rev().map(TaskId) {
        for op in program.ops(task) {
            if let Op::Strand(strand) = op {
                work[task.0 as usize] += program.work(strand).operations();
            }
        }
        if let Some(parent) = program.parent(task) {
            work[parent.0 as usize] += work[task.0 as usize];
        }
    }
    (work, deepest)
}

/// The work of a strand: operations, and what they take.
#[derive(Clone, Copy, Debug, Default)]
struct Picoseconds {
    operations: u64,
    sum: f64,
    touched: bool,
}

struct Rewriter<'a> {
    program: &'a Program,
    rewrite: &'a Rewrite<'a>,
    work: Vec<u64>,
    builder: ProgramBuilder,
    /// Of the strand under way.
    strand: Picoseconds,
    /// Of those that have ended.
    strands: Vec<Picoseconds>,
}

/// Siblings that are to be one task.
#[derive(Debug)]
struct Batch {
    tasks: Vec<TaskId>,
    work: u64,
    /// Theirs.
    scope: ScopeId,
    /// Whether another fork came before, since the last sync.
    after_forks: bool,
}

impl Rewriter<'_> {
    /// The body of `task`, which is open and of scope `own`.
    fn task(&mut self, task: TaskId, own: ScopeId) -> Result<(), BuildError> {
        let mut batch = Batch { tasks: Vec::new(), work: 0, scope: ScopeId(0), after_forks: false };
        for op in self.program.ops(task) {
            match op {
                Op::Strand(strand) => self.strand(strand),
                Op::Sync(scope) => {
                    let waits = batch.scope == scope;
                    self.flush(&mut batch, waits)?;
                    batch.after_forks = false;
                    self.ends();
                    self.builder.sync(scope)?;
                }
                Op::Fork { child, scope } => match self.rewrite {
                    Rewrite::Coarser(least) if self.work[child.0 as usize] < *least => {
                        if batch.scope != scope {
                            self.flush(&mut batch, false)?;
                        }
                        batch.scope = scope;
                        batch.work += self.work[child.0 as usize];
                        batch.tasks.push(child);
                        if batch.work >= *least {
                            self.flush(&mut batch, false)?;
                        }
                    }
                    _ => {
                        batch.after_forks = true;
                        self.fork(child, scope)?;
                        self.task(child, scope)?;
                        self.end()?;
                    }
                },
            }
        }
        let waits = batch.scope == own;
        self.flush(&mut batch, waits)
    }

    /// What waits in the batch becomes a task; or part of the task that is open, where that has
    /// forked nothing else, and `waits` for it now or is itself waited for with it.
    fn flush(&mut self, batch: &mut Batch, waits: bool) -> Result<(), BuildError> {
        let tasks = std::mem::take(&mut batch.tasks);
        batch.work = 0;
        let (Some(first), as_task) = (tasks.first(), batch.after_forks || !waits) else {
            return Ok(());
        };
        if as_task {
            batch.after_forks = true;
            self.fork(*first, batch.scope)?;
        }
        for task in &tasks {
            self.serially(*task);
        }
        if as_task { self.end() } else { Ok(()) }
    }

    fn fork(&mut self, task: TaskId, scope: ScopeId) -> Result<(), BuildError> {
        self.ends();
        let site = self.program.sites()[self.program.site(task).0 as usize];
        let place = self.builder.place(self.program.place(site.place))?;
        self.builder.fork_at(scope, self.program.declared(task), place)?;
        Ok(())
    }

    fn end(&mut self) -> Result<(), BuildError> {
        self.ends();
        self.builder.end()
    }

    /// All strands of `task` and of what it forks, in serial order.
    fn serially(&mut self, task: TaskId) {
        for op in self.program.ops(task) {
            match op {
                Op::Strand(strand) => self.strand(strand),
                Op::Fork { child, .. } => self.serially(child),
                Op::Sync(_) => {}
            }
        }
    }

    fn strand(&mut self, strand: StrandId) {
        let work = self.program.work(strand);
        self.program.touches(strand).for_each(|touch| {
            let own = !touch.stack && self.is_private(touch.line);
            // Stack lines beyond those of the recording: one for each line's hash.
            let line = if own {
                u64::from(self.program.stack_lines()) + u64::from(touch.line % 256)
            } else {
                u64::from(touch.line)
            };
            let raw = match touch.dependent && !own {
                true => RawTouch::dependent_on_last(line),
                false => RawTouch::new(line, touch.write, touch.stack || own),
            };
            self.builder.touches(&[raw]);
        });
        self.builder.work(work.loads, work.stores, work.blocks);
        let class = self.program.class(strand).0 as usize;
        let run = self.program.work_run();
        let measured = run.and_then(|run| run.classes.get(class).copied().flatten());
        let each = measured.map_or(0.0, |class| class.ps_per_operation);
        self.strand.operations += work.operations();
        self.strand.sum += each * work.operations() as f64;
        self.strand.touched |= work.touches > 0;
    }

    fn is_private(&self, line: u32) -> bool {
        matches!(self.rewrite, Rewrite::Private(private) if private.has(line))
    }

    /// The strand under way ends, if there is any.
    fn ends(&mut self) {
        if self.strand.operations > 0 || self.strand.touched {
            self.strands.push(std::mem::take(&mut self.strand));
        }
    }

    fn finish(mut self) -> Result<Program, BuildError> {
        self.ends();
        for line in self.program.atomics() {
            if !self.is_private(*line) {
                self.builder.atomic(u64::from(*line));
            }
        }
        let program = self.builder.finish()?;
        let Some(run) = self.program.work_run() else { return Ok(program) };
        let mut sums = vec![Picoseconds::default(); program.classes().len()];
        for (strand, work) in self.strands.iter().enumerate() {
            let sum = &mut sums[program.class(StrandId(strand as u32)).0 as usize];
            sum.operations += work.operations;
            sum.sum += work.sum;
        }
        let class = |sum: &Picoseconds| {
            let ps_per_operation = sum.sum / sum.operations as f64;
            (sum.sum > 0.0).then_some(ClassWork { ps_per_operation, strands: 1, spread: 0.0 })
        };
        let classes = sums.iter().map(class).collect();
        Ok(program.with_work(WorkRun { classes, ..run.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use befit_machine::Bytes;
    use befit_program::{Meta, Touch};
    use befit_sched::{Options, SchedulerKind};

    use super::*;
    use crate::{Sampling, Seeds, Silent, SimulationPlan, testing};

    const RECORDED: LineSize = LineSize { bytes: Bytes(64), longer: 0 };

    #[test]
    fn coarser_tasks_do_the_same_in_fewer_tasks() {
        let program = testing::program();
        // Each of the sixteen tasks has 640 operations.
        for (least, tasks) in [(1, 17), (641, 9), (1281, 7), (100_000, 1)] {
            let coarser = rewritten(&program, &Rewrite::Coarser(least)).unwrap();
            assert_eq!(coarser.tasks(), tasks, "{least}");
            assert_eq!(coarser.stats().work, program.stats().work);
            assert_eq!(coarser.total_touches(), program.total_touches());
        }
    }

    #[test]
    fn regression_longer_tasks_stay_in_the_scope_of_those_that_they_are_made_of() {
        let meta = Meta { name: "spawns".to_owned(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let declared = Declared { size: None, strand: None };
        // One spawns, into the scope that it is of, one that is long and one that is not; after
        // them comes a short one of another scope.
        builder.fork(ScopeId(1), declared).unwrap();
        for (scope, operations) in [(1, 1000), (1, 10), (2, 10)] {
            builder.fork(ScopeId(scope), declared).unwrap();
            builder.work(operations, 0, 0);
            builder.end().unwrap();
        }
        builder.sync(ScopeId(2)).unwrap();
        builder.end().unwrap();
        builder.sync(ScopeId(1)).unwrap();
        let program = builder.finish().unwrap();
        let scopes = |program: &Program| {
            let tasks = (0..program.tasks()).map(TaskId);
            let ops = tasks.flat_map(|task| program.ops(task).collect::<Vec<_>>());
            ops.filter_map(|op| match op {
                Op::Fork { scope, .. } => Some(scope.0),
                _ => None,
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(scopes(&program), [1, 1, 1, 2]);
        let coarser = rewritten(&program, &Rewrite::Coarser(100)).unwrap();
        assert_eq!(scopes(&coarser), [1, 1, 1, 2]);
    }

    #[test]
    fn sizes_are_what_is_touched_and_private_lines_are_on_the_stack() {
        let program = testing::program();
        let measured = with_measured_sizes(&program, &program.footprints(&|_| {}));
        assert_eq!(measured.declared(TaskId(1)).size, Some(Bytes(256 * 64)));
        assert_eq!(measured.declared(TaskId(0)).size, Some(Bytes(8 * 256 * 64)));
        assert!(measured.has_touches_of(&program));
        let lines = HashSet::from([0, 5]);
        let private = Private { lines: &lines, size: RECORDED };
        let private = rewritten(&program, &Rewrite::Private(private)).unwrap();
        let on_stack = |program: &Program| count(program, |touch| touch.stack);
        assert_eq!((on_stack(&program), on_stack(&private)), (0, 4));
    }

    fn count(program: &Program, is: impl Fn(&Touch) -> bool) -> usize {
        let strands = (0..program.strands()).map(StrandId);
        strands.flat_map(|s| program.touches(s)).filter(is).count()
    }

    #[test]
    fn of_a_longer_line_of_the_machine_s_all_recorded_lines_are_private() {
        let program = testing::program();
        let lines = HashSet::from([4, 96]);
        for (longer, tasks_lines) in [(0, 2), (1, 4), (2, 8)] {
            let size = LineSize { bytes: Bytes(64 << longer), longer };
            let private = Private { lines: &lines, size };
            let private = rewritten(&program, &Rewrite::Private(private)).unwrap();
            // Each line is touched in two phases.
            assert_eq!(count(&private, |touch| touch.stack), 2 * tasks_lines, "{longer}");
        }
    }

    /// Tasks that each walk lines of their own, each load from where the last one led, between
    /// atomic operations on two lines that all of them share.
    fn walks() -> Program {
        let meta = Meta { name: "walks".to_owned(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        [0, 64].into_iter().for_each(|line| builder.atomic(line));
        for task in 0..32u64 {
            builder.fork(ScopeId(1), Declared::default()).unwrap();
            for at in 0..100u64 {
                builder.touch(64 * (at % 2), true, false);
                builder.touch(128 + task * 128 + at * 37 % 128, false, false);
                builder.touches(&[RawTouch::dependent_on_last(128 + task * 128 + at * 59 % 128)]);
                builder.work(3, 1, 1);
            }
            builder.end().unwrap();
        }
        builder.sync(ScopeId(1)).unwrap();
        builder.finish().unwrap()
    }

    #[test]
    fn loads_that_wait_and_lines_of_atomics_stay_in_a_changed_program() {
        let program = walks();
        let dependent = |program: &Program| count(program, |touch| touch.dependent);
        assert_eq!((dependent(&program), program.atomics()), (3200, &[0, 64][..]));
        for least in [1, 1000, 100_000] {
            let coarser = rewritten(&program, &Rewrite::Coarser(least)).unwrap();
            assert_eq!(dependent(&coarser), 3200, "{least}");
            assert_eq!(coarser.atomics(), program.atomics());
        }
        let lines = HashSet::from([64]);
        let private = Private { lines: &lines, size: RECORDED };
        let private = rewritten(&program, &Rewrite::Private(private)).unwrap();
        assert_eq!((dependent(&private), private.atomics()), (3200, &[0][..]));
    }

    #[test]
    fn a_program_in_which_nothing_changed_takes_as_long_as_the_recorded_one() {
        let program = walks();
        let same = rewritten(&program, &Rewrite::Coarser(1)).unwrap();
        let plan = SimulationPlan {
            machines: vec![testing::machine(2)],
            schedulers: vec![SchedulerKind::Ws],
            seeds: Seeds::Fixed(NonZeroU32::MIN),
            options: Options::default(),
            shrink: 1,
            sampling: Sampling::Off,
        };
        let [one, other] = [&program, &same]
            .map(|program| plan.simulate(program, &Silent).unwrap().remove(0).time.median);
        assert_eq!(one, other);
    }
}
