//! Pinning threads to CPUs, always within the affinity mask of the process.

use std::{collections::BTreeSet, sync::Mutex};

use crate::{Pin, machine::PoolMachine, system};

/// CPUs that living pools are pinned to.
static CLAIMED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// CPUs that a pool has pinned a thread to, ever: threads that were started there outlive the pool.
static PLACES: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The CPUs of one pool's threads, in the order of the threads. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    cpus: Vec<usize>,
    /// Those that no other pool had claimed.
    own: Vec<usize>,
}

impl Claim {
    /// The CPUs for `threads` threads on the workers of `machine`, if they shall be pinned.
    /// `detected`: it is this machine.
    pub(super) fn new(
        pin: Pin,
        machine: &PoolMachine,
        detected: bool,
        threads: usize,
    ) -> Option<Self> {
        let allowed = allowed_cpus();
        let possible = match pin {
            Pin::Auto => detected && threads == allowed.len(),
            Pin::Always => !allowed.is_empty(),
            Pin::Never => false,
        };
        if !possible {
            return None;
        }
        let machine = machine.get();
        let of_worker = |thread: usize| {
            let worker = &machine.workers()[thread % machine.workers().len()];
            worker.os_index.map(|cpu| cpu as usize).filter(|cpu| detected && allowed.contains(cpu))
        };
        let cpus: Vec<usize> = (0..threads)
            .map(|t| of_worker(t).unwrap_or_else(|| allowed[t % allowed.len()]))
            .collect();
        let mut claimed = CLAIMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pin == Pin::Auto && cpus.iter().any(|cpu| claimed.contains(cpu)) {
            return None;
        }
        let own = cpus.iter().copied().filter(|cpu| claimed.insert(*cpu)).collect();
        Some(Self { cpus, own })
    }

    /// Pins the calling thread, which is thread `thread` of the pool. A refusal is ignored: the
    /// pool works without.
    pub(super) fn pin(&self, thread: usize) {
        let cpu = self.cpus[thread];
        PLACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(cpu);
        system::set_affinity(&[cpu]);
    }

    /// The pool's thread on processor `cpu`, if it has one there.
    pub(super) fn thread_on(&self, cpu: usize) -> Option<usize> {
        self.cpus.iter().position(|own| *own == cpu)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = CLAIMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for cpu in &self.own {
            claimed.remove(cpu);
        }
    }
}

/// Lets the calling thread run on all allowed CPUs again: it was started by a pinned thread and has
/// inherited its place.
pub(super) fn unpin() {
    system::set_affinity(&allowed_cpus());
}

/// The CPUs that the process may use, in ascending order: those of its main thread, which no pool
/// pins. Empty where the system does not say.
pub(super) fn allowed_cpus() -> Vec<usize> {
    system::affinity(Some(std::process::id())).unwrap_or_default()
}

/// The CPUs that the calling thread may use; all that the process may use if its only one is a
/// pool's choice, see [`has_a_place`]. None where the system does not say.
pub(crate) fn usable_cpus() -> Option<Vec<usize>> {
    let own = system::affinity(None)?;
    Some(beyond_its_place(&own).unwrap_or(own))
}

/// Whether a pool has pinned the calling thread, or one that has started it: it is on one CPU for
/// no wish of the program.
pub(super) fn has_a_place() -> bool {
    system::affinity(None).is_some_and(|own| beyond_its_place(&own).is_some())
}

/// The CPUs that the process may use, if a thread that may use `own` has a place.
fn beyond_its_place(own: &[usize]) -> Option<Vec<usize>> {
    let [cpu] = own else { return None };
    if !PLACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).contains(cpu) {
        return None;
    }
    // A main thread elsewhere says nothing of this one.
    Some(allowed_cpus()).filter(|all| all.contains(cpu))
}
