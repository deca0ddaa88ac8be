//! What a closure has captured, as plain numbers: a slice's length, a range's bounds, a matrix's n.
//!
//! Such a number is the best sign of how much a task touches that there is before the task runs.
//! The compiler does not say which of a closure's bytes are numbers, so all of its first words are
//! read as such. An address means nothing in another run: it is left out, except that of a variable
//! of a function that is running, which was captured by reference; there the variable counts.
//!
//! Both backends read closures by [`captured`], so that a task has the same words whether it is
//! recorded or runs on threads.

/// So many words of a closure are read.
pub(crate) const WORDS: usize = 8;

/// From here on a word is taken for an address, or for the bits of a float: it is left out.
const OWN_LIMIT: u64 = 1 << 40;

/// The same for a captured variable. It may be of 32 bits; the other half of the word is then some
/// other variable.
const VARIABLE_LIMIT: u64 = 1 << 32;

/// The first words of a closure of so many bytes; 0 for those that it does not have, and for
/// addresses. A word that is the address of something in a frame of the stack is followed, once.
/// `on_stack` says whether eight bytes at an address lie there.
///
/// Which word is which depends on the closure's type alone. Padding, which holds anything, is read
/// too. Constant time, without a branch that depends on the closure's type; always zeros where the
/// processor's instruction for it is not known, and under Miri.
///
/// # Safety
/// `closure` is the address of a closure of `bytes` bytes. Where `on_stack` returns true, eight
/// bytes are mapped memory and stay so during the call.
#[inline]
pub(crate) unsafe fn captured(
    closure: *const u8,
    bytes: usize,
    on_stack: impl Fn(usize) -> bool,
) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (i, word) in words.iter_mut().enumerate() {
        let at = closure.wrapping_add(8 * i);
        let own = match bytes.saturating_sub(8 * i) {
            // SAFETY: the closure has eight bytes here.
            8.. => unsafe { read::long(at) },
            // SAFETY: the closure has four bytes here.
            4.. => unsafe { read::short(at) },
            _ => break,
        };
        let variable = own as usize;
        *word = if own < OWN_LIMIT {
            own
        } else if variable.is_multiple_of(4) && on_stack(variable) {
            let at = std::ptr::without_provenance(variable);
            let value = if variable.is_multiple_of(8) {
                // SAFETY: eight bytes are mapped here.
                unsafe { read::long(at) }
            } else {
                // SAFETY: as above, and these are four of them.
                unsafe { read::short(at) }
            };
            if value < VARIABLE_LIMIT { value } else { 0 }
        } else {
            0
        };
    }
    words
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

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// The words of `closure`; the stack ends at the address of `base`.
    fn words<F>(base: &u8, closure: &F) -> [u64; WORDS] {
        let here = 0u8;
        let stack = (&raw const here).addr()..std::ptr::from_ref(base).addr();
        let on_stack = |address: usize| stack.contains(&address) && address + 8 <= stack.end;
        // SAFETY: the closure is a live one of this size; what lies between a variable of this
        // function and one of a caller is the stack of both.
        unsafe { captured(std::ptr::from_ref(closure).cast(), size_of::<F>(), on_stack) }
    }

    /// The words that are not 0, in ascending order.
    fn found<F>(base: &u8, closure: &F) -> Vec<u64> {
        let mut found: Vec<u64> = words(base, closure).into_iter().filter(|&w| w != 0).collect();
        found.sort_unstable();
        found
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
            assert_eq!(found(base, &closure), [3, 90, 700]);
        });
    }

    #[test]
    fn a_variable_that_is_captured_by_reference_counts_and_one_elsewhere_does_not() {
        #[repr(align(8))]
        struct Four([u32; 4]);
        let on_heap = Box::new(5u64);
        let on_heap = &*on_heap;
        below(&|base| {
            // Copied, so that they lie below `base`.
            let (long, short) = (black_box(77u64), black_box(Four([11, 0, 13, 14])));
            let (whole, second_half, half) = (&short.0[0], &short.0[3], &short.0[2]);
            let closure = move || (*whole, *second_half, *half, black_box(*on_heap));
            // The half of a word that does not look like a small number is not read as one.
            assert_eq!(found(base, &closure), [11, 14]);
            assert_eq!(found(base, &|| black_box(&long) + on_heap), [77]);
        });
    }

    #[test]
    fn addresses_and_floats_count_as_absent() {
        let on_heap = Box::new(1u8);
        below(&|base| {
            let address = &raw const *on_heap;
            let closure = move || used((address, 1.5f64, -1i64));
            assert_eq!(words(base, &closure), [0; WORDS]);
        });
    }

    #[test]
    fn a_closure_of_any_size_and_alignment_is_read_within_its_bounds() {
        #[repr(align(64))]
        #[derive(Clone, Copy)]
        #[expect(dead_code, reason = "it is read as a word of the closure")]
        struct Aligned(u64);
        below(&|base| {
            assert_eq!(words(base, &|| ()), [0; WORDS]);
            let byte = black_box(1u8);
            assert_eq!(words(base, &move || used(byte)), [0; WORDS]);
            let four = black_box(4u32);
            assert_eq!(found(base, &move || used(four)), [4]);
            let twelve = black_box([4u32, 0, 5]);
            assert_eq!(words(base, &move || used(twelve))[..2], [4, 5]);
            let aligned = black_box(Aligned(6));
            assert_eq!(words(base, &move || used(aligned))[0], 6);
            let large = black_box([9u64; 512]);
            assert_eq!(words(base, &move || used(large)), [9; WORDS]);
        });
    }
}
