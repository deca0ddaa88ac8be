//! The machine that this runs on, read from Linux's sysfs.
//!
//! ```
//! use befit_machine::Host;
//!
//! let machine = Host::here().detect().unwrap();
//! assert!(machine.workers().iter().all(|w| w.speed <= 100));
//! ```
//!
//! The workers are the online CPUs of the process's affinity mask, in the order of the caches;
//! where a control group limits CPU time to fewer (rounded down), as many of them: the first by
//! number, of each core one thread before any second ones.
//! Caches keep their full size even where some of the CPUs that share them are left out.
//!
//! Latencies and bandwidth, which Linux does not tell, are assumed ([`crate::assumed`]). Where it
//! tells of no cache at all (some containers and virtual machines, other systems than Linux) each
//! core gets an L1 of 32 KiB and an L2 of 512 KiB of its own, and the machine's name says `caches
//! assumed`. No shared cache is assumed, since schedulers would place tasks by it.

mod quota;
mod sysfs;
#[cfg(test)]
mod tests;
mod tree;

use std::path::PathBuf;

use crate::{Machine, MachineError, MachineSpec};
pub use quota::{ControlGroup, control_groups};
#[cfg(feature = "xml")]
pub(crate) use sysfs::in_model_name;
use sysfs::{Cpu, Files};

/// The name of a machine that does not tell all about its caches.
const ASSUMED: &str = "host (caches assumed)";

/// Where, and within which limits, to detect a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    root: PathBuf,
    affinity: Option<Vec<u32>>,
    /// The system has said that all of these are online.
    online: bool,
    quota: bool,
}

impl Host {
    /// This machine, within this thread's affinity mask (which threads inherit from their process).
    pub fn here() -> Self {
        Self::at("/")
    }

    /// This machine, where the system has said that this thread may run on these CPUs, and that
    /// they are online. [`Self::here`] reads files for that.
    pub fn running_on(cpus: Vec<u32>) -> Self {
        Self { affinity: Some(cpus), online: true, ..Self::at("/") }
    }

    /// A machine whose `/sys` and `/proc` stand under `root`. Its affinity mask is read from
    /// `/proc/thread-self/status`, or from `/proc/self/status` where that is not there.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), affinity: None, online: false, quota: true }
    }

    /// Only these CPUs, by the operating system's numbers.
    pub fn affinity(self, cpus: impl IntoIterator<Item = u32>) -> Self {
        Self { affinity: Some(cpus.into_iter().collect()), online: false, ..self }
    }

    /// All allowed CPUs, even where a cgroup limits CPU time to fewer.
    pub fn ignore_quota(self) -> Self {
        Self { quota: false, ..self }
    }

    /// Reads the machine. A few files per CPU.
    ///
    /// # Errors
    /// [`MachineError::Object`], naming the CPU or file: where no online CPU is allowed, where a
    /// file does not hold what Linux documents, where caches overlap without one containing the
    /// other.
    pub fn detect(&self) -> Result<Machine, MachineError> {
        let files = Files { root: &self.root };
        let Some(cpus) = self.cpus()? else { return unnumbered() };
        let cpus =
            cpus.iter().map(|n| Cpu::read(&files, *n, &cpus)).collect::<Result<Vec<_>, _>>()?;
        let mut seen = cpus.iter().flat_map(|cpu| &cpu.caches).peekable();
        let assumed = seen.peek().is_none() || seen.any(|seen| seen.size_assumed);
        let name = if assumed { ASSUMED } else { "host" };
        let mut spec = MachineSpec::new(name, tree::parts(cpus.clone())?);
        if let Some(mhz) = sysfs::mhz(&files, &cpus) {
            spec.set_mhz(mhz);
        }
        spec.memory.controllers = files.controllers(&cpus)?;
        spec.share_bandwidth();
        spec.build()
    }

    /// The CPUs that are the workers in [`Self::detect`]'s machine, by the operating system's
    /// numbers, ascending; `None` where it does not number them. Reads a few files in all, and one
    /// per CPU only of those that are allowed but not listed as online, or where a quota binds.
    ///
    /// # Errors
    /// As [`Self::detect`]: where no online CPU is allowed, where a file does not hold what Linux
    /// documents.
    pub fn cpus(&self) -> Result<Option<Vec<u32>>, MachineError> {
        let files = Files { root: &self.root };
        let allowed = match &self.affinity {
            Some(cpus) => Some(cpus.clone()),
            None => files.list_in_status("Cpus_allowed_list")?,
        };
        let online =
            if self.online { None } else { files.list("sys/devices/system/cpu/online")? };
        let mut cpus = match (online, allowed) {
            (Some(online), Some(mut allowed)) => {
                // In containers of LXC the list counts from 0 as many CPUs as are allowed,
                // whichever those are (lxcfs makes it up). Each CPU's own file is the kernel's.
                allowed.retain(|cpu| online.contains(cpu) || files.is_online(*cpu));
                allowed
            }
            (Some(cpus), None) | (None, Some(cpus)) => cpus,
            (None, None) => return Ok(None),
        };
        cpus.sort_unstable();
        cpus.dedup();
        if cpus.is_empty() {
            let what = "holds no online CPU; name a machine instead of `host`";
            return Err(MachineError::object("affinity mask", what));
        }
        if self.quota
            && let Some(most) = quota::cpus(&files).filter(|most| *most < cpus.len())
        {
            cpus = spread(&files, &cpus, most)?;
        }
        Ok(Some(cpus))
    }

    /// Whether one cache holds all CPUs that are the workers in [`Self::detect`]'s machine; false
    /// where nothing tells. Reads the files of one CPU.
    ///
    /// # Errors
    /// As [`Self::detect`].
    pub fn shares_a_cache(&self) -> Result<bool, MachineError> {
        let Some(cpus) = self.cpus()? else { return Ok(false) };
        let first = Cpu::read(&Files { root: &self.root }, cpus[0], &cpus)?;
        Ok(first.caches.iter().any(|seen| seen.shared.len() == cpus.len()))
    }
}

/// `most` of `cpus`, both ascending, on as many cores as can be: some systems number the threads of
/// a core side by side, and a quota would leave both threads of half as many cores.
fn spread(files: &Files, cpus: &[u32], most: usize) -> Result<Vec<u32>, MachineError> {
    let place = |cpu: &u32| {
        let core = sysfs::core(files, *cpu, cpus)?;
        Ok::<_, MachineError>((core.iter().position(|of_core| of_core == cpu), *cpu))
    };
    let mut places = cpus.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    places.sort_unstable();
    let mut spread: Vec<u32> = places.into_iter().take(most).map(|(_, cpu)| cpu).collect();
    spread.sort_unstable();
    Ok(spread)
}

/// As many cores as the standard library finds, where there is nothing to read.
fn unnumbered() -> Result<Machine, MachineError> {
    let count = std::thread::available_parallelism().map_or(1, |n| n.get());
    let core = tree::assumed_core(100, vec![crate::Part::worker(None)]);
    MachineSpec::new(ASSUMED, vec![core; count]).build()
}
