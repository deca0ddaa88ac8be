//! Reads memory of which Rust knows nothing: it may never have been written (padding), and its
//! address may be a mere number. So the processor is asked, not the language. Eight, or four, bytes
//! at an address that is a multiple of as many are read at once, even if another thread is writing
//! them; what they mean then is anyone's guess, and only a guess is made of it.

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
