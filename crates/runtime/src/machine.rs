//! A pool's machine, read at first use.
//!
//! Linux describes caches in some twenty files per CPU. Reading them takes longer than starting the
//! pool's threads, and a pool whose scheduler minds no places needs only the number of workers.

use std::{sync::OnceLock, thread};

use befit_machine::{Host, Machine};
use befit_sched::SchedulerKind::{self, Auto, Homes, Ws};

/// This machine, with the CPUs that one or two system calls tell.
#[cfg(not(befit_record))]
fn host() -> Host {
    let cpus = crate::threads::usable_cpus();
    let numbers = |cpus: Vec<usize>| cpus.into_iter().map(|cpu| cpu as u32).collect();
    cpus.map_or_else(Host::here, |cpus| Host::running_on(numbers(cpus)))
}

#[cfg(befit_record)]
fn host() -> Host {
    Host::here()
}

/// The machine of a pool.
#[derive(Debug)]
pub(crate) struct PoolMachine {
    workers: usize,
    /// Where to read it from, and for which CPUs; none if the program has given the machine.
    host: Option<Host>,
    /// The machine, once it has been read.
    pub(crate) known: OnceLock<Machine>,
}

impl PoolMachine {
    /// The machine that this runs on. Only its CPUs are counted now.
    pub(crate) fn here() -> Self {
        let host = host();
        match host.cpus() {
            // The later reading is of the same CPUs, whatever limits the reading thread has.
            Ok(Some(cpus)) => Self {
                workers: cpus.len(),
                host: Some(host.affinity(cpus).ignore_quota()),
                known: OnceLock::new(),
            },
            _ => Self::from(host.detect().unwrap_or_else(|_| {
                bare(thread::available_parallelism().map_or(1, std::num::NonZero::get))
            })),
        }
    }

    /// The number of its workers, at least 1.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// The machine. If the system does not describe its caches, or CPUs have gone since, it has as
    /// many workers under no cache.
    pub(crate) fn get(&self) -> &Machine {
        self.known.get_or_init(|| {
            let found = self.host.as_ref().and_then(|host| host.detect().ok());
            found
                .filter(|machine| machine.workers().len() == self.workers)
                .unwrap_or_else(|| bare(self.workers))
        })
    }

    /// What `kind` is on its first `threads` workers. The machine is not read where one cache holds
    /// all of it.
    pub(crate) fn built_in(&self, kind: SchedulerKind, threads: usize) -> SchedulerKind {
        let shares = |host: &Host| host.shares_a_cache().unwrap_or(false);
        match kind {
            Auto | Homes if self.host.as_ref().is_some_and(shares) => Ws,
            Auto | Homes => kind.on(self.get(), threads),
            other => other,
        }
    }

    /// A machine for callers that use nothing but the number of its workers.
    pub(crate) fn counted(&self) -> Machine {
        self.known.get().cloned().unwrap_or_else(|| bare(self.workers))
    }
}

impl From<Machine> for PoolMachine {
    fn from(machine: Machine) -> Self {
        Self { workers: machine.workers().len(), host: None, known: OnceLock::from(machine) }
    }
}

/// A machine of so many workers under no cache.
fn bare(workers: usize) -> Machine {
    format!("pu:{workers}").parse().expect("a machine of so many workers can be described")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_counted_first_and_read_when_it_is_asked_for() {
        let machine = PoolMachine::here();
        assert!(machine.known.get().is_none());
        assert_eq!(machine.counted().workers().len(), machine.workers());
        let read = Host::here().detect().unwrap();
        assert_eq!(machine.get(), &read);
        assert_eq!(machine.counted(), read);
    }

    #[test]
    fn auto_reads_no_machine_whose_cpus_share_a_cache() {
        let machine = PoolMachine::here();
        let kind = machine.built_in(Auto, 1024);
        assert_eq!(kind, Auto.on(&Host::here().detect().unwrap(), 1024));
        let shares = Host::here().shares_a_cache().unwrap();
        assert_eq!(machine.known.get().is_none(), shares);
        assert!(!shares || kind == Ws);
        let two: Machine = "pack:2 l3:1(size=1MiB) core:2 pu:1".parse().unwrap();
        let kinds = [2, 4].map(|n| PoolMachine::from(two.clone()).built_in(Auto, n));
        assert_eq!(kinds, [Ws, Homes]);
    }

    #[test]
    fn a_machine_that_has_lost_cpus_since_is_so_many_workers_under_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        let machine = PoolMachine {
            workers: 3,
            host: Some(Host::at(folder.path()).affinity([0, 1])),
            known: OnceLock::new(),
        };
        assert_eq!(machine.get().workers().len(), 3);
        assert!(machine.get().clusters().iter().all(|cluster| cluster.cache.is_none()));
    }
}
