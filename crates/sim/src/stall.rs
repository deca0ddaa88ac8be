//! What a core waits for: misses that are in flight together are waited for together.
//!
//! A core that executes out of order goes on behind a load that misses until its window of
//! instructions is full. What misses in that window is in flight at the same time, as far as there
//! are miss buffers, so the core waits once for all of it. This is the first-order model of T. S.
//! Karkhanis and J. E. Smith, "A first-order superscalar processor model", ISCA 2004, section 4.3
//! (long-latency loads). Accesses are taken to be independent of one another: a recording does not
//! say which address came out of which load.

use crate::clock::Ticks;

/// How many misses a core has in flight, and in how many operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Of operations, in the unit of the positions.
    length: u64,
    /// Misses, the one that is waited for among them.
    misses: u32,
}

impl Window {
    /// Of `operations` and up to `parallelism` misses, for positions of `unit` an operation.
    pub(crate) fn new(operations: u32, parallelism: f64, unit: u64) -> Self {
        Self { length: u64::from(operations) * unit, misses: parallelism as u32 }
    }

    /// What one of `sharers` hardware threads has of it.
    pub(crate) fn shared_by(self, sharers: u32) -> Self {
        Self { length: self.length / u64::from(sharers), misses: (self.misses / sharers).max(1) }
    }
}

/// The wait that a worker was in last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stall {
    /// Where the window that began with it ends.
    end: u64,
    /// How long it was.
    latency: Ticks,
    /// Further misses that it covers.
    room: u32,
}

impl Stall {
    /// How long the core waits for a miss of `latency` at `position`, which only grows.
    pub(crate) fn wait(&mut self, window: Window, position: u64, latency: Ticks) -> Ticks {
        if latency == Ticks::default() {
            return latency;
        }
        if position < self.end && self.room > 0 {
            self.room -= 1;
            let more = latency.since(self.latency);
            self.latency += more;
            return more;
        }
        *self =
            Self { end: position + window.length, latency, room: window.misses.saturating_sub(1) };
        latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_wait_for_one_another_as_window_and_buffers_allow() {
        let each = [(0, 7), (0, 7), (1, 7)];
        for (window, misses, expected) in [
            // Those of a window are waited for together.
            (
                Window::new(10, 8.0, 1),
                &[(0, 100), (4, 100), (9, 100), (10, 100), (12, 100)][..],
                &[100, 0, 0, 100, 0][..],
            ),
            // No more than the buffers hold.
            (
                Window::new(100, 3.0, 1),
                &[(0, 50), (1, 50), (2, 50), (3, 50), (4, 50)],
                &[50, 0, 0, 50, 0],
            ),
            // A longer one is waited for until it comes.
            (Window::new(10, 8.0, 1), &[(0, 30), (1, 100), (2, 40), (3, 0)], &[30, 70, 0, 0]),
            // An in-order core waits for each.
            (Window::new(0, 10.0, 1), &each, &[7, 7, 7]),
            (Window::new(10, 1.0, 1), &each, &[7, 7, 7]),
        ] {
            let mut stall = Stall::default();
            let wait = |&(at, latency): &(u64, u64)| stall.wait(window, at, Ticks(latency)).0;
            assert_eq!(misses.iter().map(wait).collect::<Vec<_>>(), expected);
        }
    }
}
