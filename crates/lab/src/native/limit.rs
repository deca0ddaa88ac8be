//! How many threads this machine lets a process start.

use std::{fs, num::NonZeroU32};

use rustix::process::{Resource, getrlimit};

use crate::LabError;

/// Checks that this machine starts so many threads: a pool that gets some of them only would end
/// the program, and not before it has them.
///
/// # Errors
/// [`LabError::Usage`] with the limit that they exceed.
pub fn check_threads(asked: NonZeroU32) -> Result<(), LabError> {
    let (most, limit) = most_threads();
    if u64::from(asked.get()) <= most {
        return Ok(());
    }
    Err(LabError::Usage(format!(
        "{asked} threads cannot be started: this system has {most} at most ({limit})"
    )))
}

/// The most threads that this process may start, and what sets that limit.
fn most_threads() -> (u64, &'static str) {
    // A stack is two mappings: itself, and the guard page below it.
    let mappings = number("/proc/sys/vm/max_map_count").map(|most| most / 2);
    let limits = [
        (mappings, "vm.max_map_count"),
        (number("/proc/sys/kernel/threads-max"), "kernel.threads-max"),
        (number("/proc/sys/kernel/pid_max"), "kernel.pid_max"),
        (getrlimit(Resource::Nproc).current, "ulimit -u"),
        (cgroup(), "pids.max of the control group"),
    ];
    let known = limits.into_iter().filter_map(|(most, what)| Some((most?, what)));
    known.min().unwrap_or((u64::MAX, "the system"))
}

/// The number in `file`, if there is one: `max` is none.
fn number(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The limit of this process's control group, the one that is mounted as the root's in a container.
fn cgroup() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    number(&format!("/sys/fs/cgroup{own}/pids.max")).or_else(|| number("/sys/fs/cgroup/pids.max"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_for_each_processor_can_be_started_and_a_billion_cannot() {
        let processors = std::thread::available_parallelism().unwrap().get() as u64;
        assert!((processors..1_000_000_000).contains(&most_threads().0), "{:?}", most_threads());
    }
}
