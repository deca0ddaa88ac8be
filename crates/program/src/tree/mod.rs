//! The task tree: the operations of each task, in order.
//!
//! [`TreeBuilder`] takes the steps of the serial execution, whether they come from a recorder or
//! from a file, and refuses those that make no tree. [`Serial`] gives the same steps back.

mod build;
#[cfg(test)]
mod tests;

pub(crate) use build::TreeBuilder;
pub use build::TreeError;

use std::fmt;

use crate::{Op, ScopeId, StrandId, TaskId, narrow::Narrow, varint};

/// All tasks with their operations, in some ten bytes a task and operation.
///
/// The operations of a task stand together in `bytes`, behind the distance to its parent's number
/// and how many they are. Numbers of children, strands and scopes stand as differences from those
/// before, since most follow one another ([`Ops`] reads them, `build` writes them).
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Where each task begins in `bytes`.
    begins: Vec<u32>,
    bytes: Vec<u8>,
    /// What is known of each task where it is forked, as an index into the program's table.
    pub(crate) origins: Narrow,
    pub(crate) scopes: u32,
    pub(crate) strands: u32,
}

/// Kinds of operations, in the two lowest bits of their first number.
const STRAND: u64 = 0;
const SYNC: u64 = 1;
const FORK: u64 = 2;
/// The bit of a sync's or fork's first number: the scope is the one named last.
const SAME_SCOPE: u64 = 4;

impl Tree {
    pub(crate) fn tasks(&self) -> u32 {
        self.begins.len() as u32
    }

    /// The root's parent is itself.
    pub(crate) fn parent(&self, task: TaskId) -> TaskId {
        let distance = varint::get(&self.bytes, &mut self.begins[task.0 as usize].clone());
        TaskId(task.0 - distance as u32)
    }

    pub(crate) fn ops(&self, task: TaskId) -> Ops<'_> {
        let mut at = self.begins[task.0 as usize];
        let _parent = varint::get(&self.bytes, &mut at);
        let left = varint::get(&self.bytes, &mut at) as u32;
        self.ops_from(OpPlace { at, left, child: task.0 + 1, strand: 0, scope: 0 })
    }

    pub(crate) fn ops_from(&self, place: OpPlace) -> Ops<'_> {
        Ops { bytes: &self.bytes, place }
    }

    /// The serial execution, step by step.
    pub(crate) fn serial(&self) -> Serial<'_> {
        Serial { tree: self, open: vec![(TaskId(0), self.ops(TaskId(0)))] }
    }
}

/// A place among the operations of a task ([`Ops::place`]), to go on from.
#[derive(Clone, Copy, Debug)]
pub struct OpPlace {
    at: u32,
    left: u32,
    /// The next child's number, if nothing lies between.
    child: u32,
    /// The next strand's, likewise.
    strand: u32,
    /// The scope named last.
    scope: u32,
}

/// The operations of a task, in order, from the first or a later one on.
#[derive(Clone)]
pub struct Ops<'a> {
    bytes: &'a [u8],
    place: OpPlace,
}

impl Ops<'_> {
    /// Where the next operation stands: [`Program::ops_from`](crate::Program::ops_from) goes on
    /// there.
    #[inline]
    pub fn place(&self) -> OpPlace {
        self.place
    }

    #[inline]
    fn scope(&mut self, word: u64) -> ScopeId {
        if word & SAME_SCOPE == 0 {
            self.place.scope = varint::get(self.bytes, &mut self.place.at) as u32;
        }
        ScopeId(self.place.scope)
    }
}

impl Iterator for Ops<'_> {
    type Item = Op;

    #[inline]
    fn next(&mut self) -> Option<Op> {
        self.place.left = self.place.left.checked_sub(1)?;
        let word = varint::get(self.bytes, &mut self.place.at);
        Some(match word & 3 {
            STRAND => {
                let strand = self.place.strand + (word >> 2) as u32;
                self.place.strand = strand + 1;
                Op::Strand(StrandId(strand))
            }
            SYNC => Op::Sync(self.scope(word)),
            _ => {
                let child = self.place.child + (word >> 3) as u32;
                self.place.child = child + 1;
                Op::Fork { child: TaskId(child), scope: self.scope(word) }
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.place.left as usize, Some(self.place.left as usize))
    }
}

impl ExactSizeIterator for Ops<'_> {}

impl fmt::Debug for Ops<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
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
    open: Vec<(TaskId, Ops<'a>)>,
}

impl Iterator for Serial<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (task, ops) = self.open.last_mut()?;
        Some(match ops.next() {
            Some(Op::Strand(strand)) => Step::Strand(strand),
            Some(Op::Sync(scope)) => Step::Sync(scope),
            Some(Op::Fork { child, scope }) => {
                self.open.push((child, self.tree.ops(child)));
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
