//! Steal requests: how others make a worker publish a fork.

use std::{
    ptr::NonNull,
    sync::atomic::Ordering::{Relaxed, SeqCst},
};

use crate::threads::primitive::{AtomicBool, AtomicUsize, Mutex, fence, lock};

/// The steal requests to one worker: others ask it to publish a fork.
///
/// There are several words because a `join` in an inlined region (see [`super::inlined_region`])
/// reads only one of them, the *inline limit*; this load is all that an inlined fork costs. The
/// order of the accesses is the protocol:
/// - The requester sets `requested`, or `urgent`, and then raises the limit.
/// - The owner lowers the limit and then reads both.
/// - Each has a sequentially consistent fence between the two.
///
/// So no request is lost to a region that begins at the same moment.
#[derive(Debug)]
pub(crate) struct StealRequests {
    /// None of the worker's forks is with the policy. Its oldest private fork should be, or the
    /// next that it makes.
    requested: AtomicBool,
    /// An idle worker is about to sleep for want of such a fork: the owner publishes one even
    /// though it has just done so.
    urgent: AtomicBool,
    /// The owner keeps its forks although one is requested, as it has just published: until the
    /// request is urgent.
    pauses: AtomicBool,
    /// Counts the forks that were published, modulo 2⁶⁴: all that the thread has published in all
    /// pools that it has served. Only the owner uses it.
    published: AtomicUsize,
    /// Counts those of them that any worker has taken, the owner included.
    taken: AtomicUsize,
    /// A `join` whose stack frame lies above this address is inlined.
    inline_limit: AtomicUsize,
}

/// The limit outside inlined regions: no stack lies above it.
const INLINE_NOTHING: usize = usize::MAX;

impl StealRequests {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            requested: AtomicBool::new(false),
            urgent: AtomicBool::new(false),
            pauses: AtomicBool::new(false),
            published: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            inline_limit: AtomicUsize::new(INLINE_NOTHING),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            requested: AtomicBool::new(false),
            urgent: AtomicBool::new(false),
            pauses: AtomicBool::new(false),
            published: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            inline_limit: AtomicUsize::new(INLINE_NOTHING),
        }
    }

    /// Anyone: a fork of the worker's has been taken; requests another.
    pub(crate) fn fork_was_taken(&self) {
        self.taken.fetch_add(1, Relaxed);
        self.request();
    }

    /// Anyone: requests a fork.
    pub(crate) fn request(&self) {
        self.raise(&self.requested);
    }

    fn raise(&self, flag: &AtomicBool) {
        flag.store(true, Relaxed);
        fence(SeqCst);
        self.raise_inline_limit();
    }

    /// Anyone: if a fork is requested, makes that urgent; returns whether the owner has kept one.
    pub(crate) fn urge(&self) -> bool {
        if !self.is_requested() {
            return false;
        }
        self.raise(&self.urgent);
        self.pauses()
    }

    /// Anyone: whether the owner keeps its forks although one is requested.
    pub(crate) fn pauses(&self) -> bool {
        self.pauses.load(Relaxed)
    }

    /// The owner: sets whether it does.
    pub(crate) fn set_pauses(&self, pauses: bool) {
        self.pauses.store(pauses, Relaxed);
    }

    /// The owner: whether a request, if there is one, is urgent.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent.load(Relaxed)
    }

    /// The owner: whether a fork should be published.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Relaxed)
    }

    /// The owner: `count` forks have been published.
    pub(crate) fn count_published(&self, count: usize) {
        self.published.store(self.published.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// The owner: a fork that was published, and that nobody has taken, is private again.
    pub(crate) fn count_private_again(&self) {
        self.published.store(self.published.load(Relaxed).wrapping_sub(1), Relaxed);
    }

    /// The owner: how many published forks nobody has taken.
    pub(crate) fn untaken(&self) -> usize {
        self.published.load(Relaxed).wrapping_sub(self.taken.load(Relaxed))
    }

    /// The owner: sets whether a fork should be published.
    pub(crate) fn set_requested(&self, requested: bool) {
        self.requested.store(requested, Relaxed);
        self.urgent.store(false, Relaxed);
    }

    /// The owner: whether code with a stack frame at `address` is in an inlined region, and no
    /// request has raised the limit.
    #[inline(always)]
    pub(crate) fn is_inlined(&self, address: usize) -> bool {
        address > self.inline_limit.load(Relaxed)
    }

    /// The owner: an inlined region begins, or goes on, for all stack frames above `inline_limit`,
    /// unless a fork is requested. While the owner pauses, only an urgent request counts.
    pub(crate) fn lower_inline_limit(&self, inline_limit: usize) {
        self.set_inline_limit(inline_limit);
        fence(SeqCst);
        if self.is_requested() && (!self.pauses() || self.is_urgent()) {
            self.raise_inline_limit();
        }
    }

    /// The owner: as [`Self::lower_inline_limit`], whether or not a fork is requested.
    pub(crate) fn set_inline_limit(&self, inline_limit: usize) {
        self.inline_limit.store(inline_limit, Relaxed);
    }

    /// The owner, or who has set a flag: from now on forks are forks.
    pub(crate) fn raise_inline_limit(&self) {
        self.inline_limit.store(INLINE_NOTHING, Relaxed);
    }
}

/// Where others find the requests to a worker while its thread runs.
#[derive(Debug, Default)]
pub(crate) struct Reachable(Mutex<Option<NonNull<StealRequests>>>);

// SAFETY: the requests are `Sync`; they are used under the lock only, and are gone from there
// before their thread ends (promised to `open`).
unsafe impl Send for Reachable {}
// SAFETY: as above.
unsafe impl Sync for Reachable {}

impl Reachable {
    /// Lets others find `requests` until the result is dropped.
    ///
    /// # Safety
    /// The result is dropped before the worker's thread ends.
    pub(crate) unsafe fn open(&self, requests: &StealRequests) -> Opened<'_> {
        *lock(&self.0) = Some(NonNull::from(requests));
        Opened(self)
    }

    /// Anyone: calls `f` with the requests, if they can be found.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&StealRequests) -> R) -> Option<R> {
        let requests = lock(&self.0);
        // SAFETY: the worker takes them away before they go, and cannot while we hold the lock.
        requests.map(|requests| f(unsafe { requests.as_ref() }))
    }
}

