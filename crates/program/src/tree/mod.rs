//! The task tree: the operations of each task, in order.
//!
//! [`TreeBuilder`] takes the steps of the serial execution, whether they come from a recorder or
//! from a file, and refuses those that make no tree. [`Serial`] gives the same steps back.

mod build;
#[cfg(test)]
mod tests;

pub(crate) use build::TreeBuilder;
pub use build::TreeError;

use crate::{Op, ScopeId, StrandId, TaskId};

/// All tasks with their operations. 16 bytes a task and 12 an operation.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The parent of each task; the root's is itself.
    pub(crate) parents: Vec<TaskId>,
    /// The range of each task's operations in `ops`.
    ranges: Vec<(u32, u32)>,
    /// What is known of each task where it is forked, as an index into the program's table.
    pub(crate) origins: Vec<u32>,
    ops: Vec<Op>,
    pub(crate) scopes: u32,
    pub(crate) strands: u32,
}

impl Tree {
    pub(crate) fn ops(&self, task: TaskId) -> &[Op] {
        let (first, end) = self.ranges[task.0 as usize];
        &self.ops[first as usize..end as usize]
    }

    /// The serial execution, step by step.
    pub(crate) fn serial(&self) -> Serial<'_> {
        Serial { tree: self, open: vec![(TaskId(0), self.ops(TaskId(0)).iter())] }
    }
}

/// A step of the serial execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The task that runs forks `child`, and the child begins.
    Fork {
        /// The child.
        child: TaskId,
        /// The scope that it is forked into.
        scope: ScopeId,
    },
    /// The task that runs, this one, ends; its parent goes on.
    End(TaskId),
    /// The task that runs waits for a scope.
    Sync(ScopeId),
    /// The task that runs executes a strand.
    Strand(StrandId),
}

/// The steps of the serial execution, the root's end the last. Memory is proportional to the depth.
pub(crate) struct Serial<'a> {
    tree: &'a Tree,
    /// The open tasks, with the operations that they have left.
    open: Vec<(TaskId, std::slice::Iter<'a, Op>)>,
}

impl Iterator for Serial<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (task, ops) = self.open.last_mut()?;
        Some(match ops.next() {
            Some(&Op::Strand(strand)) => Step::Strand(strand),
            Some(&Op::Sync(scope)) => Step::Sync(scope),
            Some(&Op::Fork { child, scope }) => {
                self.open.push((child, self.tree.ops(child).iter()));
                Step::Fork { child, scope }
            }
            None => {
                let ended = *task;
                self.open.pop();
                Step::End(ended)
            }
        })
    }
}
