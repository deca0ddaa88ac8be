//! Affinities known beforehand, from what tasks touch.

use befit_machine::ClusterId;

use super::{Core, Tasks};

/// No line.
const NONE: u32 = u32::MAX;
/// A task that touches at least one of so many frames has a table of all of them, which compares
/// faster.
const DENSE: usize = 4;

/// Shared Hits − Shared Misses of any ordered pair of tasks in one cache, computed from the lines
/// that the two touch.
///
/// After the first of the pair, each frame that it touched holds the line that it touched there
/// last. The first access of the second to such a frame is a Shared Hit if it is to that line, else
/// a Shared Miss. That is exact for direct-mapped caches whose inner caches change nothing about
/// what reaches them (the innermost cache); for others it takes a set for a frame of as many lines
/// as it has ways, and counts a line that both touch as a hit and no misses.
#[derive(Clone, Debug)]
pub struct Oracle {
    frames: Vec<Frames>,
}

#[derive(Clone, Debug)]
enum Frames {
    /// Per frame touched, ascending: its number, the line touched first, the line touched last.
    Few(Vec<(u32, u32, u32)>),
    /// Per frame: the line touched first, the line touched last.
    All(Vec<u32>, Vec<u32>),
}

impl Oracle {
    /// For the cache of `cluster` (a cache on the core's path). O(touches × log of a task's
    /// touches).
    pub fn new(core: &Core, tasks: &Tasks, cluster: ClusterId) -> Self {
        let (sets, ways) = core.caches().sets_and_ways(cluster).unwrap_or((1, 1));
        let each = |task| {
            let touches = tasks.touches(task).map(|(line, _)| core.line(line));
            if ways == 1 {
                direct_mapped(touches.map(|line| (core.caches().set_of(cluster, line), line)), sets)
            } else {
                // A frame for each line: hits only.
                direct_mapped(touches.map(|line| (line, line)), u32::MAX)
            }
        };
        Self { frames: (0..tasks.len()).map(each).collect() }
    }

    /// Of task `next` right after task `before`, in frames. O(frames that the two touch).
    ///
    /// # Panics
    /// Where there is no such task.
    pub fn affinity(&self, before: usize, next: usize) -> i64 {
        match (&self.frames[before], &self.frames[next]) {
            (Frames::All(_, last), Frames::All(first, _)) => {
                let score = |(last, first): (&u32, &u32)| {
                    i32::from(last == first && *first != NONE)
                        - i32::from(last != first && *first != NONE && *last != NONE)
                };
                last.iter().zip(first).map(score).sum::<i32>().into()
            }
            (Frames::Few(before), Frames::Few(next)) => merge(before, next),
            (before, next) => merge(&before.few(), &next.few()),
        }
    }
}

fn direct_mapped(touches: impl Iterator<Item = (u32, u32)>, sets: u32) -> Frames {
    let mut few: Vec<(u32, u32, u32)> = touches.map(|(frame, line)| (frame, line, line)).collect();
    few.sort_by_key(|(frame, ..)| *frame); // stable: in the order of touches within a frame
    few.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.2 = later.2;
        }
        same
    });
    if few.len() < sets as usize / DENSE {
        return Frames::Few(few);
    }
    let (mut first, mut last) = (vec![NONE; sets as usize], vec![NONE; sets as usize]);
    for (frame, from, to) in few {
        (first[frame as usize], last[frame as usize]) = (from, to);
    }
    Frames::All(first, last)
}

impl Frames {
    fn few(&self) -> Vec<(u32, u32, u32)> {
        match self {
            Self::Few(few) => few.clone(),
            Self::All(first, last) => {
                let all =
                    (0..).zip(first).zip(last).map(|((frame, first), last)| (frame, *first, *last));
                all.filter(|(_, first, _)| *first != NONE).collect()
            }
        }
    }
}

fn merge(before: &[(u32, u32, u32)], next: &[(u32, u32, u32)]) -> i64 {
    let (mut at, mut score) = (0, 0);
    for (frame, first, _) in next {
        while at < before.len() && before[at].0 < *frame {
            at += 1;
        }
        if let Some((_, _, last)) = before.get(at).filter(|(other, ..)| other == frame) {
            score += if last == first { 1 } else { -1 };
        }
    }
    score
}
