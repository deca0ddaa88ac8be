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
