//! The buffers in which memory is measured: how large they may be, and what caches have of them.

use crate::CalibrateError;

/// A buffer has so many bytes at least: caches hold little of it.
pub(crate) const LEAST: u64 = 64 << 20;

/// There are two buffers: one of ordinary pages, and one of huge ones.
const BUFFERS: u64 = 2;

/// The bytes that the system can give without taking any from other programs, where it says so:
/// of the machine, and of the container.
pub(crate) fn available() -> Option<u64> {
    let read = |file: &str| std::fs::read_to_string(file).ok();
    let of_machine = || field(&read("/proc/meminfo")?, "MemAvailable:")?.checked_mul(1024);
    let of_container = || {
        let group = |file: &str| read(&format!("/sys/fs/cgroup/{file}"));
        of_group(&group("memory.max")?, &group("memory.current")?, &group("memory.stat")?)
    };
    of_machine().into_iter().chain(of_container()).min()
}

/// The bytes that a limit leaves, where there is one: what is used but for the cache of files,
/// which gives way.
fn of_group(limit: &str, used: &str, stat: &str) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let files = ["inactive_file ", "active_file "].map(|name| field(stat, name).unwrap_or(0));
    Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(files.iter().sum())))
}

/// The number behind `name` in a list of names and numbers, a line each.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The bytes of a buffer: those that are `wanted`, or fewer where both buffers would take more than
/// three quarters of what is `available`.
///
/// # Errors
/// [`CalibrateError::TooLittle`] where that is less than [`LEAST`], or than twice the `cache`: most
/// loads would hit.
pub(crate) fn buffer(
    wanted: u64,
    cache: u64,
    available: Option<u64>,
) -> Result<usize, CalibrateError> {
    let Some(available) = available else { return Ok(wanted as usize) };
    let (least, most) = (wanted.min(LEAST.max(2 * cache)), available / 4 * 3 / BUFFERS);
    if most < least {
        let needed = (least * BUFFERS).div_ceil(3) * 4;
        return Err(CalibrateError::TooLittle { needed, available });
    }
    // Whole pages.
    Ok((wanted.min(most) >> 12 << 12) as usize)
}

/// What the last-level cache has of a buffer after random loads.
pub(crate) struct Warm {
    /// The share of the buffer that fits there.
    pub(crate) full: f64,
    /// The buffer's lines.
    pub(crate) lines: usize,
}

impl Warm {
    /// The share of `loads` of random lines that hit where `before` other ones were drawn since the
    /// cache was full of another buffer: in the mean, as each of them adds its line. No more hit
    /// than fit.
    pub(crate) fn hits(&self, before: u32, loads: u32) -> f64 {
        let drawn = f64::from(before) + f64::from(loads) / 2.0;
        self.full.min(1.0 - (-drawn / self.lines as f64).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_hits_are_taken_off_than_lines_were_loaded_nor_than_fit() {
        // Of a buffer of 1 GiB half is cached at most, and 264,000 of its lines were drawn.
        let warm = Warm { full: 0.5, lines: 1 << 24 };
        assert!((warm.hits(256_000, 16_000) - 264_000.0 / f64::from(1 << 24)).abs() < 2e-4);
        // Of 64 MiB more than a fifth was, and an eighth is cached at most.
        let warm = Warm { full: 0.125, lines: 1 << 20 };
        assert_eq!(warm.hits(256_000, 16_000), 0.125);
        let warm = Warm { full: 0.5, ..warm };
        assert!((warm.hits(256_000, 16_000) - 0.2226).abs() < 1e-3);
    }

    #[test]
    fn buffers_take_no_more_than_three_quarters_of_the_memory_there_is() {
        let (gib, mib) = (1 << 30, 1 << 20);
        assert_eq!(buffer(2 * gib, 8 * mib, None).unwrap(), 2 << 30);
        assert_eq!(buffer(2 * gib, 8 * mib, Some(8 * gib)).unwrap(), 2 << 30);
        assert_eq!(buffer(2 * gib, 8 * mib, Some(gib)).unwrap(), 384 << 20);
        assert_eq!(buffer(LEAST, 8 * mib, Some(171 * mib)).unwrap(), 64 << 20);
        let error = |cache| buffer(2 * gib, cache, Some(100 * mib)).unwrap_err().to_string();
        let said =
            |needed| format!("measuring needs {needed} MiB of free memory, and there are 100 MiB");
        assert_eq!(error(8 * mib), said(171));
        assert_eq!(error(96 * mib), said(512));
    }

    #[test]
    fn available_memory_is_read_as_linux_writes_it() {
        let text = "MemTotal:       16371548 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(2048));
        assert_eq!(field("MemTotal: 1 kB\n", "MemAvailable:"), None);
        let stat = "anon 5\ninactive_file 30\nactive_file 10\n";
        assert_eq!(of_group("100\n", "60\n", stat), Some(80));
        assert_eq!(of_group("max\n", "60\n", stat), None);
        assert_eq!(of_group("100\n", "120\n", ""), Some(0));
    }
}
