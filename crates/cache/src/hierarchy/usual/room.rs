//! Where the lines go that make room, where that is not the common case.

use super::{
    Caches, PENDING,
    seats::{INNER, LAST, OUTER, Seat},
};
use crate::{
    lanes::{EMPTY, LINE, Short},
    sets::{DIRTY, ORPHAN},
};

impl Caches {
    /// The inner and the outer cache's entries that made room, and the last-level cache's line, go
    /// their way, the outermost first. Answers how many lines were written to memory.
    #[inline(never)]
    pub(super) fn make_room<L: Short>(
        &mut self,
        lanes: L,
        seat: &mut Seat,
        [mut a, mut b]: [u32; 2],
        last: Option<u64>,
    ) -> u8 {
        let last = last.filter(|line| *line < u64::from(self.shape.lines)).map(|line| line as u32);
        // One line may make room in several caches at once: it leaves the last-level cache but
        // once, and when it has left the outer cache, that does not have it.
        if (a ^ b) & LINE == 0 {
            a |= ORPHAN;
            b &= if b == EMPTY { EMPTY } else { !PENDING };
        }
        let mut written = 0;
        if let Some(line) = last {
            let gone = |entry: u32| if entry & LINE == line { EMPTY } else { entry };
            (a, b) = (gone(a), gone(b));
            written = self.last_makes_room(lanes, seat, line);
        }
        self.outer_makes_room(lanes, seat, b);
        if a != EMPTY {
            let next = self.any_inner_makes_room(lanes, seat, a);
            self.outer_makes_room(lanes, seat, next);
        }
        written
    }

    /// `line` leaves the last-level cache and with it all caches below.
    fn last_makes_room<L: Short>(&mut self, lanes: L, seat: &mut Seat, line: u32) -> u8 {
        let row = self.rows.of(line);
        let below = row[0] & seat.below;
        let dirty = row[0] >> 63;
        row[0] &= seat.without_last;
        seat.writebacks[LAST] += dirty;
        self.remove_below(lanes, line, below);
        dirty as u8
    }

    /// `entry` has made room in the inner cache, and the outer one may lack it: it takes it in if
    /// it is dirty. Answers the entry that has to make room there.
    fn any_inner_makes_room<L: Short>(&mut self, lanes: L, seat: &mut Seat, entry: u32) -> u32 {
        seat.writebacks[INNER] += u64::from(entry >> 31);
        if entry & ORPHAN == 0 {
            return EMPTY;
        }
        let line = entry & LINE;
        let set = &mut self.outer[(seat.outer + (line & self.shape.outer_sets)) as usize];
        if lanes.flag(set, line, entry & DIRTY) != 0 {
            return EMPTY;
        }
        let row = self.rows.of(line);
        if entry & DIRTY == 0 {
            row[0] &= seat.without_core;
            return EMPTY;
        }
        row[0] |= seat.core_bit;
        lanes.push(set, &self.shape.outer_ways, line | DIRTY)
    }

    /// `entry` has made room in the outer cache. The last-level cache has it, and the directory
    /// knows whether it is modified.
    fn outer_makes_room<L: Short>(&mut self, lanes: L, seat: &mut Seat, entry: u32) {
        if entry == EMPTY {
            return;
        }
        let line = entry & LINE;
        let set = &mut self.inner[(seat.inner + (line & self.shape.inner_sets)) as usize];
        if lanes.flag(set, line, ORPHAN) != 0 {
            seat.writebacks[OUTER] += u64::from(entry >> 31);
            return;
        }
        seat.writebacks[OUTER] += u64::from(entry & (DIRTY | PENDING) != 0);
        self.rows.of(line)[0] &= seat.without_core;
    }
}
