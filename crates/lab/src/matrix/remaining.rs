//! Progress of a matrix: which group of how many, and how long the rest takes.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Instant,
};

use crate::Progress;

/// Says before each simulation how many groups there are and how long they will take. What is found
/// in the cache is not worth a line.
pub(super) struct Remaining<'a> {
    inner: &'a dyn Progress,
    groups: usize,
    done: AtomicUsize,
    weight: u64,
    weight_done: AtomicU64,
    start: Instant,
}

impl<'a> Remaining<'a> {
    /// Of groups with these weights.
    pub(super) fn new(inner: &'a dyn Progress, weights: impl Iterator<Item = u64> + Clone) -> Self {
        Self {
            inner,
            groups: weights.clone().count(),
            done: AtomicUsize::new(0),
            weight: weights.sum(),
            weight_done: AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    /// A group of this weight is done.
    pub(super) fn done(&mut self, weight: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.weight_done.fetch_add(weight, Ordering::Relaxed);
    }

    /// A group of this weight was found: it took no time, which says nothing of the rest.
    pub(super) fn skip(&mut self, weight: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.weight = self.weight.saturating_sub(weight);
    }

    fn place(&self) -> String {
        let done = self.done.load(Ordering::Relaxed);
        let share = self.weight_done.load(Ordering::Relaxed) as f64 / self.weight.max(1) as f64;
        let left = left(self.start.elapsed().as_secs_f64(), share);
        format!("{} of {}{left}: ", done + 1, self.groups)
    }
}

/// The time that is left after so many seconds for so much of the whole; nothing where too little
/// of it is known.
fn left(seconds: f64, share: f64) -> String {
    if share < 0.01 {
        return String::new();
    }
    let minutes = seconds * (1.0 - share) / share / 60.0;
    if minutes < 1.0 {
        return ", less than a minute left".to_owned();
    }
    format!(", some {minutes:.0} min left")
}

impl Progress for Remaining<'_> {
    fn building(&self, what: &str, instrumented: bool) {
        self.inner.building(what, instrumented);
    }
    fn built(&self, line: &str) {
        self.inner.built(line);
    }
    fn build_failed(&self, said: &str) {
        self.inner.build_failed(said);
    }
    fn said(&self, text: &str) {
        self.inner.said(text);
    }
    fn recording(&self, what: &str, shown: bool) {
        self.inner.recording(&format!("{}{what}", self.place()), shown);
    }
    fn timing(&self, what: &str, whole: bool, number: usize, of: usize) {
        self.inner.timing(what, whole, number, of);
    }
    fn recorded_before(&self, _: &str, _: &Path) {}
    fn simulating(&self, what: &str, runs: usize, touches: u64) {
        self.inner.simulating(&format!("{}{what}", self.place()), runs, touches);
    }
    fn advance(&self, by: u64) {
        self.inner.advance(by);
    }
    fn finished(&self) {
        self.inner.finished();
    }
    fn note(&self, text: &str) {
        self.inner.note(text);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_its_share_of_what_is_done() {
        assert_eq!(left(60.0, 0.001), "");
        assert_eq!(left(60.0, 0.1), ", some 9 min left");
        assert_eq!(left(60.0, 0.9), ", less than a minute left");
    }

    #[test]
    fn groups_are_counted_from_one() {
        let mut remaining = Remaining::new(&crate::Silent, [3, 5].into_iter());
        assert_eq!(remaining.place(), "1 of 2: ");
        remaining.done(3);
        assert_eq!(remaining.place(), "2 of 2, less than a minute left: ");
    }

    #[test]
    fn what_was_found_says_nothing_of_the_time_of_the_rest() {
        let mut remaining = Remaining::new(&crate::Silent, [90, 5, 5].into_iter());
        remaining.skip(90);
        assert_eq!(remaining.place(), "2 of 3: ");
        // Half of what there is to do.
        remaining.done(5);
        let minute = Duration::from_secs(60);
        remaining.start = remaining.start.checked_sub(10 * minute).unwrap();
        assert_eq!(remaining.place(), "3 of 3, some 10 min left: ");
    }
}
