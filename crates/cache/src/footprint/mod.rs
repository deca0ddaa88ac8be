//! How many lines one task leaves in a cache for the next: marks per frame, and the six cells that
//! they give.
//!
//! A *frame* is a place of a cache that holds one line. Each has two marks: touched by the previous
//! task, touched by the current one. Of the current task's accesses only the first to each frame
//! counts; it hits, or it misses and so replaces what the frame held. That makes six [`Cells`],
//! which sum to the number of frames:
//!
//! | | hit by the current task | missed by it | untouched by it |
//! |---|---|---|---|
//! | **t**ouched by the previous one | TH | TM | TU |
//! | **n**ot touched by it | NH | NM | NU |
//!
//! [`Frames`] keeps them for one cache of a [`crate::Hierarchy`], of whatever shape, while one
//! worker runs one task after another.
//!
//! ```
//! use befit_cache::{Hierarchy, footprint::Frames};
//! use befit_machine::{Machine, WorkerId};
//!
//! let machine = Machine::find("gems-sparc").unwrap();
//! let mut caches = Hierarchy::new(&machine, 512, 1).unwrap();
//! let mut l1 = Frames::new(&caches, &machine, machine.workers()[0].leaf).unwrap();
//! // Tasks A and B of the footprint study touch 256 lines each, as in its L1, and share half.
//! for lines in [0..256, 128..384] {
//!     for line in lines {
//!         let access = caches.access(WorkerId(0), line, false);
//!         l1.observe(&caches, line, access);
//!     }
//!     let cells = l1.end_task();
//!     assert_eq!(cells.frames(), 256);
//!     println!("{} shared hits, {} shared misses", cells.touched_hit, cells.touched_missed);
//! }
//! ```

#[cfg(test)]
mod tests;

use befit_machine::{ClusterId, Inclusion, Machine, WorkerId};

use crate::{Access, Found, Hierarchy};

/// How a task found the frames of a cache after the task before it; each frame is in one cell.
/// Numbers of frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cells {
    /// TH: touched by the previous task; the current one's first access to it hits.
    pub touched_hit: u64,
    /// TM: touched by the previous task; the current one's first access to it misses.
    pub touched_missed: u64,
    /// TU: touched by the previous task and not by the current one.
    pub touched_untouched: u64,
    /// NH: not touched by the previous task; the current one hits a line that an older one left.
    pub new_hit: u64,
    /// NM: not touched by the previous task; the current one misses and replaces a line that an
    /// older one left.
    pub new_missed: u64,
    /// NU: touched by neither.
    pub new_untouched: u64,
}

impl Cells {
    /// All cells: the cache's frames.
    pub fn frames(&self) -> u64 {
        self.touched_hit
            + self.touched_missed
            + self.touched_untouched
            + self.new_hit
            + self.new_missed
            + self.new_untouched
    }

    /// The study's *Shared Hit*: TH.
    pub fn shared_hits(&self) -> u64 {
        self.touched_hit
    }

    /// The study's *Shared Miss*: TM.
    pub fn shared_misses(&self) -> u64 {
        self.touched_missed
    }

    /// The study's *Unchanged*: TU, the previous task's lines that still stand.
    pub fn unchanged(&self) -> u64 {
        self.touched_untouched
    }

    /// The study's *Overwritten* in the word's meaning: NM. (Its text uses the word for frames that
    /// neither task touched.)
    pub fn overwritten(&self) -> u64 {
        self.new_missed
    }

    /// *Overwritten* as the study's table has it, not touched before and touched now: NH + NM. On
    /// look-ups in random order most of these are hits.
    pub fn overwritten_by_table(&self) -> u64 {
        self.new_hit + self.new_missed
    }

    /// The study's measure for ordering tasks: Shared Hits − Shared Misses.
    pub fn affinity(&self) -> i64 {
        self.touched_hit as i64 - self.touched_missed as i64
    }
}

impl std::ops::AddAssign for Cells {
    fn add_assign(&mut self, other: Self) {
        self.touched_hit += other.touched_hit;
        self.touched_missed += other.touched_missed;
        self.touched_untouched += other.touched_untouched;
        self.new_hit += other.new_hit;
        self.new_missed += other.new_missed;
        self.new_untouched += other.new_untouched;
    }
}

const EMPTY: u32 = u32::MAX;

/// The frames of one cache on the path of the one worker that uses the machine.
///
/// The model keeps lines in the order of their use, not in places. So the frames are kept here: a
/// line that comes in takes the place of one of its set that the cache no longer holds. Marks are
/// numbers of tasks, so that going on to the next task is O(1).
#[derive(Clone, Debug)]
pub struct Frames {
    cluster: ClusterId,
    ways: usize,
    /// Per frame, set by set: the line that it holds.
    lines: Vec<u32>,
    /// Per frame: the latest task that touched it, 0 for none.
    last: Vec<u32>,
    /// The current task, from 1.
    task: u32,
    /// Frames that the previous task touched.
    previous: u64,
    cells: Cells,
    /// The cache below, whose victims fill an exclusive cache.
    below: Option<Box<Frames>>,
    /// Lines are not brought into it on a miss, as it is no worker's innermost.
    exclusive: bool,
}

