//! Keeps a thread on one CPU.

/// Pins the calling thread to a CPU, where the system lets it; elsewhere it stays free, and the
/// spread of the figures tells.
pub(crate) fn pin(cpu: u32) {
    #[cfg(target_os = "linux")]
    {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu as usize);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
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
    if !cpus.is_empty() {
        let mut set = rustix::thread::CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu as usize));
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cpus;
}
