//! The words in which a program is told: tasks, operations, touches.

use std::ops::Add;

use befit_machine::Bytes;

/// Names a task: its place in serial (depth-first) order. The root task is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

/// Names a strand: its place in serial (depth-first) order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StrandId(pub u32);

/// Names a scope, which an [`Op::Sync`] waits for. Scope 0 is the whole program's; detached tasks
/// belong to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ScopeId(pub u32);

/// An operation of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Runs a strand.
    Strand(StrandId),
    /// Forks a child, which counts against `scope` until it ends. `join(a, b)` is two of these,
    /// then a `Sync`, with no strand between.
    Fork {
        /// The child.
        child: TaskId,
        /// The scope whose `Sync` waits for it.
        scope: ScopeId,
    },
    /// Goes on when every task forked in the scope so far has ended.
    Sync(ScopeId),
}

/// The sizes that a task declares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Declared {
    /// Task size S: distinct bytes that it touches, descendants included.
    pub size: Option<Bytes>,
    /// The same for its largest strand.
    pub strand: Option<Bytes>,
}

/// The cost of a strand, counted while it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
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

impl Work {
    /// Loads, stores and basic blocks: what work is timed by. The largest number where there are
    /// more.
    pub const fn operations(self) -> u64 {
        self.loads.saturating_add(self.stores).saturating_add(self.blocks)
    }
}

impl Add for Work {
    type Output = Self;

    /// The sum, or the largest number where that is larger.
    fn add(self, other: Self) -> Self {
        Self {
            loads: self.loads.saturating_add(other.loads),
            stores: self.stores.saturating_add(other.stores),
            blocks: self.blocks.saturating_add(other.blocks),
            touches: self.touches.saturating_add(other.touches),
        }
    }
}

/// One line touch, with its line renumbered into the dense space `0..Program::lines()` (shared
/// data) or, above that, the stack of the worker that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touch {
    /// Dense line number; for a stack line, lines below the stack's top.
    pub line: u32,
    /// A store.
    pub write: bool,
    /// On the stack of the worker that runs the strand, private to it.
    pub stack: bool,
    /// The neighbour (next or previous) of a line touched shortly before: a prefetcher would have
    /// seen it coming.
    pub streaming: bool,
    /// A load whose address came out of the line that was touched before: it cannot begin before
    /// that line is there.
    pub dependent: bool,
}

/// One touch as the recorder sees it, packed into a word: the line's number times 4, plus 2 for a
/// stack line, plus 1 for a store; bit 60 for a dependent load.
///
/// The number is absolute (an address divided by 64) or, for the stack, how many lines below the
/// stack's top it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct RawTouch(pub u64);

impl RawTouch {
    /// A touch of `line`, which must be below 2^58.
    #[inline]
    pub const fn new(line: u64, write: bool, stack: bool) -> Self {
        Self(line << 2 | (stack as u64) << 1 | write as u64)
    }

    /// A load from `line` whose address came out of the line that was touched before.
    #[inline]
    pub const fn dependent_on_last(line: u64) -> Self {
        Self(line << 2 | Self::DEPENDENT)
    }

    const DEPENDENT: u64 = 1 << 60;

    /// The line's number.
    #[inline]
    pub const fn line(self) -> u64 {
        (self.0 & !Self::DEPENDENT) >> 2
    }

    /// True for a load whose address came out of the line that was touched before.
    #[inline]
    pub const fn dependent(self) -> bool {
        self.0 & Self::DEPENDENT != 0
    }

    /// True for a store.
    #[inline]
    pub const fn write(self) -> bool {
        self.0 & 1 != 0
    }

    /// True if the line is on the stack.
    #[inline]
    pub const fn stack(self) -> bool {
        self.0 & 2 != 0
    }
}

/// The properties of a recording as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    /// The command that was recorded, for people: `rrm --n 10000000`. At most [`Meta::NAME_LIMIT`]
    /// bytes.
    pub name: String,
    /// Size of the lines that touches are counted in: 64 B.
    pub line_size: Bytes,
    /// The recorder remembered so many of the lines touched last; an access to one of them is no
    /// touch.
    pub filter: u32,
}

impl Meta {
    /// Most bytes of a name.
    pub const NAME_LIMIT: usize = 4096;
    /// The longest lines that a file may have. All lines of a program, fewer than 2^32, are then
    /// far fewer bytes than a number has room for.
    pub const MOST_LINE_SIZE: Bytes = Bytes(1 << 15);
}
