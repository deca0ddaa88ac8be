//! stub
use std::io::{Read, Write};
use std::path::Path;

use crate::{Declared, Meta, Op, ReadError, Serial, Stats, StrandId, TaskId, Touches, Work, WriteError};

/// stub
#[derive(Debug)]
pub struct Program {
    meta: Meta,
}

impl Program {
    /// What is known of the recording as a whole.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }
    /// Number of tasks, the root included.
    pub fn tasks(&self) -> u32 {
        todo!()
    }
    /// Number of strands.
    pub fn strands(&self) -> u32 {
        todo!()
    }
    /// Number of scopes, scope 0 included.
    pub fn scopes(&self) -> u32 {
        todo!()
    }
    /// What a task does, in order.
    pub fn ops(&self, task: TaskId) -> &[Op] {
        let _ = task;
        todo!()
    }
    /// What a task declares.
    pub fn declared(&self, task: TaskId) -> Declared {
        let _ = task;
        todo!()
    }
    /// Sets what the root task declares.
    pub fn set_root_declared(&mut self, declared: Declared) {
        let _ = declared;
        todo!()
    }
    /// The task that forked `task`; none for the root.
    pub fn parent(&self, task: TaskId) -> Option<TaskId> {
        let _ = task;
        todo!()
    }
    /// What a strand cost.
    pub fn work(&self, strand: StrandId) -> Work {
        let _ = strand;
        todo!()
    }
    /// What a strand touched, in order.
    pub fn touches(&self, strand: StrandId) -> Touches<'_> {
        let _ = strand;
        todo!()
    }
    /// Touches of all strands.
    pub fn total_touches(&self) -> u64 {
        todo!()
    }
    /// Number of dense lines of shared data.
    pub fn lines(&self) -> u32 {
        todo!()
    }
    /// Deepest stack line touched, plus one.
    pub fn stack_lines(&self) -> u32 {
        todo!()
    }
    /// The serial execution, step by step.
    pub fn serial(&self) -> Serial<'_> {
        todo!()
    }
    /// Work, span and the like; walks the tree once.
    pub fn stats(&self) -> Stats {
        todo!()
    }
    /// Writes the file format.
    pub fn write(&self, to: impl Write) -> Result<(), WriteError> {
        let _ = to;
        todo!()
    }
    /// Writes a file, which appears whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let _ = path;
        todo!()
    }
    /// Reads the file format, trusting nothing.
    pub fn read(from: impl Read) -> Result<Self, ReadError> {
        let _ = from;
        todo!()
    }
    /// Reads a file, trusting nothing.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let _ = path;
        todo!()
    }
}
