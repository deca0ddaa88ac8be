//! Jobs: pieces of work whose type has been forgotten, so that policies can pass them about.

use std::{any::type_name, cell::Cell, mem::MaybeUninit, ptr::NonNull};

use befit_machine::Bytes;
use befit_sched::TaskInfo;

use super::lineage::{Ancestor, Birthplace, Lineage, Stack};
use crate::{Work, threads::fork::PendingFork};

/// What the type of a job knows to do with it.
#[derive(Debug)]
pub(crate) struct JobTable {
    /// See [`JobRef::execute`].
    pub(crate) execute: unsafe fn(NonNull<JobHeader>, ended: &dyn Fn()),
    /// What is known of the work of a job that has not been executed.
    pub(crate) about: unsafe fn(NonNull<JobHeader>) -> About,
    /// The job lies on the stack of the thread that waits for it.
    pub(crate) on_stack: bool,
}

/// What is known of a task before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The task and the strand size, where declared.
    pub(crate) declared: Sizes,
    /// None for jobs of the library's own.
    pub(crate) closure: Option<Closure>,
}

/// Task and strand size, where known.
pub(crate) type Sizes = (Option<Bytes>, Option<Bytes>);

/// A closure that is to run as a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closure {
    /// The name of its type.
    pub(crate) name: &'static str,
    /// Where it lies, and how many bytes it has.
    pub(crate) at: *const u8,
    pub(crate) bytes: usize,
}

impl Closure {
    /// That is `closure`.
    pub(crate) fn of<F>(closure: &F) -> Self {
        let at = std::ptr::from_ref(closure).cast();
        Self { name: type_name::<F>(), at, bytes: size_of::<F>() }
    }
}

impl About {
    /// Of a job of the library's own, or one whose work is not known yet.
    pub(crate) const NOTHING: Self = Self { declared: (None, None), closure: None };

    /// See [`JobTable::about`], for such jobs.
    pub(crate) fn nothing(_: NonNull<JobHeader>) -> Self {
        Self::NOTHING
    }

    /// Of a task that does `work`.
    pub(crate) fn work<W: Work>(work: &W) -> Self {
        let bytes = |n: usize| Bytes(n as u64);
        let declared = (work.size().map(bytes), work.strand().map(bytes));
        Self { declared, closure: Some(Closure::of(work.closure())) }
    }
}

/// What every job begins with.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct JobHeader {
    pub(crate) table: &'static JobTable,
    pub(crate) birthplace: Birthplace,
}

impl JobHeader {
    pub(crate) fn new(table: &'static JobTable) -> Self {
        Self { table, birthplace: Birthplace::none() }
    }
}

/// A job to be executed once: the handle that policies keep in their queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobRef {
    header: NonNull<JobHeader>,
}

// SAFETY: a job is made only of work that is `Send` (promised to `new`), and is executed once.
unsafe impl Send for JobRef {}

impl JobRef {
    /// A handle for the job that starts with `header`.
    ///
    /// # Safety
    /// The job stays where it is until it has been executed; everything in it may be sent to
    /// another thread; the pointer is good for all of the job, which is of the type that its table
    /// is for.
    pub(crate) unsafe fn new(header: NonNull<JobHeader>) -> Self {
        Self { header }
    }

    /// Runs the work, then `ended`, then sets the latch of the task that waits. Never unwinds.
    ///
    /// `ended` lies between the two because a policy must learn of a task's end before the task
    /// that waits for it goes on.
    ///
    /// # Safety
    /// Only once for each job, on a thread of the pool that it was given to.
    pub(crate) unsafe fn execute(self, ended: &dyn Fn()) {
        // SAFETY: not yet executed, so it is still there (promised to `new`).
        let table = unsafe { self.header.as_ref() }.table;
        // SAFETY: the table is for this job (promised to `new`); once, and the thread, are promised
        // by our caller.
        unsafe { (table.execute)(self.header, ended) };
    }

    /// The lineage of what it forks, on a thread that has this stack.
    ///
    /// # Safety
    /// The job has not been executed; the result is used only until it has been. So long `stack`
    /// stays, and does not change.
    pub(crate) unsafe fn lineage(self, stack: *const Cell<Stack>) -> Lineage {
        // SAFETY: not executed, so it is still there (promised to `new`).
        let header = unsafe { self.header.as_ref() };
        let (birthplace, on_stack) = (header.birthplace.get(), header.table.on_stack);
        // SAFETY: the birthplace lives until the job has ended (promised to `Birthplace::set`); a
        // job on a stack is forked by the job whose lineage its birthplace is, on that stack;
        // `stack` is as our caller promises.
        unsafe { Lineage::new(Ancestor::new(self.header.as_ptr()), birthplace, on_stack, stack) }
    }

