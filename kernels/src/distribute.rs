//! Moves elements of one array into another so that each *class* of them stands together: the
//! parallel step of the sorts and of `quadtree`.
//!
//! The input is cut into parts. Each part counts its elements of each class; the counts say where
//! in the output each part's elements of each class go; each part copies its own. Both passes split
//! in two in parallel, down to a part.

use befit::{fit, join};
use smallvec::{SmallVec, smallvec};

use crate::BOOKKEEPING;

/// Elements that go through a small array at once.
const BLOCK: usize = 128;

/// The way in which elements are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution<F> {
    /// Elements of a part: one thread counts and copies them.
    pub(crate) part: usize,
    /// The number of classes.
    pub(crate) classes: usize,
    /// An element's class, below `classes`.
    pub(crate) class: F,
}

/// One of something for each class: on the stack where they are as few as in most kernels.
type PerClass<T> = SmallVec<[T; 4]>;

/// The number of elements of each class in each part.
pub(crate) struct Counts {
    /// `classes` numbers for each part.
    table: PerClass<usize>,
    /// The number of elements of each class in all parts.
    pub(crate) totals: PerClass<usize>,
}

fn totals(table: &[usize], classes: usize) -> PerClass<usize> {
    let mut totals: PerClass<usize> = smallvec![0; classes];
    for row in table.chunks(classes) {
        totals.iter_mut().zip(row).for_each(|(total, n)| *total += n);
    }
    totals
}

impl<F> Distribution<F> {
    /// Counts the elements of each class. Time O(n), span O(part + classes · log n).
    pub(crate) fn count<T>(&self, from: &[T]) -> Counts
    where
        T: Sync,
        F: Fn(&T) -> usize + Sync,
    {
        let mut table: PerClass<usize> =
            smallvec![0; from.len().div_ceil(self.part).max(1) * self.classes];
        let totals = self.count_parts(from, &mut table);
        Counts { table, totals }
    }

    /// Fills the table; returns its sums.
    fn count_parts<T>(&self, from: &[T], table: &mut [usize]) -> PerClass<usize>
    where
        T: Sync,
        F: Fn(&T) -> usize + Sync,
    {
        let parts = table.len() / self.classes;
        if parts == 1 {
            self.count_part(from, table);
            return PerClass::from_slice(table);
        }
        let (table1, table2) = table.split_at_mut(parts / 2 * self.classes);
        let (from1, from2) = from.split_at(parts / 2 * self.part);
        let (bytes1, bytes2) =
            (size_of_val(from1) + size_of_val(table1), size_of_val(from2) + size_of_val(table2));
        let (mut totals, totals2) = join(
            fit(bytes1, || self.count_parts(from1, table1)).strand(self.strand(from1, bytes1, 0)),
            fit(bytes2, || self.count_parts(from2, table2)).strand(self.strand(from2, bytes2, 0)),
        );
        totals.iter_mut().zip(totals2).for_each(|(total, n)| *total += n);
        totals
    }

    fn count_part<T>(&self, from: &[T], counts: &mut [usize])
    where
        F: Fn(&T) -> usize,
    {
        // Two classes are one sum, which needs no memory in the loop.
        if let [first, second] = counts {
            *second = from.iter().map(&self.class).sum();
            *first = from.len() - *second;
            return;
        }
        for element in from {
            counts[(self.class)(element)] += 1;
        }
    }

    /// Copies the elements of `from`, whose counts are `counts`, to `to`, class after class. Time
    /// O(n + parts · classes), span O(part + parts · classes).
    pub(crate) fn copy<T>(&self, from: &[T], counts: &Counts, to: &mut [T])
    where
        T: Copy + Send + Sync,
        F: Fn(&T) -> usize + Sync,
    {
        let places = split(to, &counts.totals);
        self.copy_parts(from, &counts.table, places);
    }

