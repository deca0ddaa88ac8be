//! The half that is linked into the recorded program: tells the C half where tasks fork, end and
//! are waited for.
//!
//! `befit`'s recorded forms of `join`, `scope` and `spawn` use four things:
//!
//! - [`region`], inside which a thread is recorded;
//! - [`Scope`], which stands for one sync;
//! - [`Scope::task`], which runs a child;
//! - [`detached`], which runs a child that nobody waits for.
//!
//! All run on the calling thread, in serial order. Where nobody reads the recording they only run
//! the closures.
//!
//! This file is instrumented like the program, so recording is paused between two closures of the
//! program: the recorder's own work must not show. All functions here may be called paused or not,
//! and leave it as it was.

mod hooks;
#[cfg(all(test, miri, not(befit_work)))]
mod tests;

#[cfg(befit_work)]
use std::cell::Cell;
use std::{
    ffi::c_void,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use hooks::{Paused, Resumed};

/// What is known of a task where it is forked.
#[derive(Clone, Copy)]
pub struct Origin {
    /// The bytes that it declares to touch.
    pub size: Option<usize>,
    /// The same of its largest strand.
    pub strand: Option<usize>,
    /// Its place: the name of its closure's type.
    pub place: &'static str,
    /// The size of its closure.
    pub bytes: usize,
    /// Which closure of its fork it is.
    pub index: u8,
}

/// How many captured words of a task are recorded at most.
pub const MOST_CAPTURED: usize = 128;

impl Origin {
    /// A task of the library's own, of which nothing is known.
    pub const NOTHING: Self = Self { size: None, strand: None, place: "", bytes: 0, index: 0 };
}

/// True if this thread is inside a region.
#[inline(always)]
pub fn in_region() -> bool {
    hooks::in_region()
}

/// The part of this thread's own stack on which the frames of the region lie that it is recorded
/// in. Empty outside of regions, and where the region began on another stack.
///
/// A program may leave this stack for a while, as coroutines do. Memory is there from a variable
/// that lies in this range up to its end; nothing is known of what lies below.
#[inline(always)]
pub fn stack() -> Range<usize> {
    hooks::stack()
}

/// What the next task that is forked has captured: numbers below 2^40, each with the word's number
/// above them ([`captured_word`]). At most [`MOST_CAPTURED`] count.
pub fn captured(words: &[u64]) {
    hooks::captured(words);
}

/// Word `number`, which is `value`.
pub const fn captured_word(number: u16, value: u64) -> u64 {
    (number as u64) << 40 | value & ((1 << 40) - 1)
}

/// Records `f` as a child of the root task, which waits for it. A panic of `f` goes on after the
/// region has ended.
///
/// One thread is recorded at a time: a region that begins while another thread is in one runs
/// unrecorded, and the reader of the recording is told. Inside a region this only calls `f`.
pub fn region<R>(origin: Origin, f: impl FnOnce() -> R) -> R {
    if in_region() {
        return f();
    }
    #[cfg(befit_work)]
    WHOLE.set(hooks::is_total());
    let mut call = Call { f: Some(f), result: None };
    let data: *mut Call<_, _> = &raw mut call;
    // SAFETY: `data` is a `Call` of the types that `enter` is instantiated with here; it outlives
    // the call, and nobody else uses it meanwhile. `enter` does not unwind: it catches the panics
    // of `f`, and does nothing else that panics.
    unsafe { hooks::run_region(origin, enter_of(data), data.cast()) }
    #[cfg(befit_work)]
    WHOLE.set(false);
    match call.result {
        Some(Ok(result)) => result,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("the recorder runs the body of each region"),
    }
}

#[cfg(befit_work)]
thread_local! {
    static WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a region of a work run that is timed as a whole. Nothing need be told
/// of what happens in it, and telling would take time.
#[inline(always)]
pub fn is_timed_as_a_whole() -> bool {
    #[cfg(befit_work)]
    return WHOLE.get();
    #[cfg(not(befit_work))]
    false
}

/// A closure on its way through C.
struct Call<F, R> {
    f: Option<F>,
    result: Option<thread::Result<R>>,
}

/// The `enter` that fits `data`: names its types, which closures do not let us write.
fn enter_of<F: FnOnce() -> R, R>(_: *mut Call<F, R>) -> extern "C" fn(*mut c_void) {
    enter::<F, R>
}

extern "C" fn enter<F: FnOnce() -> R, R>(data: *mut c_void) {
    let data: *mut Call<F, R> = data.cast();
    // SAFETY: `region` passes a pointer to a live `Call` of these types that nothing else uses
    // until this returns.
    let call = unsafe { &mut *data };
    if let Some(f) = call.f.take() {
        // The panic is handed on by `region`, on the other side of C, as if it had never been
        // caught.
        call.result = Some(catch_unwind(AssertUnwindSafe(f)));
    }
}

/// One sync of the current task, and the tasks that it waits for. Recording is paused from
/// [`Scope::new`] until the drop, which writes the sync, except while a closure runs; so nothing of
/// the code in between shows as a strand.
pub struct Scope {
    id: u32,
    paused: Paused,
}

impl Scope {
    /// A scope without tasks.
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "it writes to the recording")]
    pub fn new() -> Self {
        let paused = Paused::new();
        Self { id: if is_timed_as_a_whole() { 0 } else { paused.scope() }, paused }
    }

    /// Runs `f` as a child of the current task. May be called inside [`Self::run`]. When `f` panics
    /// the task ends there.
    #[inline(always)]
    pub fn task<R>(&self, origin: Origin, f: impl FnOnce() -> R) -> R {
        task(self.id, origin, f)
    }

    /// Runs `f` as the current task's own code, between its forks.
    #[inline(always)]
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        let _resumed = Resumed::new(&self.paused);
        f()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if !is_timed_as_a_whole() {
            self.paused.sync(self.id);
        }
    }
}

/// Runs `f` as a child of the current task that no scope waits for (only the end of the program
/// does).
#[inline(always)]
pub fn detached<R>(origin: Origin, f: impl FnOnce() -> R) -> R {
    task(0, origin, f)
}

/// Runs `f` so that it does not show.
#[inline(always)]
pub fn unrecorded<R>(f: impl FnOnce() -> R) -> R {
    let _paused = Paused::new();
    f()
}

/// Ends the task also when its closure unwinds.
struct Ending<'a>(&'a Paused);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[inline(always)]
fn task<R>(scope: u32, origin: Origin, f: impl FnOnce() -> R) -> R {
    if is_timed_as_a_whole() {
        return f();
    }
    let paused = Paused::new();
    paused.fork(scope, origin);
    let _ending = Ending(&paused);
    let _resumed = Resumed::new(&paused);
    f()
}
