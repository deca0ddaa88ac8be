//! Hot lines: the few that workers may take from one another again and again.
//!
//! A counter that parallel strands write, or a line in which two of them have a variable each, can
//! change hands at every touch. Such a line may have a good part of all coherence misses, and a
//! sample of one line in K has it or not. So samples have the hot lines whole.
//!
//! The recording says which they are. A strand *revisits* a line that it touches often. Where it
//! may run beside the strand that revisited the line before, in the serial order, and one of both
//! writes it, the line may change hands as often as the one that touches it less does. Whether two
//! strands may run at a time is found in one serial pass, by sets of tasks that are merged where
//! tasks end and where scopes are waited for (R. Raman, J. Zhao, V. Sarkar, M. Vechev and E. Yahav,
//! "Efficient data race detection for async-finish parallelism", RV 2010, section 3).
//!
//! The same pass counts how many touches each class of lines has, for [`crate::LineGroups`]: those
//! of lines that a strand does not come back to, since the others hit in any cache.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use crate::{Program, ScopeId, Step, StrandId, TaskId, Touch};

/// Touches of a line that make a strand one that revisits it. Fewer handovers than these are not
/// many for one line.
const REVISITED: u32 = 8;
/// Handovers that make a line hot.
const HANDOVERS: u64 = 64;
/// Hot lines at most: far fewer than any cache has, so that they do not push one another out.
const MOST: usize = 64;
/// Lines of a strand that are counted at a time: a power of two.
const COUNTED: usize = 1 << 12;

/// Classes of lines: by their numbers modulo this, the lines of a page.
pub(crate) const CLASSES: usize = 64;

/// A count by class.
pub(crate) type Classes = [u64; CLASSES];

/// How often a blob of touches revisits one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Revisit {
    blob: u32,
    line: u32,
    touches: u32,
    writes: bool,
}

/// Counts touches by line, of one blob after another. A table with a place for each hash, where a
/// line stays as long as it has come more often than others (J. Misra and D. Gries, "Finding
/// repeated elements", Science of Computer Programming 2(2), 1982).
struct Counter {
    table: Vec<Counted>,
    found: Vec<Revisit>,
    blob: u32,
    /// Strands that have the blob's touches.
    strands: u64,
    /// Their touches of lines that are not in the table, of all blobs so far.
    fresh: Classes,
}

#[derive(Clone, Copy)]
struct Counted {
    revisit: Revisit,
    /// How many lines of the same hash may come before it leaves.
    stays: u32,
}

impl Counter {
    fn new() -> Self {
        let none = Revisit { blob: u32::MAX, line: 0, touches: 0, writes: false };
        Self {
            table: vec![Counted { revisit: none, stays: 0 }; COUNTED],
            found: Vec::new(),
            blob: u32::MAX,
            strands: 0,
            fresh: [0; CLASSES],
        }
    }

    /// What comes from here on is of this blob, which so many strands have.
    fn begin(&mut self, blob: u32, strands: u64) {
        (self.blob, self.strands) = (blob, strands);
    }

    /// A touch, of the machine's `line`.
    #[inline]
    fn touch(&mut self, touch: Touch, line: u32) {
        if touch.stack {
            return;
        }
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let place = line.wrapping_mul(0x9e37_79b9) >> (32 - COUNTED.trailing_zeros());
        let counted = &mut self.table[place as usize % COUNTED];
        let Revisit { blob, line: known, touches, writes } = &mut counted.revisit;
        if *known == line && *blob == self.blob {
            *touches += 1;
            *writes |= touch.write;
            counted.stays += 1;
            return;
        }
        self.fresh[line as usize % CLASSES] += self.strands;
        if *blob == self.blob && counted.stays > 0 {
            counted.stays -= 1;
            return;
        }
        if *touches >= REVISITED {
            self.found.push(counted.revisit);
        }
        let revisit = Revisit { blob: self.blob, line, touches: 1, writes: touch.write };
        *counted = Counted { revisit, stays: 1 };
    }

    /// All that was found.
    fn finish(mut self) -> (Vec<Revisit>, Classes) {
        let last = self.table.iter().map(|counted| counted.revisit);
        self.found.extend(last.filter(|revisit| revisit.touches >= REVISITED));
        (self.found, self.fresh)
    }
}

/// A task that revisited a line last.
#[derive(Clone, Copy)]
struct Last {
    task: TaskId,
    touches: u32,
}

