//! The distinct lines that each task touches, from one pass over the recording.
//!
//! In the serial execution a task's touches, its descendants' included, are one stretch of time,
//! and the stretches of the tasks that are open at one moment are nested. A touch is a line's first
//! within a task exactly if the line was last touched before the task began; so it counts for the
//! innermost open tasks, down from some depth. Each touch adds one to the innermost open task and
//! takes one from the innermost that it does not count for; when a task ends, its lines go to its
//! parent too. Strands serve as the clock.

use befit_machine::{Bytes, Lines};

use crate::tree::Step;
use crate::{Declared, Program, TaskId};

/// The lines that one task was found to touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Distinct lines of it and all that it forked; stacks are left out, as they belong to
    /// the worker that runs it.
    pub task: Lines,
    /// The same of its own largest strand.
    pub strand: Lines,
}

impl Footprint {
    /// The sizes of a task that declares what it touches, in lines of `line`.
    pub fn sizes(self, Bytes(line): Bytes) -> Declared {
        let bytes = |lines: Lines| Some(Bytes(lines.0 * line));
        Declared { size: bytes(self.task), strand: bytes(self.strand) }
    }
}

/// A task that has begun and not ended.
struct Open {
    task: TaskId,
    /// The first strand from which on touches are its own, or its descendants'.
    start: u32,
    /// Lines that count for it, and for the open tasks around it unless they took one off.
    lines: i64,
    strand: u64,
}

/// How many of the open tasks have a first strand before `strand`. The innermost are looked at
/// first, since most lines were touched not long ago. O(log depth).
fn begun_before(open: &[Open], strand: u32) -> usize {
    if strand == 0 {
        return 0;
    }
    let (mut end, mut step) = (open.len(), 1);
    loop {
        let start = end.saturating_sub(step);
        if start == 0 || open[start].start < strand {
            return start + open[start..end].partition_point(|task| task.start < strand);
        }
        (end, step) = (start, 2 * step);
    }
}

impl Program {
    /// Every task's footprint, by its number. Time O(touches · log depth), memory 4 bytes a line
    /// and 16 a task. `progress` is told, from time to time, how many touches were read since it
    /// was last told.
    pub fn footprints(&self, progress: &dyn Fn(u64)) -> Vec<Footprint> {
        let mut footprints = vec![Footprint::default(); self.tasks() as usize];
        self.each_footprint(progress, |task, found| footprints[task.0 as usize] = found);
        footprints
    }

    /// As [`Self::footprints`], but gives each to `found`, in the order in which tasks end. Memory
    /// 4 bytes a line.
    pub fn each_footprint(&self, progress: &dyn Fn(u64), mut found: impl FnMut(TaskId, Footprint)) {
        // The strand that touched each line last, plus one.
        let mut last = vec![0_u32; self.lines() as usize];
        let mut next = 0;
        let mut open = vec![Open { task: TaskId(0), start: next, lines: 0, strand: 0 }];
        for step in self.tree.serial() {
            match step {
                Step::Fork { child, .. } => {
                    open.push(Open { task: child, start: next, lines: 0, strand: 0 })
                }
                Step::Strand(strand) => {
                    let mut distinct = 0;
                    let mut read = 0;
                    self.touches(strand).for_each(|touch| {
                        read += 1;
                        if touch.stack {
                            return;
                        }
                        let before = std::mem::replace(&mut last[touch.line as usize], next + 1);
                        if before == next + 1 {
                            return;
                        }
                        distinct += 1;
                        if let Some(innermost) = open.last_mut().filter(|task| task.start >= before)
                        {
                            innermost.lines += 1;
                            if let Some(outside) = begun_before(&open, before).checked_sub(1) {
                                open[outside].lines -= 1;
                            }
                        }
                    });
                    if let Some(task) = open.last_mut() {
                        task.strand = task.strand.max(distinct);
                    }
                    next += 1;
                    progress(read);
                }
                Step::End(_) => {
                    let Some(ended) = open.pop() else { break };
                    let lines = u64::try_from(ended.lines).unwrap_or(0);
                    found(
                        ended.task,
                        Footprint { task: Lines(lines), strand: Lines(ended.strand) },
                    );
                    if let Some(parent) = open.last_mut() {
                        parent.lines += ended.lines;
                    }
                }
                Step::Sync(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, collections::HashSet};

    use super::*;
    use crate::{Meta, ProgramBuilder, ScopeId};

    #[test]
    fn a_footprint_in_lines_is_declared_in_bytes() {
        let footprint = Footprint { task: Lines(10), strand: Lines(3) };
        let expected = Declared { size: Some(Bytes(1280)), strand: Some(Bytes(384)) };
        assert_eq!(footprint.sizes(Bytes(128)), expected);
    }

    /// A random tree of tasks that touch random lines, and their stacks.
    fn random(seed: u64) -> Program {
        let meta = Meta { name: "random".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut depth = 0;
        for _ in 0..300 {
            match random.u32(..4) {
                0 if depth < 8 => {
                    builder.fork(ScopeId(depth + 1), Declared::default()).unwrap();
                    depth += 1;
                }
                1 if depth > 0 => {
                    builder.end().unwrap();
                    depth -= 1;
                }
                1 => builder.sync(ScopeId(1)).unwrap(),
                _ => (0..random.u32(..20))
                    .for_each(|_| builder.touch(random.u64(..60), false, random.u32(..5) == 0)),
            }
        }
        (0..depth).for_each(|_| builder.end().unwrap());
        builder.finish().unwrap()
    }

    /// The same by keeping the set of lines of every open task, and of each strand.
    fn naive(program: &Program) -> Vec<Footprint> {
        let mut found = vec![Footprint::default(); program.tasks() as usize];
        let mut open = vec![(TaskId(0), HashSet::<u32>::new())];
        for step in program.tree.serial() {
            match step {
                Step::Fork { child, .. } => open.push((child, HashSet::new())),
                Step::Strand(strand) => {
                    let shared = program.touches(strand).filter(|touch| !touch.stack);
                    let lines: HashSet<u32> = shared.map(|touch| touch.line).collect();
                    let largest = &mut found[open.last().unwrap().0.0 as usize].strand;
                    *largest = Lines(largest.0.max(lines.len() as u64));
                    open.iter_mut().for_each(|(_, its)| its.extend(&lines));
                }
                Step::End(_) => {
                    let (task, lines) = open.pop().unwrap();
                    found[task.0 as usize].task = Lines(lines.len() as u64);
                }
                Step::Sync(_) => {}
            }
        }
        found
    }

    #[test]
    fn one_pass_finds_what_sets_of_lines_find() {
        for seed in 0..50 {
            let program = random(seed);
            let read = Cell::new(0);
            let measured = program.footprints(&|touches| read.set(read.get() + touches));
            assert_eq!(measured, naive(&program), "seed {seed}");
            assert_eq!(read.get(), program.total_touches(), "all touches are told of");
        }
    }
}
