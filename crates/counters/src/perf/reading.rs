//! The totals that a group's counters show, and the counts of the time between two such readings.

use std::time::Duration;

use befit_machine::{Cycles, Lines};

use crate::{Counts, Coverage, Quantity};

/// The most events in one group.
pub(super) const MOST: usize = 4;

/// Bytes of the longest group: the number of counters and two times, then value and id of each
/// event and of the leader.
pub(super) const LONGEST: usize = 8 * (3 + 2 * (MOST + 1));

/// Totals of a group's counters since they were opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Reading {
    /// Nanoseconds for which the thread ran with the group enabled.
    pub(super) enabled: u64,
    /// Nanoseconds for which the group was on the processor's counters.
    pub(super) running: u64,
    /// Totals in the order in which the events were added.
    pub(super) values: [u64; MOST],
}

impl Reading {
    /// Parses what read(2) of a group's leader gave, with the values of the events `ids`.
    ///
    /// The layout is that of `read_format` GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | ID in
    /// perf_event_open(2): nr, time_enabled, time_running, then value and id per counter. `None` if
    /// that is not what the bytes are.
    pub(super) fn parse(bytes: &[u8], ids: &[u64]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let mut words = words.iter().map(|word| u64::from_ne_bytes(*word));
        let counters = words.next()?;
        let (enabled, running) = (words.next()?, words.next()?);
        let mut reading = Self { enabled, running, ..Self::default() };
        let mut found = 0;
        for _ in 0..counters {
            let (value, id) = (words.next()?, words.next()?);
            if let Some(at) = ids.iter().position(|known| *known == id) {
                reading.values[at] = value;
                found += 1;
            }
        }
        (found == ids.len()).then_some(reading)
    }

    /// Counts between `earlier` and this reading, whose values are of the quantities `of`.
    pub(super) fn since(&self, earlier: &Self, of: impl Iterator<Item = Quantity>) -> Counts {
        let enabled = self.enabled.saturating_sub(earlier.enabled);
        // The kernel's two times are not read in one instant.
        let running = self.running.saturating_sub(earlier.running).min(enabled);
        let [wanted, counted] = [enabled, running].map(Duration::from_nanos);
        let coverage = Coverage { wanted, counted };
        let mut counts = Counts { coverage, ..Counts::default() };
        for (quantity, (now, then)) in of.zip(self.values.iter().zip(&earlier.values)) {
            let value = scaled(now.saturating_sub(*then), enabled, running);
            match quantity {
                Quantity::PrivateMisses => counts.private_misses = value.map(Lines),
                Quantity::LlcMisses => counts.llc_misses = value.map(Lines),
                Quantity::Instructions => counts.instructions = value,
                Quantity::Cycles => counts.cycles = value.map(Cycles),
                Quantity::TaskClock => counts.task_clock = value.map(Duration::from_nanos),
                Quantity::PageFaults => counts.page_faults = value,
                Quantity::ContextSwitches => counts.context_switches = value,
                Quantity::Migrations => counts.migrations = value,
            }
        }
        counts
    }
}

/// An estimate of the count over the whole interval: count × enabled ÷ running, as perf-stat(1)
/// does. `None` if the interval was long enough to be counted, and was not.
fn scaled(count: u64, enabled: u64, running: u64) -> Option<u64> {
    match (enabled, running) {
        (0, _) => Some(count),
        (_, 0) => None,
        _ if running == enabled => Some(count),
        _ => {
            let exact = u128::from(count) * u128::from(enabled) / u128::from(running);
            Some(u64::try_from(exact).unwrap_or(u64::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn values_are_found_by_their_ids_in_any_order() {
        let read = bytes(&[3, 100, 50, 0, 7, 11, 9, 22, 8]);
        let reading = Reading::parse(&read, &[8, 9]).unwrap();
        assert_eq!(reading, Reading { enabled: 100, running: 50, values: [22, 11, 0, 0] });
    }

    #[test]
    fn a_read_that_is_cut_or_lacks_an_event_is_no_reading() {
        let read = bytes(&[2, 100, 50, 11, 9, 22, 8]);
        for length in 0..read.len() {
            assert_eq!(Reading::parse(&read[..length], &[8, 9]), None, "{length} bytes");
        }
        assert_eq!(Reading::parse(&read, &[8, 9, 10]), None);
        assert_eq!(Reading::parse(&bytes(&[u64::MAX, 1, 1, 11, 9]), &[9]), None);
    }

    #[test]
    fn an_event_that_took_turns_is_scaled_to_the_whole_interval_and_says_so() {
        let then = Reading { enabled: 1_000, running: 1_000, values: [10, 0, 0, 0] };
        let now = Reading { enabled: 5_000, running: 2_000, values: [110, 0, 0, 0] };
        let counts = now.since(&then, [Quantity::PrivateMisses].into_iter());
        assert_eq!(counts.private_misses, Some(Lines(400)));
        assert_eq!(counts.coverage.share(), 0.25);
    }

    #[test]
    fn an_event_that_never_had_its_turn_is_unknown_not_zero() {
        let now = Reading { enabled: 5_000, running: 0, values: [0; MOST] };
        let counts = now.since(&Reading::default(), [Quantity::Instructions].into_iter());
        assert_eq!((counts.instructions, counts.coverage.share()), (None, 0.0));
    }

    #[test]
    fn an_interval_without_turns_is_exact() {
        let now = Reading { enabled: 5_000, running: 5_000, values: [1, 2, 3, 4] };
        use Quantity::{Cycles as CoreCycles, Instructions, LlcMisses, PrivateMisses};
        let all = [PrivateMisses, LlcMisses, Instructions, CoreCycles];
        let counts = now.since(&Reading::default(), all.into_iter());
        assert_eq!((counts.private_misses, counts.llc_misses), (Some(Lines(1)), Some(Lines(2))));
        assert_eq!((counts.instructions, counts.cycles), (Some(3), Some(Cycles(4))));
        assert_eq!(counts.coverage.share(), 1.0);
    }

    #[test]
    fn huge_counts_saturate_and_counts_never_run_backwards() {
        assert_eq!(scaled(u64::MAX, 10, 1), Some(u64::MAX));
        let then = Reading { enabled: 9, running: 9, values: [9; MOST] };
        let counts = Reading::default().since(&then, [Quantity::PageFaults].into_iter());
        assert_eq!(counts.page_faults, Some(0));
    }
}
