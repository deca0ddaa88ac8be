//! Whether this machine is as fast at the moment as when it was calibrated.
//!
//! The host of a virtual machine may run another guest on a core's second thread, for seconds at a
//! time. What is timed meanwhile was timed on another machine than the calibrated one.

use std::{cell::Cell, process::Command};

use befit_machine::Machine;
use befit_record::run_on;

use crate::Measuring;

/// So much slower than usual a core may be and count as quiet. Another guest on its second thread
/// makes it slower by more than a quarter.
const SLOWER: f64 = 1.1;

/// A program of one thread may run on any of so many cores.
const FEW: usize = 4;

/// Looks at the cores that programs are to run on.
#[derive(Debug)]
pub(crate) struct Quiet<'a> {
    measuring: &'a Measuring,
    cpus: Vec<u32>,
    /// Nanoseconds a simple operation.
    usual: f64,
    /// The core that was found quiet for a program of one thread.
    chosen: Cell<Option<u32>>,
}

impl<'a> Quiet<'a> {
    /// Where `host`, this machine, was calibrated, and says which its CPUs are.
    pub(crate) fn new(measuring: &'a Measuring, host: &Machine) -> Option<Self> {
        let cpus: Vec<u32> = host.workers().iter().filter_map(|worker| worker.os_index).collect();
        let usual = befit_calibrate::operation(host).filter(|_| !cpus.is_empty())?;
        Some(Self { measuring, cpus, usual, chosen: Cell::new(None) })
    }

    /// Before a run of so many threads: whether the first cores are quiet, or for one thread any of
    /// the first, which is then chosen. True where that cannot be told.
    pub(crate) fn before(&self, threads: usize) -> bool {
        self.chosen.set(None);
        let looked_at = if threads == 1 { FEW } else { threads };
        let cpus = &self.cpus[..looked_at.min(self.cpus.len())];
        let Some(quiet) = self.look(cpus) else { return true };
        if threads > 1 {
            return quiet.len() == cpus.len();
        }
        self.chosen.set(quiet.first().copied());
        !quiet.is_empty()
    }

    /// After such a run: whether the cores are quiet still.
    pub(crate) fn after(&self, threads: usize) -> bool {
        let chosen = self.chosen.get();
        let cpus = match &chosen {
            Some(chosen) => std::slice::from_ref(chosen),
            None => &self.cpus[..threads.min(self.cpus.len())],
        };
        self.look(cpus).is_none_or(|quiet| quiet.len() == cpus.len())
    }

    /// Has `command` run on the chosen core, if there is one.
    pub(crate) fn place(&self, command: &mut Command) {
        if let Some(cpu) = self.chosen.get() {
            run_on(command, cpu);
        }
    }

    /// Those of `cpus` that are quiet; `None` where that cannot be told.
    fn look(&self, cpus: &[u32]) -> Option<Vec<u32>> {
        let paces = self.measuring.paces(cpus).filter(|paces| paces.len() == cpus.len())?;
        let quiet = cpus.iter().zip(paces).filter(|(_, pace)| *pace <= SLOWER * self.usual);
        Some(quiet.map(|(cpu, _)| *cpu).collect())
    }
}
