//! Reads memory that may not be there: the kernel does, as a debugger would.

use std::{cell::OnceCell, ptr};

use libc::{c_ulong, iovec};

use super::WIDTH;

/// Knows which process this is. To ask is a system call; and a process may fork, so it is asked
/// again for each closure.
#[derive(Default, Debug)]
pub(super) struct Reader(OnceCell<libc::pid_t>);

impl Reader {
    /// The word of so many bytes, eight at most, at `address`, on one page; none where there is
    /// no memory. A system call.
    pub(super) fn word(&self, address: usize, bytes: usize) -> Option<u64> {
        let mut word = 0u64;
        debug_assert!(bytes <= size_of_val(&word));
        let here = iovec { iov_base: (&raw mut word).cast(), iov_len: bytes };
        // SAFETY: the word is ours, and has room for so many bytes.
        let read = unsafe { self.read(&[here], &[there(address, bytes)]) };
        (read == bytes).then_some(word)
    }

    /// Fills pieces, each from an address on, on one page, and no more than two for each word
    /// of a closure. Where there is no memory they stay as they are. A system call, and
    /// another for each that is not there.
    pub(super) fn pieces(&self, pieces: &mut [(usize, &mut [u64])]) {
        let none = iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        let (mut from, mut to) = ([none; 2 * WIDTH], [none; 2 * WIDTH]);
        for (i, (address, piece)) in pieces.iter_mut().enumerate() {
            from[i] = there(*address, size_of_val(*piece));
            to[i] = iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: from[i].iov_len };
        }
        let (mut from, mut to) = (&from[..pieces.len()], &to[..pieces.len()]);
        while !to.is_empty() {
            // SAFETY: the pieces are ours, and their own memory.
            let mut read = unsafe { self.read(to, from) };
            let is_full = |to: &&iovec| {
                let is_full = read >= to.iov_len;
                read -= if is_full { to.iov_len } else { 0 };
                is_full
            };
            // The one behind those that are full is not there.
            let known = to.len().min(to.iter().take_while(is_full).count() + 1);
            (from, to) = (&from[known..], &to[known..]);
        }
    }

    /// The kernel's own function: how many bytes it has read, before it came to memory that is
    /// not there.
    ///
    /// # Safety
    /// All that `to` says is memory that may be written to.
    unsafe fn read(&self, to: &[iovec], from: &[iovec]) -> usize {
        let process = *self.0.get_or_init(|| std::process::id().cast_signed());
        let (to, to_count) = (to.as_ptr(), to.len() as c_ulong);
        let (from, from_count) = (from.as_ptr(), from.len() as c_ulong);
        // SAFETY: the kernel writes where `to` says, by our caller's promise. It reads what
        // `from` says only if that is memory that this process may read, else it says so; it
        // reads no memory of devices.
        let read = unsafe { libc::process_vm_readv(process, to, to_count, from, from_count, 0) };
        read.try_into().unwrap_or(0)
    }
}

fn there(address: usize, bytes: usize) -> iovec {
    iovec { iov_base: ptr::without_provenance_mut(address), iov_len: bytes }
}
