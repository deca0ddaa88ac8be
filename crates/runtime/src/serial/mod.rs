//! The backend of an instrumented build (`--cfg befit_record`): everything runs on the calling
//! thread, in serial order, and the task tree is written to the recording.
//!
//! `join(a, b)` is recorded as fork a … end, fork b … end, sync, with no strand of our own in
//! between. What runs in a pool, or in an outermost `join`, `scope` or `spawn`, is recorded; what
//! `main` does before and after is not. The recorder itself, and how it keeps our own code out of
//! what it sees, is `befit_record::inside`. Run without `befit record`, such a build only runs
//! serially.
//!
//! Some things cannot be as on threads:
//! - A detached task runs at once. If it waits for what its spawner does later, it waits for ever.
//! - Options that are about threads (pinning, names, stack size, handlers, the function that starts
//!   them) have no effect, and pools count nothing.
//! - A broadcast runs once for each thread that the pool was built for, but on one.
//! - Equal programs must give equal recordings, so the environment says nothing, but for rayon's
//!   variables: by them the recording command says for how many threads a program that uses rayon
//!   divides its work.

mod pool;
mod scope;
#[cfg(test)]
mod tests;

use std::{
    any::type_name,
    env,
    ffi::OsString,
    mem::MaybeUninit,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
};

pub(crate) use befit_record::inside::unrecorded;
use befit_record::inside::{self, Origin};
use befit_sched::sizes::Word;

pub(crate) use self::{
    pool::{AnyPolicy, Handle, Registry, Start, Worker, this_worker, with_current},
    scope::{Base, Fifos, scope, spawn_broadcast_into, spawn_fifo_into, spawn_into},
};
use crate::{
    Work,
    api::calls,
    captured::{Captured, WIDTH},
    environment::Environment,
};

/// What a pool's builder sees of the environment.
pub(crate) const ENVIRONMENT: Environment<fn(&str) -> Option<OsString>> =
    Environment(|name| name.starts_with("RAYON_").then(|| env::var_os(name))?);

/// What is known of `work`, the `index`-th of its fork. To be called while recording is paused.
#[inline(always)]
fn origin<W: Work>(work: &W, index: u8) -> Origin {
    Origin { size: work.size(), strand: work.strand(), ..origin_of(work.closure(), index) }
}

/// As [`origin`], of a closure that declares nothing.
#[inline(always)]
fn origin_of<F>(closure: &F, index: u8) -> Origin {
    let (place, bytes) = (type_name::<F>(), size_of::<F>());
    // What would be done here would count as the program's work.
    if !cfg!(befit_work) {
        record_words(closure);
    }
    Origin { place, bytes, index, ..Origin::NOTHING }
}

/// Records the words that a closure has captured, read from a copy: were the address of the
/// closure itself known outside of the program's code, the compiler would have to keep the closure
/// in memory, and loads would be recorded that a plain build does not have.
#[inline(always)]
fn record_words<F>(closure: &F) {
    let bytes = size_of::<F>().min(size_of::<[u64; WIDTH]>());
    let mut copy = MaybeUninit::<[u64; WIDTH]>::uninit();
    // SAFETY: the closure has as many bytes, and so has the copy. They are only read as bytes.
    unsafe { ptr::from_ref(closure).cast::<u8>().copy_to(copy.as_mut_ptr().cast(), bytes) };
    record_words_at(copy.as_ptr().cast(), bytes);
}

/// As [`Captured`] reads them, with this thread's stack from the region's first frame on. Where the
/// program has left that stack for a while, nothing is known of what lies between.
///
/// Not inlined: its own variables lie below those of the functions that call it.
#[inline(never)]
fn record_words_at(closure: *const u8, bytes: usize) {
    let here = 0u8;
    let near = near(&inside::stack(), (&raw const here).addr());
    let is_near = |address| near.contains(&address);
    // SAFETY: `record_words` passes the address of so many bytes, a copy in a frame that waits for
    // this one. What is near lies between a variable of this function and the region's first
    // frame, both on this thread's own stack (else nothing is near): frames that wait, which are
    // mapped and stay so until this returns.
    let captured = unsafe { Captured::new(closure, bytes, is_near) };
    let mut found = [(Word::FIRST, 0); inside::MOST_CAPTURED];
    let count = captured.all(&mut found);
    let mut words = [0; inside::MOST_CAPTURED];
    for (to, (word, value)) in words.iter_mut().zip(&found[..count]) {
        *to = inside::captured_word(word.number(), *value);
    }
    inside::captured(&words[..count]);
}

/// Where eight bytes may begin that lie between the variable at `here` and the end of `stack`, if
/// the variable is on that stack.
fn near(stack: &Range<usize>, here: usize) -> Range<usize> {
    let is_on_it = stack.contains(&here);
    if is_on_it { here..stack.end.saturating_sub(size_of::<u64>() - 1) } else { 0..0 }
}

/// Runs `f` where it is recorded: in the region that this thread is in, else in one of its own.
#[inline(always)]
fn in_region<R>(f: impl FnOnce() -> R) -> R {
    if inside::in_region() { f() } else { region(Origin::NOTHING, f) }
}

/// Runs `f` as a region, if this thread is in none.
fn region<R>(origin: Origin, f: impl FnOnce() -> R) -> R {
    inside::region(origin, f)
}

/// A recording has all forks. Where a work run is timed as a whole, all are inlined: as in a pool
/// of one thread, they are looked at and called.
#[inline(always)]
pub(crate) fn is_inlined() -> bool {
    inside::is_timed_as_a_whole()
}

/// Nothing migrates.
#[inline(always)]
pub(crate) fn worker_address() -> usize {
    0
}

/// Runs `a`, then `b`, and records them as two children that one sync waits for. As on threads `b`
/// is run even if `a` panics, and then `a`'s panic goes on.
#[inline]
pub(crate) fn join<A: Work, B: Work>(a: A, b: B) -> (A::Output, B::Output) {
    if is_inlined() { calls(a.into_closure(), b.into_closure()) } else { join_at_length(a, b) }
}

/// [`join`] where it is recorded.
///
/// In a work run it is out of line, as forks are on threads: what the halves capture is then in
/// memory there and here, even in code of their caller that forks nothing.
#[cfg_attr(befit_work, inline(never))]
#[cfg_attr(not(befit_work), inline)]
pub(crate) fn join_at_length<A: Work, B: Work>(a: A, b: B) -> (A::Output, B::Output) {
    in_region(|| {
        let both = inside::Scope::new();
        let a = catch_unwind(AssertUnwindSafe(|| both.task(origin(&a, 0), || a.run())));
        let b = catch_unwind(AssertUnwindSafe(|| both.task(origin(&b, 1), || b.run())));
        match (a, b) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(panic), _) | (Ok(_), Err(panic)) => resume_unwind(panic),
        }
    })
}
