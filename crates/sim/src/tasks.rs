//! How far each task of the program has come.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use befit_machine::WorkerId;
use befit_program::{Op, OpPlace, Program, ScopeId, StrandId, TaskId};
use befit_sched::TaskInfo;

use crate::jobs::Block;

/// No task: tasks have smaller numbers.
const NOBODY: u32 = u32::MAX;

/// Hashes the numbers of scopes, which follow one another.
#[derive(Debug, Default)]
pub(crate) struct ByNumber(u64);

type Spread = BuildHasherDefault<ByNumber>;

impl Hasher for ByNumber {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        // The table looks at the highest bits and the lowest; the factor is 2⁶⁴ / φ.
        let spread = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ spread >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// One task's progress, from its fork to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// What the policy knows of it.
    pub(crate) notes: TaskInfo,
    parent: Option<TaskId>,
    /// Its scope: what waits for it to end.
    scope: ScopeId,
    /// The next operation.
    next: OpPlace,
    /// Forks since its last sync.
    forked: u32,
    /// Its own body, if not at its end, and its children that have not ended.
    live: u32,
    /// The policy was given it to start.
    pub(crate) given: bool,
    /// Of a task that is no half of a fork: the worker that spawned it, and its block.
    pub(crate) spawned: Option<(WorkerId, Block)>,
    /// Of a half of a fork that was published: the worker that did, and how many pending forks
    /// enclose it.
    pub(crate) published: Option<(WorkerId, u32)>,
    /// The worker that ran its first strand.
    pub(crate) started_on: WorkerId,
}

/// What a task does after a strand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Runs this strand.
    Run(StrandId),
    /// Forked the children now in `Tasks::forks`, and goes on beside them.
    Forked,
    /// Forked these two halves, and waits for them and nothing else.
    Joins(TaskId, TaskId),
    /// Forked the children now in `Tasks::forks`, if any, and waits for children.
    Waits,
    /// Its body has come to its end.
    Ends,
}

/// All tasks of a running program.
#[derive(Debug)]
pub(crate) struct Tasks<'a> {
    program: &'a Program,
    /// Per task: its place in `live` from its fork to its end, then the worker that it started on.
    /// Few tasks live at a time, and programs have millions.
    places: Vec<u32>,
    live: Vec<Progress>,
    /// Places in `live` that are free.
    free: Vec<u32>,
    /// Per scope of which tasks have not come to their end: their number, and the task that waits
    /// for them, or [`NOBODY`]. Few are in use at a time.
    scopes: HashMap<u32, (u32, u32), Spread>,
    /// The children of the step taken last, in serial order.
    pub(crate) forks: Vec<TaskId>,
}

