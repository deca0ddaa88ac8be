//! The serial execution of a tree: depth first, each child where it is forked.

use super::Tree;
use crate::{Op, ScopeId, StrandId, TaskId};

/// A step of the serial execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The task that runs forks `child`, and the child begins.
    Fork {
        /// The child.
        child: TaskId,
        /// Whose sync waits for it.
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
#[derive(Clone, Debug)]
pub struct Serial<'a> {
    tree: &'a Tree,
    /// The open tasks, with the operations that they have left.
    open: Vec<(TaskId, std::slice::Iter<'a, Op>)>,
}

impl<'a> Serial<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Self {
        Self { tree, open: vec![(TaskId(0), tree.ops(TaskId(0)).iter())] }
    }
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
