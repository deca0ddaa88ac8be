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
