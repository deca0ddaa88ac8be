//! The CPU time that the process's control groups grant, in CPUs: `cpu.max` of version 2,
//! `cpu.cfs_quota_us` of version 1 (Linux's Documentation/admin-guide/cgroup-v2.rst and
//! Documentation/scheduler/sched-bwc.rst).
//!
//! Every group on the way from the process's own up to the root may limit it, and all limits hold
//! at once, so the smallest counts.

use std::{fs, path::PathBuf};

use super::sysfs::Files;

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS_2: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// Which files a control group has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

/// The quota in CPUs, rounded down, as a thread more would be stopped again and again; at least 1.
/// None where there is no limit.
pub(super) fn cpus(files: &Files) -> Option<usize> {
    let groups = files.text("proc/self/cgroup")?;
    let limits = folders(&groups, "cpu").into_iter().filter_map(|(version, group)| {
        if version == Version::Two {
            return limit(&files.text(&format!("{group}/cpu.max"))?);
        }
        let quota = files.text(&format!("{group}/cpu.cfs_quota_us"))?;
        let period = files.text(&format!("{group}/cpu.cfs_period_us"))?;
        limit(&format!("{} {}", quota.trim(), period.trim()))
    });
    limits.min()
}

/// A control group that may limit this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlGroup {
    /// Where its files would be; it need not be there.
    pub folder: PathBuf,
    /// Its files are those of version 2, and not of version 1.
    pub is_version_2: bool,
}

/// The control groups that may limit what `controller` (`memory`, say) gives this process: its own
/// and all above. Each limit holds, so the smallest counts.
pub fn control_groups(controller: &str) -> Vec<ControlGroup> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let folders = folders(&groups, controller).into_iter();
    let groups = folders.map(|(version, folder)| ControlGroup {
        folder: PathBuf::from("/").join(folder),
        is_version_2: version == Version::Two,
    });
    groups.collect()
}

/// The folders, below the root, of the groups that `/proc/self/cgroup` names for `controller`, and
/// of those above them.
fn folders(groups: &str, controller: &str) -> Vec<(Version, String)> {
    let mut all = Vec::new();
    for line in groups.lines() {
        // number:controllers:path, the controllers empty in version 2.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let version = if controllers.is_empty() { Version::Two } else { Version::One };
        if version == Version::One && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        // A path above the namespace's root begins with `..`: the visible part starts at the root
        // then.
        let names: Vec<&str> = path.split('/').filter(|n| !n.is_empty() && *n != "..").collect();
        for depth in 0..=names.len() {
            let group = names[..depth].join("/");
            let mounts = match version {
                Version::Two => MOUNTS_2.map(str::to_owned).to_vec(),
                Version::One => mounts_1(controller),
            };
            all.extend(mounts.iter().map(|mount| (version, format!("{mount}/{group}"))));
        }
    }
    all
}

/// Where a controller of version 1 is mounted: alone, or the CPU's with its accounting.
fn mounts_1(controller: &str) -> Vec<String> {
    let mut mounts = vec![format!("sys/fs/cgroup/{controller}")];
    if controller == "cpu" {
        mounts.push("sys/fs/cgroup/cpu,cpuacct".to_owned());
    }
    mounts
}

/// `max 100000` (version 2) and `-1 100000` (version 1) are none; `250000 100000` is 2.
fn limit(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words.next().map_or(Some(100_000), |p| p.parse().ok())?;
    let cpus = quota.checked_div(period)?;
    Some(usize::try_from(cpus).unwrap_or(usize::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_rounds_down_to_whole_cpus_but_not_to_none() {
        assert_eq!(limit("max 100000"), None);
        assert_eq!(limit("-1 100000"), None);
        assert_eq!(limit("150000 100000"), Some(1));
        assert_eq!(limit("299999 100000"), Some(2));
        assert_eq!(limit("200000 100000"), Some(2));
        assert_eq!(limit("1000 100000"), Some(1));
        assert_eq!(limit("0 0"), None);
        assert_eq!(limit("rubbish"), None);
    }

    #[test]
    fn all_groups_up_to_the_root_are_named_in_both_versions() {
        let text = "4:memory:/a/b\n2:cpu,cpuacct:/c\n1:name=systemd:/d\n0::/../e";
        let memory = [
            (Version::One, "sys/fs/cgroup/memory/"),
            (Version::One, "sys/fs/cgroup/memory/a"),
            (Version::One, "sys/fs/cgroup/memory/a/b"),
            (Version::Two, "sys/fs/cgroup/"),
            (Version::Two, "sys/fs/cgroup/unified/"),
            (Version::Two, "sys/fs/cgroup/e"),
            (Version::Two, "sys/fs/cgroup/unified/e"),
        ];
        let memory = memory.map(|(version, folder)| (version, folder.to_owned()));
        assert_eq!(folders(text, "memory"), memory);
        let cpu = folders(text, "cpu");
        assert!(cpu.contains(&(Version::One, "sys/fs/cgroup/cpu,cpuacct/c".to_owned())));
        assert_eq!(folders("rubbish\n", "cpu"), []);
    }
}
