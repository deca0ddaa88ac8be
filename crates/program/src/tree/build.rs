//! From the steps of the serial execution to a tree.
//!
//! A sync waits for all tasks forked in its scope. Were one of them the waiting task itself or an
//! ancestor of it, it would wait for ever. So every task of a scope must descend from every task
//! that syncs the scope; a fork may still come from any descendant, however deep, as a spawn into
//! an outer scope does. Then each wait is for descendants only, and no schedule can deadlock.

use super::{FORK, SAME_SCOPE, STRAND, SYNC, Tree};
use crate::{Op, ScopeId, StrandId, TaskId, varint};

/// Why a step fits into no tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// An end without a fork.
    #[error("a task ends that was never forked")]
    EndOfRoot,
    /// Forks without ends.
    #[error("{0} tasks have not ended")]
    Open(usize),
    /// More than 2^32 - 2 of something.
    #[error("more {0} than can be numbered with 32 bits")]
    TooMany(&'static str),
    /// The operations of all tasks take more bytes than 32 bits can number.
    #[error("the task tree takes more than 4 GiB")]
    TooLarge,
    /// It would wait for itself or for a task that it does not descend from.
    #[error("task {0} waits for scope {1}, which holds task {2}, not a descendant of it")]
    Sync(u32, u32, u32),
    /// The scope is no longer the forking task's to use.
    #[error("task {0} forks into scope {1}, which a task that is no ancestor of it has waited for")]
    Fork(u32, u32),
    /// A scope that is neither known nor the next new one.
    #[error("scope {0} comes before scope {1}")]
    Scope(u32, u32),
}

const NONE: u32 = u32::MAX;
/// More than one line of descent has waited for the scope: no task may fork into it any more.
const CLOSED: u32 = u32::MAX - 1;

/// One scope while a tree is built.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// The first task forked in it.
    first: u32,
    /// The deepest task that waited for it.
    waiter: u32,
}

impl Scope {
    const NEW: Self = Self { first: NONE, waiter: NONE };

    /// Notes that `child` is forked in it, by the last of the `open` tasks. False when a task that
    /// is no ancestor of the child has waited for the scope.
    fn fork(&mut self, child: TaskId, open: &[Open]) -> bool {
        let allowed = self.waiter == NONE || self.waiter != CLOSED && is_open(open, self.waiter);
        if allowed {
            self.first = self.first.min(child.0);
        }
        allowed
    }

    /// Notes that `task` waits for it. Tasks are numbered in serial order, so those after `task` so
    /// far are its descendants. On failure, a task that is none.
    fn sync(&mut self, task: TaskId, open: &[Open]) -> Result<(), TaskId> {
        if self.first <= task.0 {
            return Err(TaskId(self.first));
        }
        self.waiter = match self.waiter {
            NONE => task.0,
            // All tasks of the scope descend from both, so one is an ancestor of the other.
            waiter if self.first != NONE => waiter.max(task.0),
            waiter if waiter != CLOSED && is_open(open, waiter) => task.0,
            _ => CLOSED,
        };
        Ok(())
    }
}

/// A task that has begun and not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    task: u32,
    /// The place in `pending` where its operations begin.
    first: usize,
}

/// Numbers stay below this, so that tables can use the last ones for "none".
const LIMIT: usize = u32::MAX as usize - 1;

/// Builds a [`Tree`] step by step. Constant time a step, but for scopes that are waited for before
/// they are forked into: logarithmic in the depth.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    tree: Tree,
    /// Operations of the open tasks, outermost first.
    pending: Vec<Op>,
    open: Vec<Open>,
    scopes: Vec<Scope>,
}

impl Default for TreeBuilder {
    /// In the root task.
    fn default() -> Self {
        Self {
            tree: Tree {
                begins: vec![0],
                // The root is not forked.
                origins: [0].into_iter().collect(),
                ..Tree::default()
            },
            pending: Vec::new(),
            open: vec![Open { task: 0, first: 0 }],
            scopes: vec![Scope::NEW],
        }
    }
}

impl TreeBuilder {
    /// The task that runs.
    pub(crate) fn task(&self) -> TaskId {
        TaskId(self.open.last().map_or(0, |open| open.task))
    }

