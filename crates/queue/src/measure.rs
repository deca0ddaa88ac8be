//! The cost of portions of a queue's work: thread time per task, by kind of work.
//!
//! Thread time adds up over pieces of work that run on several threads. So two ways of running
//! tasks can be timed within one portion, in turns, under the same load of memory. Costs are
//! medians over pieces, as a piece during which the system ran something else says nothing.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Putting tasks in order.
    Sort,
    /// Running them one by one.
    Plain,
    /// Running them with many in flight.
    Flight,
}

/// The costs of the pieces of one portion, or of several.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Pieces {
    /// Nanoseconds per task of each piece, by kind.
    pieces: [Vec<f64>; 3],
    /// Nanoseconds of thread time of all.
    pub(crate) total: f64,
}

impl Pieces {
    pub(crate) fn add(&mut self, kind: Kind, tasks: usize, time: Duration) {
        if tasks > 0 {
            let nanoseconds = time.as_secs_f64() * 1e9;
            self.pieces[kind as usize].push(nanoseconds / tasks as f64);
            self.total += nanoseconds;
        }
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.pieces.iter_mut().zip(other.pieces).for_each(|(pieces, others)| pieces.extend(others));
        self.total += other.total;
    }

    /// Nanoseconds per task of a way of running tasks; none if no piece ran this way.
    pub(crate) fn cost(&self, ordered: bool, flight: bool) -> Option<f64> {
        let run = self.median(if flight { Kind::Flight } else { Kind::Plain })?;
        Some(run + self.median(Kind::Sort).filter(|_| ordered).unwrap_or(0.0))
    }

    /// The median piece of a kind; none without pieces.
    fn median(&self, kind: Kind) -> Option<f64> {
        let mut pieces = self.pieces[kind as usize].clone();
        pieces.sort_by(f64::total_cmp);
        pieces.get(pieces.len().saturating_sub(1) / 2).copied()
    }
}

/// [`Pieces`] that several threads add to.
#[derive(Debug, Default)]
pub(crate) struct Clock(Mutex<Pieces>);

impl Clock {
    pub(crate) fn add(&self, kind: Kind, tasks: usize, time: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(kind, tasks, time);
    }

    pub(crate) fn into_pieces(self) -> Pieces {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ways_cost_is_its_median_piece_and_its_share_of_sorting() {
        let mut pieces = Pieces::default();
        for nanoseconds in [900, 1000, 50_000] {
            pieces.add(Kind::Plain, 10, Duration::from_nanos(nanoseconds));
        }
        pieces.add(Kind::Flight, 0, Duration::from_nanos(5));
        let clock = Clock::default();
        clock.add(Kind::Sort, 100, Duration::from_nanos(700));
        pieces.extend(clock.into_pieces());
        assert_eq!(pieces.cost(false, false), Some(100.0));
        assert_eq!(pieces.cost(true, false), Some(107.0));
        assert_eq!(pieces.cost(false, true), None, "a piece without tasks");
        assert_eq!(pieces.total, 52_600.0);
    }
}
