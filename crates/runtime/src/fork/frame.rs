//! A fork's second half, on the stack of the thread that called `join`.

use std::{
    mem::{ManuallyDrop, MaybeUninit},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    thread,
};

use befit_sched::Task;

use super::{Asks, grain::SiteId};
use crate::{
    engine::{Ancestor, JobHeader, JobRef, JobTable, Lineage, Sizes, sizes_of},
    fit::Work,
    latch::Latch,
    pool::Worker,
    primitive::UnsafeCell,
};

/// What the list of open forks knows of a frame, whatever its work is.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct OpenFork {
    job: JobHeader,
    /// How many forks it lies below, from the program's start on.
    depth: u32,
    /// Written when the fork is handed out, and not before.
    handed: UnsafeCell<MaybeUninit<Handed>>,
}

/// What is needed once others know of a fork.
#[derive(Debug)]
struct Handed {
    /// Set when the work has been done.
    latch: Latch,
    /// The owner's: whoever takes the fork asks for another.
    asks: NonNull<Asks>,
}

/// The second half of a fork: a closure, and room for its result.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame<W: Work> {
    open: OpenFork,
    work: UnsafeCell<ManuallyDrop<W>>,
    result: UnsafeCell<MaybeUninit<thread::Result<W::Output>>>,
}

impl<W: Work> Frame<W> {
    const TABLE: &'static JobTable = &JobTable { execute: execute::<W>, sizes: sizes::<W> };

    /// The `join` that makes frames of this type.
    pub(super) fn site() -> SiteId {
        SiteId(std::ptr::from_ref(Self::TABLE).addr())
    }

    /// A fork, `depth` forks below the program's start, that nobody knows of yet. The closure is
    /// dropped only by being taken or executed.
    pub(crate) fn new(work: W, depth: u32) -> Self {
        let job = JobHeader::new(Self::TABLE);
        Self {
            open: OpenFork { job, depth, handed: UnsafeCell::new(MaybeUninit::uninit()) },
            work: UnsafeCell::new(ManuallyDrop::new(work)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// For the list of open forks. The pointer is good for the whole frame.
    pub(crate) fn as_open(&self) -> NonNull<OpenFork> {
        NonNull::from(self).cast()
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// Only by the owner, once, of a fork that has not been handed out.
    pub(crate) unsafe fn take_work(&self) -> W {
        // SAFETY: nobody else knows of the frame, so there is no other access.
        self.work.with(|work| unsafe { ManuallyDrop::into_inner(work.read()) })
    }

    /// What descends from this fork descends from it.
    pub(crate) fn as_ancestor(&self) -> Ancestor {
        Ancestor::new(self)
    }

    /// The latch of a fork that has been handed out.
    ///
    /// # Safety
    /// [`OpenFork::hand_out`] has been called.
    pub(crate) unsafe fn latch(&self) -> &Latch {
        // SAFETY: promised by the caller.
        &unsafe { self.open.handed() }.latch
    }

    /// Takes the result of a fork that has been handed out and done.
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

impl OpenFork {
    /// Makes a fork known to others: a job that any thread may execute, on which the owner then
    /// waits. `asks` is the owner's.
    ///
    /// # Safety
    /// `fork` is the start of a live [`Frame`] (with a pointer that is good for all of it) whose
    /// work and output are `Send`, which is handed out only once and whose work has not been taken.
    /// The frame, the latch's seat, `asks` and `lineage` (unless null) stay until the latch is set
    /// and seen set by the owner.
    pub(crate) unsafe fn hand_out(
        fork: NonNull<Self>,
        latch: Latch,
        asks: &Asks,
        lineage: *const Lineage,
    ) -> JobRef {
        // SAFETY: live, and shared with nobody yet.
        let open = unsafe { fork.as_ref() };
        // SAFETY: nobody else knows of the frame, so there is no other access.
        open.handed.with_mut(|handed| unsafe {
            (*handed).write(Handed { latch, asks: NonNull::from(asks) })
        });
        // SAFETY: promised by the caller.
        unsafe { open.job.birthplace.set(lineage) };
        // SAFETY: the frame stays until the latch is set, which is the last thing that executing it
        // does; its contents are `Send`; its table is made for its type in `Frame::new`.
        unsafe { JobRef::new(fork.cast()) }
    }

    /// What is needed once others know of the fork.
    ///
    /// # Safety
    /// It has been handed out.
    unsafe fn handed(&self) -> &Handed {
        // SAFETY: written by `hand_out`, and from then on only read.
        self.handed.with(|handed| unsafe { &*handed.cast::<Handed>() })
    }

    /// The task that this fork is, the second child of `parent`.
    ///
    /// # Safety
    /// `fork` is the start of a live [`Frame`] that has not been handed out.
    pub(crate) unsafe fn task(fork: NonNull<Self>, parent: &Task) -> Task {
        // SAFETY: live.
        let open = unsafe { fork.as_ref() };
        // SAFETY: the table is for this frame, which is live and whose work has not been taken.
        let (size, strand) = unsafe { (open.job.table.sizes)(fork.cast()) };
        parent.child(1, size, strand)
    }
}

/// See [`JobRef::execute`]; `job` is a handed-out `Frame<W>`.
unsafe fn execute<W: Work>(job: NonNull<JobHeader>, ended: &dyn Fn()) {
    let latch = {
        // SAFETY: not yet executed, so the frame is live; the reference ends before the latch is
        // set.
        let frame = unsafe { job.cast::<Frame<W>>().as_ref() };
        // SAFETY: the job has been handed out.
        let handed = unsafe { frame.open.handed() };
        // SAFETY: the owner's asks live as long as the owner waits for this frame.
        let asks = unsafe { handed.asks.as_ref() };
        asks.take_one();
        Worker::with_current(|worker| {
            // (In the models there is none.)
            if let Some(worker) = worker {
                worker.takes(asks);
                worker.stretches().begin_at(frame.open.depth + 1);
            }
        });
        // SAFETY: a job is executed once, and its owner waits for it, so nobody else takes the
        // work.
        let work = frame.work.with(|work| unsafe { ManuallyDrop::into_inner(work.read()) });
        let result = catch_unwind(AssertUnwindSafe(|| work.run()));
        // SAFETY: the owner reads the result only after the latch is set; nobody else touches it.
        frame.result.with_mut(|slot| unsafe { (*slot).write(result) });
        &raw const handed.latch
    };
    ended();
    // SAFETY: the latch lives until it is set; the seat belongs to the pool that this thread works
    // for and keeps alive.
    unsafe { Latch::set(latch) };
}

/// See [`JobTable::sizes`]; `job` is a `Frame<W>` that has not been handed out.
unsafe fn sizes<W: Work>(job: NonNull<JobHeader>) -> Sizes {
    // SAFETY: promised by the caller.
    let frame = unsafe { job.cast::<Frame<W>>().as_ref() };
    frame.work.with(|work| {
        // SAFETY: the work has not been taken, and the caller is its owner.
        let work: &W = unsafe { &*work };
        sizes_of(work)
    })
}
