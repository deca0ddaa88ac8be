//! Fake machines: which CPUs count, and which trees come out.

use std::fs;

use tempfile::TempDir;

use super::sysfs::print_list;
use crate::{Bytes, ClusterId, Host, Level, Machine, WorkerId, invariants};

/// A `/sys` and `/proc` in a temporary directory.
struct Fake(TempDir);

impl Fake {
    /// Nothing but these CPUs online.
    fn new(online: &str) -> Self {
        Self::empty().with("sys/devices/system/cpu/online", online)
    }

    fn empty() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
        self
    }

    /// A file of each of some CPUs.
    fn each(mut self, cpus: &[u32], file: &str, text: &str) -> Self {
        for cpu in cpus {
            self = self.with(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"), text);
        }
        self
    }

    /// A core of these CPUs.
    fn core(self, cpus: &[u32]) -> Self {
        self.each(cpus, "topology/core_cpus_list", &print_list(cpus))
    }

    /// A cache shared by these CPUs, as `indexI` of each.
    fn cache(self, cpus: &[u32], index: u32, level: u32, kib: u32, ways: u32) -> Self {
        let file = |name: &str| format!("cache/index{index}/{name}");
        self.each(cpus, &file("level"), &level.to_string())
            .each(cpus, &file("type"), if level == 1 { "Data" } else { "Unified" })
            .each(cpus, &file("size"), &format!("{kib}K"))
            .each(cpus, &file("ways_of_associativity"), &ways.to_string())
            .each(cpus, &file("coherency_line_size"), "64")
            .each(cpus, &file("shared_cpu_list"), &print_list(cpus))
    }

    fn host(&self) -> Host {
        Host::at(self.0.path())
    }
}

/// Two sockets of two cores with two hardware threads each, numbered as Intel does: the second
/// threads last.
fn two_sockets() -> Fake {
    let mut fake = Fake::new("0-7");
    for core in 0..4 {
        let cpus = [core, core + 4];
        fake = fake.core(&cpus).cache(&cpus, 0, 1, 48, 12).cache(&cpus, 2, 2, 2048, 16);
        // The instruction cache, which must leave no trace.
        fake = fake.cache(&cpus, 1, 1, 32, 8).each(&cpus, "cache/index1/type", "Instruction");
    }
    fake.cache(&[0, 1, 4, 5], 3, 3, 24576, 12).cache(&[2, 3, 6, 7], 3, 3, 24576, 12)
}

fn cpus(machine: &Machine) -> Vec<u32> {
    invariants::check(machine);
    machine.workers().iter().map(|w| w.os_index.unwrap()).collect()
}

fn speeds(machine: &Machine) -> Vec<u32> {
    machine.workers().iter().map(|w| w.speed).collect()
}

fn cores(machine: &Machine) -> Vec<u32> {
    machine.workers().iter().map(|w| w.core).collect()
}

fn detect(fake: &Fake) -> Machine {
    let machine = fake.host().detect().unwrap();
    invariants::check(&machine);
    machine
}

fn message(fake: &Fake) -> String {
    fake.host().detect().unwrap_err().to_string()
}

#[test]
fn workers_stand_by_core_not_by_number() {
    assert_eq!(cpus(&detect(&two_sockets())), [0, 4, 1, 5, 2, 6, 3, 7]);
}

#[test]
fn offline_cpus_are_left_out() {
    let m = detect(&two_sockets().with("sys/devices/system/cpu/online", "0-4,7"));
    assert_eq!((cpus(&m), cores(&m)), (vec![0, 4, 1, 2, 3, 7], vec![0, 0, 1, 2, 3, 3]));
}

#[test]
fn only_cpus_of_the_affinity_mask_are_used() {
    let m = two_sockets().host().affinity([3, 2, 99]).detect().unwrap();
    assert_eq!(cpus(&m), [2, 3]);
    assert_eq!(m.clusters().len(), 1 + 1 + 2 + 2);
    let status = "Name:\tx\nCpus_allowed_list:\t4-5\nMems:\t0";
    let process = || two_sockets().with("proc/self/status", status);
    assert_eq!(cpus(&detect(&process())), [4, 5]);
    let thread = process().with("proc/thread-self/status", "Cpus_allowed_list:\t1");
    assert_eq!(cpus(&detect(&thread)), [1]);
    let error = two_sockets().host().affinity([64]).detect().unwrap_err();
    let expected = "affinity mask: holds no online CPU; name a machine instead of `host`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn regression_a_container_s_list_of_online_cpus_counts_from_0_whichever_are_allowed() {
    let online = |text: &str| {
        let fake = Fake::new("0-3").each(&[4, 5, 6, 7], "online", text);
        (4..8).fold(fake, |fake, cpu| fake.cache(&[cpu], 0, 1, 32, 8))
    };
    let within = |fake: &Fake, allowed: std::ops::Range<u32>| {
        cpus(&fake.host().affinity(allowed).detect().unwrap())
    };
    assert_eq!(within(&online("1"), 4..8), [4, 5, 6, 7]);
    assert_eq!(within(&online("1"), 2..6), [2, 3, 4, 5]);
    assert_eq!(within(&online("0"), 2..6), [2, 3]);
    assert!(online("0").host().affinity(4..8).detect().is_err());
}

