//! Runs an instrumented program and reads its stream.

use std::{
    io::{self, PipeReader, pipe},
    os::{fd::AsRawFd, unix::process::CommandExt},
    process::{Command, ExitStatus, Stdio},
};

use befit_program::Program;
use rustix::{
    io::{FdFlags, fcntl_setfd},
    pipe::fcntl_setpipe_size,
};

use super::{StreamError, Tail, end_with_us, reader, source::Sources};

/// Settings for recording a program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecordOptions {
    /// The filter remembers so many of the lines touched last, 1 to 16 (more is taken for 16, 0 for
    /// 1). Accesses to them are no touches. The default, 8, loses no miss on caches of 8 or more
    /// ways; choose fewer for caches with fewer ways.
    pub filter: u8,
    /// The program's stdout and stderr are not shown (stderr is kept for the error message).
    pub quiet: bool,
    /// For each touch and each large block of memory, the line of the program's source that made
    /// it. Recordings are larger with them, and take longer.
    pub spots: bool,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self { filter: 8, quiet: false, spots: false }
    }
}

/// A recorded run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recording {
    /// The recorded program.
    pub program: Program,
    /// Parallel regions that ran unrecorded, because another thread was in one at the time. Where
    /// it is not 0 the program is incomplete, and may differ from run to run.
    pub skipped_regions: u64,
    /// Regions ran on several threads that lived at the same time. Their order, and with it the
    /// program, may differ from run to run.
    pub other_threads: bool,
}

/// Why a program could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, io::Error),
    /// It ended with an error, or was killed; whatever it recorded is not to be trusted. With the
    /// end of what it wrote to stderr, 4 KiB at most.
    #[error("the recorded program failed ({0}){said}", said = last_words(.1))]
    Failed(ExitStatus, String),
    /// It ended well, but what it wrote is no recording. With the end of its stderr, too.
    #[error("{0}{said}", said = last_words(.1))]
    Stream(StreamError, String),
}

/// The last words of a process, as the end of an error message.
fn last_words(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; its last words:\n{stderr}") }
}

/// Runs `command`, an instrumented program, to its end, and returns the recording, whose
/// name is `name`. `progress` is told, from time to time, how many touches came since it
/// was last told.
///
/// # Errors
/// [`RecordError`]: it cannot be started, it fails, or it writes no good recording. In the last
/// case it is stopped at once.
pub fn record(
    mut command: Command,
    name: &str,
    options: &RecordOptions,
    progress: &dyn Fn(u64),
) -> Result<Recording, RecordError> {
    command.env("BEFIT_RECORD_FILTER", options.filter.clamp(1, 16).to_string());
    command.env("BEFIT_RECORD_SPOTS", u8::from(options.spots).to_string());
    let sources = Sources::of(command.get_program());
    let mut find = |callers: &[u64]| sources.find(callers);
    run_reading(command, options.quiet, |from| reader::read(from, name, progress, &mut find))
}

/// Runs `command` to its end, with a pipe that it writes its stream to, and returns what `reader`
/// makes of that.
pub(super) fn run_reading<T>(
    mut command: Command,
    quiet: bool,
    reader: impl FnOnce(PipeReader) -> Result<T, StreamError>,
) -> Result<T, RecordError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |error| RecordError::Start(program.clone(), error);
    let (from, to) = pipe().map_err(start)?;
    // A larger pipe lets the two processes run further apart; where the system refuses, the usual
    // size does.
    let _ = fcntl_setpipe_size(&from, 1 << 20);
    command.env("BEFIT_RECORD_FD", to.as_raw_fd().to_string());
    command.stderr(Stdio::piped());
    if quiet {
        command.stdout(Stdio::null());
    }
    let keep_open = move || fcntl_setfd(&to, FdFlags::empty()).map_err(io::Error::from);
    // SAFETY: between fork and exec only async-signal-safe things may be done, no locks and no
    // allocation: this makes one fcntl system call, and turns its error number into an io::Error,
    // which holds it in place.
    unsafe { command.pre_exec(keep_open) };
    let mut child = end_with_us(&mut command).spawn().map_err(start)?;
    drop(command); // and with it our end of the pipe for writing, else the stream would never end
    let stderr = child.stderr.take().map(|said| Tail::follow(said, !quiet));
    let read = reader(from);
    // A stream that ends too early: its process is at its own end, and may yet say why.
    let broke_off =
        matches!(read, Err(StreamError::Empty | StreamError::NoRegion | StreamError::Truncated(_)));
    if read.is_err() && !broke_off {
        // It would go on for nothing. It may have ended by itself meanwhile.
        let _ = child.kill();
    }
    let status = child.wait().map_err(start)?;
    let stderr = stderr.map_or_else(String::new, Tail::finish);
    // A process that died explains a stream that broke off.
    if !status.success() && (read.is_ok() || broke_off) {
        return Err(RecordError::Failed(status, stderr));
    }
    read.map_err(|error| RecordError::Stream(error, stderr))
}
