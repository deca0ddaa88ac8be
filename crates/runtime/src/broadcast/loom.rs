//! Model of the mail: `RUSTFLAGS="--cfg loom" cargo test -p befit --release --lib loom`.

use std::{ptr, sync::Arc};

use super::Mailbox;
use crate::{
    engine::JobRef,
    fork::{Frame, PendingFork, StealRequests},
    latch::Latch,
    sleep::Sleep,
};

struct Shared {
    sleep: Sleep,
    mail: Mailbox,
    never: Latch,
}

#[test]
fn a_thread_that_looks_for_mail_and_sleeps_misses_none() {
    ::loom::model(|| {
        let sleep = Sleep::new(2);
        let never = Latch::new(sleep.parker(0));
        let shared = Arc::new(Shared { sleep, mail: Mailbox::new(), never });
        let receiver = Arc::clone(&shared);
        let reading = ::loom::thread::spawn(move || {
            let job: JobRef = loop {
                let seen = receiver.sleep.seen();
                match receiver.mail.take() {
                    Some(job) => break job,
                    // Nothing else will ever wake it: loom finds the deadlock if the announcement
                    // is lost.
                    None => drop(receiver.sleep.sleep(0, seen, &receiver.never, || false)),
                }
            };
            // SAFETY: taken, so executed once; the parkers live as long as `receiver`.
            unsafe { job.execute(&|| ()) };
        });

        let requests = StealRequests::new();
        let frame = Frame::new(|| 21, 0);
        let latch = Latch::new(shared.sleep.parker(1));
        // SAFETY: live, `Send`, handed out here only; frame, parker and asks outlive the join
        // below; null is a place.
        let job =
            unsafe { PendingFork::publish(frame.as_pending(), latch, &requests, ptr::null()) };
        shared.mail.post(job);
        shared.sleep.notify_mail(0);
        reading.join().unwrap();
        // SAFETY: the thread that executed it has ended; taken here only.
        assert_eq!(unsafe { frame.take_result() }.unwrap(), 21);
    });
}
