//! The task tree.

use befit_machine::Bytes;

/// Names a task: its place in serial (depth-first) order. The root task is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

/// Names a strand: its place in serial (depth-first) order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StrandId(pub u32);

/// Names a scope: what a [`Op::Sync`] waits for. Scope 0 is the whole program's; detached tasks
/// belong to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ScopeId(pub u32);

/// What a task does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Runs a strand.
    Strand(StrandId),
    /// Forks a child, which counts against `scope` until it ends. `join(a, b)` is two of these,
    /// then a `Sync`, with no strand between.
    Fork {
        /// The child.
        child: TaskId,
        /// Whose `Sync` waits for it.
        scope: ScopeId,
    },
    /// Goes on when every task forked in the scope so far has ended.
    Sync(ScopeId),
}

/// What a task declares of itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Declared {
    /// Task size S: distinct bytes that it touches, descendants included.
    pub size: Option<Bytes>,
    /// The same for its largest strand.
    pub strand: Option<Bytes>,
}

/// What a strand cost to run, counted while it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Loads that it issued.
    pub loads: u64,
    /// Stores that it issued.
    pub stores: u64,
    /// Basic blocks that it entered.
    pub blocks: u64,
    /// Line touches: the accesses that the recorder did not find among the lines touched last.
    pub touches: u64,
}

/// One line touch, with its line renumbered into the dense space `0..Program::lines()` (shared
/// data) or, above that, the stack of the worker that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touch {
    /// Dense line number; for a stack line, lines below the stack's top.
    pub line: u32,
    /// A store.
    pub write: bool,
    /// On the stack of whoever runs the strand, private to it.
    pub stack: bool,
    /// The neighbour (next or previous) of a line touched shortly before: a prefetcher would have
    /// seen it coming.
    pub streaming: bool,
}
