//! How far each task of the program has come.

use befit_machine::WorkerId;
use befit_program::{Op, Program, ScopeId, StrandId, TaskId};
use befit_sched::TaskInfo;

/// One task's progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// What the policy knows of it.
    pub(crate) notes: TaskInfo,
    parent: Option<TaskId>,
    /// Its scope: what waits for it to end.
    scope: ScopeId,
    /// The next operation.
    next: u32,
    /// Forks since its last sync.
    forked: u32,
    /// Its own body, if not at its end, and its children that have not ended.
    live: u32,
    /// The policy was given it to start.
    pub(crate) given: bool,
    /// It was spawned: it is no half of a fork.
    pub(crate) spawned: bool,
    /// Of a half of a fork that was published: the worker that did, and how many pending forks
    /// enclose it.
    pub(crate) published: Option<(WorkerId, u32)>,
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
    tasks: Vec<Progress>,
    /// Per scope: tasks that have not come to their end, and the task that waits for them.
    scopes: Vec<(u32, Option<TaskId>)>,
    /// The children of the step taken last, in serial order.
    pub(crate) forks: Vec<TaskId>,
}

impl<'a> Tasks<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        let root = program.declared(TaskId(0));
        let root = Progress::new(TaskInfo::root(root.size, root.strand), None, ScopeId(0));
        Self {
            program,
            // Slots for all tasks; each is written when its task is forked.
            tasks: vec![root; program.tasks() as usize],
            scopes: vec![(0, None); program.scopes() as usize],
            forks: Vec::new(),
        }
    }

    pub(crate) fn progress_mut(&mut self, task: TaskId) -> &mut Progress {
        &mut self.tasks[task.0 as usize]
    }

    pub(crate) fn notes(&self, task: TaskId) -> &TaskInfo {
        &self.tasks[task.0 as usize].notes
    }

    /// Takes the task's next step: over syncs that have nothing to wait for, and over all forks up
    /// to a strand or sync.
    pub(crate) fn step(&mut self, task: TaskId) -> Step {
        self.forks.clear();
        let ops = self.program.ops(task);
        loop {
            let next = self.tasks[task.0 as usize].next;
            match ops.get(next as usize) {
                Some(Op::Fork { child, scope }) => {
                    self.fork(task, *child, *scope);
                    self.tasks[task.0 as usize].next += 1;
                }
                Some(Op::Strand(strand)) if self.forks.is_empty() => {
                    self.tasks[task.0 as usize].next += 1;
                    return Step::Run(*strand);
                }
                Some(Op::Sync(scope)) => {
                    let progress = &mut self.tasks[task.0 as usize];
                    progress.next += 1;
                    progress.forked = 0;
                    let (pending, waiting) = &mut self.scopes[scope.0 as usize];
                    if *pending > 0 {
                        *waiting = Some(task);
                        return match self.forks[..] {
                            [a, b] if *pending == 2 && self.are_of(*scope, [a, b]) => {
                                self.are_halves(a, b);
                                Step::Joins(a, b)
                            }
                            _ => Step::Waits,
                        };
                    }
                }
                None if self.forks.is_empty() => return Step::Ends,
                Some(Op::Strand(_)) | None => return Step::Forked,
            }
        }
    }

    fn are_of(&self, scope: ScopeId, tasks: [TaskId; 2]) -> bool {
        tasks.iter().all(|task| self.tasks[task.0 as usize].scope == scope)
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
        let progress = &mut self.tasks[parent.0 as usize];
        let notes = progress.notes.child(progress.forked, declared.size, declared.strand);
        progress.forked += 1;
        progress.live += 1;
        self.scopes[scope.0 as usize].0 += 1;
        self.tasks[child.0 as usize] = Progress::new(notes, Some(parent), scope);
        self.forks.push(child);
    }

    /// The task's body is at its end. Returns the task that waited for it as the last of its scope,
    /// if any.
    pub(crate) fn body_ended(&mut self, task: TaskId) -> Option<TaskId> {
        let Progress { scope, parent, .. } = self.tasks[task.0 as usize];
        parent?;
        let (pending, waiting) = &mut self.scopes[scope.0 as usize];
        *pending -= 1;
        if *pending == 0 { waiting.take() } else { None }
    }

    /// Whether nothing is left of the task's body.
    pub(crate) fn is_at_end(&self, task: TaskId) -> bool {
        self.program.ops(task).len() == self.tasks[task.0 as usize].next as usize
    }

    /// One of the things that keep `task` alive is gone: its body, or a child. Returns whether it
    /// was the last, so that the task has ended; and then its parent, which has lost a child.
    pub(crate) fn let_go(&mut self, task: TaskId) -> (bool, Option<TaskId>) {
        let progress = &mut self.tasks[task.0 as usize];
        progress.live -= 1;
        if progress.live == 0 { (true, progress.parent) } else { (false, None) }
    }
}

impl Progress {
    const fn new(notes: TaskInfo, parent: Option<TaskId>, scope: ScopeId) -> Self {
        let (given, spawned, published) = (false, false, None);
        Self { notes, parent, scope, next: 0, forked: 0, live: 1, given, spawned, published }
    }
}
