//! Model of publishing a fork.

use std::sync::Arc;

use befit_machine::WorkerId;
use befit_sched::TaskInfo;

use super::Find;
use crate::{
    Work,
    threads::{
        engine::JobRef,
        fork::{ForkList, Frame, PendingFork, StealRequests},
        latch::Latch,
        primitive::{Mutex, lock},
        sleep::{HeldFork, PutOff, Sleep},
    },
};

/// The policy of the model: it holds one job.
struct Shared {
    sleep: Sleep,
    job: Mutex<Option<JobRef>>,
}

impl Shared {
    /// Takes the job, if it is there, and runs it.
    fn help(&self) {
        let job = lock(&self.job).take();
        if let Some(job) = job {
            // SAFETY: taken, so executed once; the parkers live as long as `self`.
            unsafe { job.execute(&|| ()) };
        }
    }

    /// Publishes the oldest private fork of the worker that has these.
    ///
    /// # Safety
    /// The fork's frame is live and its work `Send`; frame and requests outlive the wait for it.
    unsafe fn publish(&self, forks: &ForkList, requests: &StealRequests) -> JobRef {
        requests.set_requested(false);
        let (_, fork) = forks.publish_next().unwrap();
        let latch = Latch::new(self.sleep.parker(0));
        // SAFETY: `publish_next` returns each fork once; the rest is promised, and the parker lives
        // as long as `self`.
        unsafe { PendingFork::publish(fork, latch, requests, std::ptr::null()) }
    }

    /// The owner of the youngest fork, `frame`, helps until that has ended; returns its result.
    ///
    /// # Safety
    /// It is published, and its result is taken here only.
    unsafe fn wait_for<W: Work<Output = i32>>(&self, forks: &ForkList, frame: &Frame<W>) -> i32 {
        // SAFETY: published, as promised.
        let latch = unsafe { frame.latch() };
        let help = Find(|| {
            self.help();
            None::<()>
        });
        assert_eq!(self.sleep.search(0, latch, &help), None);
        forks.pop_published();
        // SAFETY: its latch is set; taken here only.
        unsafe { frame.take_result() }.unwrap()
    }
}

#[test]
fn a_fork_is_run_once_by_whoever_takes_it_and_its_owner_gets_the_result() {
    ::loom::model(|| {
        let shared = Arc::new(Shared { sleep: Sleep::new(1, 0), job: Mutex::new(None) });
        let thief = Arc::clone(&shared);
        let stealing = ::loom::thread::spawn(move || thief.help());

        let (forks, requests) = (ForkList::new(), StealRequests::new());
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1, 0);
        forks.push(frame.as_pending());
        // SAFETY: live and `Send`; frame, parker and requests outlive the wait below.
        let job = unsafe { shared.publish(&forks, &requests) };
        *lock(&shared.job) = Some(job);

        assert!(forks.youngest_is_published());
        // SAFETY: published above, and taken here only.
        assert_eq!(unsafe { shared.wait_for(&forks, &frame) }, 21);
        assert!(requests.is_requested(), "its taker has requested another");
        stealing.join().unwrap();
    });
}

#[test]
fn a_fork_that_stays_private_is_run_by_its_owner() {
    ::loom::model(|| {
        let forks = ForkList::new();
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1, 0);
        forks.push(frame.as_pending());
        assert!(!forks.youngest_is_published());
        forks.pop();
        // SAFETY: not published, and taken here only.
        assert_eq!(unsafe { frame.take_work() }(), 21);
    });
}

#[test]
fn no_steal_request_is_lost_to_a_region_that_begins_at_the_same_time() {
    ::loom::model(|| {
        let requests = Arc::new(StealRequests::new());
        let others = Arc::clone(&requests);
        let requesting = ::loom::thread::spawn(move || others.fork_was_taken());
        requests.lower_inline_limit(0);
        requesting.join().unwrap();
        assert!(!requests.is_inlined(1), "the next join will see it");
    });
}

#[test]
fn no_urgent_request_is_lost_to_a_worker_that_pauses() {
    ::loom::model(|| {
        let requests = Arc::new(StealRequests::new());
        requests.set_requested(true);
        requests.set_pauses(true);
        let others = Arc::clone(&requests);
        let urging = ::loom::thread::spawn(move || others.urge());
        requests.lower_inline_limit(0);
        assert!(urging.join().unwrap());
        assert!(!requests.is_inlined(1), "the next join will see it");
        requests.set_requested(false);
        requests.lower_inline_limit(0);
        assert!(requests.is_inlined(1), "it was served");
        assert!(!requests.urge() && requests.is_inlined(1), "nothing is requested");
    });
}

/// A worker holds a fork back, and the thread that waits for the call ends that at any moment.
#[test]
fn a_fork_that_is_held_back_is_run_once_and_the_next_join_is_none_of_its_region() {
    hold_back(|_| true);
}

/// The same, of a thread that waits without an end if nothing is held back when it looks.
#[test]
fn a_fork_is_not_held_back_that_nobody_would_see_to() {
    hold_back(PutOff::holds_or_ends);
}

fn hold_back(sees_to_it: impl Fn(&PutOff) -> bool + Copy + Send + Sync + 'static) {
    ::loom::model(move || {
        let shared = Arc::new(Shared { sleep: Sleep::new(1, 0), job: Mutex::new(None) });
        let call = Arc::new(PutOff::new(true, None));
        let (outside, watched) = (Arc::clone(&shared), Arc::clone(&call));
        let watching = ::loom::thread::spawn(move || {
            if sees_to_it(&watched)
                && let Some(HeldFork { job, .. }) = watched.end()
            {
                *lock(&outside.job) = Some(job);
                outside.help();
            }
        });

        let (forks, requests) = (ForkList::new(), StealRequests::new());
        // SAFETY: it is dropped below.
        let begun = unsafe { call.begin(&requests) };
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1, 0);
        forks.push(frame.as_pending());
        // SAFETY: live and `Send`; frame, parker and requests outlive the wait below.
        let job = unsafe { shared.publish(&forks, &requests) };
        let task = TaskInfo::root(None, None);
        let held = call.hold(HeldFork { worker: WorkerId(0), job, task, is_sized: false });
        if let Err(HeldFork { job, .. }) = held {
            *lock(&shared.job) = Some(job);
        }
        requests.lower_inline_limit(0);
        if call.take_back(frame.as_pending()).is_some() {
            forks.pop_published();
            // SAFETY: taken back, and taken here only.
            assert_eq!(unsafe { frame.take_work() }(), 21);
        } else {
            // SAFETY: published above, and taken here only.
            assert_eq!(unsafe { shared.wait_for(&forks, &frame) }, 21);
        }
        watching.join().unwrap();
        assert!(held.is_err() || !requests.is_inlined(1), "the next join will see it");
        drop(begun);
    });
}