/// What is known of a line.
#[derive(Default)]
struct Known {
    reader: Option<Last>,
    writer: Option<Last>,
    handovers: u64,
    touches: u64,
}

/// A hot line, and all of its touches.
#[derive(Clone, Copy, Debug)]
struct Hot {
    line: u32,
    touches: u64,
}

/// What a pass through all touches finds.
#[derive(Debug)]
struct Found {
    /// How much coarser the lines are than the recorded ones.
    coarser: u32,
    /// The hot lines, [`MOST`] at most, the hottest first.
    hot: Vec<Hot>,
    fresh: Classes,
}

/// A program's hot lines, and how its touches are spread. Found once for lines of each length.
#[derive(Debug, Default)]
pub(crate) struct HotLines(Mutex<Vec<Found>>);

impl Program {
    /// The hot lines, each 2^`coarser` recorded ones long, ascending; of more than fit, the
    /// hottest. They have `touches` at most. Found on so many threads.
    pub(crate) fn hot_lines(&self, coarser: u32, touches: u64, threads: NonZeroUsize) -> Vec<u32> {
        self.pass(coarser, threads, |found| {
            let mut left = touches;
            let fitting = found.hot.iter().filter(|hot| {
                let fits = hot.touches <= left;
                left -= if fits { hot.touches } else { 0 };
                fits
            });
            let mut lines: Vec<u32> = fitting.map(|hot| hot.line).collect();
            lines.sort_unstable();
            lines
        })
    }

    /// By class, touches of lines that are 2^`coarser` recorded ones long, without stacks and
    /// without those that a strand comes back to soon. Found on so many threads.
    pub(crate) fn fresh_touches(&self, coarser: u32, threads: NonZeroUsize) -> Classes {
        self.pass(coarser, threads, |found| found.fresh)
    }

    fn pass<R>(&self, coarser: u32, threads: NonZeroUsize, take: impl FnOnce(&Found) -> R) -> R {
        let mut known = self.hot.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|found| found.coarser == coarser).unwrap_or_else(|| {
            let mut strands = vec![0; self.blobs.table.len()];
            for strand in (0..self.strands()).map(StrandId) {
                strands[self.strands.get(strand).blob as usize] += 1;
            }
            let parts = self.in_parts(threads, |blobs| self.revisits(coarser, blobs, &strands));
            let (mut revisits, mut fresh) = (Vec::new(), [0; CLASSES]);
            for (part, touches) in parts {
                revisits.extend(part);
                fresh.iter_mut().zip(touches).for_each(|(all, part)| *all += part);
            }
            known.push(Found { coarser, hot: self.hottest(revisits), fresh });
            known.len() - 1
        });
        take(&known[at])
    }

    /// What the blobs revisit, of lines that are so much coarser, and what is fresh. Each is the
    /// blob of so many `strands`.
    fn revisits(
        &self,
        coarser: u32,
        blobs: Range<u32>,
        strands: &[u64],
    ) -> (Vec<Revisit>, Classes) {
        let mut counter = Counter::new();
        for blob in blobs {
            counter.begin(blob, strands[blob as usize]);
            self.touches_of_blob(blob)
                .for_each(|touch| counter.touch(touch, touch.line >> coarser));
        }
        counter.finish()
    }

    /// The hottest of the lines that blobs revisit.
    fn hottest(&self, mut revisits: Vec<Revisit>) -> Vec<Hot> {
        if revisits.is_empty() {
            return Vec::new();
        }
        revisits.sort_unstable_by_key(|revisit| (revisit.blob, revisit.line));
        let ends = self.ends_by_blob(&revisits);
        let mut bags = Bags::new(self.tasks());
        let mut lines: HashMap<u32, Known> = HashMap::new();
        for step in self.steps() {
            let strand = match step {
                Step::Strand(strand) => strand,
                step => {
                    bags.step(step);
                    continue;
                }
            };
            let task = bags.running();
            for revisit in &revisits[range(&ends, self.strands.get(strand).blob)] {
                let known = lines.entry(revisit.line).or_default();
                let now = Last { task, touches: revisit.touches };
                known.touches += u64::from(now.touches);
                let mut beside = |last: Option<Last>| {
                    let last = last.filter(|last| bags.is_parallel(last.task));
                    u64::from(last.map_or(0, |last| last.touches.min(now.touches)))
                };
                known.handovers += beside(known.writer);
                if revisit.writes {
                    known.handovers += beside(known.reader);
                    (known.writer, known.reader) = (Some(now), None);
                } else {
                    known.reader = Some(now);
                }
            }
        }
        let mut hot: Vec<_> =
            lines.into_iter().filter(|(_, known)| known.handovers >= HANDOVERS).collect();
        hot.sort_unstable_by_key(|(line, known)| (std::cmp::Reverse(known.handovers), *line));
        hot.truncate(MOST);
        hot.into_iter().map(|(line, known)| Hot { line, touches: known.touches }).collect()
    }

    /// By blob, where its revisits end.
    fn ends_by_blob(&self, revisits: &[Revisit]) -> Vec<u32> {
        let mut ends = vec![0; self.blobs.table.len()];
        for revisit in revisits {
            ends[revisit.blob as usize] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        ends
    }
}

