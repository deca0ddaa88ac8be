//! Keeps a thread on one CPU.

/// Pins the calling thread to a CPU, where the system lets it and its number is not beyond those of
/// a set; elsewhere it stays free, and the spread of the figures tells.
pub(crate) fn pin(cpu: u32) {
    #[cfg(target_os = "linux")]
    restrict(&[cpu]);
    #[cfg(not(target_os = "linux"))]
    let _ = cpu;
}

/// The CPUs that the calling thread may run on.
pub(crate) fn affinity() -> Vec<u32> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
        (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Lets the calling thread run on `cpus` again.
pub(crate) fn restore(cpus: &[u32]) {
    #[cfg(target_os = "linux")]
    restrict(cpus);
    #[cfg(not(target_os = "linux"))]
    let _ = cpus;
}

/// Has the calling thread run on those of `cpus` only that a set can hold, if there are any.
#[cfg(target_os = "linux")]
fn restrict(cpus: &[u32]) {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    let held = cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU);
    held.for_each(|cpu| set.set(cpu));
    if set.count() > 0 {
        let _ = sched_setaffinity(None, &set);
    }
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
}
