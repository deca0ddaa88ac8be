//! The tasks of a recording, to be run in any order.

use befit_machine::{Bytes, Machine};
use befit_program::{Op, Program, StrandId, TaskId};

use super::Core;

/// The leaf tasks of a program (those that fork nothing), in serial order: what each touches, and
/// how many accesses it makes.
///
/// 4 bytes a touch. What inner tasks do between forks is left out: it belongs to no task that could
/// be put elsewhere.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// What was recorded.
    name: String,
    /// Bytes of a line.
    pub(super) line: Bytes,
    /// Line numbers lie below this.
    pub(super) lines: u32,
    /// Of all tasks, in a row: line × 2, and 1 for a write.
    touches: Vec<u32>,
    /// Where each task's touches end.
    ends: Vec<usize>,
    /// Loads and stores of each task, those that were no touches included.
    accesses: Vec<u64>,
}

impl Tasks {
    /// Takes the leaf tasks out of `program`. O(touches).
    pub fn of(program: &Program) -> Self {
        let mut tasks = Self {
            name: program.meta().name.clone(),
            line: program.meta().line_size,
            // Stacks lie above the shared data; one core has one.
            lines: program.lines().saturating_add(program.stack_lines()).saturating_add(1),
            touches: Vec::new(),
            ends: Vec::new(),
            accesses: Vec::new(),
        };
        for task in (0..program.tasks()).map(TaskId) {
            let mut ops = program.ops(task);
            let strand = |op: Op| if let Op::Strand(strand) = op { Some(strand) } else { None };
            let strands: Vec<StrandId> = ops.clone().filter_map(strand).collect();
            let is_leaf = !ops.any(|op| matches!(op, Op::Fork { .. }));
            if is_leaf && !strands.is_empty() {
                tasks.add(program, &strands);
            }
        }
        tasks
    }

    fn add(&mut self, program: &Program, strands: &[StrandId]) {
        let mut accesses = 0;
        for strand in strands {
            let work = program.work(*strand);
            accesses += work.loads + work.stores;
            program.touches(*strand).for_each(|touch| {
                let from = if touch.stack { program.lines() } else { 0 };
                self.touches.push(from.saturating_add(touch.line) << 1 | u32::from(touch.write));
            });
        }
        let first = self.ends.last().copied().unwrap_or(0);
        self.accesses.push(accesses.max((self.touches.len() - first) as u64));
        self.ends.push(self.touches.len());
    }

    /// Without touches that can change nothing on `core`, a worker of `machine`: in a direct-mapped
    /// innermost cache those of a line that the same task has touched before, if it touched no
    /// other line of that set since. They are hits that cost what an access costs at least, and are
    /// counted as such ([`Self::accesses`]); what a run of the tasks costs and its
    /// [`Cells`](super::Cells) are the same in every order. A look-up that compares words letter by
    /// letter has four times as many touches with them. For other caches, all as they were.
    /// O(touches).
    pub fn condensed(mut self, core: &Core, machine: &Machine) -> Self {
        let Some((sets, set_of)) = core.direct_mapped(machine) else { return self };
        // Per set: the task that touched it last (from 1), and how.
        let mut last = vec![(0, 0u32); sets as usize];
        let (mut from, mut kept) = (0, 0);
        for (task, end) in (1usize..).zip(&mut self.ends) {
            for at in from..*end {
                let touch = self.touches[at];
                let set = &mut last[set_of(touch >> 1) as usize];
                let (by, before) = *set;
                // A write makes a line dirty that was only read so far.
                if by == task && before >> 1 == touch >> 1 && before & 1 >= touch & 1 {
                    continue;
                }
                *set = (task, touch);
                self.touches[kept] = touch;
                kept += 1;
            }
            (from, *end) = (*end, kept);
        }
        self.touches.truncate(kept);
        self.touches.shrink_to_fit();
        self
    }

    /// What was recorded: the command.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What task `task` touches, in order: lines, and whether they are written. O(1).
    ///
    /// # Panics
    /// Where there is no such task.
    pub fn touches(&self, task: usize) -> impl ExactSizeIterator<Item = (u32, bool)> + '_ {
        let first = if task == 0 { 0 } else { self.ends[task - 1] };
        self.touches[first..self.ends[task]].iter().map(|touch| (touch >> 1, touch & 1 != 0))
    }

    /// Loads and stores of task `task`. Never less than its touches.
    ///
    /// # Panics
    /// Where there is no such task.
    pub fn accesses(&self, task: usize) -> u64 {
        self.accesses[task]
    }
}
