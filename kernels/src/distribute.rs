//! Moves elements of one array into another so that each *class* of them stands together: the parallel step of the sorts and of `quadtree`.
//!
//! The input is cut into parts. Each part counts its elements of each class; the counts say where in the output each part's elements of each
//! class go; each part copies its own. Both passes split in two in parallel, down to a part.

use befit::{fit, join};

use crate::sizes;

/// How elements are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution<F> {
    /// Elements of a part: one thread counts and copies them.
    pub(crate) part: usize,
    /// How many classes there are.
    pub(crate) classes: usize,
    /// An element's class, below `classes`.
    pub(crate) class: F,
}

/// How many elements of each class the parts have, part by part.
pub(crate) struct Counts {
    /// `classes` numbers for each part.
    table: Vec<usize>,
    classes: usize,
}

impl Counts {
    /// How many elements of each class there are.
    pub(crate) fn totals(&self) -> Vec<usize> {
        totals(&self.table, self.classes)
    }
}

fn totals(table: &[usize], classes: usize) -> Vec<usize> {
    let mut totals = vec![0; classes];
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
        let mut table = vec![0; from.len().div_ceil(self.part).max(1) * self.classes];
        self.count_parts(from, &mut table);
        Counts { table, classes: self.classes }
    }

    fn count_parts<T>(&self, from: &[T], table: &mut [usize])
    where
        T: Sync,
        F: Fn(&T) -> usize + Sync,
    {
        let parts = table.len() / self.classes;
        if parts == 1 {
            return self.count_part(from, table);
        }
        let (table1, table2) = table.split_at_mut(parts / 2 * self.classes);
        let (from1, from2) = from.split_at(parts / 2 * self.part);
        let (bytes1, bytes2) = (size_of_val(from1) + size_of_val(table1), size_of_val(from2) + size_of_val(table2));
        join(
            fit(bytes1, || self.count_parts(from1, table1)).strand(self.strand(from1, bytes1)),
            fit(bytes2, || self.count_parts(from2, table2)).strand(self.strand(from2, bytes2)),
        );
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

    /// Copies the elements of `from`, whose counts are `counts`, to `to`, class after class. Time O(n + parts · classes), span O(part + parts · classes).
    pub(crate) fn copy<T>(&self, from: &[T], counts: &Counts, to: &mut [T])
    where
        T: Copy + Send + Sync,
        F: Fn(&T) -> usize + Sync,
    {
        let places = split(to, &counts.totals());
        self.copy_parts(from, &counts.table, places);
    }

    fn copy_parts<T>(&self, from: &[T], table: &[usize], mut to: Vec<&mut [T]>)
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
        let (to1, to2) = to.into_iter().zip(cuts).map(|(place, cut)| place.split_at_mut(cut)).unzip();
        let (bytes1, bytes2) = (2 * size_of_val(from1), 2 * size_of_val(from2));
        join(
            fit(bytes1, || self.copy_parts(from1, table1, to1)).strand(self.strand(from1, bytes1)),
            fit(bytes2, || self.copy_parts(from2, table2, to2)).strand(self.strand(from2, bytes2)),
        );
    }

    fn copy_part<T: Copy>(&self, from: &[T], to: &mut [&mut [T]])
    where
        F: Fn(&T) -> usize,
    {
        let mut next = vec![0; to.len()];
        for element in from {
            // No branch depends on the data: which class comes next cannot be predicted.
            let class = (self.class)(element);
            to[class][next[class]] = *element;
            next[class] += 1;
        }
    }

    /// The most that a strand touches of a task of `bytes` bytes on `from`: all of it, or the numbers that it halves.
    fn strand<T>(&self, from: &[T], bytes: usize) -> usize {
        if from.len() <= self.part { bytes } else { sizes::BOOKKEEPING + self.classes * size_of::<&[T]>() }
    }
}

/// Cuts `whole` into pieces of `lengths`, one after another.
pub(crate) fn split<'a, T>(mut whole: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
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
    fn each_class_stands_together_in_the_order_in_which_it_was() {
        let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for n in [0, 1, 7, 8, 9, 1000] {
            for classes in [2, 3, 4, 7] {
                let from: Vec<usize> = (0..n).map(|i| i * 7919 % 1009).collect();
                let mut to = vec![0; n];
                let distribution = Distribution { part: 8, classes, class: |x: &usize| x % classes };
                let counts = pool.install(|| {
                    let counts = distribution.count(&from);
                    distribution.copy(&from, &counts, &mut to);
                    counts.totals()
                });
                let of_class = |class| from.iter().copied().filter(move |x| x % classes == class);
                assert_eq!(to, (0..classes).flat_map(of_class).collect::<Vec<_>>());
                assert_eq!(counts, (0..classes).map(|class| of_class(class).count()).collect::<Vec<_>>());
            }
        }
    }
}
