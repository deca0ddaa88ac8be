//! What workers' time is charged to, and what their touches are counted and booked as.

use befit_cache::{Access, Found};
use befit_machine::WorkerId;
use befit_program::Touch;

use super::Hardware;
use crate::{account::Part, clock::Ticks, ledger::Miss, waits::Reason};

impl Hardware {
    /// Worker `worker` has waited.
    #[inline]
    pub(crate) fn charge(&mut self, worker: WorkerId, wait: Ticks, reason: &Reason) {
        if wait != Ticks::default() && self.accounted {
            self.charge_wait(worker, wait, *reason);
        }
    }

    fn charge_wait(
        &mut self,
        worker: WorkerId,
        wait: Ticks,
        Reason { part, line, wires, walk }: Reason,
    ) {
        let no = Ticks::default();
        let (wires, walk) = match part {
            Part::Handovers => (no, no),
            // Fewer lines would take less of the wires, too.
            Part::Strides => (no, walk.min(wait)),
            _ => (wires.min(wait), walk.min(wait.since(wires))),
        };
        let account = &mut self.accounts[worker.index()];
        account.charge(Part::Bandwidth, wires);
        account.charge(Part::Walks, walk);
        account.charge(part, wait.since(wires + walk));
        if part == Part::Handovers {
            self.handovers.waited(line, wait);
        }
    }

    /// Worker `worker` has spent `time` on operations, of which this share would do alone on the
    /// fastest core.
    pub(crate) fn worked(&mut self, worker: WorkerId, time: Ticks, alone: f64) {
        if !self.accounted {
            return;
        }
        let work = Ticks((time.0 as f64 * alone) as u64);
        let account = &mut self.accounts[worker.index()];
        account.charge(Part::Work, work);
        account.charge(Part::SharedCores, time.since(work));
    }

    /// What a wait for a line of `worker` is charged to: of where it was found and how it is used.
    #[inline]
    pub(super) fn part(
        &mut self,
        worker: WorkerId,
        touch: Touch,
        line: u32,
        access: &Access,
    ) -> Part {
        if !self.accounted {
            return Part::Memory;
        }
        let own = match access.found {
            Found::Own(cluster) if self.level(cluster).private => {
                if access.invalidated {
                    self.handovers.takes(worker, line, true);
                }
                if self.level(cluster).is_nearest() {
                    return Part::Caches;
                }
                true
            }
            Found::Memory => true,
            _ => false,
        };
        if !own && self.handovers.takes(worker, line, touch.write) {
            return Part::Handovers;
        }
        if !touch.streaming && self.strides[worker.index()].goes_on(line) {
            return Part::Strides;
        }
        match access.found {
            Found::Own(_) | Found::Sibling(_) => Part::Caches,
            Found::Remote { modified, .. } if modified || !self.clean_from_memory => {
                Part::OtherCaches
            }
            _ => Part::Memory,
        }
    }

    /// Counts a line that did not come from a private cache.
    pub(super) fn count(&mut self, worker: WorkerId, found: Found, each: u64) {
        let last_level = match found {
            Found::Own(cluster) if self.level(cluster).private => return,
            Found::Own(_) | Found::Sibling(_) => 0,
            Found::Remote { .. } | Found::Memory => each,
        };
        let counts = &mut self.counts[worker.index()];
        counts.private_misses += each;
        counts.llc_misses += last_level;
    }

