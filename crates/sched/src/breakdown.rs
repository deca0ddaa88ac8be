//! Where workers' time goes.

use std::{array, iter::Sum, ops::Add};

/// Where workers' time went, in five parts that sum to the whole: the breakdown of Simhadri et al.
/// (2016). A part may be a time, a counter of one, or its spread over several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Breakdown<T> {
    /// In the program's own code: strands, and forks that the scheduler never saw.
    pub active: T,
    /// In the scheduler, making work known.
    pub add: T,
    /// In the scheduler, being given work.
    pub get: T,
    /// In the scheduler, giving back strands and tasks that ended or wait.
    pub done: T,
    /// Without work: looking in vain, or asleep.
    pub idle: T,
}

impl<T> Breakdown<T> {
    /// The names of the parts, in the order of [`Self::parts`].
    pub const NAMES: [&'static str; 5] = ["active", "add", "get", "done", "idle"];

    /// The parts, in the order in which they are declared.
    pub fn parts(self) -> [T; 5] {
        [self.active, self.add, self.get, self.done, self.idle]
    }

    /// The same with each part put through `f`.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Breakdown<U> {
        self.parts().map(f).into()
    }

    /// All five together.
    pub fn total(self) -> T
    where
        T: Sum,
    {
        self.parts().into_iter().sum()
    }
}

impl<T: Copy> Breakdown<T> {
    /// Several breakdowns as one: each part is `f` of that part of all of them, in their order.
    pub fn join<U>(all: &[Self], mut f: impl FnMut(Vec<T>) -> U) -> Breakdown<U> {
        array::from_fn(|part| f(all.iter().map(|one| one.parts()[part]).collect())).into()
    }
}

impl<T> From<[T; 5]> for Breakdown<T> {
    fn from([active, add, get, done, idle]: [T; 5]) -> Self {
        Self { active, add, get, done, idle }
    }
}

impl<T: Copy + Add<Output = T>> Add for Breakdown<T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (one, two) = (self.parts(), other.parts());
        array::from_fn(|part| one[part] + two[part]).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_mapped_joined_and_summed_one_by_one() {
        let one = Breakdown::from([1, 2, 3, 4, 5]);
        assert_eq!((one.total(), one.map(|part| part * 10).parts()), (15, [10, 20, 30, 40, 50]));
        let pairs = Breakdown::join(&[one, one + one], |parts| (parts[0], parts[1]));
        assert_eq!(pairs.parts(), [(1, 2), (2, 4), (3, 6), (4, 8), (5, 10)]);
    }
}
