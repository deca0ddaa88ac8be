//! Samples of a program's touches: those of some classes of lines, all of them.
//!
//! Lines are divided into classes by their numbers modulo 64 (or a smaller power of two), and the
//! classes, in a random order, into groups. A sample has the touches of one group's lines, with
//! these renumbered so that none is left out. Where the sets of a cache are a multiple of the
//! modulus, a class of lines is a class of sets: the sample then runs through a cache with as many
//! times fewer sets just as its lines do through the whole one (R. E. Kessler, M. D. Hill and
//! D. A. Wood, "A comparison of trace-sampling techniques for multi-megabyte caches", IEEE
//! Transactions on Computers 43(6), 1994, section 3). The order is random so that strides do not
//! favour a group; [`Program::heaviest_group`] tells where one is favoured all the same.
//!
//! All samples have the [hot lines](crate::hot) beside those of their group.

mod taken;
#[cfg(test)]
mod tests;

use std::{num::NonZeroUsize, ops::Range, sync::Arc, thread};

use crate::{
    Program, StrandId, Touch,
    hot::{self, CLASSES},
    tables::Blob,
};
pub(crate) use taken::Taken;

/// Classes of lines at most: the lines of a page, whose place in it dense numbers keep.
const MOST: u32 = CLASSES as u32;
/// The bits of a kept touch below its line.
const FLAGS: u32 = 3;
const NO_GROUP: u8 = u8::MAX;

/// How lines are divided into groups of classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LineGroups {
    coarser: u32,
    modulus: u32,
    count: u32,
}

impl LineGroups {
    /// `count` groups of the lines that hold 2^`coarser` recorded ones each, by their numbers
    /// modulo `modulus`. `None` unless both are powers of two and `count` ≤ `modulus` ≤ 64.
    pub fn new(coarser: u32, modulus: u32, count: u32) -> Option<Self> {
        let good = modulus.is_power_of_two() && count.is_power_of_two();
        (good && count <= modulus && modulus <= MOST && coarser < 16).then_some(Self {
            coarser,
            modulus,
            count,
        })
    }

    /// The number of groups: a sample has the touches of one line in so many.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Half as many groups, each of twice the lines; `None` where a group has all of them then.
    pub fn fewer(self) -> Option<Self> {
        (self.count > 2).then_some(Self { count: self.count / 2, ..self })
    }

    /// Classes of a group.
    fn classes(self) -> u32 {
        self.modulus / self.count
    }

    /// So many lines of a sample name all of the `lines` recorded ones that are in its group; the
    /// largest number where there are more.
    fn kept(self, lines: u32) -> u32 {
        let pages = u64::from((lines >> self.coarser).div_ceil(self.modulus));
        u32::try_from((pages + 1) * u64::from(self.classes())).unwrap_or(u32::MAX)
    }

    /// Whether kept touches have bits enough for a group's part of so many recorded lines, and for
    /// the hot ones.
    fn can_number(self, lines: u32) -> bool {
        u64::from(self.kept(lines)) + hot::MOST as u64 <= 1 << (u32::BITS - FLAGS)
    }

    /// By class: its group, and its place among the group's classes in the order of their numbers.
    fn table(self) -> [(u8, u8); MOST as usize] {
        let mut order: Vec<u8> = (0..self.modulus as u8).collect();
        fastrand::Rng::with_seed(u64::from(self.modulus)).shuffle(&mut order);
        let mut table = [(NO_GROUP, 0); MOST as usize];
        for (group, classes) in (0..).zip(order.chunks_mut(self.classes() as usize)) {
            classes.sort_unstable();
            for (place, class) in (0..).zip(classes) {
                table[usize::from(*class)] = (group, place);
            }
        }
        table
    }
}

/// A touch of a sample: the line's new number and three of [`Touch`]'s flags. The line that a
/// dependent touch waits for is in another group mostly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptTouch(u32);

impl KeptTouch {
    #[inline]
    fn new(touch: Touch, line: u32) -> Self {
        let flags =
            u32::from(touch.write) | u32::from(touch.stack) << 1 | u32::from(touch.streaming) << 2;
        Self(line << FLAGS | flags)
    }

