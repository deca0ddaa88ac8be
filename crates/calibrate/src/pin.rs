//! Keeps a thread on one CPU.

/// Pins the calling thread to a CPU, where the system lets it and its number is not beyond those of
/// a set. Elsewhere it is let free, and the spread of the figures tells: it would have the pin of
/// the thread that began it, or that of the CPU before.
pub(crate) fn pin(cpu: u32) {
    #[cfg(target_os = "linux")]
    {
        use std::sync::OnceLock;
        /// What the process had before it first pinned a thread.
        static FREE: OnceLock<Vec<u32>> = OnceLock::new();
        let free = FREE.get_or_init(affinity);
        let _ = restrict(&[cpu]) || restrict(free);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cpu;
}

/// The CPUs that the calling thread may run on: of a machine with more than a set can hold, all
/// that it can.
pub(crate) fn affinity() -> Vec<u32> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let set = sched_getaffinity(None);
        let may = |cpu: &usize| set.as_ref().map_or(true, |set| set.is_set(*cpu));
        (0..CpuSet::MAX_CPU).filter(may).map(|cpu| cpu as u32).collect()
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Lets the calling thread run on `cpus` again.
pub(crate) fn restore(cpus: &[u32]) {
    #[cfg(target_os = "linux")]
    let _ = restrict(cpus);
    #[cfg(not(target_os = "linux"))]
    let _ = cpus;
}

/// Has the calling thread run on those of `cpus` only that a set can hold; false where there are
/// none, or the system refuses.
#[cfg(target_os = "linux")]
fn restrict(cpus: &[u32]) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    let held = cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU);
    held.for_each(|cpu| set.set(cpu));
    set.count() > 0 && sched_setaffinity(None, &set).is_ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_beyond_those_of_a_set_is_not_pinned_to() {
        let before = affinity();
        pin(5000);
        restore(&[5000]);
        assert_eq!(affinity(), before);
    }

    #[test]
    fn regression_a_thread_that_cannot_be_pinned_is_free_of_the_pin_of_the_one_that_began_it() {
        let before = affinity();
        let Some(first) = before.first().copied() else { return };
        pin(first);
        assert_eq!(affinity(), [first]);
        let of_new = std::thread::spawn(|| {
            pin(5000);
            affinity()
        });
        assert_eq!(of_new.join().unwrap(), before);
        pin(5000);
        assert_eq!(affinity(), before);
    }
}
