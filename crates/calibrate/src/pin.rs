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
