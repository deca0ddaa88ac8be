//! What a policy knows of a task, and what it may note on it.

use befit_machine::{Bytes, ClusterId};

/// What a policy knows of a task. The engine keeps it beside the task and shows it at every call;
/// the policy writes its decisions into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskInfo {
    /// Task size S: as declared, else its parent's (an undeclared task is taken to be as large as
    /// its parent).
    pub size: Bytes,
    /// Size of its largest strand: as declared, else its task size.
    pub strand: Bytes,
    /// Forks between the root task and it.
    pub depth: u32,
    /// Its number among its parent's children, counted from 0 and anew after each sync. Of a task
    /// without a parent: the place in the program that it comes from, where the engine knows it.
    pub index: u32,
    /// See [`Self::twin`]; [`Self::NO_TWIN`] of a task that has none. Not an `Option`, so that what
    /// is queued fills one cache line.
    twin: Bytes,
    /// The policy's: the cluster that it, or its nearest anchored ancestor, is bound to.
    pub anchor: ClusterId,
    /// The policy's: it is *maximal*, so the anchor is its own and holds its size until it ends.
    pub maximal: bool,
    /// The policy's: one word for whatever else it must remember.
    pub mark: u64,
}

impl TaskInfo {
    /// The size of a task of which neither it nor any task above it declares one.
    pub const UNKNOWN: Bytes = Bytes(u64::MAX);

    /// The twin of a task that is no half of a `join`: no size of a task.
    const NO_TWIN: Bytes = Bytes(u64::MAX - 1);

    /// The root task of a computation of size `size`, bound to nothing yet (that is, to the root).
    pub fn root(size: Option<Bytes>, strand: Option<Bytes>) -> Self {
        let size = size.unwrap_or(Self::UNKNOWN);
        let strand = strand.unwrap_or(size);
        Self {
            size,
            strand,
            depth: 0,
            index: 0,
            twin: Self::NO_TWIN,
            anchor: ClusterId::ROOT,
            maximal: false,
            mark: 0,
        }
    }

    /// The `index`-th child of this task, with what it declares of itself.
    pub fn child(&self, index: u32, size: Option<Bytes>, strand: Option<Bytes>) -> Self {
        let inherited = if size.is_some() { None } else { Some(self.strand) };
        let size = size.unwrap_or(self.size);
        let strand = strand.or(inherited).unwrap_or(size);
        Self {
            size,
            strand,
            depth: self.depth + 1,
            index,
            twin: Self::NO_TWIN,
            maximal: false,
            ..*self
        }
    }

    /// This task as one of the two halves of a `join`; the other is of size `twin`.
    #[must_use]
    pub fn beside(self, twin: Bytes) -> Self {
        Self { twin, ..self }
    }

    /// Of a half of a `join`: the other half's size. `None` of any other task: how many its parent
    /// forks is not known before the sync.
    pub fn twin(&self) -> Option<Bytes> {
        (self.twin != Self::NO_TWIN).then_some(self.twin)
    }
}

/// Where in its life a task is when it becomes ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It has not run yet.
    Start,
    /// What it waited for at a sync has ended, and its next strand is ready. It stays at its task's
    /// anchor.
    Continuation,
}

/// A strand that is ready to run: the engine's handle for it, and what the policy knows of its
/// task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready<T> {
    /// The engine's own handle.
    pub job: T,
    /// The task that the strand belongs to.
    pub task: TaskInfo,
    /// Whether the task starts here.
    pub stage: Stage,
}

impl<T> Ready<T> {
    /// The strand, as [`Scheduler::done`](crate::Scheduler::done) takes it back.
    pub fn strand(&self) -> Strand {
        Strand { task: self.task, stage: self.stage }
    }
}

/// What has just run on a worker, as given to [`Scheduler::done`](crate::Scheduler::done).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strand {
    /// The task that it belongs to.
    pub task: TaskInfo,
    /// Whether it was the task's first strand.
    pub stage: Stage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_queued_fills_one_cache_line() {
        assert_eq!(size_of::<Ready<&u8>>(), 64);
    }

    #[test]
    fn a_task_has_a_twin_if_it_is_half_of_a_join_even_of_unknown_size() {
        let task = TaskInfo::root(Some(Bytes(8)), None);
        assert_eq!(task.twin(), None);
        for size in [Bytes(0), Bytes(8), TaskInfo::UNKNOWN] {
            assert_eq!(task.beside(size).twin(), Some(size));
            assert_eq!(task.beside(size).child(0, None, None).twin(), None);
        }
    }
}
