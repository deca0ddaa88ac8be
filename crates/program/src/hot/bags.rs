//! Which strands may run at a time, found in one serial pass (Raman et al., RV 2010, section 3).

use std::collections::HashMap;

use crate::{ScopeId, Step, TaskId};

/// Sets of tasks: of each task those that precede all that it does from now on, and of each scope
/// those that may run beside what is between their end and its wait.
pub(super) struct Bags {
    /// By task, another of its set or itself.
    parent: Vec<u32>,
    /// By task that stands for a set: whether the set is a scope's.
    parallel: Vec<bool>,
    /// By scope: a task of its set.
    scopes: HashMap<ScopeId, u32>,
    /// Tasks that have begun and not ended, and the scope that each was forked into.
    open: Vec<(TaskId, ScopeId)>,
}

impl Bags {
    pub(super) fn new(tasks: u32) -> Self {
        Self {
            parent: (0..tasks).collect(),
            parallel: vec![false; tasks as usize],
            scopes: HashMap::new(),
            open: vec![(TaskId(0), ScopeId(0))],
        }
    }

    /// The task that runs.
    pub(super) fn running(&self) -> TaskId {
        self.open.last().map_or(TaskId(0), |(task, _)| *task)
    }

    fn find(&mut self, task: u32) -> u32 {
        let mut root = task;
        while self.parent[root as usize] != root {
            // Halves the path.
            let above = self.parent[self.parent[root as usize] as usize];
            self.parent[root as usize] = above;
            root = above;
        }
        root
    }

    /// The set of `task` goes into that of `other`, or becomes the scope's or task's own.
    fn merge(&mut self, task: u32, other: Option<u32>, parallel: bool) -> u32 {
        let root = self.find(task);
        let into = other.map_or(root, |other| self.find(other));
        self.parent[root as usize] = into;
        self.parallel[into as usize] = parallel;
        into
    }

    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Fork { child, scope } => self.open.push((child, scope)),
            Step::End(_) => {
                let Some((task, scope)) = self.open.pop() else { return };
                let known = self.scopes.get(&scope).copied();
                let set = self.merge(task.0, known, true);
                self.scopes.insert(scope, set);
            }
            Step::Sync(scope) => {
                if let Some(set) = self.scopes.remove(&scope) {
                    let running = self.running().0;
                    self.merge(set, Some(running), false);
                }
            }
            Step::Strand(_) => {}
        }
    }

    /// Whether what `task` has done may run beside what is done now.
    pub(super) fn is_parallel(&mut self, task: TaskId) -> bool {
        let root = self.find(task.0);
        self.parallel[root as usize]
    }
}
