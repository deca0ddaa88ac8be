//! The names of a recording's tasks, which are the same in each iteration.

use std::collections::HashMap;

use befit_machine::{Machine, WorkerId};
use befit_program::{Op, Program, TaskId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::sizes::children;

/// The leaves of a program (tasks that fork nothing), each with what it is called in every
/// iteration.
pub(in crate::reproduce) struct Leaves(Vec<(TaskId, u64)>);

impl Leaves {
    /// Names each task as CATS does: by its parent's name and its number among the parent's
    /// children since the last sync. Time and memory are linear in the program's tasks.
    pub(in crate::reproduce) fn of(program: &Program) -> Self {
        // Parents have smaller numbers than their children.
        let mut names = vec![0u64; program.tasks() as usize];
        let mut leaves = Vec::new();
        for task in (0..program.tasks()).map(TaskId) {
            let mut forked = 0u64;
            let mut is_leaf = true;
            for op in program.ops(task) {
                match op {
                    Op::Fork { child, .. } => {
                        // Of millions of hashes, no two are equal in practice.
                        names[child.0 as usize] =
                            xxh3_64_with_seed(&forked.to_le_bytes(), names[task.0 as usize]);
                        forked += 1;
                        is_leaf = false;
                    }
                    Op::Sync(_) => forked = 0,
                    Op::Strand(_) => {}
                }
            }
            if is_leaf {
                leaves.push((task, names[task.0 as usize]));
            }
        }
        Self(leaves)
    }

    /// The share of leaves that ran under the same last-level cache as the leaf of the same name
    /// did before; those without one are left out.
    pub(in crate::reproduce) fn stayed(&self, machine: &Machine, started_on: &[u32]) -> f64 {
        let socket = |task: TaskId| machine.last_level(WorkerId(started_on[task.0 as usize]));
        let mut last = HashMap::new();
        let (mut stayed, mut all) = (0u64, 0u64);
        for (task, name) in &self.0 {
            if let Some(before) = last.insert(*name, socket(*task)) {
                all += 1;
                stayed += u64::from(before == socket(*task));
            }
        }
        if all == 0 { 0.0 } else { stayed as f64 / all as f64 }
    }
}

/// The first task of this path: at each level the number of a child among its parent's. None if
/// there is no such task.
pub(in crate::reproduce) fn task_at(program: &Program, path: &[u32]) -> Option<TaskId> {
    path.iter().try_fold(TaskId(0), |task, index| {
        // A round's children come in order, and the first round's come first.
        children(program, task).nth(*index as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn leaves_that_never_move_have_stayed() {
        let program = testing::program();
        let leaves = Leaves::of(&program);
        let machine = testing::machine(2);
        let mut started_on = vec![0; program.tasks() as usize];
        assert_eq!(leaves.stayed(&machine, &started_on), 1.0);

        // The last one has moved.
        let others = machine.workers().len() - 1;
        started_on[leaves.0.last().unwrap().0.0 as usize] = others as u32;
        assert_eq!(leaves.stayed(&machine, &started_on), 1.0 - 2.0 / leaves.0.len() as f64);
    }

    #[test]
    fn a_path_leads_to_the_first_task_of_its_name_or_to_none() {
        let program = testing::program();
        assert_eq!(task_at(&program, &[]), Some(TaskId(0)));
        assert_eq!(task_at(&program, &[7]), Some(TaskId(8)));
        assert_eq!(task_at(&program, &[10_000]), None);
    }
}
