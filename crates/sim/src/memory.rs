//! Main memory: controllers that pass a line at a time.
//!
//! Workers are simulated a slice at a time, so their requests do not come in the order of virtual
//! time. A queue that only knew when its last request ends would make every worker wait for all
//! that another did later in its slice. So a controller's time is divided into *periods*, each with
//! a count of how much of it is taken. A request takes from the first period with room, from its
//! own on.

use befit_machine::{Machine, Placement, WorkerId};

use crate::{SimError, clock::Ticks};

/// Lines of 64 bytes in a page of 4 KiB: what the placement of pages goes by.
const PAGE: u64 = 4096;
const UNPLACED: u8 = u8::MAX;

/// Periods that a controller remembers. Requests further apart in time than these do not see each
/// other.
const PERIODS: usize = 1024;
/// A period's length in cycles, where slots are not longer still.
const PERIOD: u64 = 128;

/// One controller's recent periods, as a ring.
#[derive(Clone, Debug)]
struct Controller(Vec<Period>);

#[derive(Clone, Copy, Debug, Default)]
struct Period {
    number: u64,
    /// Ticks of it that are taken.
    taken: u64,
}

impl Controller {
    /// Takes `slot` ticks from the first period at or after `now` that has room. Returns when they
    /// begin.
    fn reserve(&mut self, now: Ticks, slot: u64, length: u64) -> Ticks {
        let mut number = now.0 / length;
        loop {
            let period = &mut self.0[number as usize % PERIODS];
            if period.number > number {
                return now;
            }
            if period.number < number {
                *period = Period { number, taken: 0 };
            }
            if period.taken + slot <= length {
                let start = Ticks(number * length + period.taken);
                period.taken += slot;
                return now.max(start);
            }
            number += 1;
        }
    }
}

/// The controllers and where pages lie.
#[derive(Debug)]
pub(crate) struct Memory {
    controllers: Vec<Controller>,
    /// Length of a period: several slots.
    period: u64,
    /// How long a controller is busy with one line.
    slot: Ticks,
    lines_per_page: u32,
    placement: Placement,
    /// First touch: each page's controller, once touched.
    home: Vec<u8>,
    /// First touch: each worker's nearest controller.
    nearest: Vec<u8>,
}

impl Memory {
    pub(crate) fn new(machine: &Machine, line: u64, lines: u32) -> Result<Self, SimError> {
        let memory = &machine.memory;
        let count = match memory.placement {
            Placement::Bound(k) => k.min(memory.controllers),
            _ => memory.controllers,
        };
        if count == 0 || count >= u32::from(UNPLACED) {
            return Err(SimError::Machine(format!("{count} memory controllers (1 to 254 can be)")));
        }
        if !(memory.bandwidth > 0.0 && memory.bandwidth.is_finite()) {
            return Err(SimError::Machine(format!(
                "memory bandwidth of {} bytes a cycle",
                memory.bandwidth
            )));
        }
        let slot = Ticks::fractional(line as f64 / memory.bandwidth);
        let lines_per_page = (PAGE / line).max(1) as u32;
        let first_touch = memory.placement == Placement::FirstTouch;
        let workers = machine.workers().len() as u64;
        Ok(Self {
            controllers: vec![Controller(vec![Period::default(); PERIODS]); count as usize],
            period: Ticks::cycles(PERIOD).0.max(4 * slot.0),
            slot,
            lines_per_page,
            placement: memory.placement,
            home: if first_touch {
                vec![UNPLACED; (lines / lines_per_page) as usize + 1]
            } else {
                Vec::new()
            },
            nearest: (0..workers).map(|w| (w * u64::from(count) / workers) as u8).collect(),
        })
    }

    /// Sends `line` over its controller's bus at `now`. Returns when the bus has it.
    pub(crate) fn transfer(&mut self, worker: WorkerId, line: u32, now: Ticks) -> Ticks {
        let controller = self.controller(worker, line);
        self.controllers[controller].reserve(now, self.slot.0, self.period)
    }

    fn controller(&mut self, worker: WorkerId, line: u32) -> usize {
        let page = line / self.lines_per_page;
        match self.placement {
            Placement::Interleaved | Placement::Bound(_) => page as usize % self.controllers.len(),
            Placement::FirstTouch => {
                let home = &mut self.home[page as usize];
                if *home == UNPLACED {
                    *home = self.nearest[worker.index()];
                }
                usize::from(*home)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_only_for_what_comes_before_it_in_time() {
        let mut controller = Controller(vec![Period::default(); PERIODS]);
        // Another worker's slice reserved 10 of every 100 ticks, up to far ahead.
        for i in 0..40 {
            assert_eq!(controller.reserve(Ticks(i * 100), 10, 400), Ticks(i * 100));
        }
        let start = controller.reserve(Ticks(50), 10, 400);
        assert!(start <= Ticks(50), "{start:?}");
    }

    #[test]
    fn a_full_period_sends_requests_to_the_next() {
        let mut controller = Controller(vec![Period::default(); PERIODS]);
        let starts: Vec<_> = (0..9).map(|_| controller.reserve(Ticks(0), 100, 400).0).collect();
        assert_eq!(starts, [0, 100, 200, 300, 400, 500, 600, 700, 800]);
    }
}
