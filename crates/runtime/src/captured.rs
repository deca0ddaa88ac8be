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
}

impl<N: Fn(usize) -> bool> Captured<N> {
    /// A closure of so many bytes. `is_near` says whether eight bytes at an address, a multiple of
    /// four, lie in a frame of a stack.
    ///
    /// # Safety
    /// `closure` is the address of a closure of `bytes` bytes. Where `is_near` returns true, eight
    /// bytes are mapped memory. Both stay so as long as this is used.
    pub(crate) unsafe fn new(closure: *const u8, bytes: usize, is_near: N) -> Self {
        Self { closure, bytes, is_near, far: Cell::new([(0, 0); 4]) }
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
        // What stands behind each of a closure's words, for those that are followed again.
        let mut behind = [[0; WIDTH]; WIDTH];
        let places = || 0..Word::WIDTH;
        for own in places().filter_map(Word::own) {
            let value = self.own(own.place().into());
            if value < OWN_LIMIT {
                add(own, if value == 0 { continue } else { value });
            } else {
                behind[usize::from(own.place())] = self.block(value);
            }
        }
        let mut number = |word: Option<Word>, value: u64| {
            if let Some(word) = word.filter(|_| (1..BEHIND_LIMIT).contains(&value)) {
                add(word, value);
            }
        };
        for (own, block) in places().filter_map(Word::own).zip(&behind) {
            places().zip(block).for_each(|(place, value)| number(own.behind(place), *value));
        }
        for (own, block) in places().filter_map(Word::own).zip(&behind) {
            for (first, address) in places().filter_map(|place| own.behind(place)).zip(block) {
                if *address >= OWN_LIMIT {
                    let block = self.block(*address);
                    places().zip(block).for_each(|(place, v)| number(first.behind(place), v));
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
        let mut word = [0];
        if !far::read(address, bytes, &mut word) {
            return None;
        }
        known.rotate_right(1);
        known[0] = (address, word[0]);
        self.far.set(known);
        Some(word[0])
    }

    /// What an address points to, as [`Self::raw`] reads it word by word; 0 where there is no
    /// memory.
    fn block(&self, address: u64) -> [u64; WIDTH] {
        let mut block = [0; WIDTH];
        match Behind::of(address) {
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
                far::read(address, first, front);
                if !back.is_empty() {
                    far::read(address + first, 8 * back.len(), back);
                }
            }
        }
        block
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

/// Reads memory of which Rust knows nothing: it may never have been written (padding), and its
/// address may be a mere number. So the processor is asked, not the language. Eight, or four, bytes
/// at an address that is a multiple of as many are read at once, even if another thread is writing
/// them; what they mean then is anyone's guess, and only a guess is made of it.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod read {
    use std::arch::asm;

    /// The processor's instruction that loads eight bytes, or four, which clears the others.
    #[cfg(target_arch = "x86_64")]
    macro_rules! load {
        (eight) => {
            "mov {word:r}, qword ptr [{at}]"
        };
        (four) => {
            "mov {word:e}, dword ptr [{at}]"
        };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! load {
        (eight) => {
            "ldr {word:x}, [{at}]"
        };
        (four) => {
            "ldr {word:w}, [{at}]"
        };
    }

    /// The eight bytes at `at`.
    ///
    /// # Safety
    /// They are mapped memory.
    pub(super) unsafe fn long(at: *const u8) -> u64 {
        let word;
        // SAFETY: the instruction reads mapped memory, by our caller's promise, and does nothing
        // else.
        unsafe {
            asm!(
                load!(eight),
                word = lateout(reg) word,
                at = in(reg) at,
                options(readonly, nostack, preserves_flags)
            );
        }
        word
    }

    /// The four bytes at `at`.
    ///
    /// # Safety
    /// They are mapped memory.
    pub(super) unsafe fn short(at: *const u8) -> u64 {
        let word: u32;
        // SAFETY: the instruction reads mapped memory, by our caller's promise, and does nothing
        // else.
        unsafe {
            asm!(
                load!(four),
                word = lateout(reg) word,
                at = in(reg) at,
                options(readonly, nostack, preserves_flags)
            );
        }
        word.into()
    }
}

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

/// Reads memory that may not be there: the kernel does, as a debugger would.
#[cfg(all(target_os = "linux", not(miri)))]
mod far {
    /// Reads `bytes` bytes at `address`, which lie on one page, into `to`; returns whether they are
    /// there. A system call.
    pub(super) fn read(address: usize, bytes: usize, to: &mut [u64]) -> bool {
        debug_assert!(bytes <= size_of_val(to));
        let here = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: bytes };
        let there =
            libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: bytes };
        let process = std::process::id().cast_signed();
        // SAFETY: the kernel writes to `here` only, which is ours for so long, and has room for so
        // many bytes. It reads `there` only if that is memory that this process may read, else it
        // says so; it reads no memory of devices.
        let read = unsafe { libc::process_vm_readv(process, &here, 1, &there, 1, 0) };
        read == bytes.cast_signed()
    }
}

/// No memory can be read here unless it is known to be there.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod far {
    pub(super) fn read(_: usize, _: usize, _: &mut [u64]) -> bool {
        false
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// A way to read closures; the stack that is near ends at the address of `base`.
    fn reader<F>(base: &u8, closure: &F) -> Captured<impl Fn(usize) -> bool> {
        let here = 0u8;
        let stack = (&raw const here).addr()..std::ptr::from_ref(base).addr();
        let is_near = move |address: usize| stack.contains(&address) && address + 8 <= stack.end;
        // SAFETY: the closure is a live one of this size, and used at once; what lies between a
        // variable of this function and one of a caller is the stack of both.
        unsafe { Captured::new(std::ptr::from_ref(closure).cast(), size_of::<F>(), is_near) }
    }

    /// All words of a closure, each of which is the same when it is read alone.
    fn words<F>(base: &u8, closure: &F) -> Vec<(Word, u64)> {
        let reader = reader(base, closure);
        let mut found = [(Word::own(0).unwrap(), 0); Word::COUNT as usize];
        let count = reader.all(&mut found);
        assert!(found[..count].is_sorted_by_key(|(word, _)| word));
        for (word, value) in &found[..count] {
            assert_eq!(reader.word(*word), Some(*value), "{word}");
        }
        found[..count].to_vec()
    }

    /// The closure's own words that are not 0, in ascending order.
    fn own<F>(base: &u8, closure: &F) -> Vec<u64> {
        let words = words(base, closure).into_iter();
        let mut own: Vec<u64> = words.filter(|(w, _)| w.references() == 0).map(|w| w.1).collect();
        own.sort_unstable();
        own
    }

    /// Whether one of the words behind so many references has this value.
    fn has<F>(base: &u8, closure: &F, references: u16, value: u64) -> bool {
        words(base, closure).iter().any(|(w, v)| (w.references(), *v) == (references, value))
    }

    /// Calls `f` with a variable of a frame that is older than those of `f`.
    fn below(f: &dyn Fn(&u8)) {
        let base = 0;
        black_box(f)(black_box(&base));
    }

    fn used<T>(value: T) {
        let _ = black_box(value);
    }

    #[test]
    fn a_slice_is_its_length_and_a_range_its_bounds() {
        let numbers = vec![0u32; 1000];
        below(&|base| {
            let (slice, range) = (&numbers[..700], 3..90usize);
            let closure = move || used((slice, range));
            assert_eq!(own(base, &closure), [3, 90, 700]);
        });
    }

    #[test]
    fn a_variable_that_is_captured_by_reference_counts() {
        // As long as what is read behind references: neighbours on the stack change meanwhile.
        #[repr(align(8))]
        struct Four([u32; 2 * WIDTH + 4]);
        below(&|base| {
            let mut four = Four([0; 2 * WIDTH + 4]);
            four.0[..4].copy_from_slice(&[11, 0, 13, 14]);
            let mut long = [0u64; WIDTH];
            long[0] = 77;
            // Copied, so that they lie below `base`.
            let (long, short) = (black_box(long), black_box(four));
            let (whole, second_half, half) = (&short.0[0], &short.0[3], &short.0[2]);
            let closure = move || (*whole, *second_half, *half);
            // The half of a word that does not look like a small number is not read as one.
            assert!(has(base, &closure, 1, 11) && has(base, &closure, 1, 14));
            assert!(!has(base, &closure, 1, 13));
            assert!(has(base, &|| black_box(&long[0]), 1, 77));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn two_references_are_followed_wherever_they_lead() {
        struct Matrix {
            cells: Vec<f64>,
            // Of 32 bits, it would have padding, of any value, beside it.
            rows: usize,
        }
        let matrix = Box::new(Matrix { cells: vec![0.5; 1234], rows: 12 });
        below(&|base| {
            // It has references to the fields that it uses.
            let product = || (matrix.cells.len(), matrix.rows);
            assert!(has(base, &product, 1, 1234) && has(base, &product, 1, 12));
            let closure = || black_box(&product)();
            assert!(has(base, &closure, 2, 1234) && has(base, &closure, 2, 12));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_address_of_no_memory_is_told_and_does_no_harm() {
        below(&|base| {
            // Unmapped, or forbidden; near the end of addresses; beyond them.
            let end = ADDRESS_LIMIT;
            for address in [OWN_LIMIT, end - 8, end - 128, end, !7] {
                let address = black_box(address);
                let closure = move || used(address);
                assert_eq!(words(base, &closure), [], "{address:x}");
                let behind = Word::own(0).and_then(|word| word.behind(0)).unwrap();
                let expected = if address == OWN_LIMIT { None } else { Some(0) };
                assert_eq!(reader(base, &closure).word(behind), expected, "{address:x}");
            }
        });
    }

    #[test]
    fn addresses_and_floats_count_as_absent() {
        // As long as what is read behind it: neighbours on the heap change meanwhile.
        let on_heap = Box::new([0u64; WIDTH]);
        below(&|base| {
            let address = on_heap.as_ptr();
            let closure = move || used((address, 1.5f64, -1i64));
            assert_eq!(own(base, &closure), []);
        });
    }

    #[test]
    fn a_closure_of_any_size_and_alignment_is_read_within_its_bounds() {
        #[repr(align(64))]
        #[derive(Clone, Copy)]
        #[expect(dead_code, reason = "it is read as a word of the closure")]
        struct Aligned(u64);
        below(&|base| {
            assert_eq!(words(base, &|| ()), []);
            let byte = black_box(1u8);
            assert_eq!(words(base, &move || used(byte)), []);
            let four = black_box(4u32);
            assert_eq!(own(base, &move || used(four)), [4]);
            let twelve = black_box([4u32, 0, 5]);
            assert_eq!(own(base, &move || used(twelve)), [4, 5]);
            let aligned = black_box(Aligned(6));
            assert!(own(base, &move || used(aligned)).contains(&6));
            let large = black_box([9u64; 512]);
            assert_eq!(own(base, &move || used(large)), [9; WIDTH]);
            let mut few = [(Word::own(0).unwrap(), 0); 3];
            assert_eq!(reader(base, &move || used(large)).all(&mut few), 3);
        });
    }
}