    /// Whether it is this fork.
    pub(crate) fn is_fork(self, fork: NonNull<PendingFork>) -> bool {
        self.is_at(fork.cast())
    }

    /// Whether it is the job with this header.
    pub(crate) fn is_at(self, header: NonNull<JobHeader>) -> bool {
        self.header == header
    }

    /// What is known of the work.
    ///
    /// # Safety
    /// The job has not been executed, and no thread can begin to while the result is used.
    pub(crate) unsafe fn about(self) -> About {
        // SAFETY: not executed, so it is still there (promised to `new`).
        let table = unsafe { self.header.as_ref() }.table;
        // SAFETY: the table is for this job (promised to `new`), which has not been executed.
        unsafe { (table.about)(self.header) }
    }

    /// Names the place in the program that made the job: jobs of one closure have the same, others
    /// most likely not. Never 0.
    ///
    /// # Safety
    /// The job has not been executed.
    pub(crate) unsafe fn site(self) -> u32 {
        // SAFETY: not executed, so it is still there (promised to `new`).
        let table: *const JobTable = unsafe { self.header.as_ref() }.table;
        // Tables are some words long: the lowest bits are all the same.
        let mixed = (table.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 32) as u32) | 1
    }

    /// Whether the job was forked or spawned below another.
    ///
    /// # Safety
    /// It has not been executed, and no thread can begin to before this returns.
    pub(crate) unsafe fn descends(self) -> bool {
        // SAFETY: not executed, so it is still there (promised to `new`).
        !unsafe { self.header.as_ref() }.birthplace.get().is_null()
    }

    /// Whether the job is `ancestor`, or was forked below it.
    ///
    /// # Safety
    /// It has not been executed, and no thread can begin to before this returns.
    pub(crate) unsafe fn is_or_descends_from(self, ancestor: Ancestor) -> bool {
        // SAFETY: not executed, so it is still there (promised to `new`).
        let header = unsafe { self.header.as_ref() };
        Ancestor::new(self.header.as_ptr()) == ancestor || header.birthplace.is_below(ancestor)
    }
}

/// What every spawned job begins with.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SpawnedHeader {
    pub(crate) job: JobHeader,
    /// Where the job itself must remember its task: see `worker/outbox.rs`.
    task: Cell<MaybeUninit<TaskInfo>>,
}

impl SpawnedHeader {
    pub(crate) fn new(table: &'static JobTable) -> Self {
        Self { job: JobHeader::new(table), task: Cell::new(MaybeUninit::uninit()) }
    }
}

/// A [`JobRef`] for a job that begins with a [`SpawnedHeader`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpawnedRef(NonNull<SpawnedHeader>);

impl SpawnedRef {
    /// # Safety
    /// As for [`JobRef::new`].
    pub(crate) unsafe fn new(header: NonNull<SpawnedHeader>) -> Self {
        Self(header)
    }

    /// Of what [`Self::header`] returned.
    pub(crate) fn of(header: NonNull<SpawnedHeader>) -> Self {
        Self(header)
    }

    pub(crate) fn header(self) -> NonNull<SpawnedHeader> {
        self.0
    }

    pub(crate) fn job(self) -> JobRef {
        // SAFETY: promised to `new`; a spawned header begins with the job's.
        unsafe { JobRef::new(self.0.cast()) }
    }

    /// Lets the job remember its task.
    ///
    /// # Safety
    /// The job has not been given away.
    pub(crate) unsafe fn set_task(self, task: TaskInfo) {
        // SAFETY: not given away, so it is there, and this thread's.
        unsafe { self.0.as_ref() }.task.set(MaybeUninit::new(task));
    }

    /// The task that the job remembers.
    ///
    /// # Safety
    /// It was set, and the job has not been executed.
    pub(crate) unsafe fn task(self) -> TaskInfo {
        // SAFETY: not executed, so it is still there.
        let task = unsafe { self.0.as_ref() }.task.get();
        // SAFETY: it was set.
        unsafe { task.assume_init() }
    }
}

/// Aborts the process if it is dropped. It guards code that must not unwind because other threads
/// hold pointers into the stack.
#[derive(Debug)]
pub(crate) struct NoUnwind;

impl NoUnwind {
    /// The guarded code is over.
    #[inline(always)]
    pub(crate) fn over(self) {
        std::mem::forget(self);
    }
}

impl Drop for NoUnwind {
    fn drop(&mut self) {
        eprintln!("befit: a panic where none may be (in a scheduling policy?); aborting");
        std::process::abort();
    }
}
