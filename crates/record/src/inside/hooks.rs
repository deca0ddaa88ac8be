//! The C half's functions, made safe.

use std::ffi::c_void;

mod c {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) safe fn befit_record_in_region() -> c_int;
        #[cfg(not(befit_work))]
        pub(super) safe fn befit_record_pause() -> c_int;
        #[cfg(not(befit_work))]
        pub(super) safe fn befit_record_resume();
        pub(super) safe fn befit_record_scope() -> u32;
        pub(super) fn befit_record_fork(
            scope: u32,
            size: u64,
            strand: u64,
            place: *const u8,
            length: usize,
        );
        pub(super) safe fn befit_record_end();
        pub(super) safe fn befit_record_sync(scope: u32);
        pub(super) fn befit_record_region(
            size: u64,
            strand: u64,
            place: *const u8,
            length: usize,
            body: extern "C" fn(*mut c_void),
            data: *mut c_void,
        );
    }
}

/// True if this thread is being recorded (paused or not).
#[inline(always)]
pub(super) fn in_region() -> bool {
    c::befit_record_in_region() != 0
}

/// Pauses; true if it was not paused already. A build that is only timed has nothing to pause.
#[inline(always)]
fn pause() -> bool {
    #[cfg(not(befit_work))]
    return c::befit_record_pause() != 0;
    #[cfg(befit_work)]
    false
}

/// Ends a pause.
#[inline(always)]
fn resume() {
    #[cfg(not(befit_work))]
    c::befit_record_resume();
}

/// Recording is paused until this is dropped; it then goes on if it had been going on.
pub(super) struct Paused {
    was_active: bool,
}

impl Paused {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { was_active: pause() }
    }
    /// A scope that no other has the name of.
    pub(super) fn scope(&self) -> u32 {
        c::befit_record_scope()
    }
    /// A child begins; `u64::MAX` stands for a size that is not declared.
    #[inline(always)]
    pub(super) fn fork(&self, scope: u32, size: u64, strand: u64, place: &'static str) {
        // SAFETY: the function reads `place.len()` bytes from the pointer, which are there for
        // ever, and writes none.
        unsafe { c::befit_record_fork(scope, size, strand, place.as_ptr(), place.len()) };
    }
    /// The child ends.
    #[inline(always)]
    pub(super) fn end(&self) {
        c::befit_record_end();
    }
    /// The task waits for its children in `scope`.
    #[inline(always)]
    pub(super) fn sync(&self, scope: u32) {
        c::befit_record_sync(scope);
    }
}

impl Drop for Paused {
    #[inline(always)]
    fn drop(&mut self) {
        if self.was_active {
            resume();
        }
    }
}

/// Recording goes on until this is dropped, inside a [`Paused`].
pub(super) struct Resumed;

impl Resumed {
    #[inline(always)]
    pub(super) fn new(_: &Paused) -> Self {
        resume();
        Self
    }
}

impl Drop for Resumed {
    #[inline(always)]
    fn drop(&mut self) {
        pause();
    }
}

/// Runs `body(data)` as a region: recorded, if nothing else is at the moment.
///
/// # Safety
/// `body` must accept `data`, once, on this thread, before this returns; it must not unwind.
pub(super) unsafe fn run_region(
    size: u64,
    strand: u64,
    place: &'static str,
    body: extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    // SAFETY: the C function calls `body(data)` exactly once, on this thread, before it returns, as
    // our caller permits, and has no other use of either
    // pointer. It reads `place.len()` bytes of the place, which are there for ever.
    unsafe { c::befit_record_region(size, strand, place.as_ptr(), place.len(), body, data) }
}
