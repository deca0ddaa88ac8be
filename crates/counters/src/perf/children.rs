//! Counters of whole processes: those that the calling thread starts.

use std::{marker::PhantomData, time::Duration};

use perf_event::Counter;

use super::{
    LeftOut, Wanted, hardware_events, open_each, processor::Processor, reading::Reading,
    software_events,
};
use crate::{CountersError, Counts, Event, Quantity};

/// Counts the next program that the calling thread starts, with all its threads and all that it
/// starts itself, from its exec on. The calling thread and programs started before are not counted.
/// Open another for another program.
///
/// ```
/// use std::process::Command;
/// use befit_counters::Children;
///
/// match Children::software() {
///     Ok(mut children) => {
///         Command::new("true").status()?;
///         println!("{:?} on a processor", children.read()?.task_clock);
///     }
///     Err(why) => eprintln!("{why}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The events belong to the calling thread and are switched off. A child inherits them (`inherit`),
/// and its exec switches its own on (`enable_on_exec`; perf_event_open(2)), so that nothing between
/// fork and exec is counted. Inherited events cannot be read as a group: each is read by itself.
///
/// One `Children` counts one program only. When the kernel switches from a task to one that
/// inherited all its events, it may let the two exchange them. If it does so between fork and exec,
/// the exec switches on the thread's own event and takes it along; the event that the thread gets
/// in return stays switched off.
///
/// It stays with the thread that opened it, whose children are counted:
///
/// ```compile_fail
/// fn moves<T: Send>() {}
/// moves::<befit_counters::Children>();
/// ```
pub struct Children {
    counters: Vec<Counter>,
    events: Vec<Event>,
    left_out: LeftOut,
    of_one_thread: PhantomData<*const ()>,
}

impl Children {
    /// The processor's counters, as [`Hardware`](crate::Hardware) has them: in user space only.
    ///
    /// # Errors
    /// As [`Hardware::open`](crate::Hardware::open), but that counters stand still shows only when
    /// they are read.
    pub fn hardware() -> Result<Self, CountersError> {
        Self::open(hardware_events(Processor::here()))
    }

    /// The kernel's counters, as [`Software`](crate::Software) has them.
    ///
    /// # Errors
    /// As [`Software::open`](crate::Software::open).
    pub fn software() -> Result<Self, CountersError> {
        Self::open(software_events())
    }

    fn open(wanted: impl IntoIterator<Item = Wanted>) -> Result<Self, CountersError> {
        let (mut counters, mut events) = (Vec::new(), Vec::new());
        let left_out = open_each(wanted, |event, builder| {
            counters.push(builder.enabled(false).inherit(true).enable_on_exec(true).build()?);
            events.push(event);
            Ok(())
        })?;
        Ok(Self { counters, events, left_out, of_one_thread: PhantomData })
    }

    /// What is counted, and by which event exactly.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What could not be counted, and why.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        &self.left_out
    }

    /// Counts of the program so far: complete for processes that ended and have been waited for.
    ///
    /// # Errors
    /// [`CountersError::Read`] if the kernel refuses; [`CountersError::StandStill`] if the
    /// machine's counters do not count.
    pub fn read(&mut self) -> Result<Counts, CountersError> {
        let mut all = Counts::default();
        for (counter, event) in self.counters.iter_mut().zip(&self.events) {
            let shown = counter.read_full().map_err(CountersError::Read)?;
            let time = |time: Option<Duration>| time.unwrap_or_default().as_nanos() as u64;
            let (enabled, running) = (time(shown.time_enabled()), time(shown.time_running()));
            let reading = Reading { enabled, running, values: [shown.count(), 0, 0, 0] };
            let counts = reading.since(&Reading::default(), [event.quantity].into_iter());
            all = if all == Counts::default() { counts } else { all.beside(counts) };
        }
        // A process cannot start without instructions.
        if all.instructions == Some(0) && !all.coverage.wanted.is_zero() {
            return Err(CountersError::StandStill);
        }
        Ok(all)
    }
}
