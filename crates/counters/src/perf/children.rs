//! Counters of whole processes: those that the calling thread starts.

use std::marker::PhantomData;

use perf_event::{Builder, Counter};

use super::{
    hardware,
    processor::Processor,
    reading::Reading,
    refusal::{Asked, refusal},
    software,
};
use crate::{CountersError, Counts, Event, Quantity, SourceKind};

/// Counts the next program that the calling thread starts, with all its threads and all that it
/// starts itself, from its exec on. The calling thread itself is not counted, nor what it started
/// before. Open another for another program.
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
/// How: the events belong to the calling thread and are switched off; a child inherits them
/// (`inherit`), and its exec switches its own on (`enable_on_exec`; perf_event_open(2)). So nothing
/// between fork and exec is counted, and no race is lost. Inherited events cannot be read as a
/// group: each is read by itself.
///
/// Why one program only: the kernel spares itself work when it switches from a task to one that
/// inherited all its events, by letting the two exchange them. Where it does so between fork and
/// exec, the exec switches on the thread's own event, and takes it along; what the thread has then
/// stays switched off, for whatever it starts next.
///
/// Stays with the thread that opened it, whose children are counted:
///
/// ```compile_fail
/// fn moves<T: Send>() {}
/// moves::<befit_counters::Children>();
/// ```
pub struct Children {
    kind: SourceKind,
    counters: Vec<Counter>,
    events: Vec<Event>,
    left_out: Vec<(Quantity, CountersError)>,
    of_one_thread: PhantomData<*const ()>,
}

impl Children {
    /// The processor's counters, as [`Hardware`](crate::Hardware) has them: in user space only.
    ///
    /// # Errors
    /// As [`Hardware::open`](crate::Hardware::open), but that counters stand still shows only when
    /// they are read.
    pub fn hardware() -> Result<Self, CountersError> {
        let ways = hardware::ways(Processor::here()).into_iter();
        let mut this = Self::open(
            SourceKind::Hardware,
            ways.map(|(quantity, ways)| (quantity, Asked::Hardware, ways)),
        )?;
        for (quantity, why) in &mut this.left_out {
            if matches!(why, CountersError::NoHardware) {
                *why = CountersError::NoEvent { what: *quantity };
            }
        }
        Ok(this)
    }

    /// The kernel's counters, as [`Software`](crate::Software) has them.
    ///
    /// # Errors
    /// As [`Software::open`](crate::Software::open).
    pub fn software() -> Result<Self, CountersError> {
        Self::open(SourceKind::Software, software::ways())
    }

    fn open(
        kind: SourceKind,
        ways: impl Iterator<Item = (Quantity, Asked, Vec<(Event, Builder<'static>)>)>,
    ) -> Result<Self, CountersError> {
        let mut this = Self {
            kind,
            counters: Vec::new(),
            events: Vec::new(),
            left_out: Vec::new(),
            of_one_thread: PhantomData,
        };
        for (quantity, asked, ways) in ways {
            let mut why = Some(CountersError::NoEvent { what: quantity });
            for (event, mut builder) in ways {
                match builder.enabled(false).inherit(true).enable_on_exec(true).build() {
                    Ok(counter) => {
                        this.counters.push(counter);
                        this.events.push(event);
                        why = None;
                        break;
                    }
                    Err(error) => why = Some(refusal(asked, &quantity.to_string(), error)),
                }
            }
            this.left_out.extend(why.map(|why| (quantity, why)));
        }
        if this.counters.is_empty() {
            return Err(this
                .left_out
                .into_iter()
                .next()
                .map_or(CountersError::NoHardware, |(_, why)| why));
        }
        Ok(this)
    }

    /// Where the counts come from.
    pub fn kind(&self) -> SourceKind {
        self.kind
    }

    /// What is counted, and by which event exactly.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What could not be counted, and why.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        &self.left_out
    }

    /// What the program has done so far. What has ended and been waited for is in it to the last.
    ///
    /// # Errors
    /// [`CountersError::Read`] if the kernel does not answer; [`CountersError::StandStill`] if the
    /// machine's counters do not count.
    pub fn read(&mut self) -> Result<Counts, CountersError> {
        let mut all = Counts::default();
        for (counter, event) in self.counters.iter_mut().zip(&self.events) {
            let answer = counter.read_full().map_err(CountersError::Read)?;
            let nanoseconds =
                |time: Option<std::time::Duration>| time.map_or(0, |time| time.as_nanos() as u64);
            let mut reading = Reading {
                enabled: nanoseconds(answer.time_enabled()),
                running: nanoseconds(answer.time_running()),
                ..Reading::default()
            };
            reading.values[0] = answer.count();
            let counts = reading.since(&Reading::default(), [event.quantity].into_iter());
            all = if all == Counts::default() { counts } else { all.beside(counts) };
        }
        // A process cannot start without instructions.
        if self.kind == SourceKind::Hardware
            && all.instructions == Some(0)
            && !all.coverage.wanted.is_zero()
        {
            return Err(CountersError::StandStill);
        }
        Ok(all)
    }
}
