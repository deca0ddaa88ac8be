//! Counts what one thread does, for policies that measure: by a function that the program gives the
//! pool, else by the processor, with feature `counters` and where the machine counts anything.

use std::cell::RefCell;

use befit_sched::{CountSource, WorkerCounts};

/// Returns what the thread that made it has done since the last call.
pub(crate) type Count = Box<dyn FnMut() -> Option<WorkerCounts>>;

/// What counts the thread that opened it.
pub(crate) struct Meter {
    count: RefCell<Count>,
    source: CountSource,
}

impl Meter {
    /// Counts the calling thread from now on: by `given`, if the program gives a source; else by
    /// the processor, where it counts misses of private caches.
    pub(crate) fn open(given: Option<Count>) -> Option<Self> {
        let (mut count, source) = match given {
            Some(count) => (since_the_last(count), CountSource::Given),
            None => (hardware()?, CountSource::Hardware),
        };
        // What cannot be read now will not be read later: declared sizes then.
        count()?;
        Some(Self { count: RefCell::new(count), source })
    }

    /// What the thread has done since the last call; the first time, since this was opened.
    pub(crate) fn read(&self) -> Option<WorkerCounts> {
        (self.count.borrow_mut())()
    }

    pub(crate) fn source(&self) -> CountSource {
        self.source
    }
}

/// Of `count`, which returns what was done since it began, the difference to the last call.
fn since_the_last(mut count: Count) -> Count {
    let mut before = WorkerCounts::default();
    Box::new(move || {
        let now = count()?;
        Some(now.since(std::mem::replace(&mut before, now)))
    })
}

#[cfg(not(feature = "counters"))]
fn hardware() -> Option<Count> {
    None
}

#[cfg(feature = "counters")]
fn hardware() -> Option<Count> {
    use befit_counters::{Hardware, Quantity, Source};

    let mut hardware = Hardware::open().ok()?;
    let counts_misses =
        hardware.events().iter().any(|event| event.quantity == Quantity::PrivateMisses);
    let count = move || {
        let counts = hardware.read().ok()?;
        Some(WorkerCounts {
            private_misses: counts.private_misses?.0,
            llc_misses: counts.llc_misses.map_or(0, |lines| lines.0),
            instructions: counts.instructions.unwrap_or(0),
        })
    };
    counts_misses.then(|| Box::new(count) as Count)
}
