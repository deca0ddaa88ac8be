//! What the processor counts of one thread, for policies that measure: with feature `counters`, where the machine counts anything.

#[cfg(feature = "counters")]
mod hardware {
    use std::{cell::RefCell, fmt};

    use befit_counters::{Hardware, Quantity, Source};
    use befit_sched::WorkerCounts;

    /// The counters of the thread that opened them, and what they have counted so far.
    pub(crate) struct Meter(RefCell<(Hardware, WorkerCounts)>);

    impl Meter {
        /// Counts the calling thread from now on; none where misses of private caches are not counted.
        pub(crate) fn open() -> Option<Self> {
            let hardware = Hardware::open().ok()?;
            let counts_misses = hardware.events().iter().any(|event| event.quantity == Quantity::PrivateMisses);
            counts_misses.then(|| Self(RefCell::new((hardware, WorkerCounts::default()))))
        }

        /// What the thread has done since.
        pub(crate) fn read(&self) -> Option<WorkerCounts> {
            let (hardware, sum) = &mut *self.0.borrow_mut();
            let counts = hardware.read().ok()?;
            sum.private_misses += counts.private_misses?.0;
            sum.llc_misses += counts.llc_misses.map_or(0, |lines| lines.0);
            sum.instructions += counts.instructions.unwrap_or(0);
            Some(*sum)
        }
    }

    impl fmt::Debug for Meter {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Meter").finish_non_exhaustive()
        }
    }
}

#[cfg(not(feature = "counters"))]
mod nothing {
    use befit_sched::WorkerCounts;

    /// Counts nothing.
    #[derive(Debug)]
    pub(crate) enum Meter {}

    impl Meter {
        pub(crate) fn open() -> Option<Self> {
            None
        }

        pub(crate) fn read(&self) -> Option<WorkerCounts> {
            match *self {}
        }
    }
}

#[cfg(feature = "counters")]
pub(crate) use hardware::Meter;
#[cfg(not(feature = "counters"))]
pub(crate) use nothing::Meter;
