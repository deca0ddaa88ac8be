//! Turns errors of perf_event_open(2) into advice on what to do about them.

use std::{fs, io};

use crate::CountersError;

// Errno values of Linux; the same on all its architectures but for ENOSYS and EOPNOTSUPP on some
// that Rust hardly runs on.
const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// The kind of counter asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// Counters of the processor, in user space.
    Hardware,
    /// Counters of the kernel, in user space.
    Software,
    /// Counters of the kernel that count while the kernel works for the thread.
    Kernel,
}

impl Asked {
    /// The highest kernel.perf_event_paranoid that permits it to any program (perf-security.rst in
    /// the kernel's documentation; Debian's and Ubuntu's kernels know 3 and 4, which forbid all).
    fn needed(self) -> i32 {
        match self {
            Self::Hardware | Self::Software => 2,
            Self::Kernel => 1,
        }
    }
}

/// An event that the processor can count, but not together with those of its group.
#[derive(Debug, thiserror::Error)]
#[error("too few counters for the whole group")]
struct TooFewCounters;

/// The reason for an `error` of an event that joins `others` in a group. The kernel says that the
/// event is invalid also where the processor has too few counters for all of them at a time. Then
/// the event can be opened `alone`.
pub(super) fn of_group(error: io::Error, others: usize, alone: impl FnOnce() -> bool) -> io::Error {
    let is_full = error.raw_os_error() == Some(EINVAL) && others > 0 && alone();
    if is_full { io::Error::other(TooFewCounters) } else { error }
}

/// Why `what` cannot be counted, where the kernel refused with `error`.
pub(super) fn refusal(asked: Asked, what: &str, error: io::Error) -> CountersError {
    explain(asked, what, error, paranoid())
}

fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

fn explain(asked: Asked, what: &str, error: io::Error, paranoid: Option<i32>) -> CountersError {
    let needed = asked.needed();
    let what = what.to_owned();
    match error.raw_os_error() {
        // The setting permits it, so that something else refuses: a container's seccomp profile as
        // a rule.
        Some(EACCES | EPERM) if paranoid.is_some_and(|value| value <= needed) => {
            CountersError::Blocked
        }
        Some(EACCES) => CountersError::Forbidden { what, paranoid, needed },
        Some(EPERM) if paranoid.is_some() => CountersError::Forbidden { what, paranoid, needed },
        Some(EPERM) => CountersError::Blocked,
        Some(ENOENT | ENODEV | EOPNOTSUPP) if asked == Asked::Hardware => CountersError::NoHardware,
        Some(ENOENT | ENODEV | EOPNOTSUPP | ENOSYS) => CountersError::Unsupported(what),
        Some(EMFILE | ENFILE) => CountersError::TooManyFiles(what),
        None if error.get_ref().is_some_and(|inner| inner.is::<TooFewCounters>()) => {
            CountersError::TooFewCounters(what)
        }
        _ => CountersError::Open { what, source: error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(asked: Asked, errno: i32, paranoid: Option<i32>) -> String {
        explain(asked, "context switches", io::Error::from_raw_os_error(errno), paranoid)
            .to_string()
    }

    #[test]
    fn a_refusal_is_told_with_its_cause_and_remedy() {
        use Asked::{Hardware, Kernel};
        for (asked, errno, paranoid, said) in [
            (Hardware, EACCES, Some(4), "perf_event_paranoid is 4, and must be 2 or less"),
            (Hardware, EACCES, Some(4), "sudo sysctl kernel.perf_event_paranoid=2"),
            (Kernel, EACCES, Some(2), "context switches may not be counted"),
            (Kernel, EACCES, Some(2), "sudo sysctl kernel.perf_event_paranoid=1"),
            // A container that blocks the system call is told from a forbidding setting.
            (Hardware, EPERM, Some(2), "--cap-add PERFMON"),
            (Hardware, EPERM, None, "--cap-add PERFMON"),
            (Hardware, EPERM, Some(3), "perf_event_paranoid is 3"),
            (Hardware, ENOENT, Some(0), "usual in virtual machines"),
        ] {
            let message = message(asked, errno, paranoid);
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn an_event_that_is_invalid_only_in_its_group_finds_too_few_counters() {
        let said = |errno, others, alone: bool| {
            let error = of_group(io::Error::from_raw_os_error(errno), others, || alone);
            explain(Asked::Hardware, "cycles", error, Some(2))
        };
        let why = said(EINVAL, 3, true);
        assert!(matches!(&why, CountersError::TooFewCounters(what) if what == "cycles"), "{why}");
        assert!(why.to_string().contains("too few counters"), "{why}");
        for (errno, others, alone) in
            [(EINVAL, 0, true), (EINVAL, 3, false), (EACCES, 3, true), (ENOENT, 3, true)]
        {
            let why = said(errno, others, alone);
            assert!(!matches!(why, CountersError::TooFewCounters(_)), "{why}");
        }
    }

    #[test]
    fn every_refusal_is_one_line() {
        for asked in [Asked::Hardware, Asked::Software, Asked::Kernel] {
            for errno in 1..134 {
                for paranoid in [None, Some(-1), Some(2), Some(4)] {
                    let message = message(asked, errno, paranoid);
                    assert!(!message.is_empty() && !message.contains('\n'), "{message}");
                }
            }
        }
    }
}
