//! Where the time of all workers together went, in parts that add up to running time × workers.
//!
//! A wait is charged to the miss that it ended with: of several that were in flight together, the
//! one that came last. The share of it that the line spent on wires behind other lines is
//! bandwidth, the share that finding its page took is walks;
//! the rest is the latency of where the line came from. Idle time is divided by the
//! state of the machine while it passed ([`crate::idle`]).

use befit_machine::{Cycles, WorkerId};

use crate::clock::Ticks;

/// What time went on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Part {
    /// The program's operations, as long as they take on the machine's fastest core alone.
    #[default]
    Work,
    /// What they took longer on slower cores, and on cores whose hardware threads both ran.
    SharedCores,
    /// Making forks and spawns, inlined ones included.
    Forks,
    /// Calls of the policy, without locks.
    Policy,
    /// Locks of the policy that another worker held.
    Locks,
    /// Lines from farther caches under the worker's own last-level cache, that cache included.
    Caches,
    /// Lines from memory.
    Memory,
    /// Lines from another last-level cache.
    OtherCaches,
    /// Lines that went to and fro between workers of which at least one writes them.
    Handovers,
    /// Lines at a constant distance of two lines or more from the one before.
    Strides,
    /// Wires that were busy with other lines.
    Bandwidth,
    /// Walks to pages that the TLB did not have.
    Walks,
    /// First touches of pages.
    Faults,
    /// Idle, while nothing was ready and tasks that fork ran a strand of their own.
    Serial,
    /// Idle, while nothing was ready and the program had not yet had as many tasks as workers,
    /// since its last serial strand.
    FewTasks,
    /// Idle, while nothing was ready and the last of many tasks ran.
    Stragglers,
    /// Idle, while all that was ready or ran was bound to caches of other workers, or did not fit.
    Bound,
    /// Idle, while a task was ready that the worker had not found yet, or was about to be forked.
    Search,
}

impl Part {
    /// All parts, in the order in which they are declared.
    pub const ALL: [Self; 18] = [
        Self::Work,
        Self::SharedCores,
        Self::Forks,
        Self::Policy,
        Self::Locks,
        Self::Caches,
        Self::Memory,
        Self::OtherCaches,
        Self::Handovers,
        Self::Strides,
        Self::Bandwidth,
        Self::Walks,
        Self::Faults,
        Self::Serial,
        Self::FewTasks,
        Self::Stragglers,
        Self::Bound,
        Self::Search,
    ];
    /// Those of them that are idle time.
    pub const IDLE: [Self; 5] =
        [Self::Serial, Self::FewTasks, Self::Stragglers, Self::Bound, Self::Search];

    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::SharedCores => "shared_cores",
            Self::Forks => "forks",
            Self::Policy => "policy",
            Self::Locks => "locks",
            Self::Caches => "caches",
            Self::Memory => "memory",
            Self::OtherCaches => "other_caches",
            Self::Handovers => "handovers",
            Self::Strides => "strides",
            Self::Bandwidth => "bandwidth",
            Self::Walks => "walks",
            Self::Faults => "faults",
            Self::Serial => "serial",
            Self::FewTasks => "few_tasks",
            Self::Stragglers => "stragglers",
            Self::Bound => "bound",
            Self::Search => "search",
        }
    }
}

/// A time, or the median of one, for each part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account<T = Cycles>([T; Part::ALL.len()]);

impl<T: Copy> Account<T> {
    /// The account with these times.
    pub fn by(of: impl FnMut(Part) -> T) -> Self {
        Self(Part::ALL.map(of))
    }

    /// The time of one part.
    pub fn get(&self, part: Part) -> T {
        self.0[part as usize]
    }

    /// The same with each part put through `f`.
    pub fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> Account<U> {
        Account(self.0.map(f))
    }
}

impl<T: Copy + std::iter::Sum> Account<T> {
    /// All parts together.
    pub fn total(&self) -> T {
        self.0.iter().copied().sum()
    }
}

impl Account<Ticks> {
    pub(crate) fn charge(&mut self, part: Part, time: Ticks) {
        self.0[part as usize] += time;
    }
}

/// A line that went to and fro between workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contended {
    /// The line, as the program numbers it.
    pub line: u32,
    /// How often another worker than the last wrote it.
    pub handovers: u64,
    /// How long workers waited for it.
    pub waited: Cycles,
}

