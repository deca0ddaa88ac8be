//! Other sizes than a program's tasks declare.

use std::fmt;

use crate::narrow::Narrow;
use crate::site::{Origin, OriginTable};
use crate::tables::Interner;
use crate::{Declared, Program, TaskId};

/// Where the sizes of a program's tasks come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SizesFrom {
    /// The tasks declare them.
    #[default]
    Declared,
    /// There are none: what tasks declare is ignored.
    Nowhere,
    /// Each task's footprint in this recording.
    Measured,
    /// A table that was learned from recordings, for the tasks that declare none.
    Learned,
    /// A table that was learned from this recording, likewise.
    LearnedHere,
    /// A table, whatever tasks declare.
    OnlyLearned,
}

impl SizesFrom {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Nowhere => "none",
            Self::Measured => "measured",
            Self::Learned => "learned",
            Self::LearnedHere => "learned-here",
            Self::OnlyLearned => "only-learned",
        }
    }
}

impl fmt::Display for SizesFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Program {
    /// The same program, of which each forked task has the sizes that `of` returns. The root task
    /// has none, as nobody passes it to a fork. [`Self::with_root`] gives it some, by which a
    /// scheduler may place what the root forks.
    ///
    /// From then on [`Program::declared`] returns these sizes. A file keeps them, but not where
    /// they come from. Expected time linear in the number of tasks; 1 to 4 bytes a task, and 32 for
    /// each pair of sizes that differs from all others, 16 and some with each site and captured
    /// words.
    #[must_use]
    pub fn with_sizes(
        mut self,
        from: SizesFrom,
        mut of: impl FnMut(&Self, TaskId) -> Declared,
    ) -> Self {
        let mut declared = Interner::default();
        let mut origins = OriginTable::default();
        let forked = (1..self.tasks()).map(|task| {
            let before = self.origins.get(self.tree.origins.get(task as usize));
            let declared = declared.intern(of(&self, TaskId(task)))?;
            origins.intern(&Origin { declared, ..before })
        });
        // There are fewer of each than tasks, whose numbers have 32 bits; the root is not forked.
        let forked: Option<Narrow> = std::iter::once(Some(0)).chain(forked).collect();
        self.tree.origins = forked.unwrap_or_default();
        (self.root_declared, self.declared) = (Declared::default(), declared.table);
        self.origins = origins.origins;
        self.sizes_from = from;
        self
    }

    /// The same program, of which the root task has these sizes.
    #[must_use]
    pub fn with_root(self, root: Declared) -> Self {
        Self { root_declared: root, ..self }
    }

    /// Where its tasks' sizes come from.
    pub fn sizes_from(&self) -> SizesFrom {
        self.sizes_from
    }

    /// Tasks that have a size of their own, the root included. Time for the number of tasks.
    pub fn sized_tasks(&self) -> u32 {
        let sized = (0..self.tasks()).filter(|task| self.declared(TaskId(*task)).size.is_some());
        sized.count() as u32
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;

    use super::*;
    use crate::{Meta, ProgramBuilder, ScopeId};

    fn program() -> Program {
        let meta = Meta { name: "sizes".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        builder.declare_root(Declared { size: Some(Bytes(1000)), strand: None });
        for size in [None, Some(Bytes(64)), None] {
            builder.fork(ScopeId(1), Declared { size, strand: None }).unwrap();
            builder.work(1, 1, 1);
            builder.end().unwrap();
        }
        builder.finish().unwrap()
    }

    /// They stand in results: docs/json.md.
    #[test]
    fn where_sizes_are_from_has_a_name() {
        use SizesFrom::*;
        let all = [Declared, Nowhere, Measured, Learned, LearnedHere, OnlyLearned];
        let names = ["declared", "none", "measured", "learned", "learned-here", "only-learned"];
        assert_eq!(all.map(SizesFrom::name), names);
        assert_eq!(format!("{LearnedHere:>14}"), "  learned-here");
    }

    #[test]
    fn a_program_shares_its_touches_with_clones_of_it_whatever_their_sizes() {
        let (one, other) = (program(), program());
        let clone = one.clone().with_sizes(SizesFrom::Nowhere, |_, _| Declared::default());
        assert!(one.has_touches_of(&clone) && clone.has_touches_of(&one));
        assert!(!one.has_touches_of(&other), "alike, and recorded anew");
    }

    #[test]
    fn a_program_has_the_sizes_that_it_was_given_and_says_where_they_are_from() {
        let declared = program();
        assert_eq!((declared.sizes_from(), declared.sized_tasks()), (SizesFrom::Declared, 2));
        let of = |task: TaskId| {
            let size = Some(Bytes(u64::from(task.0) * 100));
            Declared { size, strand: size }
        };
        let given = declared.with_sizes(SizesFrom::Measured, |before, task| {
            let declares = before.declared(task).size.is_some();
            if declares { before.declared(task) } else { of(task) }
        });
        assert_eq!((given.sizes_from(), given.sized_tasks()), (SizesFrom::Measured, 3));
        assert_eq!(given.declared(TaskId(0)), Declared::default());
        assert_eq!(given.declared(TaskId(1)), of(TaskId(1)));
        assert_eq!(given.declared(TaskId(2)).size, Some(Bytes(64)));
        assert_eq!(given.declared(TaskId(3)), of(TaskId(3)));
        let none = given.with_sizes(SizesFrom::Nowhere, |_, _| Declared::default());
        assert_eq!((none.sizes_from(), none.sized_tasks()), (SizesFrom::Nowhere, 0));
        let root = none.with_root(of(TaskId(7)));
        assert_eq!((root.declared(TaskId(0)), root.sized_tasks()), (of(TaskId(7)), 1));
    }
}
