//! Systems that are not Linux: nothing to count with, said politely.

use std::convert::Infallible;

use crate::{CountersError, Counts, Event, Quantity, Source, SourceKind};

macro_rules! not_available {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        pub struct $name(Infallible);

        impl $name {
            /// Not available on this system.
            ///
            /// # Errors
            /// Always [`CountersError::NotLinux`].
            pub fn open() -> Result<Self, CountersError> {
                Err(CountersError::NotLinux { what: $what })
            }

            /// What could not be counted, and why.
            pub fn left_out(&self) -> &[(Quantity, CountersError)] {
                match self.0 {}
            }
        }

        impl Source for $name {
            fn kind(&self) -> SourceKind {
                match self.0 {}
            }

            fn events(&self) -> &[Event] {
                match self.0 {}
            }

            fn read(&mut self) -> Result<Counts, CountersError> {
                match self.0 {}
            }
        }
    };
}

not_available!(
    /// Counters of the processor: on Linux only.
    Hardware,
    "hardware"
);
not_available!(
    /// Counters of the kernel: on Linux only.
    Software,
    "software"
);

/// Counters of whole processes: on Linux only.
pub struct Children(Infallible);

impl Children {
    /// Not available on this system.
    ///
    /// # Errors
    /// Always [`CountersError::NotLinux`].
    pub fn hardware() -> Result<Self, CountersError> {
        Err(CountersError::NotLinux { what: "hardware" })
    }

    /// Not available on this system.
    ///
    /// # Errors
    /// Always [`CountersError::NotLinux`].
    pub fn software() -> Result<Self, CountersError> {
        Err(CountersError::NotLinux { what: "software" })
    }

    /// Where the counts come from.
    pub fn kind(&self) -> SourceKind {
        match self.0 {}
    }

    /// What is counted, and by which event exactly.
    pub fn events(&self) -> &[Event] {
        match self.0 {}
    }

    /// What could not be counted, and why.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        match self.0 {}
    }

    /// What the children have done so far.
    ///
    /// # Errors
    /// None.
    pub fn read(&mut self) -> Result<Counts, CountersError> {
        match self.0 {}
    }
}
