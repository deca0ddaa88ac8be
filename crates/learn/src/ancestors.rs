//! A walk through a program's tasks in their order, that remembers those around the present one.

use befit_program::{Program, TaskId};

/// A task that the present one is in.
#[derive(Debug)]
pub(crate) struct Ancestor<T> {
    pub(crate) task: TaskId,
    /// How many `join`s it is in one of, without a spawn between.
    pub(crate) depth: u32,
    /// The halves of the `join`s that it makes, ascending.
    joined: Vec<TaskId>,
    /// What else is known of it.
    pub(crate) value: T,
}

/// The tasks around the one that was entered last, and that itself. Memory for the deepest nest,
/// not for all tasks.
#[derive(Debug)]
pub(crate) struct Ancestors<T>(Vec<Ancestor<T>>);

impl<T: Default> Ancestors<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Enters the next task, or one behind it that the root has forked; `left` gets those that are
    /// left, the innermost first, and what is around them. Returns the task and its parent.
    pub(crate) fn enter(
        &mut self,
        program: &Program,
        task: TaskId,
        mut left: impl FnMut(Ancestor<T>, Option<&mut Ancestor<T>>),
    ) -> (&mut Ancestor<T>, Option<&Ancestor<T>>) {
        let parent = program.parent(task);
        while self.0.last().is_some_and(|last| Some(last.task) != parent)
            && let Some(last) = self.0.pop()
        {
            left(last, self.0.last_mut());
        }
        if let Some(parent) = parent.filter(|_| self.0.is_empty()) {
            self.push(program, parent, 0);
        }
        let around = self.0.last();
        let is_joined = |parent: &&Ancestor<T>| parent.joined.binary_search(&task).is_ok();
        let depth = around.filter(is_joined).map_or(0, |parent| parent.depth + 1);
        self.push(program, task, depth);
        let (last, around) = self.0.split_last_mut().expect("it was pushed");
        (last, around.last())
    }

    /// Leaves all, the innermost first.
    pub(crate) fn end(mut self, mut left: impl FnMut(Ancestor<T>, Option<&mut Ancestor<T>>)) {
        while let Some(last) = self.0.pop() {
            left(last, self.0.last_mut());
        }
    }

    fn push(&mut self, program: &Program, task: TaskId, depth: u32) {
        let joined = program.joins(task).flatten().collect();
        self.0.push(Ancestor { task, depth, joined, value: T::default() });
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;
    use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};

    use super::*;

    /// A `join` of a leaf and of a task that makes a `join` and spawns, then a spawned task.
    fn program() -> Program {
        let meta = Meta { name: "tree".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let leaf = |b: &mut ProgramBuilder, scope| {
            b.fork(ScopeId(scope), Declared::default()).unwrap();
            b.work(1, 0, 0);
            b.end().unwrap();
        };
        leaf(&mut builder, 1);
        builder.fork(ScopeId(1), Declared::default()).unwrap();
        leaf(&mut builder, 2);
        leaf(&mut builder, 2);
        builder.sync(ScopeId(2)).unwrap();
        leaf(&mut builder, 3);
        builder.work(1, 0, 0);
        builder.sync(ScopeId(3)).unwrap();
        builder.end().unwrap();
        builder.sync(ScopeId(1)).unwrap();
        leaf(&mut builder, 4);
        builder.finish().unwrap()
    }

    #[test]
    fn tasks_have_the_depth_of_their_joins_and_are_left_before_those_around_them() {
        let program = program();
        for first in [0, 1] {
            let mut walk = Ancestors::<()>::new();
            let (mut depths, mut left) = (Vec::new(), Vec::new());
            for task in (first..program.tasks()).map(TaskId) {
                let (entered, around) = walk.enter(&program, task, |of, _| left.push(of.task.0));
                assert_eq!(around.map(|of| of.task), program.parent(task));
                depths.push(entered.depth);
            }
            walk.end(|of, _| left.push(of.task.0));
            assert_eq!(depths[1 - first as usize..], [1, 1, 2, 2, 0, 0]);
            assert_eq!(left, [1, 3, 4, 5, 2, 6, 0]);
        }
    }
}
