//! A fork's second half, on the stack of the thread that called `join`; and a worker's list of
//! those that are pending.

use std::{
    cell::{Cell, RefCell},
    mem::{ManuallyDrop, MaybeUninit},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    thread,
};

use befit_sched::forks::SiteId;

use super::StealRequests;
use crate::{
    Work,
    threads::{
        engine::{About, Ancestor, JobHeader, JobRef, JobTable, Lineage},
        latch::Latch,
        primitive::UnsafeCell,
        worker::Worker,
    },
};

/// What the list of pending forks knows of a frame, whatever its work is.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PendingFork {
    job: JobHeader,
    /// How many forks enclose it, from the program's start on.
    depth: u32,
    /// Written when the fork is published, and not before.
    published: UnsafeCell<MaybeUninit<Published>>,
}

/// What is needed once others know of a fork.
#[derive(Debug)]
struct Published {
    /// Set when the work has been done.
    latch: Latch,
    /// The owner's: the taker of the fork requests another.
    requests: NonNull<StealRequests>,
}

/// The second half of a fork: a closure and a slot for its result.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame<W: Work> {
    pending: PendingFork,
    work: UnsafeCell<ManuallyDrop<W>>,
    result: UnsafeCell<MaybeUninit<thread::Result<W::Output>>>,
}

impl<W: Work> Frame<W> {
    const TABLE: &'static JobTable =
        &JobTable { execute: execute::<W>, about: about::<W>, on_stack: true };

    /// The `join` that makes frames of this type.
    pub(super) fn site() -> SiteId {
        SiteId(std::ptr::from_ref(Self::TABLE).addr())
    }

