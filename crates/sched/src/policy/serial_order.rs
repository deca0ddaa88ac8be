//! The order in which a serial run comes to tasks, and lines of ready tasks in that order.
//!
//! The order is that of *places*. A task's place is its parent's with its own number among the
//! siblings appended; places compare like words in a dictionary, but a word comes after those that
//! begin with it: what a task does after its forks comes after all that they do.
//!
//! Levels whose forks an engine kept private are taken for first children: a worker takes these
//! first, so the forks that one worker has pending are in the right order.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use super::queue::Accepts;
use crate::{Ready, Stage, TaskInfo};

/// A place in serial order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Place(Box<[u32]>);

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let differs = self.0.iter().zip(&other.0).find(|(own, others)| own != others);
        differs.map_or(other.0.len().cmp(&self.0.len()), |(own, others)| own.cmp(others))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Place {
    /// The place of a task that forks stand between this one and.
    fn below(&self, task: &TaskInfo) -> Self {
        let own = self.0.iter().copied();
        let skipped = (task.depth as usize).saturating_sub(self.0.len() + 1);
        let number = (task.depth > 0).then_some(task.index);
        Self(own.chain(std::iter::repeat_n(0, skipped)).chain(number).collect())
    }
}

/// Where a strand stands in a [`Line`]: its place, and a number where several have the same, as
/// programs that began at once.
pub(super) type Key = (Place, u64);

/// Ready strands in serial order.
pub(super) type Line<T> = BTreeMap<Key, Ready<T>>;

/// Takes the first that is accepted.
pub(super) fn pop_first<T>(line: &mut Line<T>, accepts: Accepts<'_, T>) -> Option<Ready<T>> {
    let Some(accepts) = accepts else { return line.pop_first().map(|(_, ready)| ready) };
    pop_where(line, |ready| accepts(&ready.job))
}

/// Takes the first of which this is true.
pub(super) fn pop_where<T>(
    line: &mut Line<T>,
    may: impl Fn(&Ready<T>) -> bool,
) -> Option<Ready<T>> {
    let key = line.iter().find(|(_, ready)| may(ready)).map(|(key, _)| key.clone())?;
    line.remove(&key)
}

/// The places of tasks that have not ended.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By [`TaskInfo::mark`].
    places: HashMap<u64, Place>,
    /// The last mark.
    last: u64,
}

impl Places {
    /// Where `ready` stands. A task that starts is given its mark, and has its parent's until then.
    pub(super) fn key<T>(&mut self, ready: &mut Ready<T>) -> Key {
        self.last += 1;
        let known = self.places.get(&ready.task.mark);
        let place = match ready.stage {
            Stage::Start => {
                let place = known.unwrap_or(&Place::default()).below(&ready.task);
                ready.task.mark = self.last;
                self.places.insert(self.last, place.clone());
                place
            }
            Stage::Continuation => known.cloned().unwrap_or_default(),
        };
        (place, self.last)
    }

    /// `task` has ended, or forks nothing more that needs a place.
    pub(super) fn forget(&mut self, task: &TaskInfo) {
        self.places.remove(&task.mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(numbers: &[u32]) -> Place {
        Place(numbers.into())
    }

    #[test]
    fn what_a_task_does_after_its_forks_comes_after_all_that_they_do() {
        let places: [&[u32]; 8] = [&[0, 0], &[0, 1, 7], &[0, 1], &[0, 2], &[0], &[1, 0], &[1], &[]];
        assert!(places.map(place).is_sorted_by(|a, b| a < b));
        assert_eq!(place(&[3, 1]).partial_cmp(&place(&[3, 1])), Some(Ordering::Equal));
    }

    /// `job` of `task`.
    fn ready(job: u32, task: TaskInfo, stage: Stage) -> Ready<u32> {
        Ready { job, task, stage }
    }

    #[test]
    fn a_task_stands_below_its_parent_and_forks_that_were_kept_private_are_first_children() {
        let mut places = Places::default();
        let mut start = |task: TaskInfo| {
            let mut ready = ready(0, task, Stage::Start);
            let (place, number) = places.key(&mut ready);
            (place, number, ready.task)
        };
        let (at, number, root) = start(TaskInfo::root(None, None));
        assert_eq!((at, number), (place(&[]), 1));
        let (at, _, child) = start(root.child(3, None, None));
        assert_eq!(at, place(&[3]));
        // Two levels further down, of which nothing was said.
        let private = child.child(1, None, None).child(0, None, None);
        let (at, number, below) = start(private.child(5, None, None));
        assert_eq!((at, number), (place(&[3, 0, 0, 5]), 3));
        // A strand that goes on stands where its task does, until that is forgotten.
        let mut goes_on = ready(0, below, Stage::Continuation);
        assert_eq!(places.key(&mut goes_on), (place(&[3, 0, 0, 5]), 4));
        assert_eq!(goes_on.task, below, "it keeps its mark");
        places.forget(&below);
        assert_eq!(places.key(&mut goes_on).0, place(&[]));
        assert_eq!(places.key(&mut ready(0, child, Stage::Continuation)).0, place(&[3]));
    }

    #[test]
    fn the_first_in_line_that_may_be_taken_is_and_others_stay() {
        let task = TaskInfo::root(None, None);
        let mut line = Line::new();
        for (job, numbers) in [(1, &[][..]), (2, &[1]), (3, &[0, 2]), (4, &[0])] {
            line.insert((place(numbers), 0), ready(job, task, Stage::Start));
        }
        let job = |ready: Option<Ready<u32>>| ready.map(|ready| ready.job);
        assert_eq!(job(pop_first(&mut line, Some(&|job| *job < 3))), Some(2));
        assert_eq!(job(pop_first(&mut line, Some(&|job| *job > 4))), None);
        assert_eq!(job(pop_where(&mut line, |ready| ready.job != 3)), Some(4));
        let rest = [(); 3].map(|()| job(pop_first(&mut line, None)));
        assert_eq!(rest, [Some(3), Some(1), None]);
    }
}