/// Lines that are followed at a time: a power of two. A line that is handed over often stays.
const FOLLOWED: usize = 1 << 12;
/// Lines that [`Handovers::worst`] tells.
const WORST: usize = 64;

/// The lines that workers take from one another, and how often.
///
/// A table with a place for each hash, so that it costs the same whatever the program's size. A
/// line leaves it when lines of the same hash come more often.
#[derive(Debug)]
pub(crate) struct Handovers {
    /// Looked at for every line that a worker does not have: small, so that it stays in a cache.
    followed: Vec<Followed>,
    /// How often the line of each place was handed over, and how long it was waited for.
    found: Vec<(u64, Ticks)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    line: u32,
    writer: u32,
    /// How many lines of the same hash may come before it leaves.
    stays: u32,
}

impl Handovers {
    /// How long a line stays at most, in other lines of its hash.
    const STAYS: u32 = 64;

    pub(crate) fn new() -> Self {
        Self {
            followed: vec![Followed::default(); FOLLOWED],
            found: vec![(0, Ticks::default()); FOLLOWED],
        }
    }

    fn place(line: u32) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        (line.wrapping_mul(0x9e37_79b9) >> (32 - FOLLOWED.trailing_zeros())) as usize
    }

    /// A worker takes a line that others have, or last had. Returns whether it has gone to and fro.
    #[inline]
    pub(crate) fn takes(&mut self, worker: WorkerId, line: u32, write: bool) -> bool {
        let place = Self::place(line);
        let slot = &mut self.followed[place];
        if slot.line == line && slot.stays > 0 {
            return self.takes_followed(place, worker, write);
        }
        slot.stays = slot.stays.saturating_sub(1);
        if write && slot.stays == 0 {
            *slot = Followed { line, writer: worker.0, stays: 1 };
            self.found[place] = (0, Ticks::default());
        }
        false
    }

    fn takes_followed(&mut self, place: usize, worker: WorkerId, write: bool) -> bool {
        let slot = &mut self.followed[place];
        let from_another = slot.writer != worker.0;
        slot.stays = (slot.stays + 1).min(Self::STAYS);
        let (handovers, _) = &mut self.found[place];
        if write && from_another {
            slot.writer = worker.0;
            *handovers += 1;
        }
        from_another && *handovers > 1
    }

    pub(crate) fn waited(&mut self, line: u32, time: Ticks) {
        let place = Self::place(line);
        if self.followed[place].line == line {
            self.found[place].1 += time;
        }
    }

    /// Those that were waited for longest, first.
    pub(crate) fn worst(&self) -> Vec<Contended> {
        let all = self.followed.iter().zip(&self.found);
        let waited = all.filter(|(_, (_, waited))| *waited > Ticks::default());
        let of = |(Followed { line, .. }, (handovers, waited)): (&Followed, &(u64, Ticks))| {
            Contended { line: *line, handovers: *handovers, waited: waited.whole() }
        };
        let mut worst: Vec<_> = waited.map(of).collect();
        worst.sort_by_key(|line| (std::cmp::Reverse(line.waited), line.line));
        worst.truncate(WORST);
        worst
    }
}

/// Tells lines at a constant distance of the one before among a worker's misses, of several such
/// runs at a time. A distance in bytes that is no whole number of lines is two numbers of lines by
/// turns, one apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strides {
    /// Each run's last line, and the distance to it from the one before.
    last: [u32; Self::RUNS],
    distance: [i32; Self::RUNS],
    /// The lines that go on with it: the one at the same distance and, of a stride, those beside
    /// that one, or [`Self::NONE`] in place of a neighbour of the last.
    next: [[u32; Self::RUNS]; 3],
    /// The run whose turn it is to be given up.
    oldest: usize,
}

impl Default for Strides {
    fn default() -> Self {
        let next = [0, Self::NONE, Self::NONE].map(|line| [line; Self::RUNS]);
        Self { last: [0; Self::RUNS], distance: [0; Self::RUNS], next, oldest: 0 }
    }
}

impl Strides {
    const RUNS: usize = 8;
    /// Lines further apart are of different runs.
    const FARTHEST: i32 = 1 << 14;
    /// No line has this number.
    const NONE: u32 = u32::MAX;

