//! The C half's functions, made safe.

use std::{ffi::c_void, ops::Range};

use super::Origin;

mod c {
    use std::ffi::{c_int, c_void};

    use super::Task;

    unsafe extern "C" {
        pub(super) safe fn befit_record_in_region() -> c_int;
        #[cfg(not(befit_work))]
        pub(super) safe fn befit_record_pause() -> c_int;
        #[cfg(not(befit_work))]
        pub(super) safe fn befit_record_resume();
        #[cfg(befit_work)]
        pub(super) safe fn befit_record_is_total() -> c_int;
        pub(super) safe fn befit_record_scope() -> u32;
        pub(super) fn befit_record_captured(words: *const u64, count: usize);
        pub(super) fn befit_record_fork(scope: u32, task: *const Task);
        pub(super) safe fn befit_record_stack_base() -> usize;
        pub(super) safe fn befit_record_stack_top() -> usize;
        pub(super) safe fn befit_record_end();
        pub(super) safe fn befit_record_sync(scope: u32);
        pub(super) fn befit_record_region(
            task: *const Task,
            body: extern "C" fn(*mut c_void),
            data: *mut c_void,
        );
    }
}

/// An [`Origin`] as C has it: `struct task` in stream.h.
#[repr(C)]
pub(super) struct Task {
    pub(super) size: u64,
    pub(super) strand: u64,
    pub(super) place: *const u8,
    pub(super) length: usize,
    pub(super) bytes: u32,
    pub(super) index: u32,
}

impl Task {
    /// `u64::MAX` stands for a size that is not declared.
    #[inline(always)]
    fn new(origin: Origin) -> Self {
        let word = |bytes: Option<usize>| bytes.map_or(u64::MAX, |n| n as u64);
        Self {
            size: word(origin.size),
            strand: word(origin.strand),
            place: origin.place.as_ptr(),
            length: origin.place.len(),
            bytes: u32::try_from(origin.bytes).unwrap_or(u32::MAX),
            index: origin.index.into(),
        }
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

/// See [`super::stack`].
#[inline(always)]
pub(super) fn stack() -> Range<usize> {
    c::befit_record_stack_base()..c::befit_record_stack_top()
}

/// See [`super::captured`].
pub(super) fn captured(words: &[u64]) {
    // SAFETY: the function reads so many words, and keeps a copy.
    unsafe { c::befit_record_captured(words.as_ptr(), words.len()) }
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
    /// A child begins.
    #[inline(always)]
    pub(super) fn fork(&self, scope: u32, origin: Origin) {
        // A build that is only timed has no use for what is known of the task, and none for the
        // time that it takes to pass it on.
        let task = Task::new(origin);
        let task = if cfg!(befit_work) { std::ptr::null() } else { &raw const task };
        // SAFETY: the function reads a task and as many bytes as its place has, which are there for
        // ever, and writes nothing; in a work build it reads nothing.
        unsafe { c::befit_record_fork(scope, task) };
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

/// Whether regions of this process are timed as a whole.
#[cfg(befit_work)]
pub(super) fn is_total() -> bool {
    c::befit_record_is_total() != 0
}

/// Runs `body(data)` as a region: recorded, if nothing else is at the moment.
///
/// # Safety
/// `body` must accept `data`, once, on this thread, before this returns; it must not unwind.
pub(super) unsafe fn run_region(
    origin: Origin,
    body: extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    let task = Task::new(origin);
    // SAFETY: the C function calls `body(data)` exactly once, on this thread, before it returns, as
    // our caller permits, and has no other use of either pointer. It reads the task, which lives
    // until then, and as many bytes as its place has, which are there for ever.
    unsafe { c::befit_record_region(&raw const task, body, data) }
}
