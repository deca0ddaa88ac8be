//! A line's row of the directory as two short lists, on machines of very many caches.

/// Numbers that lie in the row itself.
const NEAR: usize = 56;
/// So many of them are compared at a time.
const TOGETHER: usize = 8;

/// The chains that hold a line, and the caches that lost it, in no order: those whose bits would be
/// set in a row.
///
/// Both lists share one array, the held from its front and the lost from its back, so that nearly
/// every line's row is two lines of the host's caches side by side: they are prefetched as a row of
/// bits is. What finds no room there is on the heap, and costs the host a wait.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(super) struct Lists {
    near: [u16; NEAR],
    /// How many of them are of the first list, and of the second.
    held: u8,
    lost: u8,
    pub(super) modified: bool,
    far: Option<Box<Far>>,
}

const _: () = assert!(size_of::<Lists>() == 128);

/// What of the lists has found no room.
#[derive(Clone, Debug, Default)]
struct Far {
    held: Vec<u16>,
    lost: Vec<u16>,
}

impl Lists {
    /// Those of a line that no cache has had.
    pub(super) const NONE: Self =
        Self { near: [0; NEAR], held: 0, lost: 0, modified: false, far: None };

    /// The chains that hold the line.
    #[inline(always)]
    pub(super) fn held(&self) -> impl Iterator<Item = u32> {
        let far = self.far.iter().flat_map(|far| &far.held);
        self.near[..usize::from(self.held)].iter().chain(far).map(|chain| u32::from(*chain))
    }

    /// Whether `chain` is one of them.
    #[inline]
    pub(super) fn holds(&self, chain: u32) -> bool {
        let number = chain as u16;
        self.place_of_held(number).is_some()
            || self.far.as_ref().is_some_and(|far| far.held.contains(&number))
    }

    /// The same, as far as the row itself tells: no is true.
    #[inline]
    pub(super) fn may_hold(&self, chain: u32) -> bool {
        self.far.is_some() || self.place_of_held(chain as u16).is_some()
    }

    /// Enters a chain, if it is not there.
    #[inline]
    pub(super) fn hold(&mut self, chain: u32) {
        if !self.holds(chain) {
            self.hold_new(chain);
        }
    }

    /// Enters a chain that is not there.
    #[inline]
    pub(super) fn hold_new(&mut self, chain: u32) {
        if self.has_room() {
            self.near[usize::from(self.held)] = chain as u16;
            self.held += 1;
        } else {
            self.far.get_or_insert_default().held.push(chain as u16);
        }
    }

    /// Takes a chain out, if it is there.
    #[inline]
    pub(super) fn release(&mut self, chain: u32) {
        let number = chain as u16;
        if let Some(place) = self.place_of_held(number) {
            self.held -= 1;
            self.near[place] = self.near[usize::from(self.held)];
        } else if let Some(far) = &mut self.far {
            remove(&mut far.held, number);
        }
    }

    /// Takes out the chains for which `gone` says so.
    pub(super) fn release_if(&mut self, mut gone: impl FnMut(u32) -> bool) {
        let mut kept = 0;
        for place in 0..usize::from(self.held) {
            let number = self.near[place];
            if !gone(u32::from(number)) {
                self.near[kept] = number;
                kept += 1;
            }
        }
        self.held = kept as u8;
        if let Some(far) = &mut self.far {
            far.held.retain(|number| !gone(u32::from(*number)));
        }
    }

    /// Enters a cache that has lost the line.
    #[inline]
    pub(super) fn lose(&mut self, cache: u32) {
        let number = cache as u16;
        let is_far = || self.far.as_ref().is_some_and(|far| far.lost.contains(&number));
        if self.place_of_lost(number).is_some() || is_far() {
            return;
        }
        if self.has_room() {
            self.lost += 1;
            self.near[self.first_lost()] = number;
        } else {
            self.far.get_or_insert_default().lost.push(number);
        }
    }

    /// The cache has the line again; returns whether it had lost it.
    #[inline]
    pub(super) fn take_lost(&mut self, cache: u32) -> bool {
        let number = cache as u16;
        if let Some(place) = self.place_of_lost(number) {
            self.near[place] = self.near[self.first_lost()];
            self.lost -= 1;
            return true;
        }
        self.far.as_mut().is_some_and(|far| remove(&mut far.lost, number))
    }

    /// Where `number` is of the first list. What lies behind that is of no consequence, as the
    /// first place that has the number is found.
    #[inline(always)]
    fn place_of_held(&self, number: u16) -> Option<usize> {
        let held = usize::from(self.held);
        self.find(0, held, number).filter(|place| *place < held)
    }

    #[inline(always)]
    fn place_of_lost(&self, number: u16) -> Option<usize> {
        self.find(self.first_lost(), NEAR, number)
    }

    /// The first place from `start` on that has `number`, as far as some place before `end` lies
    /// among the [`TOGETHER`].
    #[inline(always)]
    fn find(&self, start: usize, end: usize, number: u16) -> Option<usize> {
        let (all, _) = self.near.as_chunks::<TOGETHER>();
        let first = start / TOGETHER;
        let mut wanted = u64::MAX << (start % TOGETHER * 8);
        for (i, numbers) in all.iter().enumerate().take(end.div_ceil(TOGETHER)).skip(first) {
            let equal = numbers.map(|known| if known == number { u8::MAX } else { 0 });
            let equal = u64::from_le_bytes(equal) & wanted;
            if equal != 0 {
                return Some(i * TOGETHER + equal.trailing_zeros() as usize / 8);
            }
            wanted = u64::MAX;
        }
        None
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        usize::from(self.held + self.lost) < NEAR
    }

    #[inline(always)]
    fn first_lost(&self) -> usize {
        NEAR - usize::from(self.lost)
    }
}

/// Takes `number` out; returns whether it was there.
#[inline]
fn remove(list: &mut Vec<u16>, number: u16) -> bool {
    let place = list.iter().position(|known| *known == number);
    place.is_some_and(|place| list.swap_remove(place) == number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_lists_are_sets(steps in prop::collection::vec((0..6u8, 0..90u32), 0..400)) {
            let mut lists = Lists::NONE;
            let (mut held, mut lost) = (BTreeSet::new(), BTreeSet::new());
            for (what, number) in steps {
                match what {
                    0 | 1 => {
                        lists.hold(number);
                        held.insert(number);
                    }
                    2 => {
                        lists.release(number);
                        held.remove(&number);
                    }
                    3 | 4 => {
                        lists.lose(number);
                        lost.insert(number);
                    }
                    _ if number < 4 => {
                        lists.release_if(|chain| chain % 5 == number);
                        held.retain(|chain| chain % 5 != number);
                    }
                    _ => prop_assert_eq!(lists.take_lost(number), lost.remove(&number)),
                }
                prop_assert_eq!(lists.held().count(), held.len());
                prop_assert_eq!(lists.held().collect::<BTreeSet<_>>(), held.clone());
                prop_assert!((0..90).all(|chain| lists.holds(chain) == held.contains(&chain)));
            }
            let left: BTreeSet<_> = (0..90).filter(|cache| lists.take_lost(*cache)).collect();
            prop_assert_eq!(left, lost);
        }
    }
}
