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
//! of lines that a strand does not come back to, since the others hit in any cache; and how many of
//! these are dependent, or atomic read-modify-writes.

mod bags;

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{Program, Step, StrandId, TaskId, Touch};
use bags::Bags;

/// Touches of a line that make a strand one that revisits it. Fewer handovers than these are not
/// many for one line.
const REVISITED: u32 = 8;
/// Handovers that make a line hot.
const HANDOVERS: u64 = 64;
/// Hot lines at most: far fewer than any cache has, so that they do not push one another out.
pub(crate) const MOST: usize = 64;
/// Lines of a strand that are counted at a time: a power of two.
const COUNTED: usize = 1 << 12;

/// Classes of lines: by their numbers modulo this, the lines of a page.
pub(crate) const CLASSES: usize = 64;

/// A count by class of lines.
pub type Classes = [u64; CLASSES];

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
struct Counter<'a> {
    /// The lines of atomics, ascending.
    atomics: &'a [u32],
    table: Vec<Counted>,
    found: Vec<Revisit>,
    blob: u32,
    /// Strands that have the blob's touches.
    strands: u64,
    /// Their touches of lines that are not in the table, of all blobs so far.
    fresh: Classes,
    /// The dependent ones of these, and the atomic read-modify-writes.
    dependent: u64,
    atomic: u64,
}

/// What a part of the blobs has.
struct Part {
    revisits: Vec<Revisit>,
    fresh: Classes,
    dependent: u64,
    atomic: u64,
}

#[derive(Clone, Copy)]
struct Counted {
    revisit: Revisit,
    /// How many lines of the same hash may come before it leaves.
    stays: u32,
}

