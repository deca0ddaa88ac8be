//! Forks that are held back because nobody else is likely to be needed for them.

use std::{ptr::NonNull, sync::atomic::Ordering::Relaxed, time::Duration};

use befit_machine::WorkerId;
use befit_sched::TaskInfo;

use crate::threads::{
    engine::JobRef,
    fork::{Opened, PendingFork, Reachable, StealRequests},
    primitive::{AtomicBool, Mutex, current_cpu, lock},
};

/// A fork that was published by this worker, and that the policy has not seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldFork {
    pub(crate) worker: WorkerId,
    pub(crate) job: JobRef,
    pub(crate) task: TaskInfo,
    /// The task has a size of its own.
    pub(crate) is_sized: bool,
}

/// The fork that is held back in one call from outside the pool. The worker that runs the call
/// holds it back as long as the call is young; the thread that waits for the call gives it to the
/// policy when it is not young any more. See "What is put off" in `README.md`.
#[derive(Debug)]
pub(crate) struct PutOff {
    state: Mutex<State>,
    /// The policy has got a fork of the call. A hint.
    is_shared: AtomicBool,
    /// Of the worker that runs the call, while it does.
    requests: Reachable,
    /// The processor that the call came from, if known.
    caller: Option<usize>,
}

#[derive(Debug)]
struct State {
    /// Nothing is held back any more.
    over: bool,
    /// A fork was held back, or would have been.
    wanted: bool,
    /// How long the worker was at the call.
    worked: Duration,
    fork: Option<HeldFork>,
}

impl PutOff {
    /// `may`: a fork may be held back. Else it is only found out whether one would be. `caller`:
    /// the processor that the call comes from.
    pub(crate) fn new(may: bool, caller: Option<usize>) -> Self {
        let state =
            Mutex::new(State { over: !may, wanted: false, worked: Duration::ZERO, fork: None });
        let (is_shared, requests) = (AtomicBool::new(false), Reachable::default());
        Self { state, is_shared, requests, caller }
    }

    /// The worker: the policy gets a fork of the call, and other workers may want the caller's
    /// processor.
    pub(crate) fn share(&self) {
        if !self.is_shared() {
            self.is_shared.store(true, Relaxed);
        }
    }

    /// Whether the policy has got a fork of the call, as far as one can tell.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared.load(Relaxed)
    }

    /// Whether the calling thread runs where the call came from.
    pub(crate) fn is_from_here(&self) -> bool {
        self.caller.is_some_and(|caller| current_cpu() == Some(caller))
    }

    /// A worker that has these `requests` begins to run the call, until the result is dropped.
    ///
    /// # Safety
    /// The result is dropped before the worker's thread ends.
    pub(crate) unsafe fn begin(&self, requests: &StealRequests) -> Opened<'_> {
        // SAFETY: promised.
        unsafe { self.requests.open(requests) }
    }

    /// The worker, which would hold a fork back: whether the call is young.
    pub(crate) fn is_young(&self) -> bool {
        let mut state = lock(&self.state);
        state.wanted = true;
        !state.over
    }

    /// The worker: whether a fork is held back.
    pub(crate) fn holds(&self) -> bool {
        lock(&self.state).fork.is_some()
    }

    /// The worker: holds `fork` back; returns it if nothing is held back any more.
    pub(crate) fn hold(&self, fork: HeldFork) -> Result<(), HeldFork> {
        let mut state = lock(&self.state);
        if state.over {
            return Err(fork);
        }
        state.fork = Some(fork);
        Ok(())
    }

    /// The worker: takes `fork` back, if that is held back. If not, others may run it.
    pub(crate) fn take_back(&self, fork: NonNull<PendingFork>) -> Option<HeldFork> {
        lock(&self.state).fork.take_if(|held| held.job.is_fork(fork))
    }

    /// Anyone: nothing is held back any more. The caller must give the policy what is returned.
    pub(crate) fn end(&self) -> Option<HeldFork> {
        let mut state = lock(&self.state);
        state.over = true;
        self.requests.with(StealRequests::request);
        state.fork.take()
    }

    /// The caller, which is about to wait: whether a fork is held back, or may be as no worker has
    /// begun the call. If not, none will be.
    pub(crate) fn holds_or_ends(&self) -> bool {
        let mut state = lock(&self.state);
        if state.fork.is_none() && self.requests.with(StealRequests::request).is_some() {
            state.over = true;
        }
        !state.over
    }

    /// The worker was so long at the call, which is over.
    pub(crate) fn ended(&self, worked: Duration) {
        lock(&self.state).worked = worked;
    }

    /// How long the worker was at the call, if a fork was held back, or would have been.
    pub(crate) fn worked(&self) -> Option<Duration> {
        let state = lock(&self.state);
        state.wanted.then_some(state.worked)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::system::{affinity, set_affinity};

    #[test]
    fn how_long_a_call_worked_is_known_where_a_fork_was_or_would_have_been_held_back() {
        let worked = Duration::from_micros(30);
        for may in [false, true] {
            let call = PutOff::new(may, None);
            call.ended(worked);
            assert_eq!(call.worked(), None, "it made no fork");
            let call = PutOff::new(may, None);
            assert_eq!(call.is_young(), may);
            call.ended(worked);
            assert_eq!(call.worked(), Some(worked));
        }
    }

    #[test]
    #[cfg_attr(any(miri, not(target_os = "linux")), ignore = "nothing says where a thread runs")]
    fn a_call_is_from_here_if_its_caller_was_on_the_processor_that_the_worker_is_on() {
        std::thread::spawn(|| {
            let here = affinity(None).unwrap()[0];
            set_affinity(&[here]);
            let is_from_here = |caller| PutOff::new(false, caller).is_from_here();
            assert!(is_from_here(Some(here)));
            assert!(!is_from_here(Some(here + 1)) && !is_from_here(None));
        })
        .join()
        .unwrap();
    }
}
