//! The CPU time that the process's control groups grant, in CPUs: `cpu.max` of version 2,
//! `cpu.cfs_quota_us` of version 1 (Linux's Documentation/admin-guide/cgroup-v2.rst and
//! Documentation/scheduler/sched-bwc.rst).
//!
//! Every group on the way from the process's own up to the root may limit it, and all limits hold
//! at once, so the smallest counts.

use super::sysfs::Files;

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS_2: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// Where version 1's CPU controller is mounted: alone, or with its accounting.
const MOUNTS_1: [&str; 2] = ["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"];

/// The quota in CPUs, rounded up; at least 1. None where there is no limit.
pub(super) fn cpus(files: &Files) -> Option<usize> {
    let groups = files.text("proc/self/cgroup")?;
    let limits = groups.lines().filter_map(|line| {
        // number:controllers:path, the controllers empty in version 2.
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        match controllers {
            "" => {
                smallest(&MOUNTS_2, path, |group| limit(&files.text(&format!("{group}/cpu.max"))?))
            }
            _ if controllers.split(',').any(|name| name == "cpu") => {
                smallest(&MOUNTS_1, path, |group| {
                    let quota = files.text(&format!("{group}/cpu.cfs_quota_us"))?;
                    let period = files.text(&format!("{group}/cpu.cfs_period_us"))?;
                    limit(&format!("{} {}", quota.trim(), period.trim()))
                })
            }
            _ => None,
        }
    });
    limits.min()
}

/// The smallest limit of the groups from `path` up to the root.
fn smallest(mounts: &[&str], path: &str, limit: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    // A path above the namespace's root begins with `..`: the visible part starts at the root then.
    let names: Vec<&str> = path.split('/').filter(|n| !n.is_empty() && *n != "..").collect();
    let groups = (0..=names.len()).map(|depth| names[..depth].join("/"));
    let folders =
        groups.flat_map(|group| mounts.iter().map(move |mount| format!("{mount}/{group}")));
    folders.filter_map(|folder| limit(&folder)).min()
}

/// `max 100000` (version 2) and `-1 100000` (version 1) are none; `150000 100000` is 2.
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
        assert_eq!(limit("-1 100000"), None);
        assert_eq!(limit("150000 100000"), Some(2));
        assert_eq!(limit("200000 100000"), Some(2));
        assert_eq!(limit("1000 100000"), Some(1));
        assert_eq!(limit("0 0"), None);
        assert_eq!(limit("rubbish"), None);
    }
}