fn range(ends: &[u32], blob: u32) -> Range<usize> {
    let start = blob.checked_sub(1).map_or(0, |before| ends[before as usize]);
    start as usize..ends[blob as usize] as usize
}

/// Sets of tasks: of each task those that precede all that it does from now on, and of each scope
/// those that may run beside what is between their end and its wait.
struct Bags {
    /// By task, another of its set or itself.
    parent: Vec<u32>,
    /// By task that stands for a set: whether the set is a scope's.
    parallel: Vec<bool>,
    /// By scope: a task of its set.
    scopes: HashMap<ScopeId, u32>,
    /// Tasks that have begun and not ended, and the scope that each was forked into.
    open: Vec<(TaskId, ScopeId)>,
}

impl Bags {
    fn new(tasks: u32) -> Self {
        Self {
            parent: (0..tasks).collect(),
            parallel: vec![false; tasks as usize],
            scopes: HashMap::new(),
            open: vec![(TaskId(0), ScopeId(0))],
        }
    }

    /// The task that runs.
    fn running(&self) -> TaskId {
        self.open.last().map_or(TaskId(0), |(task, _)| *task)
    }

    fn find(&mut self, task: u32) -> u32 {
        let mut root = task;
        while self.parent[root as usize] != root {
            // Halves the path.
            let above = self.parent[self.parent[root as usize] as usize];
            self.parent[root as usize] = above;
            root = above;
        }
        root
    }