impl<'a> Tasks<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        let root = program.declared(TaskId(0));
        let notes = TaskInfo::root(root.size, root.strand);
        let root = Progress::new(notes, None, ScopeId(0), program.ops(TaskId(0)).place());
        Self {
            program,
            // The root task has the first place.
            places: vec![0; program.tasks() as usize],
            live: vec![root],
            free: Vec::new(),
            scopes: HashMap::default(),
            forks: Vec::new(),
        }
    }

    pub(crate) fn progress_mut(&mut self, task: TaskId) -> &mut Progress {
        &mut self.live[self.places[task.0 as usize] as usize]
    }

    fn progress(&self, task: TaskId) -> &Progress {
        &self.live[self.places[task.0 as usize] as usize]
    }

    pub(crate) fn notes(&self, task: TaskId) -> &TaskInfo {
        &self.progress(task).notes
    }

    /// The task has ended, and nobody asks for its progress any more.
    pub(crate) fn forget(&mut self, task: TaskId) {
        let place = &mut self.places[task.0 as usize];
        self.free.push(*place);
        *place = self.live[*place as usize].started_on.0;
    }

    /// Per task, the worker that it started on, once all have ended.
    pub(crate) fn started_on(self) -> Vec<u32> {
        self.places
    }

    /// Takes the task's next step: over syncs that have nothing to wait for, and over all forks up
    /// to a strand or sync.
    pub(crate) fn step(&mut self, task: TaskId) -> Step {
        self.forks.clear();
        let mut ops = self.program.ops_from(self.progress(task).next);
        loop {
            let before = ops.place();
            let op = ops.next();
            self.progress_mut(task).next = ops.place();
            match op {
                Some(Op::Fork { child, scope }) => self.fork(task, child, scope),
                Some(Op::Strand(strand)) if self.forks.is_empty() => return Step::Run(strand),
                Some(Op::Sync(scope)) => {
                    self.progress_mut(task).forked = 0;
                    let Some(state) = self.scopes.get_mut(&scope.0) else { continue };
                    let pending = state.0;
                    if pending > 0 {
                        state.1 = task.0;
                        return match self.forks[..] {
                            [a, b] if pending == 2 && self.are_of(scope, [a, b]) => {
                                self.are_halves(a, b);
                                Step::Joins(a, b)
                            }
                            _ => Step::Waits,
                        };
                    }
                }
                None if self.forks.is_empty() => return Step::Ends,
                Some(Op::Strand(_)) | None => {
                    self.progress_mut(task).next = before;
                    return Step::Forked;
                }
            }
        }
    }

    fn are_of(&self, scope: ScopeId, tasks: [TaskId; 2]) -> bool {
        tasks.iter().all(|task| self.progress(*task).scope == scope)
    }

    fn are_halves(&mut self, a: TaskId, b: TaskId) {
        for (half, other) in [(a, b), (b, a)] {
            let twin = self.notes(other).size;
            let notes = &mut self.progress_mut(half).notes;
            *notes = notes.beside(twin);
        }
    }

    fn fork(&mut self, parent: TaskId, child: TaskId, scope: ScopeId) {
        let declared = self.program.declared(child);
        let progress = self.progress_mut(parent);
        let notes = progress.notes.child(progress.forked, declared.size, declared.strand);
        progress.forked += 1;
        progress.live += 1;
        self.scopes.entry(scope.0).or_insert((0, NOBODY)).0 += 1;
        let next = self.program.ops(child).place();
        let new = Progress::new(notes, Some(parent), scope, next);
        self.places[child.0 as usize] = if let Some(place) = self.free.pop() {
            self.live[place as usize] = new;
            place
        } else {
            self.live.push(new);
            self.live.len() as u32 - 1
        };
        self.forks.push(child);
    }

    /// The task's body is at its end. Returns the task that waited for it as the last of its scope,
    /// if any.
    pub(crate) fn body_ended(&mut self, task: TaskId) -> Option<TaskId> {
        let Progress { scope, parent, .. } = *self.progress(task);
        parent?;
        let (pending, waiting) = self.scopes.get_mut(&scope.0)?;
        *pending -= 1;
        if *pending > 0 {
            return None;
        }
        let woken = *waiting;
        self.scopes.remove(&scope.0);
        (woken != NOBODY).then_some(TaskId(woken))
    }

    /// Whether nothing is left of the task's body.
    pub(crate) fn is_at_end(&self, task: TaskId) -> bool {
        self.program.ops_from(self.progress(task).next).len() == 0
    }

    /// One of the things that keep `task` alive is gone: its body, or a child. Returns whether it
    /// was the last, so that the task has ended; and then its parent, which has lost a child.
    pub(crate) fn let_go(&mut self, task: TaskId) -> (bool, Option<TaskId>) {
        let progress = self.progress_mut(task);
        progress.live -= 1;
        if progress.live == 0 { (true, progress.parent) } else { (false, None) }
    }
}

impl Progress {
    const fn new(notes: TaskInfo, parent: Option<TaskId>, scope: ScopeId, next: OpPlace) -> Self {
        let (given, spawned, published) = (false, None, None);
        Self {
            notes,
            parent,
            scope,
            next,
            forked: 0,
            live: 1,
            given,
            spawned,
            published,
            started_on: WorkerId(0),
        }
    }
}