    /// The touch, of a line in the sample's numbers.
    #[inline]
    pub fn touch(self) -> Touch {
        Touch {
            line: self.0 >> FLAGS,
            write: self.0 & 1 != 0,
            stack: self.0 & 2 != 0,
            streaming: self.0 & 4 != 0,
            dependent: false,
        }
    }
}

/// The touches of one group of lines and of the hot lines. Four bytes a touch; strands that are
/// alike share theirs.
#[derive(Clone, Debug)]
pub struct Sample {
    groups: LineGroups,
    lines: u32,
    stack_lines: u32,
    hot: Vec<u32>,
    /// The classes of its group, ascending.
    classes: Vec<u8>,
    touches: Vec<KeptTouch>,
    /// By blob.
    ends: Vec<u64>,
    /// Pages of shared data that it touches.
    pages: u32,
}

impl Sample {
    /// It has the touches of one line in so many.
    pub fn one_in(&self) -> u32 {
        self.groups.count
    }

    /// As a power of two, how many recorded lines one of its lines holds.
    pub fn coarser(&self) -> u32 {
        self.groups.coarser
    }

    /// Lines of shared data, as [`Program::lines`]. The last are the hot ones.
    pub fn lines(&self) -> u32 {
        self.lines + self.hot.len() as u32
    }

    /// The lines that it has whatever their group, as the recording's lines of its length are
    /// numbered, ascending. Each stands for itself only.
    pub fn hot(&self) -> &[u32] {
        &self.hot
    }

    /// The number that shared `line` had before lines were left out, of lines of this length.
    pub fn numbered_before(&self, line: u32) -> u32 {
        if let Some(hot) = line.checked_sub(self.lines) {
            return self.hot.get(hot as usize).copied().unwrap_or(u32::MAX);
        }
        let count = self.classes.len() as u32;
        line / count * self.groups.modulus + u32::from(self.classes[(line % count) as usize])
    }

    /// The pages of shared data in which it has touches, of those of the program.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Counts them.
    fn count_pages(&mut self) {
        let line = |kept: &KeptTouch| Some(kept.touch()).filter(|touch| !touch.stack);
        let mut touched = Vec::new();
        for touch in self.touches.iter().filter_map(line) {
            let page =
                (u64::from(self.numbered_before(touch.line)) << self.coarser()) / u64::from(MOST);
            let word = page as usize / 64;
            if word >= touched.len() {
                touched.resize(word + 1, 0_u64);
            }
            touched[word] |= 1 << (page % 64);
        }
        self.pages = touched.iter().map(|word| word.count_ones()).sum();
    }

    /// Lines of a stack, as [`Program::stack_lines`].
    pub fn stack_lines(&self) -> u32 {
        self.stack_lines
    }

    /// The touches that it has of a strand of `program`, in order. Constant time.
    pub fn touches(&self, program: &Program, strand: StrandId) -> &[KeptTouch] {
        let blob = program.strands.get(strand).blob as usize;
        let start = blob.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.touches[start as usize..self.ends[blob] as usize]
    }

    /// Of how many touches of the program it has these.
    pub fn stands_for(&self, kept: &[KeptTouch]) -> u64 {
        let each = u64::from(self.one_in());
        if self.hot.is_empty() {
            return kept.len() as u64 * each;
        }
        let is_hot = |kept: &&KeptTouch| !kept.touch().stack && kept.touch().line >= self.lines;
        let hot = kept.iter().filter(is_hot).count() as u64;
        (kept.len() as u64 - hot) * each + hot
    }

    /// The touches that it has of all strands of `program`. Time for the number of strands.
    pub fn total_touches(&self, program: &Program) -> u64 {
        (0..program.strands()).map(|s| self.touches(program, StrandId(s)).len() as u64).sum()
    }
}

impl Program {
    /// Whether a sample's numbers suffice for the lines of a group and the hot ones.
    pub fn can_sample(&self, groups: LineGroups) -> bool {
        groups.can_number(self.lines().max(self.stack_lines()))
    }

