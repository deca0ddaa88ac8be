//! Main memory: controllers that serve a line at a time.

use befit_machine::{Machine, Placement, WorkerId};

use crate::{SimError, clock::Ticks};

/// Lines of 64 bytes in a page of 4 KiB: what the placement of pages goes by.
const PAGE: u64 = 4096;
const UNPLACED: u8 = u8::MAX;

/// The controllers and where pages lie.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Per controller: when it can take the next line.
    free_at: Vec<Ticks>,
    /// How long a controller is busy with one line.
    slot: Ticks,
    lines_per_page: u32,
    placement: Placement,
    /// First touch: each page's controller, once touched.
    home: Vec<u8>,
    /// First touch: each worker's nearest controller.
    nearest: Vec<u8>,
}

impl Memory {
    pub(crate) fn new(machine: &Machine, line: u64, lines: u32) -> Result<Self, SimError> {
        let memory = &machine.memory;
        let count = match memory.placement {
            Placement::Bound(k) => k.min(memory.controllers),
            _ => memory.controllers,
        };
        if count == 0 || count >= u32::from(UNPLACED) {
            return Err(SimError::Machine(format!("{count} memory controllers (1 to 254 can be)")));
        }
        if !(memory.bandwidth > 0.0 && memory.bandwidth.is_finite()) {
            return Err(SimError::Machine(format!("memory bandwidth of {} bytes a cycle", memory.bandwidth)));
        }
        let lines_per_page = (PAGE / line).max(1) as u32;
        let first_touch = memory.placement == Placement::FirstTouch;
        let workers = machine.workers().len() as u64;
        Ok(Self {
            free_at: vec![Ticks::default(); count as usize],
            slot: Ticks::fractional(line as f64 / memory.bandwidth),
            lines_per_page,
            placement: memory.placement,
            home: if first_touch { vec![UNPLACED; (lines / lines_per_page) as usize + 1] } else { Vec::new() },
            nearest: (0..workers).map(|w| (w * u64::from(count) / workers) as u8).collect(),
        })
    }

    /// Sends `line` over its controller's bus at `now`; answers when the bus has it.
    pub(crate) fn transfer(&mut self, worker: WorkerId, line: u32, now: Ticks) -> Ticks {
        let controller = self.controller(worker, line);
        let start = now.max(self.free_at[controller]);
        self.free_at[controller] = start + self.slot;
        start
    }

    fn controller(&mut self, worker: WorkerId, line: u32) -> usize {
        let page = line / self.lines_per_page;
        match self.placement {
            Placement::Interleaved | Placement::Bound(_) => page as usize % self.free_at.len(),
            Placement::FirstTouch => {
                let home = &mut self.home[page as usize];
                if *home == UNPLACED {
                    *home = self.nearest[worker.index()];
                }
                usize::from(*home)
            }
        }
    }
}