    /// A fork, `depth` forks below the program's start, that nobody knows of yet. The closure is
    /// dropped only by being taken or executed.
    pub(crate) fn new(work: W, depth: u32) -> Self {
        let job = JobHeader::new(Self::TABLE);
        Self {
            pending: PendingFork { job, depth, published: UnsafeCell::new(MaybeUninit::uninit()) },
            work: UnsafeCell::new(ManuallyDrop::new(work)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// For the list of pending forks. The pointer is good for the whole frame.
    pub(crate) fn as_pending(&self) -> NonNull<PendingFork> {
        NonNull::from(self).cast()
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// Only by the owner, once, of a fork that no other thread has: it has not been published, or
    /// was held back and has been taken back.
    pub(crate) unsafe fn take_work(&self) -> W {
        // SAFETY: nobody else knows of the frame, so there is no other access.
        self.work.with(|work| unsafe { ManuallyDrop::into_inner(work.read()) })
    }

    /// The fork as its descendants know it.
    pub(crate) fn as_ancestor(&self) -> Ancestor {
        Ancestor::new(self)
    }

    /// The latch of a fork that has been published.
    ///
    /// # Safety
    /// [`PendingFork::publish`] has been called.
    pub(crate) unsafe fn latch(&self) -> &Latch {
        // SAFETY: promised by the caller.
        &unsafe { self.pending.published() }.latch
    }

    /// Takes the result of a fork that has been published and done.
    ///
    /// # Safety
    /// Only by the owner, once, after its latch was seen set.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<W::Output> {
        // SAFETY: the result was written before the latch was set, which our caller has seen.
        let result = self.result.with(|result| unsafe { result.read() });
        // SAFETY: as above: it is initialised.
        unsafe { result.assume_init() }
    }
}

impl PendingFork {
    /// Makes a fork known to others: a job that any thread may execute, on which the owner then
    /// waits. `requests` is the owner's.
    ///
    /// # Safety
    /// `fork` is the start of a live [`Frame`] (with a pointer that is good for all of it) whose
    /// work and output are `Send`, which is published only once and whose work has not been taken.
    /// The frame, the latch's parker, `requests` and `lineage` (unless null) stay until the latch
    /// is set and seen set by the owner.
    pub(crate) unsafe fn publish(
        fork: NonNull<Self>,
        latch: Latch,
        requests: &StealRequests,
        lineage: *const Lineage,
    ) -> JobRef {
        // SAFETY: live, and shared with nobody yet.
        let pending = unsafe { fork.as_ref() };
        // SAFETY: nobody else knows of the frame, so there is no other access.
        pending.published.with_mut(|published| unsafe {
            (*published).write(Published { latch, requests: NonNull::from(requests) })
        });
        // SAFETY: promised by the caller.
        unsafe { pending.job.birthplace.set(lineage) };
        // SAFETY: the frame stays until the latch is set, which is the last thing that executing it
        // does; its contents are `Send`; its table is made for its type in `Frame::new`.
        unsafe { JobRef::new(fork.cast()) }
    }

    /// What is needed once others know of the fork.
    ///
    /// # Safety
    /// It has been published.
    unsafe fn published(&self) -> &Published {
        // SAFETY: written by `publish`, and from then on only read.
        self.published.with(|published| unsafe { &*published.cast::<Published>() })
    }

    /// What is known of the task that this fork is, and how many forks enclose it.
    ///
    /// # Safety
    /// `fork` is the start of a live [`Frame`] that has not been published.
    pub(crate) unsafe fn about(fork: NonNull<Self>) -> (About, u32) {
        // SAFETY: live.
        let pending = unsafe { fork.as_ref() };
        // SAFETY: the table is for this frame, which is live and whose work has not been taken.
        let about = unsafe { (pending.job.table.about)(fork.cast()) };
        (about, pending.depth + 1)
    }
}

/// See [`JobRef::execute`]; `job` is a published `Frame<W>`.
unsafe fn execute<W: Work>(job: NonNull<JobHeader>, ended: &dyn Fn()) {
    let latch = {
        // SAFETY: not yet executed, so the frame is live; the reference ends before the latch is
        // set.
        let frame = unsafe { job.cast::<Frame<W>>().as_ref() };
        // SAFETY: the job has been published.
        let published = unsafe { frame.pending.published() };
        // SAFETY: the owner's requests live as long as the owner waits for this frame.
        let requests = unsafe { published.requests.as_ref() };
        requests.fork_was_taken();
        Worker::with_current(|worker| {
            // (In the models there is none.)
            if let Some(worker) = worker {
                worker.begins_fork_of(requests);
                worker.begin_at(frame.pending.depth + 1);
            }
        });
        // SAFETY: a job is executed once, and its owner waits for it, so nobody else takes the
        // work.
        let work = frame.work.with(|work| unsafe { ManuallyDrop::into_inner(work.read()) });
        let result = catch_unwind(AssertUnwindSafe(|| work.run()));
        // SAFETY: the owner reads the result only after the latch is set; nobody else touches it.
        frame.result.with_mut(|slot| unsafe { (*slot).write(result) });
        &raw const published.latch
    };
    ended();
    // SAFETY: the latch lives until it is set; the parker belongs to the pool that this thread
    // works for and keeps alive.
    unsafe { Latch::set(latch) };
}

/// See [`JobTable::about`]; `job` is a `Frame<W>` that has not been published.
unsafe fn about<W: Work>(job: NonNull<JobHeader>) -> About {
    // SAFETY: promised by the caller.
    let frame = unsafe { job.cast::<Frame<W>>().as_ref() };
    frame.work.with(|work| {
        // SAFETY: the work has not been taken, and the caller is its owner.
        let work: &W = unsafe { &*work };
        About::work(work)
    })
}

/// Room for so many pending forks is there from the start.
const ROOM: usize = 64;

/// The pending forks of one worker, the oldest first. Only the owner uses it. See `README.md` for
/// the invariants.
#[derive(Debug)]
pub(crate) struct ForkList {
    pending: RefCell<Vec<NonNull<PendingFork>>>,
    /// The forks below this index have been published.
    published: Cell<usize>,
}

impl ForkList {
    pub(crate) fn new() -> Self {
        Self { pending: RefCell::new(Vec::with_capacity(ROOM)), published: Cell::new(0) }
    }

    /// The number of pending forks.
    pub(crate) fn len(&self) -> usize {
        self.pending.borrow().len()
    }

    /// Links `fork` at the young end. It must stay until it is popped.
    pub(crate) fn push(&self, fork: NonNull<PendingFork>) {
        self.pending.borrow_mut().push(fork);
    }

    /// Whether the youngest fork has been published.
    pub(crate) fn youngest_is_published(&self) -> bool {
        self.published.get() == self.len()
    }

    /// Unlinks the youngest fork, which has not been published.
    pub(crate) fn pop(&self) {
        self.pending.borrow_mut().pop();
    }

    /// Unlinks the youngest fork, which has been published and done.
    pub(crate) fn pop_published(&self) {
        self.pop();
        self.published.set(self.len());
    }

    /// Whether there is a fork that has not been published.
    pub(crate) fn has_private(&self) -> bool {
        self.published.get() < self.len()
    }

    /// The oldest fork that has not been published, and its place in the list; from now on it
    /// counts as published.
    pub(crate) fn publish_next(&self) -> Option<(usize, NonNull<PendingFork>)> {
        let at = self.published.get();
        let fork = *self.pending.borrow().get(at)?;
        self.published.set(at + 1);
        Some((at, fork))
    }

    /// The youngest forks, from here on, count as a list of their own until [`Self::end_inner`]:
    /// what is older and not published stays so. Returns what to give to `end_inner`.
    pub(crate) fn begin_inner(&self) -> usize {
        self.published.replace(self.len())
    }

    /// Ends what [`Self::begin_inner`] began.
    pub(crate) fn end_inner(&self, published: usize) {
        self.published.set(published);
    }
}
