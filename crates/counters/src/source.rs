//! The interface of all sources of counts.

use std::fmt;

use befit_machine::Level;

use crate::{CountersError, Counts};

/// A source of counts of one thread.
///
/// A source belongs to the thread that opened it, and is read by that thread.
pub trait Source {
    /// The quantities counted, each with its event. A quantity that is not listed is `None` in
    /// every [`Counts`].
    fn events(&self) -> &[Event];

    /// Counts since the last read; the first time, since the source was opened.
    ///
    /// # Errors
    /// [`CountersError::Read`] if the kernel refuses. The next read then covers the lost
    /// interval too.
    fn read(&mut self) -> Result<Counts, CountersError>;
}

/// A figure that can be counted: one for each field of [`Counts`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Quantity {
    /// Lines brought into the last cache that is the core's own.
    PrivateMisses,
    /// Lines that the last-level cache did not have.
    LlcMisses,
    /// Instructions retired.
    Instructions,
    /// Core cycles, halted ones left out.
    Cycles,
    /// Time on a processor.
    TaskClock,
    /// Page faults.
    PageFaults,
    /// Times that another thread took the processor.
    ContextSwitches,
    /// Moves to another processor.
    Migrations,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PrivateMisses => "private-cache misses",
            Self::LlcMisses => "last-level-cache misses",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::TaskClock => "task clock",
            Self::PageFaults => "page faults",
            Self::ContextSwitches => "context switches",
            Self::Migrations => "migrations",
        })
    }
}

/// How one quantity is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The quantity counted.
    pub quantity: Quantity,
    /// For misses: of the caches of which level, if that is known.
    pub level: Option<Level>,
    /// By what: the event's name in its maker's manual, or the kernel's for its generic events.
    pub name: &'static str,
}
