//! What a program says of where its tasks' data lie.

use crate::Touch;

/// Gives each task a place in an order in which neighbours touch the same or near memory.
/// Implemented by what the queue's `by_…` functions make; there is no reason to implement it
/// elsewhere.
pub trait Hint<T>: Sync {
    /// Whether there is an order other than arrival.
    const ORDERS: bool;

    /// Whether [`learn`](Self::learn) gains anything.
    const LEARNS: bool = false;

    /// The task's place in the order.
    fn key(&self, task: &T) -> u64;

    /// Takes note of what a task touched, in order.
    fn learn(&mut self, task: &T, touches: &[Touch]) {
        let _ = (task, touches);
    }
}

/// Nothing is known.
#[derive(Clone, Copy, Debug)]
pub struct NoHint;

impl<T> Hint<T> for NoHint {
    const ORDERS: bool = false;

    #[inline(always)]
    fn key(&self, _: &T) -> u64 {
        0
    }
}

/// The program knows an order: of the keys in an index, of cells along a space-filling curve, of
/// rows.
#[derive(Clone, Copy, Debug)]
pub struct ByKey<F>(pub(super) F);

impl<T, F: Fn(&T) -> u64 + Sync> Hint<T> for ByKey<F> {
    const ORDERS: bool = true;

    #[inline(always)]
    fn key(&self, task: &T) -> u64 {
        (self.0)(task)
    }
}

/// The program knows addresses: the order is that of memory, by the largest piece that a task
/// touches.
#[derive(Clone, Copy, Debug)]
pub struct ByPlaces<F>(pub(super) F);

impl<T, F, I> Hint<T> for ByPlaces<F>
where
    F: Fn(&T) -> I + Sync,
    I: IntoIterator<Item = Touch>,
{
    const ORDERS: bool = true;

    #[inline(always)]
    fn key(&self, task: &T) -> u64 {
        // Of equally large ones the first.
        let larger = |a: Touch, b: Touch| if b.bytes() > a.bytes() { b } else { a };
        (self.0)(task).into_iter().reduce(larger).map_or(0, |place| place.address() as u64)
    }
}

/// The program knows which tasks are alike, and the queue finds out where the memory of each class
/// lies.
#[derive(Clone, Debug)]
pub struct ByClass<F> {
    class: F,
    classes: Vec<Class>,
}

/// What is known of a class.
#[derive(Clone, Debug, Default)]
struct Class {
    /// Where its tasks ended, the latest few.
    seen: Vec<u64>,
    /// The middle one of them, in lines.
    place: u64,
}

/// The latest so many tasks of a class count.
const REMEMBERED: usize = 15;

impl<F> ByClass<F> {
    pub(super) fn new(class: F) -> Self {
        Self { class, classes: Vec::new() }
    }
}

impl<T, F: Fn(&T) -> u16 + Sync> Hint<T> for ByClass<F> {
    const ORDERS: bool = true;
    const LEARNS: bool = true;

    /// The middle of where the class's tasks ended, so that classes that share memory are
    /// neighbours; among classes that are not known, their numbers.
    #[inline(always)]
    fn key(&self, task: &T) -> u64 {
        let class = (self.class)(task);
        // The class below, so that classes with the same place do not mix.
        self.classes.get(usize::from(class)).map_or(0, |class| class.place) << 16 | u64::from(class)
    }

    fn learn(&mut self, task: &T, touches: &[Touch]) {
        // Early steps are common to many classes (the root of a tree); the last one tells most.
        let Some(last) = touches.last() else { return };
        let class = usize::from((self.class)(task));
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Class::default);
        }
        let class = &mut self.classes[class];
        if class.seen.len() == REMEMBERED {
            class.seen.remove(0);
        }
        // In lines: it leaves 16 bits free on any machine.
        class.seen.push(last.address() as u64 >> 6 & (u64::MAX >> 16));
        let mut sorted = class.seen.clone();
        sorted.sort_unstable();
        class.place = sorted[sorted.len() / 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_place_decides() {
        let memory = [0u8; 4096];
        let hint =
            ByPlaces(|_: &()| [Touch::of(&memory[3000..3010]), Touch::of(&memory[100..200])]);
        assert_eq!(hint.key(&()), memory.as_ptr().addr() as u64 + 100);
        let none = ByPlaces(|_: &()| None);
        assert_eq!(none.key(&()), 0);
    }

    #[test]
    fn classes_are_ordered_by_where_their_tasks_end() {
        let memory = vec![0u8; 1 << 20];
        let mut hint = ByClass::new(|class: &u16| *class);
        assert!(hint.key(&3) < hint.key(&4), "by number, as long as nothing is known");
        let at = |place: usize| [Touch::of(&memory[0]), Touch::of(&memory[place])];
        for i in 0..100 {
            // Class 2 lies before class 1; now and then a task of it goes far away.
            hint.learn(&1, &at(512 << 10));
            hint.learn(&2, &at(if i % 5 == 0 { 1023 << 10 } else { 100 << 10 }));
        }
        hint.learn(&7, &[]);
        assert!(hint.key(&2) < hint.key(&1));
        assert!(hint.key(&7) < hint.key(&2), "never seen");
    }
}