    fn copy_parts<T>(&self, from: &[T], table: &[usize], mut to: PerClass<&mut [T]>)
    where
        T: Copy + Send + Sync,
        F: Fn(&T) -> usize + Sync,
    {
        let parts = table.len() / self.classes;
        if parts <= 1 {
            return self.copy_part(from, &mut to);
        }
        let (table1, table2) = table.split_at(parts / 2 * self.classes);
        let (from1, from2) = from.split_at(parts / 2 * self.part);
        let cuts = totals(table1, self.classes);
        let (to1, to2): (PerClass<_>, PerClass<_>) =
            to.into_iter().zip(cuts).map(|(place, cut)| place.split_at_mut(cut)).unzip();
        let bytes1 = 2 * size_of_val(from1) + size_of_val(table1);
        let bytes2 = 2 * size_of_val(from2) + size_of_val(table2);
        join(
            fit(bytes1, || self.copy_parts(from1, table1, to1)).strand(self.strand(
                from1,
                bytes1,
                size_of_val(table1),
            )),
            fit(bytes2, || self.copy_parts(from2, table2, to2)).strand(self.strand(
                from2,
                bytes2,
                size_of_val(table2),
            )),
        );
    }

    fn copy_part<T: Copy>(&self, from: &[T], to: &mut [&mut [T]])
    where
        F: Fn(&T) -> usize,
    {
        // No branch depends on the data, as the next class cannot be predicted.
        if let [first, second] = to {
            return self.copy_two(from, first, second);
        }
        let mut next: PerClass<usize> = smallvec![0; to.len()];
        for element in from {
            let class = (self.class)(element);
            to[class][next[class]] = *element;
            next[class] += 1;
        }
    }

    /// As [`Self::copy_part`] for two classes, through a small array: the first class grows from
    /// its start, the second from its end.
    fn copy_two<T: Copy>(&self, from: &[T], first: &mut [T], second: &mut [T])
    where
        F: Fn(&T) -> usize,
    {
        let (mut at_first, mut at_second) = (0, 0);
        for block in from.chunks(BLOCK) {
            let mut staged = [block[0]; BLOCK];
            let mut seconds = 0;
            for (i, element) in block.iter().enumerate() {
                let class = (self.class)(element);
                staged[if class == 0 { i - seconds } else { BLOCK - 1 - seconds }] = *element;
                seconds += class;
            }
            let firsts = block.len() - seconds;
            first[at_first..at_first + firsts].copy_from_slice(&staged[..firsts]);
            second[at_second..at_second + seconds].copy_from_slice(&staged[BLOCK - seconds..]);
            at_first += firsts;
            at_second += seconds;
        }
    }

    /// The most that a strand touches of a task of `bytes` bytes on `from`: all of it, or the
    /// `table` bytes of counts that it sums.
    fn strand<T>(&self, from: &[T], bytes: usize, table: usize) -> usize {
        if from.len() <= self.part { bytes } else { BOOKKEEPING + table }
    }
}

/// Cuts `whole` into pieces of `lengths`, one after another.
pub(crate) fn split<'a, T>(mut whole: &'a mut [T], lengths: &[usize]) -> PerClass<&'a mut [T]> {
    let cut = |length: &usize| {
        let (piece, rest) = std::mem::take(&mut whole).split_at_mut(*length);
        whole = rest;
        piece
    };
    lengths.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_stands_together() {
        let pool = crate::pool();
        for n in [0, 1, 7, 8, 9, 1000] {
            for classes in [2, 3, 4, 7] {
                let from: Vec<usize> = (0..n).map(|i| i * 7919 % 1009).collect();
                let mut to = vec![0; n];
                let distribution =
                    Distribution { part: 8, classes, class: |x: &usize| x % classes };
                let counts = pool.install(|| {
                    let counts = distribution.count(&from);
                    distribution.copy(&from, &counts, &mut to);
                    counts.totals
                });
                let of_class = |class| from.iter().copied().filter(move |x| x % classes == class);
                // The order within a class is free.
                let mut rest = &mut to[..];
                for class in 0..classes {
                    let (of_it, after) = rest.split_at_mut(counts[class]);
                    of_it.sort_unstable();
                    let mut expected: Vec<usize> = of_class(class).collect();
                    expected.sort_unstable();
                    assert_eq!(*of_it, expected);
                    rest = after;
                }
                assert_eq!(
                    counts.to_vec(),
                    (0..classes).map(|class| of_class(class).count()).collect::<Vec<_>>()
                );
            }
        }
    }
}