#[test]
fn cpus_share_a_cache_if_one_holds_all_that_are_used() {
    assert!(!two_sockets().host().shares_a_cache().unwrap());
    assert!(two_sockets().host().affinity([0, 1, 4]).shares_a_cache().unwrap());
    assert!(!Fake::empty().host().shares_a_cache().unwrap());
}

#[test]
fn the_tightest_quota_on_the_way_up_leaves_the_first_allowed_cpus() {
    let all = [0, 4, 1, 5, 2, 6, 3, 7];
    for (path, limits, left) in [
        ("/", &[][..], &all[..]),
        ("/", &[("/", "250000 100000")], &[0, 1]),
        ("/a/b", &[("/a/b", "max 100000"), ("/a", "100000 100000")], &[0]),
        ("/a/b", &[("/a/b", "1000 100000")], &[0]),
        ("/a/b", &[("/a/b", "max 100000"), ("/b", "100000 100000")], &all),
        ("/a/b", &[("/a/b", "600000 100000"), ("/a", "200000 100000")], &[0, 1]),
        ("/a/b", &[("/a/b", "200000 100000"), ("/a", "600000 100000")], &[0, 1]),
        // A path outside of the cgroup namespace is read from its root.
        ("/../a", &[("/a", "100000 100000")], &[0]),
    ] {
        let groups = format!("9:cpu:/elsewhere\n0::{path}");
        let mut fake = two_sockets().with("proc/self/cgroup", &groups);
        for (group, limit) in limits {
            fake = fake.with(&format!("sys/fs/cgroup{group}/cpu.max"), limit);
        }
        assert_eq!(cpus(&detect(&fake)), left, "{path} {limits:?}");
    }
    let fake = two_sockets().with("proc/self/cgroup", "0::/");
    let fake = fake.with("sys/fs/cgroup/cpu.max", "200000 100000");
    assert_eq!(cpus(&fake.host().affinity([3, 5, 6]).detect().unwrap()), [3, 5]);
    assert_eq!(cpus(&fake.host().ignore_quota().detect().unwrap()).len(), 8);
}

#[test]
fn a_quota_leaves_one_thread_of_each_core_before_any_second_ones() {
    let side_by_side = |quota: &str| {
        let fake = Fake::new("0-3").core(&[0, 1]).core(&[2, 3]).with("proc/self/cgroup", "0::/");
        fake.with("sys/fs/cgroup/cpu.max", quota)
    };
    for (quota, left) in [
        ("100000 100000", &[0][..]),
        ("200000 100000", &[0, 2]),
        ("300000 100000", &[0, 1, 2]),
        ("400000 100000", &[0, 1, 2, 3]),
    ] {
        assert_eq!(cpus(&detect(&side_by_side(quota))), left, "{quota}");
    }
    // Of the first core only the second thread is allowed.
    let fake = side_by_side("200000 100000");
    assert_eq!(cpus(&fake.host().affinity([1, 2, 3]).detect().unwrap()), [1, 2]);
}

