//! The task tree: what each task does, in order.
//!
//! [`TreeBuilder`] takes the steps of the serial execution, whether they come from a recorder or
//! from a file, and refuses those that make no tree. [`Serial`] gives the same steps back.

mod build;
mod scopes;
mod serial;

pub(crate) use build::TreeBuilder;
pub use build::TreeError;
pub(crate) use scopes::ScopeNumbers;
pub use serial::{Serial, Step};

use crate::{Op, TaskId};

/// All tasks with their operations. 16 bytes a task and 12 an operation.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Who forked each task; the root itself.
    parents: Vec<TaskId>,
    /// Where each task's operations stand in `ops`.
    ranges: Vec<(u32, u32)>,
    /// What each task declares, as an index into the program's table.
    declared: Vec<u32>,
    ops: Vec<Op>,
    scopes: u32,
    strands: u32,
}

impl Tree {
    pub(crate) fn tasks(&self) -> u32 {
        self.parents.len() as u32
    }

    pub(crate) fn strands(&self) -> u32 {
        self.strands
    }

    pub(crate) fn scopes(&self) -> u32 {
        self.scopes
    }

    pub(crate) fn parent(&self, task: TaskId) -> TaskId {
        self.parents[task.0 as usize]
    }

    pub(crate) fn declared(&self, task: TaskId) -> u32 {
        self.declared[task.0 as usize]
    }

    pub(crate) fn ops(&self, task: TaskId) -> &[Op] {
        let (first, end) = self.ranges[task.0 as usize];
        &self.ops[first as usize..end as usize]
    }
}
