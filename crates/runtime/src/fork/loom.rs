//! Model of handing out a fork: `RUSTFLAGS="--cfg loom" cargo test -p befit --release --lib loom`.

use std::sync::Arc;

use super::{Asks, ForkList, Frame, OpenFork};
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

        let (forks, asks) = (ForkList::default(), Asks::new());
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1, 0);
        forks.push(frame.as_open());
        asks.set_wanted(false);
        let (_, fork) = forks.expose().unwrap();
        // SAFETY: live, `Send`, handed out here only; frame, seat and asks outlive the wait below.
        let job = unsafe {
            OpenFork::hand_out(fork, Latch::new(shared.sleep.seat(0)), &asks, std::ptr::null())
        };
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
        assert!(asks.is_wanted(), "who took it has asked for another");
        stealing.join().unwrap();
    });
}

#[test]
fn a_fork_that_stays_private_is_run_by_its_owner() {
    ::loom::model(|| {
        let forks = ForkList::default();
        let captured = Box::new(20);
        let frame = Frame::new(move || *captured + 1, 0);
        forks.push(frame.as_open());
        assert!(!forks.youngest_is_handed_out());
        forks.pop();
        // SAFETY: not handed out, and taken here only.
        assert_eq!(unsafe { frame.take_work() }(), 21);
    });
}

#[test]
fn no_ask_is_lost_to_a_plain_stretch_that_begins_at_the_same_time() {
    ::loom::model(|| {
        let asks = Arc::new(Asks::new());
        let others = Arc::clone(&asks);
        let asking = ::loom::thread::spawn(move || others.take_one());
        asks.lower_floor(0);
        asking.join().unwrap();
        assert!(!asks.is_plain(1), "the next join will see it");
    });
}
