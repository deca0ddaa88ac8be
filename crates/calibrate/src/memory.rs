//! The buffers in which memory is measured: how large they may be, and what caches have of them.

use std::fs;

use befit_machine::{ControlGroup, control_groups};

use crate::CalibrateError;

/// A buffer has so many bytes at least: caches hold little of it.
pub(crate) const LEAST: u64 = 64 << 20;

/// A buffer has no more bytes than that, if caches do not call for more.
const USUAL: u64 = 2 << 30;

/// The bytes that a buffer should have, where all last-level caches together have `all`, and one of
/// them has `one`: threads under all of them stream from memory then, and few loads of one thread
/// hit.
pub(crate) fn wanted(all: u64, one: u64) -> u64 {
    (2 * all).max(4 * one).min(USUAL.max(2 * all)).max(LEAST)
}

/// The bytes that the system can give without taking any from other programs, where it says so:
/// of the machine, and of the container.
pub(crate) fn available() -> Option<u64> {
    let of_machine = || {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        field(&text, "MemAvailable:")?.checked_mul(1024)
    };
    let groups = control_groups("memory");
    of_machine().into_iter().chain(groups.iter().filter_map(of_group)).min()
}

/// The bytes that a control group's limit leaves, where it has one.
fn of_group(group: &ControlGroup) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(group.folder.join(file)).ok();
    let (limit, used, stat) = if group.is_version_2 {
        ("memory.max", "memory.current", "memory.stat")
    } else {
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
    };
    left(&read(limit)?, &read(used)?, &read(stat)?)
}

/// The bytes that a limit leaves, where there is one: what is used but for the cache of files,
/// which gives way.
fn left(limit: &str, used: &str, stat: &str) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    // Version 1 counts a group's own files apart from those of all groups below it.
    let of_all = |name: &str| field(stat, &format!("total_{name}")).or_else(|| field(stat, name));
    let files = ["inactive_file ", "active_file "].map(|name| of_all(name).unwrap_or(0));
    Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(files.iter().sum())))
}

/// The number behind `name` in a list of names and numbers, a line each.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The bytes of each of so many `buffers`: those that are `wanted`, or fewer where all of them
/// would take more than three quarters of what is `available`.
///
/// # Errors
/// [`CalibrateError::TooLittle`] where that is less than [`LEAST`], or than twice the `caches`:
/// most loads would hit.
pub(crate) fn buffer(
    wanted: u64,
    caches: u64,
    buffers: u64,
    available: Option<u64>,
) -> Result<usize, CalibrateError> {
    let Some(available) = available else { return Ok(wanted as usize) };
    let (least, most) = (wanted.min(LEAST.max(2 * caches)), available / 4 * 3 / buffers);
    if most < least {
        let needed = (least * buffers).div_ceil(3) * 4;
        return Err(CalibrateError::TooLittle { needed, available });
    }
    // Whole pages.
    Ok((wanted.min(most) >> 12 << 12) as usize)
}

/// The memory near a CPU, where the system tells it: its NUMA node.
pub(crate) fn node(cpu: u32) -> Option<u32> {
    let folder = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    let number = |name: &str| name.strip_prefix("node")?.parse().ok();
    folder.flatten().find_map(|entry| number(entry.file_name().to_str()?))
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
        assert_eq!(buffer(2 * gib, 8 * mib, 2, None).unwrap(), 2 << 30);
        assert_eq!(buffer(2 * gib, 8 * mib, 2, Some(8 * gib)).unwrap(), 2 << 30);
        assert_eq!(buffer(2 * gib, 8 * mib, 2, Some(gib)).unwrap(), 384 << 20);
        assert_eq!(buffer(2 * gib, 8 * mib, 3, Some(gib)).unwrap(), 256 << 20);
        assert_eq!(buffer(LEAST, 8 * mib, 2, Some(171 * mib)).unwrap(), 64 << 20);
        let error = |caches| buffer(2 * gib, caches, 2, Some(100 * mib)).unwrap_err().to_string();
        let said =
            |needed| format!("measuring needs {needed} MiB of free memory, and there are 100 MiB");
        assert_eq!(error(8 * mib), said(171));
        assert_eq!(error(96 * mib), said(512));
    }

    #[test]
    fn regression_a_buffer_is_twice_all_last_level_caches_though_that_is_more_than_usual() {
        let mib = 1 << 20;
        assert_eq!(wanted(8 * mib, 8 * mib), LEAST);
        assert_eq!(wanted(32 * mib, 32 * mib), 128 * mib);
        assert_eq!(wanted(256 * mib, 32 * mib), 512 * mib);
        assert_eq!(wanted(1024 * mib, 1024 * mib), USUAL);
        assert_eq!(wanted(2304 * mib, 96 * mib), 4608 * mib);
        // What memory there is must hold so much, or the threads would stream from caches.
        let least = wanted(256 * mib, 32 * mib);
        assert!(buffer(least, 256 * mib, 2, Some(1360 * mib)).is_err());
        assert_eq!(buffer(least, 256 * mib, 2, Some(1366 * mib)).unwrap(), 512 << 20);
    }

    #[test]
    fn available_memory_is_read_as_linux_writes_it() {
        let text = "MemTotal:       16371548 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(2048));
        assert_eq!(field("MemTotal: 1 kB\n", "MemAvailable:"), None);
        let stat = "anon 5\ninactive_file 30\nactive_file 10\n";
        assert_eq!(left("100\n", "60\n", stat), Some(80));
        assert_eq!(left("max\n", "60\n", stat), None);
        assert_eq!(left("100\n", "120\n", ""), Some(0));
        let stat = "inactive_file 1\nactive_file 2\ntotal_inactive_file 20\ntotal_active_file 10\n";
        assert_eq!(left("100\n", "60\n", stat), Some(70));
    }

    #[test]
    fn regression_the_limit_of_a_group_is_read_in_both_versions() {
        let folder = std::env::temp_dir().join(format!("befit-groups-{}", std::process::id()));
        let write = |files: [(&str, &str); 3]| {
            fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        };
        write([("memory.max", "100\n"), ("memory.current", "60\n"), ("memory.stat", "anon 60\n")]);
        write([
            ("memory.limit_in_bytes", "300\n"),
            ("memory.usage_in_bytes", "100\n"),
            ("memory.stat", "cache 0\n"),
        ]);
        let of = |is_version_2| of_group(&ControlGroup { folder: folder.clone(), is_version_2 });
        let found = [of(true), of(false)];
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [Some(40), Some(200)]);
        assert_eq!(of(true), None, "it is not there");
    }
}