    /// The set of `task` goes into that of `other`, or becomes the scope's or task's own.
    fn merge(&mut self, task: u32, other: Option<u32>, parallel: bool) -> u32 {
        let root = self.find(task);
        let into = other.map_or(root, |other| self.find(other));
        self.parent[root as usize] = into;
        self.parallel[into as usize] = parallel;
        into
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Fork { child, scope } => self.open.push((child, scope)),
            Step::End(_) => {
                let Some((task, scope)) = self.open.pop() else { return };
                let known = self.scopes.get(&scope).copied();
                let set = self.merge(task.0, known, true);
                self.scopes.insert(scope, set);
            }
            Step::Sync(scope) => {
                if let Some(set) = self.scopes.remove(&scope) {
                    let running = self.running().0;
                    self.merge(set, Some(running), false);
                }
            }
            Step::Strand(_) => {}
        }
    }

    /// Whether what `task` has done may run beside what is done now.
    fn is_parallel(&mut self, task: TaskId) -> bool {
        let root = self.find(task.0);
        self.parallel[root as usize]
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;

    use super::*;
    use crate::{Meta, ProgramBuilder};

    /// A program of `build`, recorded line by line.
    fn program(build: impl FnOnce(&mut ProgramBuilder)) -> Program {
        let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 1 };
        let mut builder = ProgramBuilder::new(meta);
        build(&mut builder);
        builder.finish().unwrap()
    }

    fn task(b: &mut ProgramBuilder, scope: u32, body: impl FnOnce(&mut ProgramBuilder)) {
        b.fork(ScopeId(scope), Default::default()).unwrap();
        body(b);
        b.end().unwrap();
    }

    /// Touches `line` and others by turns.
    fn revisit(b: &mut ProgramBuilder, line: u64, write: bool) {
        for i in 0..100 {
            b.touch(line, write, false);
            b.touch(100 + i, false, false);
        }
    }

    fn hot(program: &Program, touches: u64) -> Vec<u32> {
        program.hot_lines(0, touches, NonZeroUsize::MIN)
    }

    #[test]
    fn a_line_that_parallel_strands_write_is_hot() {
        for (writes, expected) in [([true, true], 1), ([true, false], 1), ([false, false], 0)] {
            let program = program(|b| {
                for write in writes {
                    task(b, 1, |b| revisit(b, 7, write));
                }
                b.sync(ScopeId(1)).unwrap();
            });
            assert_eq!(hot(&program, 1000).len(), expected, "{writes:?}");
            assert!(hot(&program, 100).is_empty(), "it has more touches");
        }
    }

    /// A task that touches `line` so often, one touch right after another.
    fn stay(b: &mut ProgramBuilder, scope: u32, line: u64, touches: u64) {
        task(b, scope, |b| (0..touches).for_each(|_| b.touch(line, true, false)));
    }

    #[test]
    fn of_more_hot_lines_than_are_kept_the_hottest_are_and_of_these_what_fits() {
        // Two tasks for each of 70 lines: they hand the line k over 64 + k times at most.
        let program = program(|b| {
            (0..70).for_each(|line| (0..2).for_each(|_| stay(b, 1, line, 64 + line)));
            b.sync(ScopeId(1)).unwrap();
        });
        assert_eq!(hot(&program, u64::MAX), Vec::from_iter(6..70));
        assert_eq!(hot(&program, 2 * 133 + 2 * 132), [68, 69]);
        assert_eq!(hot(&program, 2 * 133 + 2 * 132 - 1), [67, 69], "all of them, or none");
        assert_eq!(hot(&program, 2 * 70 - 1), [0; 0]);
    }

    #[test]
    fn a_line_is_hot_from_64_handovers_on_each_the_touches_of_the_one_that_makes_fewer() {
        for (touches, handovers) in [([64, 1000], 64), ([1000, 63], 63)] {
            let program = program(|b| {
                touches.into_iter().for_each(|touches| stay(b, 1, 5, touches));
                b.sync(ScopeId(1)).unwrap();
            });
            assert_eq!(!hot(&program, u64::MAX).is_empty(), handovers >= 64, "{touches:?}");
        }
    }

    #[test]
    fn fresh_touches_are_those_that_a_strand_has_not_just_made_by_the_line_s_class() {
        // Three strands alike, and one of other lines; page 3 follows page 0 in dense numbers.
        let fresh = |coarser, threads| {
            let program = program(|b| {
                for first in [0, 0, 0, 3 * 64 + 2] {
                    task(b, 1, |b| {
                        for line in [0, 0, 1, 1, 0, 3] {
                            b.touch(first + line, false, false);
                            b.touch(line, true, true);
                        }
                    });
                }
                b.sync(ScopeId(1)).unwrap();
            });
            let of = program.fresh_touches(coarser, NonZeroUsize::new(threads).unwrap());
            let all = (0..).zip(of).filter(|(_, count)| *count > 0);
            all.collect::<Vec<(usize, u64)>>()
        };
        for threads in [1, 3] {
            assert_eq!(fresh(0, threads), [(0, 3), (1, 3), (2, 1), (3, 4), (5, 1)]);
            // 0 and 1 are one line of two, 66 and 67 another.
            assert_eq!(fresh(1, threads), [(0, 3), (1, 3), (33, 1), (34, 1)]);
        }
    }

    #[test]
    fn longer_lines_have_hot_ones_of_their_own() {
        let program = program(|b| {
            for line in [14, 15] {
                task(b, 1, |b| revisit(b, line, true));
            }
            b.sync(ScopeId(1)).unwrap();
        });
        let hot = |coarser| program.hot_lines(coarser, 1000, NonZeroUsize::MIN);
        assert_eq!([0, 1, 0, 1].map(|coarser| hot(coarser).len()), [0, 1, 0, 1]);
    }

    #[test]
    fn lines_that_are_handed_on_are_not_hot() {
        let program = program(|b| {
            for _ in 0..10 {
                task(b, 1, |b| revisit(b, 7, true));
                b.sync(ScopeId(1)).unwrap();
            }
            revisit(b, 7, true);
        });
        assert!(hot(&program, 10_000).is_empty());
    }

    #[test]
    fn tasks_of_an_outer_scope_run_beside_what_its_tasks_wait_for() {
        let program = program(|b| {
            task(b, 1, |b| {
                task(b, 1, |b| revisit(b, 7, true));
                task(b, 2, |b| revisit(b, 8, true));
                b.sync(ScopeId(2)).unwrap();
                // Line 7 is still written meanwhile; line 8 is not.
                revisit(b, 7, true);
                revisit(b, 8, true);
            });
            b.sync(ScopeId(1)).unwrap();
            revisit(b, 9, true);
            revisit(b, 7, true);
        });
        let lines = hot(&program, 10_000);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0] % 64, 7);
    }
}
