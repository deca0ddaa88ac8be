//! What a thread did in an interval.

use std::{
    iter::Sum,
    ops::{Add, AddAssign},
    time::Duration,
};

use befit_machine::{Bytes, Cycles, Lines};

/// What one thread did between two reads of a [`Source`](crate::Source). A field is `None` where
/// nothing counts it.
///
/// `+` joins two intervals: it adds what both know, and keeps what one knows. [`Counts::beside`]
/// joins two sources' counts of the same interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counts {
    /// Lines brought into the last cache that is the core's own; for [`Declared`](crate::Declared),
    /// lines declared.
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
    /// Bytes that the misses moved into the private caches, lines being `line` long: misses × line,
    /// the strand's own part of SOID in CATS (section "Online profiling").
    ///
    /// A task that fits the private cache and finds its data there moves nothing: misses are a poor
    /// measure of such sizes.
    pub fn moved(&self, line: Bytes) -> Option<Bytes> {
        self.private_misses.map(|misses| Bytes(misses.0.saturating_mul(line.0)))
    }

    /// Private-cache misses per instruction (CATS: CMPI), which tells memory-bound from CPU-bound
    /// strands.
    pub fn misses_per_instruction(&self) -> Option<f64> {
        match (self.private_misses, self.instructions) {
            (Some(misses), Some(instructions)) if instructions > 0 => {
                Some(misses.0 as f64 / instructions as f64)
            }
            _ => None,
        }
    }

    /// These counts, and `other`'s of the same interval for what these do not know. The coverage is
    /// the poorer of the two.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        Self {
            private_misses: self.private_misses.or(other.private_misses),
            llc_misses: self.llc_misses.or(other.llc_misses),
            instructions: self.instructions.or(other.instructions),
            cycles: self.cycles.or(other.cycles),
            task_clock: self.task_clock.or(other.task_clock),
            page_faults: self.page_faults.or(other.page_faults),
            context_switches: self.context_switches.or(other.context_switches),
            migrations: self.migrations.or(other.migrations),
            coverage: if other.coverage.share() < self.coverage.share() {
                other.coverage
            } else {
                self.coverage
            },
        }
    }
}

fn joined<T: Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            private_misses: joined(self.private_misses, other.private_misses),
            llc_misses: joined(self.llc_misses, other.llc_misses),
            instructions: joined(self.instructions, other.instructions),
            cycles: joined(self.cycles, other.cycles),
            task_clock: joined(self.task_clock, other.task_clock),
            page_faults: joined(self.page_faults, other.page_faults),
            context_switches: joined(self.context_switches, other.context_switches),
            migrations: joined(self.migrations, other.migrations),
            coverage: Coverage {
                wanted: self.coverage.wanted + other.coverage.wanted,
                counted: self.coverage.counted + other.coverage.counted,
            },
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
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
            1.0
        } else {
            (self.counted.as_secs_f64() / self.wanted.as_secs_f64()).min(1.0)
        }
    }

    /// Whether the counts are exact; if not, they were scaled up.
    pub fn is_complete(&self) -> bool {
        self.counted >= self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misses(lines: u64) -> Counts {
        Counts { private_misses: Some(Lines(lines)), ..Counts::default() }
    }

    #[test]
    fn intervals_add_up_and_what_one_knows_is_kept() {
        let faults = Counts { page_faults: Some(3), ..misses(5) };
        let sum: Counts = [misses(2), faults, Counts::default()].into_iter().sum();
        assert_eq!(sum, Counts { page_faults: Some(3), ..misses(7) });
    }

    #[test]
    fn two_sources_of_one_interval_stand_beside_each_other() {
        let half =
            Coverage { wanted: Duration::from_micros(10), counted: Duration::from_micros(5) };
        let whole =
            Coverage { wanted: Duration::from_micros(10), counted: Duration::from_micros(10) };
        let hardware = Counts { coverage: half, ..misses(2) };
        let software = Counts { page_faults: Some(1), coverage: whole, ..Counts::default() };
        let both = Counts { page_faults: Some(1), coverage: half, ..misses(2) };
        assert_eq!(hardware.beside(software), both);
        assert_eq!(software.beside(hardware), both);
    }

    #[test]
    fn bytes_moved_are_misses_times_line() {
        assert_eq!(misses(3).moved(Bytes(64)), Some(Bytes(192)));
        assert_eq!(Counts::default().moved(Bytes(64)), None);
    }

    #[test]
    fn misses_per_instruction_need_instructions() {
        let counts = Counts { instructions: Some(200), ..misses(2) };
        assert_eq!(counts.misses_per_instruction(), Some(0.01));
        assert_eq!(Counts { instructions: Some(0), ..misses(2) }.misses_per_instruction(), None);
        assert_eq!(misses(2).misses_per_instruction(), None);
    }

    #[test]
    fn an_empty_interval_is_wholly_covered() {
        assert_eq!(Coverage::default().share(), 1.0);
        assert!(Coverage::default().is_complete());
    }
}