#[test]
fn a_quota_of_version_1_counts_as_well() {
    let fake = |groups: &str, folder: &str| {
        two_sockets()
            .with("proc/self/cgroup", groups)
            .with(&format!("sys/fs/cgroup/{folder}/cpu.cfs_quota_us"), "250000\n")
            .with(&format!("sys/fs/cgroup/{folder}/cpu.cfs_period_us"), "100000\n")
    };
    for (groups, folder) in
        [("4:memory:/\n1:cpu:/a\n0::/", "cpu/a"), ("1:cpuacct,cpu:/a/b", "cpu,cpuacct/a")]
    {
        assert_eq!(cpus(&detect(&fake(groups, folder))), [0, 1], "{groups}");
    }
    // Another group's, and another controller's.
    for groups in ["1:cpu:/b\n0::/", "3:cpuset:/a"] {
        assert_eq!(cpus(&detect(&fake(groups, "cpu/a"))).len(), 8, "{groups}");
    }
    let unlimited = fake("1:cpu:/a", "cpu/a").with("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    assert_eq!(cpus(&detect(&unlimited)).len(), 8);
}

#[test]
fn a_machine_that_tells_nothing_still_has_workers() {
    assert_eq!(detect(&Fake::empty()).name, "host (caches assumed)");
    let m = Fake::empty().host().affinity([2, 5]).detect().unwrap();
    assert_eq!(cpus(&m), [2, 5]);
}

#[test]
fn the_real_host_is_detected() {
    let m = Host::here().detect().unwrap();
    invariants::check(&m);
    assert!(m.name.starts_with("host"));
}

#[test]
fn caches_are_read_with_all_parameters() {
    let m = detect(&two_sockets());
    assert_eq!(m.name, "host");
    assert_eq!(m.levels(), [Level(1), Level(2), Level(3)]);
    assert_eq!(m.clusters().len(), 1 + 2 + 4 + 4);
    let l3 = m.clusters()[1].cache.unwrap();
    assert_eq!((l3.size, l3.ways, l3.line), (Bytes::mib(24), 12, Bytes(64)));
    let l1 = m.cluster(m.workers()[0].leaf).cache.unwrap();
    assert_eq!((l1.level, l1.size, l1.ways), (Level(1), Bytes::kib(48), 12));
}

#[test]
fn several_dies_in_a_package_are_several_last_level_caches() {
    // One socket, two chiplets; the package itself is no cache and leaves no trace.
    let fake = Fake::new("0-3").each(&[0, 1, 2, 3], "topology/physical_package_id", "0");
    let m = detect(&fake.cache(&[0, 1], 3, 3, 16384, 16).cache(&[2, 3], 3, 3, 16384, 16));
    assert_eq!(m.cluster(ClusterId::ROOT).children, [ClusterId(1), ClusterId(2)]);
    assert_eq!(m.clusters()[2].workers, 2..4);
}

#[test]
fn efficiency_cores_share_an_l2_and_are_slower() {
    let mut fake =
        Fake::new("0-5").core(&[0, 1]).cache(&[0, 1], 0, 1, 48, 12).cache(&[0, 1], 2, 2, 2048, 16);
    for cpu in 2..6 {
        fake = fake.core(&[cpu]).cache(&[cpu], 0, 1, 32, 8);
    }
    fake = fake.cache(&[2, 3, 4, 5], 2, 2, 4096, 16).cache(&[0, 1, 2, 3, 4, 5], 3, 3, 12288, 12);
    let clock = "cpufreq/cpuinfo_max_freq";
    fake = fake.each(&[0, 1], clock, "5000000").each(&[2, 3, 4, 5], clock, "3800000");
    let m = detect(&fake);
    assert_eq!(speeds(&m), [100, 100, 76, 76, 76, 76]);
    assert_eq!(cores(&m), [0, 0, 1, 2, 3, 4]);
    assert_eq!(m.mhz, 5000);
    let counts: Vec<_> = m.clusters().iter().map(|c| c.worker_count()).collect();
    assert_eq!(counts, [6, 6, 2, 2, 4, 1, 1, 1, 1]);
}

#[test]
fn cores_without_an_l3_stand_beside_those_with_one() {
    let fake = Fake::new("0-2").cache(&[0, 1], 3, 3, 8192, 16).cache(&[2], 2, 2, 2048, 16);
    let m = detect(&fake);
    let last = |w| m.cluster(m.last_level(WorkerId(w))).cache.unwrap().level;
    assert_eq!((last(0), last(2)), (Level(3), Level(2)));
}

#[test]
fn threads_of_a_core_may_have_an_l1_each() {
    // AMD's Bulldozer modules, which older kernels call cores.
    let fake = Fake::new("0-1").core(&[0, 1]).cache(&[0], 0, 1, 16, 4).cache(&[1], 0, 1, 16, 4);
    let m = detect(&fake.cache(&[0, 1], 2, 2, 2048, 16));
    assert_eq!(cores(&m), [0, 0]);
    assert_eq!(m.clusters().len(), 1 + 1 + 2);
}

#[test]
fn holes_in_the_numbering_do_no_harm() {
    let fake = Fake::new("3,17,64-65").cache(&[3, 64], 2, 2, 1024, 16);
    assert_eq!(cpus(&detect(&fake.cache(&[17, 65], 2, 2, 1024, 16))), [3, 64, 17, 65]);
}

#[test]
fn a_thread_without_the_cache_of_its_sibling_is_not_lost() {
    let m = detect(&Fake::new("0-1").core(&[0, 1]).cache(&[0], 0, 1, 32, 8));
    assert_eq!(m.workers().len(), 2);
}

#[test]
fn without_any_cache_each_core_gets_assumed_ones() {
    let m = detect(&Fake::new("0-3").core(&[0, 2]).core(&[1, 3]));
    assert_eq!(m.name, "host (caches assumed)");
    assert_eq!(m.levels(), [Level(1), Level(2)]);
    assert_eq!(cpus(&m), [0, 2, 1, 3]);
    assert_eq!(m.clusters().len(), 1 + 2 + 2);
}

#[test]
fn figures_of_a_cache_that_are_missing_or_contradict_each_other_are_assumed() {
    for (level, kib, ways, file, text, expected) in [
        (1, 32, 8, "size", "", (Bytes::kib(32), Bytes(64), 8)),
        (2, 1536, 0, "coherency_line_size", "0", (Bytes::kib(1536), Bytes(64), 16)),
        // 15 ways do not divide the size.
        (3, 32768, 15, "coherency_line_size", "128", (Bytes::mib(32), Bytes(128), 16)),
    ] {
        let fake = Fake::new("0").cache(&[0], level, level, kib, ways);
        let m = detect(&fake.each(&[0], &format!("cache/index{level}/{file}"), text));
        let cache = m.clusters()[1].cache.unwrap();
        assert_eq!((cache.size, cache.line, cache.ways), expected);
        assert_eq!(m.name == "host (caches assumed)", file == "size");
    }
}

#[test]
fn a_cache_whose_size_is_not_told_is_no_smaller_than_those_below_it() {
    let two_levels = |kib: u32| {
        let fake = Fake::new("0-1").cache(&[0], 2, 2, kib, 16).cache(&[1], 2, 2, 512, 8);
        let fake = fake.cache(&[0, 1], 3, 3, 0, 12);
        detect(&fake.each(&[0, 1], "cache/index3/size", ""))
    };
    let l3 = |machine: &Machine| machine.clusters()[1].cache.unwrap();
    for (kib, size) in [(1024, Bytes::mib(4)), (8192, Bytes::mib(8))] {
        let m = two_levels(kib);
        assert_eq!((m.name.as_str(), l3(&m).size), ("host (caches assumed)", size));
    }
}

#[test]
fn caches_that_overlap_are_an_error_that_names_them() {
    let fake = Fake::new("0-2").cache(&[0, 1], 2, 2, 1024, 16).cache(&[1, 2], 0, 1, 32, 8);
    let expected = "L1 of cpu1-2: only cpu1 agree that they share it and what is above it; name a \
                    machine instead of `host`";
    assert_eq!(message(&fake), expected);
}

#[test]
fn unreadable_files_are_named() {
    for (file, text, expected) in [
        ("cache/index0/size", "big", "cpu0/cache/index0/size: `big` is not a size such as 32K"),
        ("cache/index0/level", "0", "cpu0/cache/index0/level"),
        ("cache/index0/shared_cpu_list", "0-", "`0-` is not a list such as 0-3,8"),
    ] {
        let fake = Fake::new("0").cache(&[0], 0, 1, 32, 8).each(&[0], file, text);
        assert!(message(&fake).contains(expected), "{expected}");
    }
    assert!(message(&Fake::new("0-4294967295")).contains("cpu/online"));
}

#[test]
fn the_clock_comes_from_what_there_is() {
    for (info, mhz) in [
        ("model name\t: Intel(R) Xeon(R) CPU X7560 @ 2.27GHz\ncpu MHz\t\t: 1064.000", 2270),
        ("model name\t: AMD EPYC\ncpu MHz\t\t: 2249.99", 2200),
        ("processor: 0", crate::assumed::MHZ),
    ] {
        assert_eq!(detect(&Fake::new("0").with("proc/cpuinfo", info)).mhz, mhz);
    }
    let fake = Fake::new("0").each(&[0], "cpufreq/base_frequency", "2100000");
    assert_eq!(detect(&fake.each(&[0], "cpufreq/cpuinfo_max_freq", "3900000")).mhz, 2100);
    for (nominal, base, mhz) in [("2450", "", 2450), ("0", "", 3900), ("2450", "2100000", 2100)] {
        let fake = Fake::new("0").each(&[0], "cpufreq/cpuinfo_max_freq", "3900000");
        let fake = fake.each(&[0], "acpi_cppc/nominal_freq", nominal);
        assert_eq!(detect(&fake.each(&[0], "cpufreq/base_frequency", base)).mhz, mhz);
    }
}

#[test]
fn memory_takes_as_many_seconds_at_any_clock() {
    for (khz, latency, bandwidth) in [("1250000", 125, 80.0), ("5000000", 500, 20.0)] {
        let m = detect(&Fake::new("0").each(&[0], "cpufreq/base_frequency", khz));
        assert_eq!((m.memory.latency.0, m.memory.bandwidth), (latency, bandwidth));
    }
}

#[test]
fn numa_nodes_beside_used_cpus_are_controllers() {
    let node = "sys/devices/system/node";
    let fake = two_sockets()
        .with(&format!("{node}/has_memory"), "0-1")
        .with(&format!("{node}/node0/cpulist"), "0-1,4-5")
        .with(&format!("{node}/node1/cpulist"), "2-3,6-7");
    assert_eq!(detect(&fake).memory.controllers, 2);
    assert_eq!(fake.host().affinity([0, 1]).detect().unwrap().memory.controllers, 1);
}

#[test]
fn the_nodes_of_a_package_share_its_bandwidth() {
    let all = |of_a_package: usize, nodes: &[&str]| {
        let mut fake = Fake::new("0-3").with("sys/devices/system/node/online", "0-3");
        for cpus in [0, 1, 2, 3].chunks(of_a_package) {
            fake = fake.each(cpus, "topology/package_cpus_list", &print_list(cpus));
        }
        for (node, cpus) in nodes.iter().enumerate() {
            fake = fake.with(&format!("sys/devices/system/node/node{node}/cpulist"), cpus);
        }
        let memory = detect(&fake).memory;
        assert_eq!(memory.controllers as usize, nodes.len());
        memory.bandwidth * f64::from(memory.controllers)
    };
    let one = all(4, &["0-3"]);
    assert_eq!(all(4, &["0", "1", "2", "3"]), one);
    assert_eq!(all(2, &["0-1", "2-3"]), 2.0 * one);
}

#[test]
fn without_lists_masks_tell_of_cores_and_packages_and_without_both_there_is_one_package() {
    let packages = |machine: &Machine| machine.workers().iter().map(|w| w.package).max();
    let m = detect(&Fake::new("0-3"));
    assert_eq!((packages(&m), cores(&m)), (Some(0), vec![0, 1, 2, 3]));
    // As gVisor has them, and as older systems do.
    for (package, core) in [("package_cpus", "core_cpus"), ("core_siblings", "thread_siblings")] {
        let fake = Fake::new("0-3").each(&[0, 1, 2, 3], &format!("topology/{package}"), "f");
        let core = format!("topology/{core}");
        let m = detect(&fake.each(&[0, 2], &core, "5").each(&[1, 3], &core, "a"));
        assert_eq!((packages(&m), cores(&m)), (Some(0), vec![0, 0, 1, 1]));
        assert_eq!(cpus(&m), [0, 2, 1, 3]);
    }
    let two = Fake::new("0,32").each(&[0], "topology/package_cpus", "0,00000001");
    let two = two.each(&[32], "topology/package_cpus", "1,00000000");
    assert_eq!(packages(&detect(&two)), Some(1));
    let bad = Fake::new("0").each(&[0], "topology/core_cpus", "0x1");
    assert!(message(&bad).contains("topology/core_cpus: `0x1` is not a mask such as f,0000000f"));
}

#[test]
fn packages_numbered_in_turns_stand_together() {
    // Two sockets without a shared cache: even numbers on the first, odd ones on the second.
    let fake = Fake::new("0-7").each(&[0, 2, 4, 6], "topology/package_cpus_list", "0,2,4,6");
    let mut fake = fake.each(&[1, 3, 5, 7], "topology/package_cpus_list", "1,3,5,7");
    for pair in [[0, 4], [1, 5], [2, 6], [3, 7]] {
        fake = fake.cache(&pair, 2, 2, 4096, 16);
    }
    assert_eq!(cpus(&detect(&fake)), [0, 4, 2, 6, 1, 5, 3, 7]);
}

#[test]
fn speeds_are_of_capacities_else_of_clocks_and_favoured_cores_are_no_slower_kind() {
    for (capacities, clocks, expected) in [
        (&["446", "1024"][..], &["2000000", "2000000"][..], &[44, 100][..]),
        (&[], &["4700000", "4900000", "3600000"], &[100, 100, 73]),
    ] {
        let mut fake = Fake::new(&format!("0-{}", clocks.len() - 1));
        for (cpu, capacity) in (0..).zip(capacities) {
            fake = fake.each(&[cpu], "cpu_capacity", capacity);
        }
        for (cpu, clock) in (0..).zip(clocks) {
            fake = fake.each(&[cpu], "cpufreq/cpuinfo_max_freq", clock);
        }
        assert_eq!(speeds(&detect(&fake)), expected);
    }
}
