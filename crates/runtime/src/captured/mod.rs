//! What a closure has captured, as plain numbers: a slice's length, a range's bounds, a matrix's n.
//!
//! Such a number is the best sign of how much a task touches that there is before the task runs.
//! The compiler does not say which of a closure's bytes are numbers, so all of its first words are
//! read as such. An address means nothing in another run. But what it points to may be a number,
//! or a structure with the length of a vector in it, so addresses are followed, twice. [`Word`]
//! says which word is which.
//!
//! Nobody knows whether what looks like an address is one. Memory that is known to be there, the
//! stacks of waiting functions, is read as it is. All else is read by the kernel
//! ([`far`]), which tells where there is no memory, and reads no device.
//!
//! Both backends read closures by [`Captured`], so that a task has the same words whether it is
//! recorded or runs on threads.

use std::cell::Cell;

use befit_sched::sizes::Word;

/// From here on a word of a closure is taken for an address, or for the bits of a float: it is no
/// number. On aarch64 Linux may have addresses of 39 bits. Its programs then begin at 85 · 2³².
const OWN_LIMIT: u64 = if IS_AARCH64 { 1 << 38 } else { 1 << 40 };

/// The same for what is behind a reference. It may be of 32 bits; the other half of the word is
/// then something else.
const BEHIND_LIMIT: u64 = 1 << 32;

/// Where addresses of programs end.
const ADDRESS_LIMIT: u64 = if IS_AARCH64 { 1 << 48 } else { 1 << 47 };

const IS_AARCH64: bool = cfg!(target_arch = "aarch64");

/// So many words are captured, and as many are read where one points to.
pub(crate) const WIDTH: usize = Word::WIDTH as usize;

/// A closure whose words can be read.
///
/// Which word is which depends on the closure's type alone. Padding, which holds anything, is read
/// too. All words are 0 where the processor's instruction for it is not known, and under Miri.
#[derive(Debug)]
pub(crate) struct Captured<N> {
    closure: *const u8,
    bytes: usize,
    is_near: N,
    /// The last words that the kernel read, with their addresses: a law often has a word twice, or
    /// two words behind one reference.
    far: Cell<[(usize, u64); 4]>,
    reader: far::Reader,
}

impl<N: Fn(usize) -> bool> Captured<N> {
    /// A closure of so many bytes. `is_near` says whether eight bytes at an address, a multiple of
    /// four, lie in a frame of a stack.
    ///
    /// # Safety
    /// `closure` is the address of a closure of `bytes` bytes. Where `is_near` returns true, eight
    /// bytes are mapped memory. Both stay so as long as this is used.
    pub(crate) unsafe fn new(closure: *const u8, bytes: usize, is_near: N) -> Self {
        let (far, reader) = (Cell::new([(0, 0); 4]), far::Reader::default());
        Self { closure, bytes, is_near, far, reader }
    }

    /// A word as a plain number; 0 where there is none. None where its address may be one, but
    /// cannot be read.
    pub(crate) fn word(&self, word: Word) -> Option<u64> {
        let limit = if word.reference().is_some() { BEHIND_LIMIT } else { OWN_LIMIT };
        self.raw(word).map(|value| if value < limit { value } else { 0 })
    }

    /// All words that are not 0, the lowest numbers first, into `found`; returns how many. No more
    /// than it has room for. Time for 273 references.
    // A plain build reads the words that it wants.
    #[cfg_attr(not(any(befit_record, test)), expect(dead_code))]
    pub(crate) fn all(&self, found: &mut [(Word, u64)]) -> usize {
        let mut count = 0;
        let mut add = |word: Word, value: u64| {
            if let Some(slot) = found.get_mut(count) {
                *slot = (word, value);
                count += 1;
            }
        };
        let places = || 0..Word::WIDTH;
        let values: [u64; WIDTH] = std::array::from_fn(|place| self.own(place));
        for (own, value) in places().filter_map(Word::own).zip(values) {
            if (1..OWN_LIMIT).contains(&value) {
                add(own, value);
            }
        }
        // What stands behind each of a closure's words, for those that are followed again.
        let behind = self.blocks(&values);
        // Most words are no numbers, and most closures have few words: so they are looked at first.
        let mut numbers = |reference: Word, block: &[u64; WIDTH]| {
            for (place, value) in places().zip(block) {
                if (1..BEHIND_LIMIT).contains(value)
                    && let Some(word) = reference.behind(place)
                {
                    add(word, *value);
                }
            }
        };
        for (own, block) in places().filter_map(Word::own).zip(&behind) {
            numbers(own, block);
        }
        for (own, block) in places().filter_map(Word::own).zip(&behind) {
            if block.iter().all(|address| *address < OWN_LIMIT) {
                continue;
            }
            for (place, block) in places().zip(&self.blocks(block)) {
                if let Some(first) = own.behind(place) {
                    numbers(first, block);
                }
            }
        }
        count
    }

