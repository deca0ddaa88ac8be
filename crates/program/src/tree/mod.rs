//! stub
use crate::{ScopeId, StrandId, TaskId};
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
    /// The task that runs ends; its parent goes on.
    End(TaskId),
    /// The task that runs waits for a scope.
    Sync(ScopeId),
    /// The task that runs executes a strand.
    Strand(StrandId),
}
/// stub
#[derive(Debug)]
pub struct Serial<'a>(std::marker::PhantomData<&'a ()>);
impl Iterator for Serial<'_> {
    type Item = Step;
    fn next(&mut self) -> Option<Step> {
        todo!()
    }
}
