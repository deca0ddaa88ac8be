//! Model of handing out a fork: `RUSTFLAGS="--cfg loom" cargo test -p befit --release --lib loom`.

use std::sync::Arc;

use super::{ForkList, Frame, OpenFork};
use crate::{
    engine::JobRef,
    latch::Latch,
    primitive::{Mutex, lock},
    sleep::Sleep,
};

/// The policy of the model: a place for one job.
struct Shared {
    sleep: Sleep,
    job: Mutex<Option<JobRef>>,
}

impl Shared {
    /// Takes the job, if it is there, and runs it.
    fn help(&self) {
        let job = lock(&self.job).take();
        if let Some(job) = job {
            // SAFETY: taken, so executed once; the seats live as long as `self`.
            unsafe { job.execute(&|| ()) };
        }
    }
}

#[test]
fn a_fork_is_run_once_by_whoever_takes_it_and_its_owner_gets_the_result() {
    ::loom::model(|| {
        let shared = Arc::new(Shared { sleep: Sleep::new(1), job: Mutex::new(None) });
        let thief = Arc::clone(&shared);
        let stealing = ::loom::thread::spawn(move || thief.help());

        let forks = ForkList::new();
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1);
        // SAFETY: a new list has room; the frame stays until it is popped.
        unsafe { forks.push(frame.as_open()) };
        forks.request(false);
        let (_, fork) = forks.expose().unwrap();
        // SAFETY: live, `Send`, handed out here only; frame, seat and limit outlive the wait below.
        let job = unsafe { OpenFork::hand_out(fork, Latch::new(shared.sleep.seat(0)), forks.limit()) };
        *lock(&shared.job) = Some(job);

        assert!(forks.youngest_is_handed_out());
        // SAFETY: handed out above.
        let latch = unsafe { frame.latch() };
        while !latch.probe() {
            let seen = shared.sleep.seen();
            shared.help();
            shared.sleep.sleep(0, seen, latch, || false);
        }
        forks.pop_handed_out();
        // SAFETY: its latch is set; taken here only.
        assert_eq!(unsafe { frame.take_result() }.unwrap(), 21);
        assert!(forks.is_requested(), "who took it has asked for another");
        stealing.join().unwrap();
    });
}

#[test]
fn a_fork_that_stays_private_is_run_by_its_owner() {
    ::loom::model(|| {
        let forks = ForkList::new();
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1);
        assert!(forks.may_push());
        // SAFETY: there is room; the frame stays until it is popped.
        unsafe { forks.push(frame.as_open()) };
        assert!(!forks.youngest_is_handed_out());
        forks.pop();
        // SAFETY: not handed out, and taken here only.
        assert_eq!(unsafe { frame.take_work() }(), 21);
    });
}
