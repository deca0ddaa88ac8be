//! Why there are no counts.

use std::io;

use crate::Quantity;

/// Why events cannot be counted. Each message is one line that says what is missing and what to do
/// about it.
///
/// None of these is a reason to stop: the caller goes on with another [`Source`](crate::Source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountersError {
    /// The kernel has no driver for the processor's counters, or the machine is a virtual one
    /// without them.
    #[error(
        "no hardware counters: this machine offers none (usual in virtual machines, unless the \
         hypervisor passes its PMU through)"
    )]
    NoHardware,
    /// The machine has counters, but they stand still: some virtual machines only pretend to have
    /// them.
    #[error(
        "no hardware counters: this machine offers some, but they count nothing (usual in virtual \
         machines)"
    )]
    StandStill,
    /// The processor lacks the event, or counts it for all its cores together only.
    #[error("cannot count {0}: this processor has no event for it that belongs to one thread")]
    NoEvent(Quantity),
    /// The kernel's settings forbid it.
    #[error(
        "{what} may not be counted: kernel.perf_event_paranoid is {}, and must be {needed} or less \
         (`sudo sysctl kernel.perf_event_paranoid={needed}`, or give the program CAP_PERFMON)",
        paranoid.map_or("unreadable".to_owned(), |value| value.to_string())
    )]
    Forbidden {
        /// The quantity.
        what: String,
        /// The setting's value, if it can be read.
        paranoid: Option<i32>,
        /// The highest value that permits these counters.
        needed: i32,
    },
    /// Something other than the kernel's settings forbids it: as a rule a container's list of
    /// permitted system calls.
    #[error(
        "counters are blocked: perf_event_open is not permitted here, as in most containers (for \
         Docker and Podman: `--cap-add PERFMON`, or a seccomp profile that permits perf_event_open)"
    )]
    Blocked,
    /// The kernel does not know this event, or was built without perf events.
    #[error(
        "the kernel cannot count {0}: it lacks the event, or was built without perf events \
         (CONFIG_PERF_EVENTS)"
    )]
    Unsupported(String),
    /// Each event of each thread takes a file descriptor.
    #[error(
        "too many open files to count {0}: each event of each thread takes one (raise the \
         limit: `ulimit -n`)"
    )]
    TooManyFiles(String),
    /// The processor has the event, but not as many counters as all events of a group take.
    #[error(
        "cannot count {0} beside the others: the processor has too few counters at a time (the \
         kernel's watchdog may take one: `sudo sysctl kernel.nmi_watchdog=0`)"
    )]
    TooFewCounters(String),
    /// Not Linux.
    #[error("no {0} counters: befit counts events on Linux only")]
    NotLinux(&'static str),
    /// The kernel refused for another reason.
    #[error("cannot count {what}: {source}")]
    Open {
        /// The quantity.
        what: String,
        /// The kernel's own error.
        source: io::Error,
    },
    /// Counters that were opened cannot be read.
    #[error("cannot read the counters: {0}")]
    Read(#[source] io::Error),
}
