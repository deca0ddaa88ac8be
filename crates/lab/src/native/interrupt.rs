//! The early end of native runs, for signal handlers: no process that was started stays behind.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::LabError;

/// The time in which a program must end when asked to.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ends a native run early. Clones end the same one.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    raised: AtomicBool,
    /// There is a folder to remove.
    has_begun: AtomicBool,
    /// The process group of the program that runs now. While it is here the leader is not reaped,
    /// so its number is not given to another.
    group: Mutex<Option<Pid>>,
}

impl Interrupt {
    /// Asks the running program, and all that it started, to end, and kills it after half a second.
    /// No further program is started. Blocks until it has ended, or until that time is over. A
    /// signal handler cannot call it, but must wake a thread that does.
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

    /// Whether the native runs have begun. Before that nothing need be finished: what is built or
    /// recorded ends with this process.
    pub fn has_begun(&self) -> bool {
        self.0.has_begun.load(SeqCst)
    }

    /// The native runs have a folder from now on, and are about to begin.
    pub(super) fn runs_begin(&self) {
        self.0.has_begun.store(true, SeqCst);
    }

    /// # Errors
    /// [`LabError::Interrupted`] if it was raised.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        if self.is_raised() { Err(LabError::Interrupted) } else { Ok(()) }
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
            // Raised between the start and now, when the program was not yet known here.
            self.signal(Signal::KILL);
        }
    }

    /// The program has ended and is about to be reaped. If the run was interrupted, the processes
    /// that it left running end with it.
    pub(super) fn end(&self) {
        if self.is_raised() {
            self.signal(Signal::KILL);
        }
        *self.group() = None;
    }
}
