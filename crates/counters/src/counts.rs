//! Counts of an interval.

use std::time::Duration;

use befit_machine::{Cycles, Lines};

/// Counts of one thread between two reads of a [`Source`](crate::Source). A field is `None` where
/// nothing counts it. [`Counts::beside`] joins two sources' counts of the same interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counts {
    /// Lines brought into the last cache that is the core's own.
    pub private_misses: Option<Lines>,
    /// Lines that the last-level cache did not have.
    pub llc_misses: Option<Lines>,
    /// Instructions retired in user space.
    pub instructions: Option<u64>,
    /// Core cycles in user space, halted ones left out.
    pub cycles: Option<Cycles>,
    /// Time on a processor, kernel included.
    pub task_clock: Option<Duration>,
    /// Page faults of user-space code.
    pub page_faults: Option<u64>,
    /// Times that another thread took the processor, by force or because this one waited.
    pub context_switches: Option<u64>,
    /// Moves to another processor.
    pub migrations: Option<u64>,
    /// For how much of the interval the events were counted.
    pub coverage: Coverage,
}

impl Counts {
    /// These counts, and `other`'s of the same interval for what these do not know. The coverage is
    /// the poorer of the two.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let poorer = if other.coverage.share() < self.coverage.share() { other } else { self };
        Self {
            private_misses: self.private_misses.or(other.private_misses),
            llc_misses: self.llc_misses.or(other.llc_misses),
            instructions: self.instructions.or(other.instructions),
            cycles: self.cycles.or(other.cycles),
            task_clock: self.task_clock.or(other.task_clock),
            page_faults: self.page_faults.or(other.page_faults),
            context_switches: self.context_switches.or(other.context_switches),
            migrations: self.migrations.or(other.migrations),
            coverage: poorer.coverage,
        }
    }
}

/// For how much of an interval the events were counted.
///
/// A processor has few counters. When more events are asked for than there are counters (by other
/// programs, too), the kernel lets them take turns. Counts are then scaled up by wanted ÷ counted,
/// which is an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// For how long the thread ran and wanted its events counted.
    pub wanted: Duration,
    /// For how long they were counted.
    pub counted: Duration,
}

impl Coverage {
    /// Counted ÷ wanted, 0 to 1; 1 for an interval too short to measure, and for sources that need
    /// no counters.
    pub fn share(&self) -> f64 {
        if self.wanted.is_zero() {
            return 1.0;
        }
        (self.counted.as_secs_f64() / self.wanted.as_secs_f64()).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sources_of_one_interval_stand_beside_each_other() {
        let micros = Duration::from_micros;
        let half = Coverage { wanted: micros(10), counted: micros(5) };
        let whole = Coverage { wanted: micros(10), counted: micros(10) };
        let misses =
            |coverage| Counts { private_misses: Some(Lines(2)), coverage, ..Counts::default() };
        let software = Counts { page_faults: Some(1), coverage: whole, ..Counts::default() };
        let both = Counts { page_faults: Some(1), ..misses(half) };
        assert_eq!(misses(half).beside(software), both);
        assert_eq!(software.beside(misses(half)), both);
    }

    #[test]
    fn an_empty_interval_is_wholly_covered() {
        assert_eq!(Coverage::default().share(), 1.0);
    }
}
