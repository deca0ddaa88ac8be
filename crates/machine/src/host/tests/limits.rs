//! Which CPUs count: online, affinity, quota.

use super::fake::{Fake, two_sockets};
use crate::{Host, Machine, invariants};

fn cpus(machine: &Machine) -> Vec<u32> {
    invariants::check(machine);
    machine.workers().iter().map(|w| w.os_index.unwrap()).collect()
}

fn quota(path: &str, limits: &[(&str, &str)]) -> Vec<u32> {
    let mut fake = two_sockets().with("proc/self/cgroup", &format!("9:cpu:/elsewhere\n0::{path}"));
    for (group, limit) in limits {
        fake = fake.with(&format!("sys/fs/cgroup{group}/cpu.max"), limit);
    }
    cpus(&fake.host().detect().unwrap())
}

#[test]
fn workers_stand_by_core_not_by_number() {
    assert_eq!(cpus(&two_sockets().host().detect().unwrap()), [0, 4, 1, 5, 2, 6, 3, 7]);
}

#[test]
fn offline_cpus_are_left_out() {
    let m = two_sockets().with("sys/devices/system/cpu/online", "0-4,7").host().detect().unwrap();
    assert_eq!(cpus(&m), [0, 4, 1, 2, 3, 7]);
    assert_eq!(m.workers().iter().map(|w| w.core).collect::<Vec<_>>(), [0, 0, 1, 2, 3, 3]);
}

#[test]
fn only_cpus_of_the_affinity_mask_are_used() {
    let m = two_sockets().host().affinity([3, 2, 99]).detect().unwrap();
    assert_eq!(cpus(&m), [2, 3]);
    assert_eq!(m.clusters().len(), 1 + 1 + 2 + 2);
    let m = two_sockets()
        .with("proc/self/status", "Name:\tx\nCpus_allowed_list:\t4-5\nMems:\t0")
        .host()
        .detect()
        .unwrap();
    assert_eq!(cpus(&m), [4, 5]);
}

#[test]
fn a_mask_without_an_online_cpu_is_an_error() {
    let error = two_sockets().host().affinity([64]).detect().unwrap_err();
    assert_eq!(error.to_string(), "affinity mask: holds no online CPU");
}

#[test]
fn a_quota_leaves_the_first_allowed_cpus() {
    assert_eq!(quota("/", &[]).len(), 8);
    assert_eq!(quota("/", &[("/", "250000 100000")]), [0, 1, 2]);
    assert_eq!(quota("/a/b", &[("/a/b", "max 100000"), ("/a", "100000 100000")]), [0]);
    assert_eq!(quota("/a/b", &[("/a/b", "1000 100000")]), [0]);
    assert_eq!(quota("/a/b", &[("/a/b", "max 100000"), ("/b", "100000 100000")]).len(), 8);
    let fake = two_sockets()
        .with("proc/self/cgroup", "0::/")
        .with("sys/fs/cgroup/cpu.max", "200000 100000");
    assert_eq!(cpus(&fake.host().affinity([3, 5, 6]).detect().unwrap()), [3, 5]);
    assert_eq!(cpus(&fake.host().ignore_quota().detect().unwrap()).len(), 8);
}

#[test]
fn a_quota_of_version_1_counts_as_well() {
    let fake = |groups: &str, folder: &str| {
        two_sockets()
            .with("proc/self/cgroup", groups)
            .with(&format!("sys/fs/cgroup/{folder}/cpu.cfs_quota_us"), "150000\n")
            .with(&format!("sys/fs/cgroup/{folder}/cpu.cfs_period_us"), "100000\n")
    };
    for (groups, folder) in
        [("4:memory:/\n1:cpu:/a\n0::/", "cpu/a"), ("1:cpuacct,cpu:/a/b", "cpu,cpuacct/a")]
    {
        assert_eq!(cpus(&fake(groups, folder).host().detect().unwrap()), [0, 1], "{groups}");
    }
    // Another group's, and another controller's.
    for groups in ["1:cpu:/b\n0::/", "3:cpuset:/a"] {
        assert_eq!(cpus(&fake(groups, "cpu/a").host().detect().unwrap()).len(), 8, "{groups}");
    }
    let unlimited = fake("1:cpu:/a", "cpu/a").with("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    assert_eq!(cpus(&unlimited.host().detect().unwrap()).len(), 8);
}

#[test]
fn of_several_limits_on_the_way_up_the_tightest_counts() {
    assert_eq!(quota("/a/b", &[("/a/b", "600000 100000"), ("/a", "200000 100000")]), [0, 1]);
    assert_eq!(quota("/a/b", &[("/a/b", "200000 100000"), ("/a", "600000 100000")]), [0, 1]);
}

#[test]
fn a_path_outside_of_the_cgroup_namespace_is_read_from_its_root() {
    assert_eq!(quota("/../a", &[("/a", "100000 100000")]), [0]);
}

#[test]
fn a_machine_that_tells_nothing_still_has_workers() {
    let m = Fake::empty().host().detect().unwrap();
    invariants::check(&m);
    assert_eq!(m.name, "host (caches assumed)");
    let m = Fake::empty().host().affinity([2, 5]).detect().unwrap();
    assert_eq!(cpus(&m), [2, 5]);
}

#[test]
fn the_real_host_is_detected() {
    let m = Host::here().detect().unwrap();
    invariants::check(&m);
    assert!(m.name.starts_with("host"));
}