    /// How many times as many touches the heaviest of the groups has as the mean, without stacks
    /// and without lines that a strand comes back to soon; 0 where there are none. Where that is
    /// much more than 1, most groups lack what the heaviest has, such as the conflicts of lines at
    /// a distance that is a power of two. Found on so many threads; the first time a pass through
    /// all different strands.
    pub fn heaviest_group(&self, groups: LineGroups, threads: NonZeroUsize) -> f64 {
        let mut touches = vec![0; groups.count as usize];
        let table = groups.table();
        let fresh = self.fresh_touches(groups.coarser, threads);
        for (class, fresh) in fresh.into_iter().enumerate() {
            let (group, _) = table[class % groups.modulus as usize];
            touches[usize::from(group)] += fresh;
        }
        let all: u64 = touches.iter().sum();
        let heaviest = touches.iter().max().map_or(0, |most| *most);
        heaviest as f64 * f64::from(groups.count) / all.max(1) as f64
    }

    /// The share of dependent touches among those that [`Self::heaviest_group`] counts: a sample
    /// leaves out the lines that they wait for. Takes as long.
    pub fn dependent_share(&self, groups: LineGroups, threads: NonZeroUsize) -> f64 {
        self.shares_of_fresh(groups.coarser, threads).0
    }

    /// The share of atomic read-modify-writes among them: in a sample only those of hot lines have
    /// their line to themselves. Takes as long.
    pub fn atomic_share(&self, groups: LineGroups, threads: NonZeroUsize) -> f64 {
        self.shares_of_fresh(groups.coarser, threads).1
    }

    /// Whether a sample has room for all hot lines: they have no more touches than the lines of a
    /// group. Takes as long.
    pub fn has_room_for_hot(&self, groups: LineGroups, threads: NonZeroUsize) -> bool {
        let fitting = self.total_touches() / u64::from(groups.count);
        self.hot_touches(groups.coarser, threads) <= fitting
    }
}

/// A part of one sample: touches, and their number in each blob.
type Part = (Vec<KeptTouch>, Vec<u64>);

impl Program {
    /// The samples of the groups `wanted`, in their order, found on so many threads. Time for the
    /// touches of all different strands; the first time twice that, and for all tasks.
    ///
    /// Those wanted last are kept for the next time: as far as they have no more touches than the
    /// program, at 4 bytes each.
    ///
    /// # Panics
    /// Where a group is wanted that `groups` does not have.
    pub fn samples(
        &self,
        groups: LineGroups,
        wanted: &[u32],
        threads: NonZeroUsize,
    ) -> Vec<Arc<Sample>> {
        assert!(
            wanted.iter().all(|group| *group < groups.count),
            "groups {wanted:?} of {groups:?}"
        );
        let take = |missing: &[u32]| self.take_samples(groups, missing, threads);
        self.taken.get(self, groups, wanted, take)
    }

    fn take_samples(
        &self,
        groups: LineGroups,
        wanted: &[u32],
        threads: NonZeroUsize,
    ) -> Vec<Sample> {
        let mut table = groups.table();
        for (group, _) in &mut table {
            let place = wanted.iter().position(|wanted| *wanted == u32::from(*group));
            *group = place.map_or(NO_GROUP, |place| place as u8);
        }
        let fitting = self.total_touches() / u64::from(groups.count);
        let hot = self.hot_lines(groups.coarser, fitting, threads);
        let strands = self.strands_by_blob();
        let kept = Kept { groups, table, hot: &hot, wanted: wanted.len(), strands: &strands };
        let classes = |place: usize| {
            let is_its = |class: &u8| usize::from(table[usize::from(*class)].0) == place;
            (0..groups.modulus as u8).filter(is_its).collect()
        };
        let parts = self.in_parts(threads, |blobs| self.sample_part(&kept, blobs));
        let mut samples: Vec<_> = wanted
            .iter()
            .enumerate()
            .map(|(place, _)| Sample {
                groups,
                lines: groups.kept(self.lines()),
                stack_lines: groups.kept(self.stack_lines()),
                hot: hot.clone(),
                classes: classes(place),
                touches: Vec::new(),
                ends: Vec::with_capacity(self.blobs.table.len()),
                pages: 0,
            })
            .collect();
        for part in parts {
            for (sample, (touches, counts)) in samples.iter_mut().zip(part) {
                let mut end = sample.touches.len() as u64;
                sample.ends.extend(counts.into_iter().map(|count| {
                    end += count;
                    end
                }));
                if sample.touches.is_empty() {
                    sample.touches = touches;
                } else {
                    sample.touches.extend(touches);
                }
            }
        }
        samples.iter_mut().for_each(Sample::count_pages);
        samples
    }

