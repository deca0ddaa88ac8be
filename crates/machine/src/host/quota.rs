//! How many CPUs' worth of time a cgroup v2 grants (`cpu.max`; Linux's Documentation/admin-guide/cgroup-v2.rst).
//!
//! Every group on the way from the process's own up to the root may limit it, and all limits hold at once, so the
//! smallest counts. Where cgroup v1 controls CPU time there is no `cpu.max`, and no limit is seen.

use super::sysfs::Files;

/// Where the tree is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// The quota in CPUs, rounded up; at least 1. None where there is no limit.
pub(super) fn cpus(files: &Files) -> Option<usize> {
    let groups = files.text("proc/self/cgroup")?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // A path above the namespace's root begins with `..`: what is visible starts at the root then.
    let names: Vec<&str> = path.split('/').filter(|n| !n.is_empty() && *n != "..").collect();
    let limits = (0..=names.len()).flat_map(|depth| {
        let group = names[..depth].join("/");
        MOUNTS.iter().filter_map(move |mount| limit(&files.text(&format!("{mount}/{group}/cpu.max"))?))
    });
    limits.min()
}

/// `max 100000` is none; `150000 100000` is 2.
fn limit(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words.next().map_or(Some(100_000), |p| p.parse().ok())?;
    let cpus = quota.checked_add(period)?.checked_sub(1)?.checked_div(period)?;
    Some(usize::try_from(cpus).unwrap_or(usize::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn a_quota_rounds_up_to_whole_cpus() {
        assert_eq!(limit("max 100000"), None);
        assert_eq!(limit("150000 100000"), Some(2));
        assert_eq!(limit("200000 100000"), Some(2));
        assert_eq!(limit("1000 100000"), Some(1));
        assert_eq!(limit("0 0"), None);
        assert_eq!(limit("rubbish"), None);
    }
}
