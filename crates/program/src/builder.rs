//! stub
use crate::{Declared, Meta, Program, RawTouch, ScopeId, TaskId};

/// stub
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct BuildError;

/// stub
#[derive(Debug)]
pub struct ProgramBuilder;

impl ProgramBuilder {
    /// Starts in the root task.
    pub fn new(meta: Meta) -> Self {
        let _ = meta;
        todo!()
    }
    /// What the root task declares.
    pub fn declare_root(&mut self, declared: Declared) {
        let _ = declared;
        todo!()
    }
    /// Begins a child: what follows is its, until `end`.
    pub fn fork(&mut self, scope: ScopeId, declared: Declared) -> Result<TaskId, BuildError> {
        let _ = (scope, declared);
        todo!()
    }
    /// Ends the current task; its parent goes on.
    pub fn end(&mut self) -> Result<(), BuildError> {
        todo!()
    }
    /// The current task waits for all tasks forked in `scope` so far.
    pub fn sync(&mut self, scope: ScopeId) -> Result<(), BuildError> {
        let _ = scope;
        todo!()
    }
    /// The current strand touches a line.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool, stack: bool) {
        let _ = (line, write, stack);
        todo!()
    }
    /// As `touch` for each.
    pub fn touches(&mut self, touches: &[RawTouch]) {
        let _ = touches;
        todo!()
    }
    /// Adds to the current strand's cost.
    pub fn work(&mut self, loads: u64, stores: u64, blocks: u64) {
        let _ = (loads, stores, blocks);
        todo!()
    }
    /// The program.
    pub fn finish(self) -> Result<Program, BuildError> {
        todo!()
    }
}
