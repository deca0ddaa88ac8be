//! Systems that are not Linux: every source refuses to open, with a message.

use std::convert::Infallible;

use crate::{CountersError, Counts, Event, Quantity, Source};

/// Counters of the processor: on Linux only.
pub struct Hardware(Infallible);
/// Counters of the kernel: on Linux only.
pub struct Software(Infallible);
/// Counters of whole processes: on Linux only.
pub struct Children(Infallible);

macro_rules! counters {
    ($name:ident: $($open:ident of $what:literal),*) => {
        impl $name {
            $(
                /// Not available on this system.
                ///
                /// # Errors
                /// Always [`CountersError::NotLinux`].
                pub fn $open() -> Result<Self, CountersError> {
                    Err(CountersError::NotLinux($what))
                }
            )*

            /// What could not be counted, and why.
            pub fn left_out(&self) -> &[(Quantity, CountersError)] {
                match self.0 {}
            }
        }

        impl Source for $name {
            fn events(&self) -> &[Event] {
                match self.0 {}
            }

            fn read(&mut self) -> Result<Counts, CountersError> {
                match self.0 {}
            }
        }
    };
}

counters!(Hardware: open of "hardware");
counters!(Software: open of "software");
counters!(Children: hardware of "hardware", software of "software");

impl Children {
    /// What is counted, and by which event exactly.
    pub fn events(&self) -> &[Event] {
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