impl<'a> Counter<'a> {
    fn new(atomics: &'a [u32]) -> Self {
        let none = Revisit { blob: u32::MAX, line: 0, touches: 0, writes: false };
        Self {
            atomics,
            table: vec![Counted { revisit: none, stays: 0 }; COUNTED],
            found: Vec::new(),
            blob: u32::MAX,
            strands: 0,
            fresh: [0; CLASSES],
            dependent: 0,
            atomic: 0,
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
        let counted = &mut self.table[place(line)];
        let Revisit { blob, line: known, touches, writes } = &mut counted.revisit;
        if *known == line && *blob == self.blob {
            *touches = touches.saturating_add(1);
            *writes |= touch.write;
            counted.stays = counted.stays.saturating_add(1);
            return;
        }
        self.fresh[line as usize % CLASSES] += self.strands;
        self.dependent += u64::from(touch.dependent) * self.strands;
        if touch.write && self.atomics.binary_search(&line).is_ok() {
            self.atomic += self.strands;
        }
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
    fn finish(mut self) -> Part {
        let last = self.table.iter().map(|counted| counted.revisit);
        self.found.extend(last.filter(|revisit| revisit.touches >= REVISITED));
        let Self { found: revisits, fresh, dependent, atomic, .. } = self;
        Part { revisits, fresh, dependent, atomic }
    }
}

/// Where the table counts a line: Fibonacci hashing (Knuth, The Art of Computer Programming 3,
/// section 6.4).
fn place(line: u32) -> usize {
    (line.wrapping_mul(0x9e37_79b9) >> (32 - COUNTED.trailing_zeros())) as usize % COUNTED
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

/// What a pass through all touches of a program finds: its hot lines, and by class of lines how
/// many touches are not of lines that a strand has just touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spread {
    /// As a power of two, how many recorded lines one line holds.
    pub coarser: u32,
    /// The hot lines, 64 at most, the hottest first, each with the number of its touches.
    pub hot: Vec<(u32, u64)>,
    /// The touches of lines of each of the 64 classes.
    pub fresh: Classes,
    /// How many of them are dependent.
    pub dependent: u64,
    /// How many of them are writes of lines on which the program makes atomic read-modify-writes.
    pub atomic: u64,
}

/// A program's hot lines, and how its touches are spread. Found once for lines of each length.
#[derive(Debug, Default)]
pub(crate) struct HotLines(Mutex<Vec<Spread>>);

impl HotLines {
    fn known(&self) -> MutexGuard<'_, Vec<Spread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program {
    /// The hot lines, each 2^`coarser` recorded ones long, ascending; of more than fit, the
    /// hottest. They have `touches` at most. Found on so many threads.
    pub(crate) fn hot_lines(&self, coarser: u32, touches: u64, threads: NonZeroUsize) -> Vec<u32> {
        self.pass(coarser, threads, |found| {
            let mut left = touches;
            let fitting = found.hot.iter().filter(|(_, touches)| {
                let fits = *touches <= left;
                left -= if fits { *touches } else { 0 };
                fits
            });
            let mut lines: Vec<u32> = fitting.map(|(line, _)| *line).collect();
            lines.sort_unstable();
            lines
        })
    }

    /// By class, touches of lines that are 2^`coarser` recorded ones long, without stacks and
    /// without those that a strand comes back to soon. Found on so many threads.
    pub(crate) fn fresh_touches(&self, coarser: u32, threads: NonZeroUsize) -> Classes {
        self.pass(coarser, threads, |found| found.fresh)
    }

    /// The shares of these that wait for the line before, as the recording says, and that are
    /// atomic read-modify-writes.
    pub(crate) fn shares_of_fresh(&self, coarser: u32, threads: NonZeroUsize) -> (f64, f64) {
        self.pass(coarser, threads, |found| {
            let all = found.fresh.iter().sum::<u64>().max(1) as f64;
            (found.dependent as f64 / all, found.atomic as f64 / all)
        })
    }

    /// The touches of all hot lines.
    pub(crate) fn hot_touches(&self, coarser: u32, threads: NonZeroUsize) -> u64 {
        self.pass(coarser, threads, |found| found.hot.iter().map(|(_, touches)| touches).sum())
    }

    /// What is known so far of how touches are spread, of lines of each length for which it was
    /// needed.
    pub fn spreads(&self) -> Vec<Spread> {
        self.hot.known().clone()
    }

    /// Takes `known`, which was found of a program of the same content, instead of a pass through
    /// all touches. What cannot be of this program is left out.
    pub fn know(&self, known: Vec<Spread>) {
        let mut own = self.hot.known();
        for spread in known {
            let is_new = own.iter().all(|own| own.coarser != spread.coarser);
            if is_new && self.may_have(&spread) {
                own.push(spread);
            }
        }
    }

    fn may_have(&self, spread: &Spread) -> bool {
        let Spread { coarser, hot, fresh, dependent, atomic } = spread;
        let Some(last) = self.lines().saturating_sub(1).checked_shr(*coarser) else { return false };
        let touches = hot.iter().map(|(_, touches)| touches).chain(fresh);
        let sum = touches.fold(0, |sum: u64, touches| sum.saturating_add(*touches));
        let are_lines = hot.iter().all(|(line, _)| *line <= last);
        let are_some = *dependent.max(atomic) <= sum;
        hot.len() <= MOST && are_lines && sum <= self.total_touches().saturating_mul(2) && are_some
    }

    fn pass<R>(&self, coarser: u32, threads: NonZeroUsize, take: impl FnOnce(&Spread) -> R) -> R {
        let mut known = self.hot.known();
        let at = known.iter().position(|found| found.coarser == coarser).unwrap_or_else(|| {
            let strands = self.strands_by_blob();
            let mut atomics: Vec<u32> = self.atomics.iter().map(|line| line >> coarser).collect();
            atomics.dedup();
            let count = |blobs| self.counted(Counter::new(&atomics), coarser, blobs, &strands);
            let (mut revisits, mut fresh) = (Vec::new(), [0; CLASSES]);
            let (mut dependent, mut atomic) = (0, 0);
            for part in self.in_parts(threads, count) {
                revisits.extend(part.revisits);
                (dependent, atomic) = (dependent + part.dependent, atomic + part.atomic);
                fresh.iter_mut().zip(part.fresh).for_each(|(all, part)| *all += part);
            }
            known.push(Spread { coarser, hot: self.hottest(revisits), fresh, dependent, atomic });
            known.len() - 1
        });
        take(&known[at])
    }

    /// How many strands have each blob's touches. A blob of none counts for nothing, and may have
    /// touches without end.
    pub(crate) fn strands_by_blob(&self) -> Vec<u64> {
        let mut strands = vec![0; self.blobs.table.len()];
        for strand in (0..self.strands()).map(StrandId) {
            strands[self.strands.get(strand).blob as usize] += 1;
        }
        strands
    }

    /// What the blobs revisit, of lines that are so much coarser, what is fresh, and what that is.
    /// Each is the blob of so many `strands`.
    fn counted(
        &self,
        mut counter: Counter<'_>,
        coarser: u32,
        blobs: Range<u32>,
        strands: &[u64],
    ) -> Part {
        for blob in blobs.filter(|blob| strands[*blob as usize] > 0) {
            counter.begin(blob, strands[blob as usize]);
            self.touches_of_blob(blob)
                .for_each(|touch| counter.touch(touch, touch.line >> coarser));
        }
        counter.finish()
    }

    /// The hottest of the lines that blobs revisit.
    fn hottest(&self, mut revisits: Vec<Revisit>) -> Vec<(u32, u64)> {
        if revisits.is_empty() {
            return Vec::new();
        }
        revisits.sort_unstable_by_key(|revisit| (revisit.blob, revisit.line));
        // A line that left the table and came back was found twice, in an order that depends on
        // the threads.
        revisits.dedup_by(|again, first| {
            let same = (again.blob, again.line) == (first.blob, first.line);
            if same {
                first.touches = first.touches.saturating_add(again.touches);
                first.writes |= again.writes;
            }
            same
        });
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
        hot.into_iter().map(|(line, known)| (line, known.touches)).collect()
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

#[cfg(test)]
mod tests;
