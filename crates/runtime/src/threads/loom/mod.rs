//! Models of the lock-free parts, which loom runs in every interleaving:
//! `RUSTFLAGS="--cfg loom" cargo test -p befit --release --lib loom`. Here, those of a latch and of
//! a mailbox.

mod deque;
mod fork;
mod marks;
mod scope;
mod sleep;

use std::{ptr, sync::Arc, time::Duration};

use befit_machine::ClusterId;

use super::{
    engine::JobRef,
    fork::{Frame, PendingFork, StealRequests},
    latch::{Latch, ThreadLatch},
    primitive::UnsafeCell,
    sleep::{Search, Sleep},
    worker::Mailbox,
};

/// Looks for what the function finds, and for nothing else.
struct Find<F>(F);

impl<T, F: Fn() -> Option<T>> Search for Find<F> {
    type Found = T;

    fn look(&self) -> Option<T> {
        self.0()
    }

    fn due(&self) -> Option<Duration> {
        None
    }

    fn falls_asleep(&self) {}

    fn look_stalled(&self, _: Duration) -> Option<T> {
        None
    }

    fn is_held(&self) -> bool {
        false
    }

    fn gives_way(&self) -> bool {
        false
    }

    fn may_watch(&self) -> bool {
        true
    }

    fn leaves_work(&self) -> bool {
        false
    }

    fn pass_on(&self, _: ClusterId) {}

    fn urge(&self) -> bool {
        false
    }

    fn wake_next(&self) {}

    fn is_stuck(&self) -> bool {
        false
    }

    fn raise_alarm(&self) {}
}

/// Waits, as thread 0, until `latch` is set.
fn wait(sleep: &Sleep, latch: &Latch) {
    if !latch.probe() {
        assert_eq!(sleep.search(0, latch, &Find(|| None::<()>)), None);
    }
}

struct Signal {
    sleep: Sleep,
    latch: Latch,
    written: UnsafeCell<u32>,
}

// SAFETY: `written` is read only after the latch was seen set, which loom checks.
unsafe impl Sync for Signal {}
// SAFETY: it holds a latch, which is `Send`, and a number.
unsafe impl Send for Signal {}

#[test]
fn a_thread_that_waits_for_a_latch_wakes_up_and_sees_what_was_written_before() {
    ::loom::model(|| {
        let sleep = Sleep::new(1, 0);
        let latch = Latch::new(sleep.parker(0));
        let shared = Arc::new(Signal { sleep, latch, written: UnsafeCell::new(0) });
        let setter = Arc::clone(&shared);
        let setting = ::loom::thread::spawn(move || {
            // SAFETY: the only writer, and before the latch is set.
            setter.written.with_mut(|written| unsafe { *written = 1 });
            // SAFETY: latch and parker live as long as `setter`.
            unsafe { Latch::set(&setter.latch) };
        });
        wait(&shared.sleep, &shared.latch);
        // SAFETY: the latch is set, and nobody writes any more.
        assert_eq!(shared.written.with(|written| unsafe { *written }), 1);
        setting.join().unwrap();
    });
}

struct Blocking {
    latch: ThreadLatch,
    written: UnsafeCell<u32>,
}

// SAFETY: `written` is read only after the latch was seen set, which loom checks.
unsafe impl Sync for Blocking {}

#[test]
fn a_thread_that_blocks_on_a_latch_wakes_up_and_sees_what_was_written_before() {
    ::loom::model(|| {
        let shared = Arc::new(Blocking { latch: ThreadLatch::new(), written: UnsafeCell::new(0) });
        let setter = Arc::clone(&shared);
        let setting = ::loom::thread::spawn(move || {
            // SAFETY: the only writer, and before the latch is set.
            setter.written.with_mut(|written| unsafe { *written = 1 });
            setter.latch.set();
        });
        shared.latch.wait();
        // SAFETY: the latch is set, and nobody writes any more.
        assert_eq!(shared.written.with(|written| unsafe { *written }), 1);
        setting.join().unwrap();
    });
}

struct Post {
    sleep: Sleep,
    mail: Mailbox,
    never: Latch,
}

#[test]
fn a_thread_that_looks_for_mail_and_sleeps_misses_none() {
    ::loom::model(|| {
        let sleep = Sleep::new(2, 0);
        let never = Latch::new(sleep.parker(0));
        let shared = Arc::new(Post { sleep, mail: Mailbox::new(), never });
        let receiver = Arc::clone(&shared);
        let reading = ::loom::thread::spawn(move || {
            let find = Find(|| receiver.mail.take());
            // Nothing else will ever wake it: loom finds the deadlock if the notification is lost.
            let job: JobRef = receiver.sleep.search(0, &receiver.never, &find).unwrap();
            // SAFETY: taken, so executed once; the parkers live as long as `receiver`.
            unsafe { job.execute(&|| ()) };
        });

        let requests = StealRequests::new();
        let frame = Frame::new(|| 21, 0);
        let latch = Latch::new(shared.sleep.parker(1));
        // SAFETY: live, `Send`, published here only; frame, parker and requests outlive the join
        // below; null is a lineage.
        let job =
            unsafe { PendingFork::publish(frame.as_pending(), latch, &requests, ptr::null()) };
        shared.mail.post(job);
        shared.sleep.notify_mail(0);
        reading.join().unwrap();
        // SAFETY: the thread that executed it has ended; taken here only.
        assert_eq!(unsafe { frame.take_result() }.unwrap(), 21);
    });
}
