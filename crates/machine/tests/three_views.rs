//! The host as read from sysfs, as libhwloc sees it and as `lstopo` wrote it must be the same tree.
//!
//! Runs only with the feature `hwloc`; needs libhwloc and lstopo (Debian: libhwloc-dev and hwloc).
#![cfg(all(feature = "hwloc", feature = "xml", target_os = "linux"))]

use std::process::Command;

use befit_machine::{Host, Inclusion, Machine, detect_through_hwloc};

/// What all three tell: the tree, its caches without inclusion (sysfs does not tell), the workers
/// without speeds (libhwloc is not asked).
fn tree(machine: &Machine) -> Vec<String> {
    let clusters = machine.clusters().iter().map(|cluster| {
        let mut cluster = cluster.clone();
        if let Some(cache) = &mut cluster.cache {
            cache.inclusion = Inclusion::NonInclusive;
        }
        format!("{cluster:?}")
    });
    let workers =
        machine.workers().iter().map(|w| format!("{:?} {:?} core {}", w.os_index, w.leaf, w.core));
    clusters.chain(workers).collect()
}

#[test]
fn sysfs_libhwloc_and_lstopo_agree() {
    let sysfs = Host::here().ignore_quota().detect().unwrap();
    let library = detect_through_hwloc().unwrap();
    assert_eq!(tree(&sysfs), tree(&library));
    assert_eq!(sysfs.memory.controllers, library.memory.controllers);

    let output = Command::new("lstopo")
        .args(["--of", "xml"])
        .output()
        .expect("lstopo must be installed for this test");
    let xml = Machine::from_xml("host", std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    assert_eq!(tree(&sysfs), tree(&xml));
    assert_eq!(sysfs.memory.controllers, xml.memory.controllers);
}

#[test]
fn a_synthetic_string_means_to_us_what_it_means_to_lstopo() {
    for text in [
        "pack:2 l3:2(size=16777216) core:2 l2:1(size=1048576) l1:1(size=32768) pu:2",
        "pack:2 [numa] l3:1 l2:4 l1d:1 l1i:1 core:1 pu:1",
        "numa:4 l2:1(size=1MiB) core:4 l1:1(size=32kiB) pu:2",
        "die:3 core:2 pu:2",
        "2 3 4",
        "l3:1(size=24MB) pu:5",
    ] {
        let ours: Machine = text.parse().unwrap();
        let output = Command::new("lstopo").args(["-i", text, "--of", "xml"]).output().unwrap();
        let theirs = Machine::from_xml(text, std::str::from_utf8(&output.stdout).unwrap()).unwrap();
        assert_eq!(ours.clusters(), theirs.clusters(), "{text}");
        let workers =
            |m: &Machine| m.workers().iter().map(|w| (w.leaf, w.core)).collect::<Vec<_>>();
        assert_eq!(workers(&ours), workers(&theirs), "{text}");
    }
}