    /// A word with all of its bits; none where it cannot be read.
    fn raw(&self, word: Word) -> Option<u64> {
        let Some(reference) = word.reference() else { return Some(self.own(word.place().into())) };
        let address = self.raw(reference)?;
        let place = usize::from(word.place());
        match Behind::of(address) {
            Behind::Nothing => Some(0),
            Behind::Short(address) if place == 0 => self.short(address),
            Behind::Short(_) => Some(0),
            Behind::Long(address) => self.long(address + 8 * place),
        }
    }

    /// A word of the closure's own.
    fn own(&self, place: usize) -> u64 {
        let at = self.closure.wrapping_add(8 * place);
        match self.bytes.saturating_sub(8 * place) {
            // SAFETY: the closure has eight bytes here.
            8.. => unsafe { read::long(at) },
            // SAFETY: the closure has four bytes here.
            4.. => unsafe { read::short(at) },
            _ => 0,
        }
    }

    fn long(&self, address: usize) -> Option<u64> {
        if (self.is_near)(address) {
            // SAFETY: eight bytes are mapped here.
            return Some(unsafe { read::long(std::ptr::without_provenance(address)) });
        }
        self.far(address, 8)
    }

    /// Four bytes.
    fn short(&self, address: usize) -> Option<u64> {
        if (self.is_near)(address) {
            // SAFETY: eight bytes are mapped here, and these are four of them.
            return Some(unsafe { read::short(std::ptr::without_provenance(address)) });
        }
        self.far(address, 4)
    }

    fn far(&self, address: usize, bytes: usize) -> Option<u64> {
        let mut known = self.far.get();
        if let Some((_, value)) = known.iter().find(|(at, _)| *at == address) {
            return Some(*value);
        }
        let word = self.reader.word(address, bytes)?;
        known.rotate_right(1);
        known[0] = (address, word);
        self.far.set(known);
        Some(word)
    }

    /// What each of the addresses points to, as [`Self::raw`] reads it word by word; 0 where there
    /// is no memory.
    fn blocks(&self, addresses: &[u64; WIDTH]) -> [[u64; WIDTH]; WIDTH] {
        let mut blocks = [[0; WIDTH]; WIDTH];
        let mut far: [(usize, &mut [u64]); 2 * WIDTH] = Default::default();
        let mut pieces = 0;
        for (address, block) in addresses.iter().zip(&mut blocks) {
            match Behind::of(*address) {
                Behind::Nothing => {}
                Behind::Short(address) => block[0] = self.short(address).unwrap_or(0),
                Behind::Long(address) if (self.is_near)(address) => {
                    for (place, word) in block.iter_mut().enumerate() {
                        *word = self.long(address + 8 * place).unwrap_or(0);
                    }
                }
                Behind::Long(address) => {
                    // A page is there, or is not, as a whole.
                    let first = (PAGE - address % PAGE).min(8 * WIDTH);
                    let (front, back) = block.split_at_mut(first / 8);
                    far[pieces] = (address, front);
                    far[pieces + 1] = (address + first, back);
                    pieces += if far[pieces + 1].1.is_empty() { 1 } else { 2 };
                }
            }
        }
        self.reader.pieces(&mut far[..pieces]);
        blocks
    }
}

/// No machine has smaller pages.
const PAGE: usize = 4096;

/// What a word points to.
enum Behind {
    Nothing,
    /// A word at a multiple of four: four bytes count.
    Short(usize),
    Long(usize),
}

impl Behind {
    fn of(address: u64) -> Self {
        if !(OWN_LIMIT..ADDRESS_LIMIT - 8 * WIDTH as u64).contains(&address) {
            return Self::Nothing;
        }
        match address % 8 {
            0 => Self::Long(address as usize),
            4 => Self::Short(address as usize),
            _ => Self::Nothing,
        }
    }
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod read;

/// Closures have no words here.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
mod read {
    pub(super) unsafe fn long(_: *const u8) -> u64 {
        0
    }

    pub(super) unsafe fn short(_: *const u8) -> u64 {
        0
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod far;

/// No memory can be read here unless it is known to be there.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod far {
    #[derive(Default, Debug)]
    pub(super) struct Reader;

    impl Reader {
        pub(super) fn word(&self, _: usize, _: usize) -> Option<u64> {
            None
        }

        pub(super) fn pieces(&self, _: &mut [(usize, &mut [u64])]) {}
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests;
