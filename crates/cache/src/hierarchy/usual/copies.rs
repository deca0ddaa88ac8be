//! What an access does to other workers' copies of its line.

use super::{
    Caches, PENDING, Plan,
    rows::{CORES, MOST_CORES, SOCKETS, TO_LOST, bits},
    seats::{INNER, LAST, OUTER, Seat},
};
use crate::{
    lanes::{EMPTY, Entries, Short},
    sets::DIRTY,
};

impl Caches {
    /// Takes the line away from `others`, by a write.
    #[inline(always)]
    pub(super) fn invalidate<L: Short>(&mut self, lanes: L, plan: Plan, others: u64) {
        for socket in bits((others & SOCKETS) >> 32) {
            lanes.take_out(
                &mut self.last[(socket * self.shape.last_stride() + plan.number) as usize],
                plan.tag,
            );
            self.lost[LAST][socket as usize % MOST_CORES] += 1;
        }
        let row = self.rows.at(plan.row);
        row[0] = row[0] & !others | (others & SOCKETS) << TO_LOST;
        if others & CORES != 0 {
            self.invalidate_private(lanes, plan.line, others & CORES);
        }
    }

    #[inline(never)]
    fn invalidate_private<L: Short>(&mut self, lanes: L, line: u32, cores: u64) {
        let mut lost = 0;
        for number in bits(cores) {
            let [inner, outer] = [INNER, OUTER]
                .map(|at| lanes.remove(self.private(number, at, line), line) != EMPTY);
            self.lost[INNER][number as usize % MOST_CORES] += u64::from(inner);
            self.lost[OUTER][number as usize % MOST_CORES] += u64::from(outer);
            lost |= u64::from(inner) << number | u64::from(outer) << (32 + number);
        }
        self.rows.of(line)[1] |= lost;
    }

    /// Makes the line, which is modified and about to be read by another core, clean in the private
    /// caches of `cores`.
    #[inline(never)]
    pub(super) fn clean<L: Short>(&mut self, lanes: L, line: u32, cores: u64) {
        for core in bits(cores) {
            for at in [INNER, OUTER] {
                let set = self.private(core, at, line);
                let way = lanes.find(set, line).trailing_zeros() as usize;
                if let Some(entry) = set.0.get_mut(way) {
                    *entry &= !(DIRTY | if at == OUTER { PENDING } else { 0 });
                }
            }
        }
    }

    /// A miss of a core's caches on a line that some of them lost to a write.
    #[inline(never)]
    pub(super) fn was_lost(&mut self, seat: &mut Seat, line: u32) {
        let row = self.rows.of(line);
        let lost = row[1] & seat.private_lost;
        row[1] &= !lost;
        seat.coherence_misses[INNER] += u64::from(lost & CORES != 0);
        seat.coherence_misses[OUTER] += u64::from(lost & !CORES != 0);
    }

    /// Takes the line, which leaves the last-level cache, out of the private caches of `cores`.
    pub(super) fn remove_below<L: Short>(&mut self, lanes: L, line: u32, cores: u64) {
        for core in bits(cores) {
            for at in [INNER, OUTER] {
                lanes.remove(self.private(core, at, line), line);
            }
        }
        self.rows.of(line)[0] &= !cores;
    }

    /// The set of `line` in the inner or outer cache of `core`.
    #[inline(always)]
    pub(super) fn private(&mut self, core: u32, at: usize, line: u32) -> &mut Entries {
        let shape = &self.shape;
        if at == INNER {
            &mut self.inner[(core * shape.inner_stride() + (line & shape.inner_sets)) as usize]
        } else {
            &mut self.outer[(core * shape.outer_stride() + (line & shape.outer_sets)) as usize]
        }
    }
}