    /// Whether `line`, below 2³⁰, goes on with a run. Its distance is two lines or more.
    ///
    /// All runs are compared, without a branch, so that a vector does it: this is asked for every
    /// miss, and of lines at random no branch can be foreseen.
    pub(crate) fn goes_on(&mut self, line: u32) -> bool {
        let [same, less, more] = &self.next;
        let is_next: [u8; Self::RUNS] = std::array::from_fn(|run| {
            u8::from((same[run] == line) | (less[run] == line) | (more[run] == line))
        });
        let run = u64::from_le_bytes(is_next).trailing_zeros() as usize / 8;
        if let Some(distance) = self.distance.get(run) {
            let distance = *distance;
            self.set(run, line, distance);
            return distance.unsigned_abs() > 1;
        }
        let from = self.last.map(|last| line.wrapping_sub(last).cast_signed());
        // The nearest; of several, the first.
        let far = from.map(|from| from.wrapping_abs().min(Self::FARTHEST));
        let order: [i32; Self::RUNS] =
            std::array::from_fn(|run| far[run] * Self::RUNS as i32 + run as i32);
        let nearest = order.into_iter().fold(i32::MAX, i32::min) as usize % Self::RUNS;
        if far[nearest] < Self::FARTHEST {
            self.set(nearest, line, from[nearest]);
        } else {
            self.set(self.oldest, line, 0);
            self.oldest = (self.oldest + 1) % Self::RUNS;
        }
        false
    }

    /// From now on the run is at `line`, this far from the one before.
    #[inline(always)]
    fn set(&mut self, run: usize, line: u32, distance: i32) {
        (self.last[run], self.distance[run]) = (line, distance);
        let next = line.wrapping_add_signed(distance);
        let is_stride = distance.unsigned_abs() > 1;
        let less = if is_stride && distance != 2 { next.wrapping_sub(1) } else { Self::NONE };
        let more = if is_stride && distance != -2 { next.wrapping_add(1) } else { Self::NONE };
        for (lines, line) in self.next.iter_mut().zip([next, less, more]) {
            lines[run] = line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_constant_distance_are_told_from_neighbours_and_from_chance() {
        let count = |lines: &mut dyn Iterator<Item = u32>| {
            let mut strides = Strides::default();
            lines.filter(|line| strides.goes_on(*line)).count()
        };
        assert_eq!(count(&mut (0..100).map(|i| 5000 + i * 16)), 98);
        assert_eq!(count(&mut (0..100).map(|i| 5000 + i)), 0);
        // 187.5 lines; and one and a half, of which every other one is the next line.
        assert_eq!(count(&mut (0..100).map(|i| 5000 + i * 375 / 2)), 98);
        assert_eq!(count(&mut (0..100).map(|i| 5000 + i * 3 / 2)), 0);
        // Two at a time, one of them downwards.
        let mut both = (0..100).flat_map(|i| [50_000 + i * 16, 900_000 - i * 33]);
        assert_eq!(count(&mut both), 196);
        let mut random = fastrand::Rng::with_seed(1);
        assert!(count(&mut (0..1000).map(|_| random.u32(..1 << 20))) < 20);
    }

    #[test]
    fn a_line_that_goes_to_and_fro_is_told_from_one_that_is_passed_on() {
        let mut handovers = Handovers::new();
        for line in 0..1000 {
            assert!(!handovers.takes(WorkerId(line % 2), line, true));
        }
        let mut waits = 0;
        for turn in 0..100 {
            let worker = WorkerId(turn % 2);
            if handovers.takes(worker, 77, true) {
                handovers.waited(77, Ticks::cycles(10));
                waits += 1;
            }
            // Others of all hashes pass meanwhile.
            handovers.takes(worker, 100_000 + turn, true);
        }
        assert!(waits > 90, "{waits}");
        let worst = handovers.worst();
        assert_eq!((worst.len(), worst[0].line), (1, 77));
        assert_eq!(worst[0].waited, Cycles(10 * waits));
    }

    #[test]
    fn an_account_has_the_time_of_each_part_at_its_place() {
        let account = Account::by(|part| Cycles(1 << part as u64));
        for (place, part) in (0..).zip(Part::ALL) {
            assert_eq!(account.get(part), Cycles(1 << place), "{part:?}");
        }
        assert_eq!(account.total(), Cycles((1 << Part::ALL.len()) - 1));
        assert_eq!(account.map(|time| time.0 + 1).get(Part::Locks), (1 << 4) + 1);
    }

    #[test]
    fn a_part_is_named_as_it_is_declared_with_underscores() {
        for part in Part::ALL {
            let mut name = String::new();
            for letter in format!("{part:?}").chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.extend(letter.to_lowercase());
            }
            assert_eq!(part.name(), name);
        }
    }
}
