//! The way out: what a signal handler calls, so that nothing that was started stays behind.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a program may take to end when asked to.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ends a native run early. Clones end the same one.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    raised: AtomicBool,
    /// The process group of the program that runs now. While it is here, its number is not given to
    /// another: the leader is not reaped.
    group: Mutex<Option<Pid>>,
}

impl Interrupt {
    /// Asks the running program, and all that it started, to end; after half a second makes it. No
    /// further one is started. Blocks until it has ended, or until that time is over. Not for the
    /// insides of a signal handler: for a thread that a handler wakes.
    pub fn raise(&self) {
        self.0.raised.store(true, SeqCst);
        self.signal(Signal::TERM);
        let step = PATIENCE / 50;
        for _ in 0..50 {
            if self.group().is_none() {
                return;
            }
            thread::sleep(step);
        }
        self.signal(Signal::KILL);
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(SeqCst)
    }

    fn group(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.group.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = *self.group() {
            // It may have ended by itself.
            let _ = kill_process_group(group, signal);
        }
    }

    /// A program has been started, as leader of a process group.
    pub(super) fn begin(&self, leader: Pid) {
        *self.group() = Some(leader);
        if self.is_raised() {
            // Raised between the start and now: nobody has told it, and nobody will.
            self.signal(Signal::KILL);
        }
    }

    /// The program has ended and is about to be reaped. What it left running goes with it if the
    /// run was interrupted.
    pub(super) fn end(&self) {
        if self.is_raised() {
            self.signal(Signal::KILL);
        }
        *self.group() = None;
    }
}
