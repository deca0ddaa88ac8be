//! A wire passes a line at a time.
//!
//! Workers are simulated a slice at a time, so their requests do not come in the order of virtual
//! time. A queue that only knew when its last request ends would make every worker wait for all
//! that another did later in its slice. So a wire's time is divided into *periods*, each with a
//! count of how much of it is taken. A request takes from the first period with room, from its own
//! on; where all that are remembered are full, it waits behind the last that found them so.

use crate::clock::Ticks;

/// Periods that a wire remembers. Requests further apart in time than these do not see each other.
const PERIODS: usize = 1024;
/// A period's length in cycles, at least.
const PERIOD: u64 = 128;
/// Slots in a period, at least.
const SLOTS: u64 = 4;

/// One wire's recent periods, as a ring.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    periods: Vec<Period>,
    /// When the last request ends of those that found all periods full that are remembered. A
    /// request before that finds these full, too. (One from before all that is remembered waits for
    /// nothing if none has found them so.)
    queue_ends: Ticks,
    /// How long it is busy with one of a sample's lines.
    slot: u64,
    /// And with one line that stands for itself.
    single: u64,
    /// Length of a period: a whole number of slots, so that none of it is lost.
    length: u64,
    /// 2⁶⁴ / `length`, rounded up: multiplying by it divides.
    inverse: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Period {
    number: u64,
    /// Ticks of it that are taken.
    taken: u64,
}

impl Wire {
    /// For lines of `line` bytes, at `width` bytes a cycle. Each stands for `each` of them.
    pub(crate) fn new(line: u64, width: f64, each: u64) -> Self {
        let slot = |lines: u64| Ticks::fractional((line * lines) as f64 / width).0.max(1);
        let slots = Ticks::cycles(PERIOD * each).0.div_ceil(slot(each)).max(SLOTS);
        Self { single: slot(1), ..Self::of(slot(each), slot(each) * slots) }
    }

    fn of(slot: u64, length: u64) -> Self {
        let inverse = (u64::MAX / length).saturating_add(1);
        let periods = vec![Period::default(); PERIODS];
        Self { periods, queue_ends: Ticks(0), slot, single: slot, length, inverse }
    }

    /// The period of `now`.
    #[inline]
    fn number(&self, now: Ticks) -> u64 {
        // The product is too large by less than 2⁶⁴: the quotient, by one at most.
        let quotient = ((u128::from(now.0) * u128::from(self.inverse)) >> 64) as u64;
        quotient - u64::from(u128::from(quotient) * u128::from(self.length) > u128::from(now.0))
    }

    /// Takes a slot from the first period at or after `now` that has room, for one of a sample's
    /// lines or for one that stands for itself. Returns when it begins.
    pub(crate) fn pass(&mut self, now: Ticks, single: bool) -> Ticks {
        let slot = if single { self.single } else { self.slot };
        let first = self.number(now);
        let beyond = (first + PERIODS as u64) * self.length;
        // Else all that is remembered is full.
        if self.queue_ends.0 < beyond {
            for number in first..first + PERIODS as u64 {
                let start = number * self.length;
                let period = &mut self.periods[number as usize % PERIODS];
                if period.number > number {
                    if self.queue_ends > now {
                        break;
                    }
                    return now;
                }
                if period.number < number {
                    let taken = self.queue_ends.0.saturating_sub(start).min(self.length);
                    *period = Period { number, taken };
                }
                if period.taken + slot <= self.length {
                    let start = Ticks(start + period.taken);
                    period.taken += slot;
                    return now.max(start);
                }
            }
        }
        let start = self.queue_ends.0.max(beyond);
        self.queue_ends = Ticks(start + slot);
        Ticks(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wire of these slots and periods, in ticks.
    fn wire(slot: u64, length: u64) -> Wire {
        Wire::of(slot, length)
    }

    #[test]
    fn the_period_is_the_quotient() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let (length, bits) = (random.u64(2..1 << 30), random.u32(1..64));
            let now = random.u64(..1 << bits);
            let wire = Wire::of(1, length);
            for now in [now, now / length * length, (now / length * length).saturating_sub(1)] {
                assert_eq!(wire.number(Ticks(now)), now / length, "{now} / {length}");
            }
        }
    }

    #[test]
    fn a_request_waits_only_for_what_comes_before_it_in_time() {
        let mut wire = wire(10, 400);
        // Another worker's slice took 10 of every 100 ticks, up to far ahead.
        for i in 0..40 {
            assert_eq!(wire.pass(Ticks(i * 100), false), Ticks(i * 100));
        }
        let start = wire.pass(Ticks(50), false);
        assert!(start <= Ticks(50), "{start:?}");
    }

    #[test]
    fn a_full_period_sends_requests_to_the_next() {
        let mut wire = wire(100, 400);
        let starts: Vec<_> = (0..9).map(|_| wire.pass(Ticks(0), false).0).collect();
        assert_eq!(starts, [0, 100, 200, 300, 400, 500, 600, 700, 800]);
    }

    #[test]
    fn a_wire_binds_however_much_waits_for_it() {
        let (slot, length) = (100, 400);
        let mut wire = wire(slot, length);
        let many = 3 * PERIODS as u64 * (length / slot);
        // Some come from a little before, as in slices.
        let from = |i| Ticks(if i % 7 == 0 { 0 } else { 2 * length });
        let last = (0..many).map(|i| wire.pass(from(i), false).0 / slot).max();
        // One came from before all that was remembered then.
        assert_eq!(last, Some(many - 2));
        // Once what waits is over, the next finds it free, and not before.
        assert_eq!(wire.pass(Ticks(many * slot / 2), false), Ticks((many - 1) * slot));
        let late = Ticks((many + 100) * slot);
        assert_eq!(wire.pass(late, false), late);
    }

    #[test]
    fn no_part_of_a_wire_s_width_is_lost() {
        for width in [0.3, 1.0, 2.1, 12.0, 24.0, 144.0] {
            let mut wire = Wire::new(64, width, 1);
            let last = (0..2_000).map(|_| wire.pass(Ticks(0), false).0).max().unwrap_or(0);
            let cycles = Ticks(last).whole().0 as f64;
            assert!((cycles / (2_000.0 * 64.0 / width) - 1.0).abs() < 0.01, "{width}: {cycles}");
        }
    }

    #[test]
    fn a_request_from_before_all_that_is_remembered_waits_for_nothing_and_takes_nothing() {
        let mut wire = wire(100, 400);
        let late = 400 * PERIODS as u64;
        // All of the period that has taken the place of the first one.
        let full: Vec<_> = (0..4).map(|_| wire.pass(Ticks(late), false).0 - late).collect();
        assert_eq!(full, [0, 100, 200, 300]);
        assert_eq!([wire.pass(Ticks(30), false), wire.pass(Ticks(30), true)], [Ticks(30); 2]);
        // The one behind it is remembered as ever.
        assert_eq!(wire.pass(Ticks(430), false), Ticks(430));
        assert_eq!(wire.pass(Ticks(late), false), Ticks(late + 400));
    }

    #[test]
    fn a_line_that_stands_for_itself_takes_its_own_time_beside_those_of_a_sample() {
        // Eight cycles a line, and four lines in one of the sample's.
        let mut wire = Wire::new(64, 8.0, 4);
        let starts = [true, false, true, false].map(|single| wire.pass(Ticks(0), single));
        assert_eq!(starts, [0, 8, 8 + 32, 8 + 32 + 8].map(Ticks::cycles));
    }
}