/// A worker's requests can be found.
#[must_use = "they cannot any more when it is dropped"]
pub(crate) struct Opened<'a>(&'a Reachable);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        *lock(&self.0.0) = None;
    }
}

#[cfg(not(loom))]
mod current {
    use std::ptr::NonNull;

    use super::StealRequests;
    use crate::threads::primitive::thread_local;

    thread_local! {
        /// A thread that is no worker has requests too. They never change: it is in no region.
        static STEAL_REQUESTS: StealRequests = const { StealRequests::new() };
    }

    /// Whether the calling thread is a worker in an inlined region to which no steal request came.
    #[inline(always)]
    pub(crate) fn is_inlined() -> bool {
        let here = stack_pointer();
        STEAL_REQUESTS.with(|requests| requests.is_inlined(here))
    }

    /// The caller's stack pointer. The address of a local variable is not always close to it:
    /// AddressSanitizer has variables elsewhere.
    #[inline(always)]
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    pub(crate) fn stack_pointer() -> usize {
        let pointer;
        // SAFETY: it reads a register, and nothing else.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "mov {}, rsp",
                out(reg) pointer,
                options(nomem, nostack, preserves_flags),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!(
                "mov {}, sp",
                out(reg) pointer,
                options(nomem, nostack, preserves_flags),
            );
        }
        pointer
    }

    /// The caller's stack pointer, approximately.
    #[inline(never)]
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    pub(crate) fn stack_pointer() -> usize {
        let here = std::mem::MaybeUninit::<u8>::uninit();
        (&raw const here).addr()
    }

    /// The calling thread's requests; good until it ends.
    pub(crate) fn steal_requests_of_this_thread() -> NonNull<StealRequests> {
        STEAL_REQUESTS.with(|requests| NonNull::from(requests))
    }
}

#[cfg(loom)]
mod current {
    //! The models have neither workers nor regions.
    use std::ptr::NonNull;

    use super::StealRequests;

    pub(crate) fn is_inlined() -> bool {
        false
    }

    pub(crate) fn stack_pointer() -> usize {
        usize::MAX / 2
    }

    pub(crate) fn steal_requests_of_this_thread() -> NonNull<StealRequests> {
        NonNull::from(Box::leak(Box::new(StealRequests::new())))
    }
}

pub(crate) use self::current::{is_inlined, stack_pointer, steal_requests_of_this_thread};
