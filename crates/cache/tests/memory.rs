//! Memory of the host that a hierarchy takes. By itself, so that no other test takes any meanwhile.
#![cfg(target_os = "linux")]

use befit_cache::{Found, Hierarchy};
use befit_machine::{Machine, WorkerId};

/// Bytes of the host's memory that this process has.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn of_lines_that_are_not_touched_a_hierarchy_takes_no_memory() {
    const LINES: u32 = 1 << 27;
    for machine in [
        // The inclusive model, the general one, and the latter with lists: rows of 16, 8 and 128
        // bytes.
        "l3:1(size=1MiB ways=16 inclusion=inclusive) core:2 l2:1(size=64KiB ways=8) \
         l1:1(size=8KiB ways=4) pu:1",
        "l1:4(size=8KiB ways=full) pu:1",
        "l1:600(size=1KiB ways=full) pu:1",
    ] {
        let machine: Machine = machine.parse().unwrap();
        let before = resident();
        let mut caches = Hierarchy::new(&machine, LINES, 1).unwrap();
        let taken = resident().saturating_sub(before);
        assert!(taken < 64 << 20, "{taken} bytes");
        // The lines are there all the same.
        let worker = WorkerId(0);
        for line in [0, LINES / 2, LINES - 1] {
            assert_eq!(caches.access(worker, line, true).found, Found::Memory);
            assert!(matches!(caches.access(worker, line, false).found, Found::Own(_)));
        }
        assert_eq!(caches.memory_reads().0, 3);
    }
}