    pub(crate) fn scopes(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Begins a child of which is known what stands at `origin` in the program's table.
    pub(crate) fn fork(&mut self, scope: ScopeId, origin: u32) -> Result<TaskId, TreeError> {
        let task = self.task();
        let child = TaskId(number(self.tree.begins.len(), "tasks")?);
        if !entry(&mut self.scopes, scope)?.fork(child, &self.open) {
            return Err(TreeError::Fork(task.0, scope.0));
        }
        self.pending.push(Op::Fork { child, scope });
        self.tree.begins.push(0);
        self.tree.origins.push(origin);
        self.open.push(Open { task: child.0, first: self.pending.len() });
        Ok(child)
    }

    pub(crate) fn end(&mut self) -> Result<(), TreeError> {
        if self.open.len() == 1 {
            return Err(TreeError::EndOfRoot);
        }
        self.close()
    }

    fn close(&mut self) -> Result<(), TreeError> {
        let Open { task, first } = self.open.pop().ok_or(TreeError::EndOfRoot)?;
        let bytes = &mut self.tree.bytes;
        // Of a tree that fits, all tasks begin at a number of 32 bits.
        self.tree.begins[task as usize] = offset(bytes.len())?;
        let parent = self.open.last().map_or(task, |parent| parent.task);
        varint::put(bytes, (task - parent).into());
        varint::put(bytes, (self.pending.len() - first) as u64);
        let (mut next_child, mut next_strand, mut last_scope) = (task + 1, 0, 0);
        for op in self.pending.drain(first..) {
            let (word, scope) = match op {
                Op::Strand(StrandId(strand)) => {
                    let word = u64::from(strand - next_strand) << 2 | STRAND;
                    next_strand = strand + 1;
                    (word, last_scope)
                }
                Op::Sync(ScopeId(scope)) => (SYNC, scope),
                Op::Fork { child: TaskId(child), scope: ScopeId(scope) } => {
                    let word = u64::from(child - next_child) << 3 | FORK;
                    next_child = child + 1;
                    (word, scope)
                }
            };
            let names_scope = word & 3 != STRAND;
            let same = if names_scope && scope == last_scope { SAME_SCOPE } else { 0 };
            varint::put(bytes, word | same);
            if names_scope && same == 0 {
                varint::put(bytes, scope.into());
            }
            last_scope = scope;
        }
        offset(bytes.len())?;
        Ok(())
    }

    /// The task that runs waits for `scope`.
    pub(crate) fn sync(&mut self, scope: ScopeId) -> Result<(), TreeError> {
        let task = self.task();
        entry(&mut self.scopes, scope)?
            .sync(task, &self.open)
            .map_err(|other| TreeError::Sync(task.0, scope.0, other.0))?;
        self.pending.push(Op::Sync(scope));
        Ok(())
    }

    /// The task that runs executes the next strand.
    pub(crate) fn strand(&mut self) -> Result<StrandId, TreeError> {
        let strand = StrandId(number(self.tree.strands as usize, "strands")?);
        self.tree.strands += 1;
        self.pending.push(Op::Strand(strand));
        Ok(strand)
    }

    pub(crate) fn finish(mut self) -> Result<Tree, TreeError> {
        if self.open.len() > 1 {
            return Err(TreeError::Open(self.open.len() - 1));
        }
        self.close()?;
        self.tree.scopes = self.scopes();
        Ok(self.tree)
    }
}

fn number(count: usize, what: &'static str) -> Result<u32, TreeError> {
    if count < LIMIT { Ok(count as u32) } else { Err(TreeError::TooMany(what)) }
}

/// A place among the bytes of a tree.
fn offset(bytes: usize) -> Result<u32, TreeError> {
    number(bytes, "").map_err(|_| TreeError::TooLarge)
}

/// Open tasks have ascending numbers.
fn is_open(open: &[Open], task: u32) -> bool {
    open.binary_search_by_key(&task, |open| open.task).is_ok()
}

/// The scope's entry; the next new scope gets one.
fn entry(scopes: &mut Vec<Scope>, scope: ScopeId) -> Result<&mut Scope, TreeError> {
    let next = number(scopes.len(), "scopes")?;
    if scope.0 > next {
        return Err(TreeError::Scope(scope.0, next));
    }
    if scope.0 == next {
        scopes.push(Scope::NEW);
    }
    Ok(&mut scopes[scope.0 as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_is_too_large_is_told_from_one_of_too_many_things() {
        assert_eq!(offset(LIMIT - 1), Ok(u32::MAX - 2));
        let error = offset(LIMIT).unwrap_err().to_string();
        assert_eq!(error, "the task tree takes more than 4 GiB");
        let error = number(LIMIT, "tasks").unwrap_err().to_string();
        assert_eq!(error, "more tasks than can be numbered with 32 bits");
    }
}