impl Frames {
    /// The frames of the cache of `cluster`, for `caches` that hold nothing yet; none for the root.
    /// Every access from now on must be [`observe`](Self::observe)d. O(frames).
    pub fn new(caches: &Hierarchy, machine: &Machine, cluster: ClusterId) -> Option<Self> {
        let (sets, ways) = caches.sets_and_ways(cluster)?;
        let frames = sets as usize * ways as usize;
        let this = machine.cluster(cluster);
        // The caches below are those of the first worker under this one.
        let path = machine.path(WorkerId(this.workers.start));
        let below = path.take_while(|below| *below != cluster).last();
        // A worker's innermost cache takes lines in on a miss whatever its kind.
        let victims = this.cache.is_some_and(|c| c.inclusion == Inclusion::Exclusive);
        let below = below.filter(|_| victims);
        let exclusive = below.is_some();
        let below = below.and_then(|below| Self::new(caches, machine, below)).map(Box::new);
        Some(Self {
            cluster,
            ways: ways as usize,
            lines: vec![EMPTY; frames],
            last: vec![0; frames],
            task: 1,
            previous: 0,
            cells: Cells::default(),
            below,
            exclusive,
        })
    }

    /// The current task has accessed `line`, with the outcome `access`. O(1) for a
    /// direct-mapped cache, else O(ways²) for a miss.
    ///
    /// Returns the line that had to leave, if one had.
    pub fn observe(&mut self, caches: &Hierarchy, line: u32, access: Access) -> Option<u32> {
        let left = self.below.as_mut().and_then(|below| below.observe(caches, line, access));
        // Parents are numbered before their children: a line found below did not come here.
        let reached = !matches!(access.found, Found::Own(at) if at > self.cluster);
        let mut evicted = None;
        if reached {
            if access.found == Found::Own(self.cluster) {
                let frame = self.find(caches, line).unwrap_or_else(|| self.place(caches, line).0);
                self.touch(frame, true);
                if self.exclusive && !caches.holds(self.cluster, line) {
                    self.lines[frame] = EMPTY;
                }
            } else if !self.exclusive {
                let (frame, old) = self.place(caches, line);
                self.touch(frame, false);
                evicted = old;
            }
        }
        let came = |left: &u32| {
            self.exclusive
                && caches.holds(self.cluster, *left)
                && self.find(caches, *left).is_none()
        };
        if let Some(left) = left.filter(came) {
            let (frame, old) = self.place(caches, left);
            self.touch(frame, false);
            evicted = evicted.or(old);
        }
        evicted
    }

    fn find(&self, caches: &Hierarchy, line: u32) -> Option<usize> {
        let first = caches.set_of(self.cluster, line) as usize * self.ways;
        let mut frames = first..first + self.ways;
        frames.find(|frame| self.lines[*frame] == line)
    }

    /// Gives `line`, which the cache has taken in, a frame of its set: its own, if it left only as
    /// an inclusive cache above lost it, else one whose line is gone. Returns that line as well.
    fn place(&mut self, caches: &Hierarchy, line: u32) -> (usize, Option<u32>) {
        let first = caches.set_of(self.cluster, line) as usize * self.ways;
        let set = &self.lines[first..first + self.ways];
        let own = set.iter().position(|held| *held == line);
        let free = || set.iter().position(|held| *held == EMPTY);
        // As many lines as ways are there at most, this one among them: some frame's line is gone.
        let gone = |held: &u32| !caches.holds(self.cluster, *held);
        let way = match self.ways {
            1 => 0,
            _ => own.or_else(free).or_else(|| set.iter().position(gone)).unwrap_or(0),
        };
        let old = std::mem::replace(&mut self.lines[first + way], line);
        (first + way, (old != EMPTY && old != line).then_some(old))
    }

    fn touch(&mut self, frame: usize, hit: bool) {
        let last = std::mem::replace(&mut self.last[frame], self.task);
        if last == self.task {
            return;
        }
        let before = last + 1 == self.task && last > 0;
        match (before, hit) {
            (true, true) => self.cells.touched_hit += 1,
            (true, false) => self.cells.touched_missed += 1,
            (false, true) => self.cells.new_hit += 1,
            (false, false) => self.cells.new_missed += 1,
        }
    }

    /// The current task ends and the next one begins. Returns the cells of the current one after
    /// the one before it. O(1).
    pub fn end_task(&mut self) -> Cells {
        if let Some(below) = &mut self.below {
            below.end_task();
        }
        let mut cells = std::mem::take(&mut self.cells);
        cells.touched_untouched = self.previous - cells.touched_hit - cells.touched_missed;
        let touched = cells.frames() - cells.touched_untouched;
        cells.new_untouched = self.lines.len() as u64 - cells.frames();
        self.previous = touched;
        self.task += 1;
        cells
    }
}