    /// Books where the touch's line comes from.
    pub(super) fn book(&mut self, worker: WorkerId, touch: Touch, access: &Access, part: Part) {
        let from_memory = self.clean_from_memory;
        let place = self.place(self.line(worker, touch));
        let far = match access.found {
            Found::Own(_) | Found::Sibling(_) => false,
            Found::Remote { from, modified } if modified || !from_memory => {
                self.memory.is_far(worker, from)
            }
            _ => self.memory.is_far_home(worker, place),
        };
        if let Some(booking) = &mut self.booking {
            booking.book(touch, Miss::new(access, from_memory, far, part));
        }
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::{Cycles, Machine};

    use super::*;
    use crate::{account::Account, hardware::Level, tests::program};

    fn hardware(accounted: bool) -> Hardware {
        with_lines_of(64, accounted)
    }

    fn with_lines_of(bytes: u32, accounted: bool) -> Hardware {
        let program = program(|b| b.touch(1, false, false));
        let machine = format!("core:2 l1:1(size=32KiB line={bytes}) pu:1").parse().unwrap();
        Hardware::new(&program, None, &machine, 1, accounted).unwrap()
    }

    /// The parts of an account that have some time, in cycles.
    fn parts(account: &Account<Ticks>) -> Vec<(Part, u64)> {
        let all = Part::ALL.map(|part| (part, account.get(part).whole().0));
        all.into_iter().filter(|(_, time)| *time > 0).collect()
    }

    #[test]
    fn a_wait_is_bandwidth_then_walks_and_the_rest_is_of_where_the_line_was() {
        use Part::{Bandwidth, Handovers, Memory, Strides, Walks};
        // Of each line 30 cycles on wires and a walk of 20, in waits of which operations covered
        // none, some, and most.
        for (part, wait, expected) in [
            (Memory, 100, &[(Memory, 50), (Bandwidth, 30), (Walks, 20)][..]),
            (Memory, 45, &[(Bandwidth, 30), (Walks, 15)]),
            (Memory, 25, &[(Bandwidth, 25)]),
            // Fewer lines would take less of the wires, too.
            (Strides, 100, &[(Strides, 80), (Walks, 20)]),
            (Strides, 15, &[(Walks, 15)]),
            (Handovers, 100, &[(Handovers, 100)]),
        ] {
            let [wires, walk, wait] = [30, 20, wait].map(Ticks::cycles);
            let reason = Reason { part, line: 7, wires, walk };
            let mut hardware = hardware(true);
            hardware.charge(WorkerId(1), wait, &reason);
            assert_eq!(parts(&hardware.accounts[1]), expected);
            assert_eq!(parts(&hardware.accounts[0]), []);
        }
    }

    #[test]
    fn a_wait_for_a_line_that_goes_to_and_fro_is_told_of_that_line() {
        for (bytes, recorded) in [(64, 7), (128, 14)] {
            let mut hardware = with_lines_of(bytes, true);
            hardware.handovers.takes(WorkerId(0), 7, true);
            for (part, wait) in [(Part::Handovers, 40), (Part::Memory, 50), (Part::Handovers, 2)] {
                let reason = Reason { part, line: 7, ..Reason::default() };
                hardware.charge(WorkerId(1), Ticks::cycles(wait), &reason);
            }
            let worst = hardware.worst_contended(None);
            let worst: Vec<_> = worst.iter().map(|line| (line.line, line.waited)).collect();
            assert_eq!(worst, [(recorded, Cycles(42))]);
        }
    }

    #[test]
    fn a_hit_in_the_innermost_cache_costs_nothing_whichever_kind_it_is_of() {
        let machine = Machine::find("ryzen-hx-370").unwrap();
        let hardware = Hardware::new(&program(|_| {}), None, &machine, 1, true).unwrap();
        let innermost = (0..machine.workers().len() as u32)
            .map(|w| hardware.level(machine.path(WorkerId(w)).next().unwrap()));
        assert!(innermost.clone().all(Level::is_nearest));
        let l2 = (0..2).map(|w| machine.path(WorkerId(w * 11)).nth(1).unwrap());
        let latencies = l2.map(|cluster| hardware.level(cluster).latency);
        let expected = (0..2).map(|w| {
            let cycles = |c| crate::latency(&machine, c);
            let mut path = machine.path(WorkerId(w * 11));
            let (l1, l2) = (path.next().unwrap(), path.next().unwrap());
            Ticks::cycles(cycles(l2) - cycles(l1))
        });
        assert!(latencies.eq(expected));
    }

    #[test]
    fn operations_that_took_longer_than_alone_are_those_of_shared_cores() {
        let mut hardware = hardware(true);
        hardware.worked(WorkerId(0), Ticks::cycles(100), 0.25);
        let expected = [(Part::Work, 25), (Part::SharedCores, 75)];
        assert_eq!(parts(&hardware.accounts[0]), expected);
    }

    #[test]
    fn without_an_account_nothing_is_charged() {
        let mut hardware = hardware(false);
        hardware.charge(WorkerId(0), Ticks::cycles(5), &Reason::default());
        hardware.worked(WorkerId(0), Ticks::cycles(5), 0.5);
        assert_eq!(parts(&hardware.accounts[0]), []);
    }
}