    /// The blobs, divided into `parts` ranges at most, so that each has about as many touches.
    fn even_ranges(&self, parts: usize) -> Vec<Range<u32>> {
        let table = &self.blobs.table;
        // A few bytes of a file are a blob of up to 2^64 touches.
        let touches = |blob: &Blob| u128::from(blob.touches);
        let all: u128 = table.iter().map(touches).sum();
        let parts = parts.min(table.len()) as u128;
        let (mut ranges, mut start, mut seen) = (Vec::new(), 0, 0);
        for (i, blob) in (1..).zip(table) {
            seen += touches(blob);
            let next = ranges.len() as u128 + 1;
            if all > 0 && next < parts && seen * parts >= all * next {
                ranges.push(start..i);
                start = i;
            }
        }
        let rest = start..table.len() as u32;
        if ranges.is_empty() || !rest.is_empty() {
            ranges.push(rest);
        }
        ranges
    }

    /// What `part` makes of ranges of blobs, in their order, each on a thread of its own: on so
    /// many `threads` at most.
    pub(crate) fn in_parts<R: Send>(
        &self,
        threads: NonZeroUsize,
        part: impl Fn(Range<u32>) -> R + Sync,
    ) -> Vec<R> {
        thread::scope(|scope| {
            let part = &part;
            let ranges = self.even_ranges(threads.get()).into_iter();
            let started: Vec<_> = ranges.map(|range| scope.spawn(|| part(range))).collect();
            // A panic goes on where it is joined.
            started.into_iter().map(|thread| thread.join().expect("a part")).collect()
        })
    }

    fn sample_part(&self, kept: &Kept<'_>, blobs: Range<u32>) -> Vec<Part> {
        let mut parts = vec![(Vec::new(), Vec::with_capacity(blobs.len())); kept.wanted];
        let Kept { groups: LineGroups { coarser, modulus, .. }, .. } = *kept;
        let (bits, classes) = (modulus.trailing_zeros(), kept.groups.classes());
        let (filter, first_hot) = (kept.filter(), kept.groups.kept(self.lines()));
        for blob in blobs {
            if kept.strands[blob as usize] == 0 {
                parts.iter_mut().for_each(|part| part.1.push(0));
                continue;
            }
            let before: Vec<usize> = parts.iter().map(|part: &Part| part.0.len()).collect();
            self.touches_of_blob(blob).for_each(|touch| {
                let line = touch.line >> coarser;
                if filter[hash(line)]
                    && !touch.stack
                    && let Ok(place) = kept.hot.binary_search(&line)
                {
                    let touch = KeptTouch::new(touch, first_hot + place as u32);
                    parts.iter_mut().for_each(|part| part.0.push(touch));
                    return;
                }
                let class = (line & (modulus - 1)) as usize % MOST as usize;
                let (group, place) = kept.table[class];
                if let Some((kept, _)) = parts.get_mut(usize::from(group)) {
                    let line = (line >> bits) * classes + u32::from(place);
                    kept.push(KeptTouch::new(touch, line));
                }
            });
            for (part, before) in parts.iter_mut().zip(before) {
                part.1.push((part.0.len() - before) as u64);
            }
        }
        parts
    }
}

/// Hashes of lines: a power of two.
const HASHES: usize = 1 << 12;

fn hash(line: u32) -> usize {
    (line.wrapping_mul(0x9e37_79b9) >> 20) as usize % HASHES
}

/// What is kept.
struct Kept<'a> {
    groups: LineGroups,
    /// As [`LineGroups::table`], with the places of the groups that are wanted.
    table: [(u8, u8); MOST as usize],
    /// Ascending.
    hot: &'a [u32],
    wanted: usize,
    /// As [`Program::strands_by_blob`].
    strands: &'a [u64],
}

impl Kept<'_> {
    /// By hash, whether some hot line has it.
    fn filter(&self) -> Box<[bool; HASHES]> {
        let mut filter = Box::new([false; HASHES]);
        self.hot.iter().for_each(|line| filter[hash(*line)] = true);
        filter
    }
}
