//! Hierarchical localized work stealing: the task groups, and which of them are dominant.

use std::ops::Range;

use crate::{Env, Guarded, LockId, policy::homes::Home};

/// The task groups that have not ended.
#[derive(Debug)]
pub(super) struct Groups(Guarded<Vec<Group>>);

#[derive(Debug)]
struct Group {
    /// Range and depth of the task whose children they are.
    range: Home,
    depth: u32,
    dominant: bool,
}

impl Groups {
    pub(super) fn new(id: LockId) -> Self {
        Self(Guarded::new(id, Vec::new()))
    }

    /// A task forks its first child.
    pub(super) fn begin(&self, range: Home, depth: u32, env: &mut dyn Env) {
        let group = Group { range, depth, dominant: false };
        self.0.with(env, |groups, _| groups.push(group));
    }

    /// All children of a task have ended.
    pub(super) fn end(&self, range: Home, depth: u32, env: &mut dyn Env) {
        self.0.with(env, |groups, _| {
            let at = groups.iter().position(|it| it.range == range && it.depth == depth);
            at.map(|at| groups.swap_remove(at));
        });
    }

    /// A child of a task at `depth` has ended. Returns whether its group becomes dominant.
    pub(super) fn child_ended(&self, range: Home, depth: u32, env: &mut dyn Env) -> bool {
        self.0.with(env, |groups, _| {
            let group = groups.iter_mut().find(|it| it.depth == depth && it.range.contains(range));
            group.is_some_and(|group| !std::mem::replace(&mut group.dominant, true))
        })
    }

    /// The range of the topmost dominant group around worker `w`.
    pub(super) fn around(
        &self,
        w: usize,
        workers: impl Fn(Home) -> Range<usize>,
        env: &mut dyn Env,
    ) -> Option<Home> {
        self.0.with(env, |groups, _| {
            let around = groups.iter().filter(|it| it.dominant && workers(it.range).contains(&w));
            around.min_by_key(|it| it.depth).map(|it| it.range)
        })
    }
}
