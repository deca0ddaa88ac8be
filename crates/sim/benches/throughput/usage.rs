//! What this process uses, as Linux tells it; elsewhere the clock on the wall, and no memory.

use std::{
    fs,
    sync::LazyLock,
    time::{Duration, Instant},
};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The time that this process has been on a processor.
pub(crate) fn processor_time() -> Duration {
    let told = fs::read_to_string("/proc/self/schedstat").ok();
    let time = told.and_then(|text| text.split(' ').next()?.parse().ok());
    time.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Begins to look for the most memory anew.
pub(crate) fn reset_peak() {
    // Where that is refused, the figures are of the whole process.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that was resident since [`reset_peak`], in MB of 10⁶ bytes.
pub(crate) fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kibibytes.unwrap_or(0.0) * 1024.0 / 1e6
}
