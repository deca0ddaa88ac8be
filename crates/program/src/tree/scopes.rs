//! Scopes: who may fork into one, who may wait for it.
//!
//! A sync waits for all tasks forked in its scope. Were one of them the waiting task itself or an
//! ancestor of it, it would wait for ever. So every task of a scope must descend from every task
//! that syncs the scope; a fork may still come from any descendant, however deep, as a spawn into
//! an outer scope does. Then each wait is for descendants only, and no schedule can deadlock.

use std::collections::HashMap;

use crate::TaskId;

/// No task.
const NONE: u32 = u32::MAX;
/// More than one line of descent has waited for the scope: nobody may fork into it any more.
const CLOSED: u32 = u32::MAX - 1;

/// What is known of one scope while a tree is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// The first task forked in it.
    first: u32,
    /// The deepest task that waited for it.
    waiter: u32,
}

impl Scope {
    pub(super) const NEW: Self = Self { first: NONE, waiter: NONE };

    /// Notes that `child` is forked in it; `is_open` tells whether a task still runs, that is,
    /// whether it is an ancestor of the child. False when a task that is none has waited for the
    /// scope.
    pub(super) fn fork(&mut self, child: TaskId, is_open: impl Fn(u32) -> bool) -> bool {
        let allowed = self.waiter == NONE || self.waiter != CLOSED && is_open(self.waiter);
        if allowed {
            self.first = self.first.min(child.0);
        }
        allowed
    }

    /// Notes that `task` waits for it. Tasks are numbered in serial order, so those after `task` so
    /// far are its descendants. On failure, a task that is none.
    pub(super) fn sync(
        &mut self,
        task: TaskId,
        is_open: impl Fn(u32) -> bool,
    ) -> Result<(), TaskId> {
        if self.first <= task.0 {
            return Err(TaskId(self.first));
        }
        self.waiter = match self.waiter {
            NONE => task.0,
            // All tasks of the scope descend from both, so one is an ancestor of the other.
            waiter if self.first != NONE => waiter.max(task.0),
            waiter if waiter != CLOSED && is_open(waiter) => task.0,
            _ => CLOSED,
        };
        Ok(())
    }
}

/// Renumbers the recorder's scopes densely, in the order in which they are first seen. Scope 0 is
/// 0.
#[derive(Debug)]
pub(crate) struct ScopeNumbers {
    /// For small numbers: recorders count scopes up.
    low: Vec<u32>,
    high: HashMap<u32, u32>,
    count: u32,
}

impl ScopeNumbers {
    pub(crate) fn new() -> Self {
        Self { low: vec![0], high: HashMap::new(), count: 1 }
    }

    /// The dense number of `scope`; a new one counts up. Constant time.
    pub(crate) fn number(&mut self, scope: u32) -> u32 {
        let at = scope as usize;
        if let Some(&known) = self.low.get(at).filter(|&&known| known != NONE) {
            return known;
        }
        if let Some(&known) = self.high.get(&scope) {
            return known;
        }
        let next = self.count;
        self.count += 1;
        if at < self.low.len() * 2 + 1024 {
            self.low.resize(self.low.len().max(at + 1), NONE);
            self.low[at] = next;
        } else {
            self.high.insert(scope, next);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_renumbered_in_the_order_first_seen() {
        let mut numbers = ScopeNumbers::new();
        let given = [7, 0, u32::MAX, 7, 3_000_000, 9, u32::MAX, 3_000_000, 1];
        let dense: Vec<u32> = given.iter().map(|&scope| numbers.number(scope)).collect();
        assert_eq!(dense, [1, 0, 2, 1, 3, 4, 2, 3, 5]);
        (100..10_000).for_each(|scope| assert_eq!(numbers.number(scope), scope - 94));
        assert_eq!(numbers.number(u32::MAX), 2);
    }
}
