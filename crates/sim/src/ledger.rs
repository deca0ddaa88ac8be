//! Which lines of a program's source its misses come from, and which of its data.

use std::collections::HashMap;

use befit_cache::{Access, Found};
use befit_program::{Block, Program, SpotId, Spots, StrandId, TaskId, Touch};

use crate::account::Part;

/// Lines that workers took, by where they came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissCounts {
    /// From memory.
    pub memory: u64,
    /// From another last-level cache.
    pub other_caches: u64,
    /// Those of both that came from another socket: from its memory, or from its caches.
    pub other_sockets: u64,
    /// Lines, from anywhere, that go to and fro between workers of which at least one writes them.
    pub handovers: u64,
}

impl MissCounts {
    fn add(&mut self, Miss { memory, far, handed }: Miss) {
        self.memory += u64::from(memory == Some(true));
        self.other_caches += u64::from(memory == Some(false));
        self.other_sockets += u64::from(far);
        self.handovers += u64::from(handed);
    }
}

/// What a run's misses come from. Each of the two tables adds up to all misses of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// By the line of the source that touched: by [`SpotId`], or, of a program that was recorded
    /// without spots, by the [`SiteId`](befit_program::SiteId) of the task's fork.
    pub by_code: Vec<MissCounts>,
    /// By the data that was touched: each of [`Program::blocks`], then all other data, then the
    /// stacks.
    pub by_data: Vec<MissCounts>,
    /// Lines that went to and fro, as the program numbers them: how often, by each of `by_code`.
    pub handed: HashMap<(u32, u32), u64>,
}

/// One touch that did not find its line in a cache of the worker's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    /// Whether the line came from memory, if it came from outside of the last-level cache.
    pub(crate) memory: Option<bool>,
    /// It came from another socket.
    pub(crate) far: bool,
    /// It goes to and fro.
    pub(crate) handed: bool,
}

impl Miss {
    pub(crate) fn new(access: &Access, clean_from_memory: bool, far: bool, part: Part) -> Self {
        let memory = match access.found {
            Found::Memory => Some(true),
            Found::Remote { modified, .. } => Some(!modified && clean_from_memory),
            Found::Own(_) | Found::Sibling(_) => None,
        };
        Self { memory, far, handed: part == Part::Handovers }
    }
}

/// A ledger under way.
#[derive(Debug)]
pub(crate) struct Booking {
    ledger: Ledger,
    blocks: Vec<Block>,
    /// Recorded lines per line of the machine, as a power of two.
    coarser: u32,
    /// The line of the source of the touch that is made.
    pub(crate) code: u32,
}

impl Booking {
    pub(crate) fn new(program: &Program, coarser: u32) -> Self {
        let none = |count: usize| vec![MissCounts::default(); count];
        let codes = if program.has_spots() { program.spots().len() } else { program.sites().len() };
        let blocks = program.blocks().to_vec();
        let (by_code, by_data) = (none(codes), none(blocks.len() + 2));
        let ledger = Ledger { by_code, by_data, handed: HashMap::new() };
        Self { ledger, blocks, coarser, code: 0 }
    }

    /// A touch has taken a line. Time logarithmic in the number of blocks.
    pub(crate) fn book(&mut self, touch: Touch, miss: Miss) {
        if miss.memory.is_none() && !miss.handed {
            return;
        }
        // Of a longer line of the machine's, the first recorded one.
        let line = touch.line >> self.coarser << self.coarser;
        let data = if touch.stack {
            self.blocks.len() + 1
        } else {
            let after = self.blocks.partition_point(|block| block.first <= line);
            let of = after
                .checked_sub(1)
                .filter(|&at| line - self.blocks[at].first < self.blocks[at].lines);
            of.unwrap_or(self.blocks.len())
        };
        self.ledger.by_data[data].add(miss);
        self.ledger.by_code[self.code as usize].add(miss);
        if miss.handed && !touch.stack {
            *self.ledger.handed.entry((line, self.code)).or_default() += 1;
        }
    }

    pub(crate) fn finish(self) -> Ledger {
        self.ledger
    }
}

/// The lines of the source of a strand's touches.
#[derive(Debug)]
pub(crate) enum Codes<'a> {
    Spots(Box<Spots<'a>>),
    /// All of its touches have that of the task's fork.
    Fork(u32),
}

impl<'a> Codes<'a> {
    pub(crate) fn of(program: &'a Program, task: TaskId, strand: StrandId) -> Self {
        if program.has_spots() {
            Self::Spots(Box::new(program.touch_spots(strand)))
        } else {
            Self::Fork(program.site(task).0)
        }
    }

    pub(crate) fn next(&mut self) -> u32 {
        match self {
            Self::Spots(spots) => {
                let SpotId(spot) = spots.next_spot();
                spot
            }
            Self::Fork(site) => *site,
        }
    }
}
