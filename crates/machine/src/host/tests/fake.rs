//! A `/sys` and `/proc` in a temporary directory.

use std::fs;

use tempfile::TempDir;

use crate::Host;

/// A machine on disk.
pub(super) struct Fake(TempDir);

impl Fake {
    /// Nothing but these CPUs online.
    pub(super) fn new(online: &str) -> Self {
        Self(TempDir::new().unwrap()).with("sys/devices/system/cpu/online", online)
    }

    pub(super) fn empty() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(super) fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
        self
    }

    /// A file of each of some CPUs.
    pub(super) fn each(mut self, cpus: &[u32], file: &str, text: &str) -> Self {
        for cpu in cpus {
            self = self.with(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"), text);
        }
        self
    }

    /// A core of these CPUs.
    pub(super) fn core(self, cpus: &[u32]) -> Self {
        let list = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        self.each(cpus, "topology/core_cpus_list", &list)
    }

    /// A cache shared by these CPUs, as `indexI` of each.
    pub(super) fn cache(self, cpus: &[u32], index: u32, level: u32, kib: u32, ways: u32) -> Self {
        let list = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let file = |name: &str| format!("cache/index{index}/{name}");
        self.each(cpus, &file("level"), &level.to_string())
            .each(cpus, &file("type"), if level == 1 { "Data" } else { "Unified" })
            .each(cpus, &file("size"), &format!("{kib}K"))
            .each(cpus, &file("ways_of_associativity"), &ways.to_string())
            .each(cpus, &file("coherency_line_size"), "64")
            .each(cpus, &file("shared_cpu_list"), &list)
    }

    pub(super) fn host(&self) -> Host {
        Host::at(self.0.path())
    }
}

/// Two sockets of two cores with two hardware threads each, numbered as Intel does: the second
/// threads last.
pub(super) fn two_sockets() -> Fake {
    let mut fake = Fake::new("0-7");
    for core in 0..4 {
        let cpus = [core, core + 4];
        fake = fake.core(&cpus).cache(&cpus, 0, 1, 48, 12).cache(&cpus, 2, 2, 2048, 16);
        // The instruction cache, which must leave no trace.
        fake = fake.cache(&cpus, 1, 1, 32, 8).each(&cpus, "cache/index1/type", "Instruction");
    }
    fake.cache(&[0, 1, 4, 5], 3, 3, 24576, 12).cache(&[2, 3, 6, 7], 3, 3, 24576, 12)
}
