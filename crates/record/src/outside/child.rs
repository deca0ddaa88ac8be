//! Child processes that do not outlive this one.

use std::{io, os::unix::process::CommandExt, process::Command};

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Has the system kill the process that `command` starts when the thread that starts it ends: a
/// befit that is killed leaves no program behind that runs for nobody.
pub fn end_with_us(command: &mut Command) -> &mut Command {
    let parent = getpid();
    // SAFETY: between fork and exec only async-signal-safe things may be done, no locks and no
    // allocation: this makes two system calls, and turns an error number into an io::Error, which
    // holds it in place.
    unsafe { command.pre_exec(move || bind_to(parent)) }
}

fn bind_to(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}
