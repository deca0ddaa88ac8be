//! The source that a scheduler profiles with, chosen without asking the user.

use befit_machine::Bytes;

use crate::{CountersError, Counts, Declared, Event, Hardware, Quantity, Source, SourceKind};

/// The best source of private-cache misses that there is: hardware counters, else declared sizes.
pub enum Chosen {
    /// The processor counts.
    Hardware(Hardware),
    /// The program declares.
    Declared(Declared),
}

impl Chosen {
    /// Opens hardware counters for the calling thread. Where that cannot be, gives declared sizes,
    /// in lines of `line` bytes, and the reason: print it once, and go on.
    ///
    /// Costs a few system calls and, for hardware, a few file descriptors and pages; once per
    /// thread.
    pub fn open(line: Bytes) -> (Self, Option<CountersError>) {
        let why = match Hardware::open() {
            Ok(hardware)
                if hardware.events().iter().any(|e| e.quantity == Quantity::PrivateMisses) =>
            {
                return (Self::Hardware(hardware), None);
            }
            Ok(_) => CountersError::NoMisses,
            Err(why) => why,
        };
        (Self::Declared(Declared::new(line)), Some(why))
    }

    /// The running strand touches `size` bytes: counted if declared sizes stand in, else of no
    /// effect.
    pub fn declare(&mut self, size: Bytes) {
        if let Self::Declared(declared) = self {
            declared.declare(size);
        }
    }

    fn source(&self) -> &dyn Source {
        match self {
            Self::Hardware(hardware) => hardware,
            Self::Declared(declared) => declared,
        }
    }
}

impl Source for Chosen {
    fn kind(&self) -> SourceKind {
        self.source().kind()
    }

    fn events(&self) -> &[Event] {
        self.source().events()
    }

    fn read(&mut self) -> Result<Counts, CountersError> {
        match self {
            Self::Hardware(hardware) => hardware.read(),
            Self::Declared(declared) => declared.read(),
        }
    }
}
