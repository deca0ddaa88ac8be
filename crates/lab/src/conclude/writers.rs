//! How many tasks may write a line at the same time.
//!
//! Tasks that may run at the same time and write one word must do so by atomic operations or under
//! a lock. A line holds no more words than it has bytes / 4 or 8: a line that more tasks may write
//! at once holds a word that they share. One that fewer write may be *falsely shared*, by tasks
//! that each write words of their own.

use std::collections::HashMap;

use befit_machine::{Bytes, Machine};
use befit_program::{Program, ScopeId, Step};

/// The smallest words that programs commonly count in, in bytes.
const WORD: u64 = 4;

/// The lines of a machine's caches: workers share all of a line, which may be several recorded
/// ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineSize {
    pub(crate) bytes: Bytes,
    /// Recorded lines in one of these, as a power of two.
    pub(crate) longer: u32,
}

impl LineSize {
    /// The longest lines of the machine, as simulations count them.
    pub(crate) fn of(program: &Program, machine: &Machine) -> Self {
        let recorded = program.meta().line_size;
        let caches = machine.clusters().iter().filter_map(|cluster| cluster.cache);
        let bytes = caches.map(|cache| cache.line).max().unwrap_or(recorded);
        // A machine with shorter lines than the recorded ones is not simulated.
        Self { bytes, longer: (bytes.0 / recorded.0.max(1)).max(1).ilog2() }
    }

    /// The first recorded line in the line that holds this one: by it lines are named.
    pub(crate) fn first(self, line: u32) -> u32 {
        line >> self.longer << self.longer
    }
}

/// Writers of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Writers {
    /// The most tasks that may write it at the same time.
    pub(crate) at_once: u64,
}

impl Writers {
    /// Whether each of them may have a word of its own, in a line of so many bytes.
    pub(crate) fn may_be_false(self, line: Bytes) -> bool {
        self.at_once <= line.0 / WORD
    }
}

/// Tasks that write a line at once, in a part of the program.
#[derive(Debug, Default)]
struct Open {
    /// The most so far.
    most: HashMap<u32, u64>,
    /// Children of each scope that are not waited for: the sum of theirs.
    beside: Vec<(ScopeId, HashMap<u32, u64>)>,
}

impl Open {
    /// What has been beside one another until now.
    fn join(&mut self, scope: Option<ScopeId>) {
        let mut sum: HashMap<u32, u64> = HashMap::new();
        for (_, of_scope) in &self.beside {
            for (line, writers) in of_scope {
                *sum.entry(*line).or_default() += writers;
            }
        }
        for (line, writers) in sum {
            let most = self.most.entry(line).or_default();
            *most = (*most).max(writers);
        }
        self.beside.retain(|(other, _)| scope.is_some_and(|scope| scope != *other));
    }
}

/// The writers of each of `lines`, which are of that size and named by their first recorded one.
/// Expected time linear in the touches.
pub(crate) fn of(program: &Program, size: LineSize, lines: &[u32]) -> HashMap<u32, Writers> {
    let wanted: std::collections::HashSet<u32> = lines.iter().copied().collect();
    let mut open = vec![(Open::default(), ScopeId(0))];
    for step in program.steps() {
        match step {
            Step::Strand(strand) => {
                let Some((task, _)) = open.last_mut() else { break };
                program.touches(strand).for_each(|touch| {
                    let line = size.first(touch.line);
                    if touch.write && !touch.stack && wanted.contains(&line) {
                        let most = task.most.entry(line).or_default();
                        *most = (*most).max(1);
                    }
                });
            }
            Step::Fork { scope, .. } => open.push((Open::default(), scope)),
            Step::Sync(scope) => {
                if let Some((task, _)) = open.last_mut() {
                    task.join(Some(scope));
                }
            }
            Step::End(_) => {
                let Some((mut ended, scope)) = open.pop() else { break };
                ended.join(None);
                let Some((parent, _)) = open.last_mut() else {
                    return found(ended, lines);
                };
                if ended.most.is_empty() {
                    continue;
                }
                let at = parent.beside.iter().position(|(other, _)| *other == scope);
                let at = at.unwrap_or_else(|| {
                    parent.beside.push((scope, HashMap::new()));
                    parent.beside.len() - 1
                });
                for (line, writers) in ended.most {
                    *parent.beside[at].1.entry(line).or_default() += writers;
                }
            }
        }
    }
    HashMap::new()
}

fn found(root: Open, lines: &[u32]) -> HashMap<u32, Writers> {
    let of = |line: &u32| Writers { at_once: root.most.get(line).copied().unwrap_or(0) };
    lines.iter().map(|line| (*line, of(line))).collect()
}

#[cfg(test)]
mod tests {
    use befit_program::{Declared, Meta, ProgramBuilder};

    use super::*;
    use crate::testing;

    #[test]
    fn the_size_of_lines_is_that_of_the_machine_s() {
        let program = testing::program();
        for (line, first) in [(64, 7), (128, 6), (256, 4)] {
            let cache = |size: u64| format!("size={size} line={line}");
            let text = format!("l2:1({}) core:2 l1:1({}) pu:1", cache(65536), cache(4096));
            let size = LineSize::of(&program, &text.parse().unwrap());
            assert_eq!((size.bytes, size.first(7)), (Bytes(line), first));
        }
    }

    #[test]
    fn writers_of_either_half_of_a_longer_line_write_it() {
        let meta = Meta { name: "halves".to_owned(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        for task in 0..40 {
            builder.fork(ScopeId(1), Declared::default()).unwrap();
            builder.touch(2 + task % 2, true, false);
            builder.end().unwrap();
        }
        builder.sync(ScopeId(1)).unwrap();
        let program = builder.finish().unwrap();
        let size = LineSize { bytes: Bytes(128), longer: 1 };
        let writers = of(&program, size, &[2])[&2];
        // More than the 32 words of the line. Either half alone has 20.
        assert_eq!((writers.at_once, writers.may_be_false(size.bytes)), (40, false));
    }

    #[test]
    fn tasks_beside_one_another_count_and_those_behind_a_sync_do_not() {
        let meta = Meta { name: "writers".to_owned(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        for round in 0..3 {
            for _ in 0..20 {
                builder.fork(ScopeId(1), Declared::default()).unwrap();
                builder.touch(0, true, false);
                builder.touch(1 + round, true, false);
                builder.touch(9, false, false);
                builder.end().unwrap();
            }
            builder.sync(ScopeId(1)).unwrap();
        }
        let program = builder.finish().unwrap();
        let size = LineSize { bytes: Bytes(64), longer: 0 };
        let writers = of(&program, size, &[0, 1, 9]);
        let counts = [0, 1, 9].map(|line| writers[&line].at_once);
        assert_eq!(counts, [20, 20, 0]);
        assert!(!writers[&0].may_be_false(size.bytes) && writers[&9].may_be_false(size.bytes));
    }
}
