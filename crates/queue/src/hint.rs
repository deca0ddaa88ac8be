//! Where a program says that its tasks' data lie.

use std::mem;

use crate::MemorySpan;

/// Gives each task a place in an order in which neighbours touch the same or near memory. The
/// queue's `by_…` functions make the implementations; there is no reason to implement it elsewhere.
pub trait Hint<T>: Sync {
    /// True if there is an order other than arrival.
    const ORDERS: bool;

    /// True if [`learn`](Self::learn) gains anything.
    const LEARNS: bool = false;

    /// The task's place in the order.
    fn key(&self, task: &T) -> u64;

    /// Takes note of the spans that a task touched, in order.
    fn learn(&mut self, task: &T, spans: &[MemorySpan]) {
        let _ = (task, spans);
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

/// The program knows an order: keys of an index, cells along a space-filling curve, rows.
#[derive(Clone, Copy, Debug)]
pub struct ByKey<F>(pub(crate) F);

impl<T, F: Fn(&T) -> u64 + Sync> Hint<T> for ByKey<F> {
    const ORDERS: bool = true;

    #[inline(always)]
    fn key(&self, task: &T) -> u64 {
        (self.0)(task)
    }
}

/// The address of the largest of `places`; of equally large ones the first.
#[inline(always)]
pub(crate) fn largest(places: impl IntoIterator<Item = MemorySpan>) -> u64 {
    let larger = |a: MemorySpan, b: MemorySpan| if b.bytes() > a.bytes() { b } else { a };
    places.into_iter().reduce(larger).map_or(0, |place| place.address() as u64)
}

/// The program knows which tasks are alike; the queue learns where the memory of each class lies.
#[derive(Clone, Debug)]
pub struct ByClass<F> {
    class: F,
    classes: Vec<Class>,
    /// The smallest place of a class, in lines; none as long as no class has one.
    first: Option<u64>,
    /// The place of classes that have none, in lines: just before the first.
    before: u64,
}

/// The queue's knowledge of a class.
#[derive(Clone, Debug, Default)]
struct Class {
    /// The places where its latest tasks ended.
    seen: Vec<u64>,
    /// The middle one of them, in lines.
    place: u64,
}

/// The latest so many tasks of a class count.
const REMEMBERED: usize = 15;

impl<F> ByClass<F> {
    pub(crate) fn new(class: F) -> Self {
        Self { class, classes: Vec::new(), first: None, before: 0 }
    }
}

impl<T, F: Fn(&T) -> u16 + Sync> Hint<T> for ByClass<F> {
    const ORDERS: bool = true;
    const LEARNS: bool = true;

    /// The median of the places where the class's tasks ended, so that classes that share memory
    /// are neighbours. Classes without a place are ordered by number, just before the first place:
    /// a window is sorted by the leading bits in which its keys differ, and far from all others
    /// such a class would leave none that tell these apart.
    #[inline(always)]
    fn key(&self, task: &T) -> u64 {
        let class = (self.class)(task);
        let place = self.classes.get(usize::from(class)).map_or(0, |class| class.place);
        // The class below, so that classes with the same place do not mix.
        place.max(self.before) << 16 | u64::from(class)
    }

    fn learn(&mut self, task: &T, spans: &[MemorySpan]) {
        // Early steps are common to many classes (the root of a tree); the last one tells most.
        let Some(last) = spans.last() else { return };
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
        let place = sorted[sorted.len() / 2];
        let old = mem::replace(&mut class.place, place);
        let first = match self.first {
            Some(first) if first != old || place <= first => first.min(place),
            // The first one has moved back, or there was none: all classes are looked through.
            _ => {
                let known = self.classes.iter().filter(|class| !class.seen.is_empty());
                known.map(|class| class.place).min().unwrap_or(place)
            }
        };
        (self.first, self.before) = (Some(first), first.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_place_decides() {
        let memory = [0u8; 4096];
        let places = [MemorySpan::of(&memory[3000..3010]), MemorySpan::of(&memory[100..200])];
        assert_eq!(largest(places), memory.as_ptr().addr() as u64 + 100);
        assert_eq!(largest(None), 0);
    }

    #[test]
    fn classes_are_ordered_by_where_their_tasks_end() {
        let memory = vec![0u8; 1 << 20];
        let mut hint = ByClass::new(|class: &u16| *class);
        assert!(hint.key(&3) < hint.key(&4), "by number, as long as nothing is known");
        let at = |place: usize| [MemorySpan::of(&memory[0]), MemorySpan::of(&memory[place])];
        for i in 0..100 {
            // Class 2 lies before class 1; now and then a task of it goes far away.
            hint.learn(&1, &at(512 << 10));
            hint.learn(&2, &at(if i % 5 == 0 { 1023 << 10 } else { 100 << 10 }));
        }
        hint.learn(&7, &[]);
        assert!(hint.key(&2) < hint.key(&1));
        assert!(hint.key(&7) < hint.key(&2), "never seen");
    }

    #[test]
    fn classes_without_a_place_stand_just_before_the_first_that_has_one() {
        let memory = vec![0u8; 1 << 20];
        let mut hint = ByClass::new(|class: &u16| *class);
        // Class 3 lies behind class 5, then before it, and at last behind it again.
        let places = [(5, 512 << 10), (3, 768 << 10)].into_iter();
        let places = places.chain([(3, 256 << 10); REMEMBERED]).chain([(3, 768 << 10); REMEMBERED]);
        for (class, place) in places {
            hint.learn(&class, &[MemorySpan::of(&memory[place])]);
            let known = [5, 3].into_iter().filter(|class| !hint.classes[*class].seen.is_empty());
            let first = known.map(|class| hint.key(&(class as u16))).min().unwrap();
            for unknown in [0, 4, 9, u16::MAX] {
                let key = hint.key(&unknown);
                assert!(key < first && first - key < 2 << 16, "{key} and {first}");
            }
        }
    }
}
