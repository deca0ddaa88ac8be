//! Linux perf events: counters of one thread, and of the programs that it starts.

mod children;
mod group;
mod processor;
mod reading;
mod refusal;

use std::io;

use befit_machine::Level;
use perf_event::{
    Builder,
    events::{Cache, CacheId, CacheOp, CacheResult, Hardware as Generic, Raw, Software as Kernel},
};

use crate::{CountersError, Counts, Event, Quantity, Source};
pub use children::Children;
use group::PerfGroup;
use processor::{Processor, RawEvent};
use refusal::{Asked, refusal};

/// Misses of the last private cache and of the last-level cache, instructions and cycles of one
/// thread in user space.
///
/// Stays with the thread that opened it, which is the one counted:
///
/// ```compile_fail
/// fn moves<T: Send>() {}
/// moves::<befit_counters::Hardware>();
/// ```
///
/// On processors with several kinds of cores, only the time on one kind (on Intel the larger) is
/// counted; [`Counts::coverage`] shows it.
pub struct Hardware(ThreadCounters);

/// Time on a processor, page faults, context switches and migrations of one thread.
///
/// Stays with the thread that opened it, which is the one counted:
///
/// ```compile_fail
/// fn moves<T: Send>() {}
/// moves::<befit_counters::Software>();
/// ```
pub struct Software(ThreadCounters);

impl Hardware {
    /// Counts the calling thread from now on: as many of the four quantities as the machine can.
    ///
    /// Of each, the best event that the machine has: [`Source::events`] says which. Costs a few
    /// system calls, six file descriptors and, on x86, eight locked pages.
    ///
    /// # Errors
    /// If not one of them can be counted: [`CountersError::NoHardware`] and
    /// [`CountersError::StandStill`] on machines without counters, [`CountersError::Forbidden`] and
    /// [`CountersError::Blocked`] where they are not permitted, and others.
    pub fn open() -> Result<Self, CountersError> {
        // Where a thread may move to a core of another kind between looking up a counter and
        // reading it, reading it in user space may fault.
        let mapped = cfg!(target_arch = "x86_64") && !processor::is_hybrid();
        let wanted = hardware_events(Processor::here());
        let counters = ThreadCounters::open(Asked::Hardware, "hardware events", mapped, wanted)?;
        let mut this = Self(counters);
        // Some virtual machines accept every event and count none.
        (0..10_000).for_each(|n| _ = std::hint::black_box(n));
        match this.read()?.instructions {
            Some(0) => Err(CountersError::StandStill),
            _ => Ok(this),
        }
    }

    /// What could not be counted, and why.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        &self.0.left_out
    }
}

impl Software {
    /// Counts the calling thread from now on: as many of the four quantities as the kernel permits.
    /// Costs some ten system calls and six file descriptors.
    ///
    /// # Errors
    /// If not one of them can be counted: [`CountersError::Forbidden`] and
    /// [`CountersError::Blocked`] where they are not permitted, [`CountersError::Unsupported`] by
    /// kernels without perf events, and others.
    pub fn open() -> Result<Self, CountersError> {
        let wanted = software_events();
        ThreadCounters::open(Asked::Software, "software events", false, wanted).map(Self)
    }

    /// What could not be counted, and why: as a rule context switches and migrations, to programs
    /// without privileges.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        &self.0.left_out
    }
}

impl Source for Hardware {
    fn events(&self) -> &[Event] {
        self.0.group.events()
    }

    fn read(&mut self) -> Result<Counts, CountersError> {
        self.0.group.read()
    }
}

impl Source for Software {
    fn events(&self) -> &[Event] {
        self.0.group.events()
    }

    fn read(&mut self) -> Result<Counts, CountersError> {
        self.0.group.read()
    }
}

/// The running counters of the thread that opened them.
struct ThreadCounters {
    group: PerfGroup,
    left_out: LeftOut,
}

impl ThreadCounters {
    /// Opens and starts a group of the `wanted` quantities; `what` names them in errors.
    fn open(
        asked: Asked,
        what: &str,
        mapped: bool,
        wanted: impl IntoIterator<Item = Wanted>,
    ) -> Result<Self, CountersError> {
        let refused = |error| refusal(asked, what, error);
        let mut group = PerfGroup::new(mapped).map_err(refused)?;
        let left_out = open_each(wanted, |event, builder| group.add(event, builder))?;
        group.start().map_err(refused)?;
        Ok(Self { group, left_out })
    }
}

/// A way to count something: the event, and how to ask the kernel for it.
type Way = (Event, Builder<'static>);

/// A quantity, the kind of counter that it takes, and the ways to count it, the best first.
type Wanted = (Quantity, Asked, Vec<Way>);

/// Quantities that are not counted, and why.
type LeftOut = Vec<(Quantity, CountersError)>;

/// Opens, for each quantity, the first of its ways that `open` accepts. Returns the quantities for
/// which there is none.
///
/// # Errors
/// The first quantity's reason if no quantity can be counted.
fn open_each(
    wanted: impl IntoIterator<Item = Wanted>,
    mut open: impl FnMut(Event, &mut Builder<'static>) -> io::Result<()>,
) -> Result<LeftOut, CountersError> {
    let mut left_out = LeftOut::new();
    let mut any = false;
    for (quantity, asked, ways) in wanted {
        let none = Err(CountersError::NoEvent(quantity));
        let opened = ways.into_iter().fold(none, |opened, (event, mut builder)| {
            opened.or_else(|_| {
                open(event, &mut builder)
                    .map_err(|error| refusal(asked, &quantity.to_string(), error))
            })
        });
        any |= opened.is_ok();
        left_out.extend(opened.err().map(|why| (quantity, why)));
    }
    if !any {
        let first = left_out.into_iter().next();
        return Err(first.map_or(CountersError::NoHardware, |(_, why)| why));
    }
    // That one event does not exist says nothing of the machine if others do.
    for (quantity, why) in &mut left_out {
        if matches!(why, CountersError::NoHardware) {
            *why = CountersError::NoEvent(*quantity);
        }
    }
    Ok(left_out)
}

/// The quantities that a processor counts. Misses come first: counters may not suffice for all.
fn hardware_events(processor: Option<Processor>) -> [Wanted; 4] {
    let raw = |raw: RawEvent| (raw.event, Builder::new(Raw::new(raw.config)));
    let read_misses = |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
    let event = |quantity, level, name| Event { quantity, level, name };

    let known = processor.and_then(processor::private_misses).map(raw);
    let mut private: Vec<Way> = known.into_iter().collect();
    let l1 = event(Quantity::PrivateMisses, Some(Level(1)), "L1-dcache-load-misses");
    private.push((l1, Builder::new(read_misses(CacheId::L1D))));

    let known = processor.and_then(processor::llc_misses).map(raw);
    let mut last: Vec<Way> = known.into_iter().collect();
    if !processor.is_some_and(processor::generic_llc_is_another) {
        // On Arm, cache-misses are the level-1 cache's; LLC-load-misses are what they say, where
        // they exist.
        let generic = event(Quantity::LlcMisses, None, "cache-misses");
        let loads = event(Quantity::LlcMisses, None, "LLC-load-misses");
        if cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            last.push((generic, Builder::new(Generic::CACHE_MISSES)));
        }
        last.push((loads, Builder::new(read_misses(CacheId::LL))));
    }

    let instructions = event(Quantity::Instructions, None, "instructions");
    let cycles = event(Quantity::Cycles, None, "cycles");
    [
        (Quantity::PrivateMisses, private),
        (Quantity::LlcMisses, last),
        (Quantity::Instructions, vec![(instructions, Builder::new(Generic::INSTRUCTIONS))]),
        (Quantity::Cycles, vec![(cycles, Builder::new(Generic::CPU_CYCLES))]),
    ]
    .map(|(quantity, ways)| (quantity, Asked::Hardware, ways))
}

/// The quantities that the kernel counts.
fn software_events() -> impl Iterator<Item = Wanted> {
    [
        (Quantity::TaskClock, "task-clock", Kernel::TASK_CLOCK, Asked::Software),
        (Quantity::PageFaults, "page-faults", Kernel::PAGE_FAULTS, Asked::Software),
        // These happen inside the kernel: with it left out they would always be 0.
        (Quantity::ContextSwitches, "context-switches", Kernel::CONTEXT_SWITCHES, Asked::Kernel),
        (Quantity::Migrations, "cpu-migrations", Kernel::CPU_MIGRATIONS, Asked::Kernel),
    ]
    .into_iter()
    .map(|(quantity, name, kernel, asked)| {
        let mut builder = Builder::new(kernel);
        builder.exclude_kernel(asked != Asked::Kernel);
        (quantity, asked, vec![(Event { quantity, level: None, name }, builder)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_misses_are_counted_at_l2_where_the_processor_is_known_and_else_at_level_1() {
        let levels = |processor| {
            let [(_, _, private), ..] = hardware_events(processor);
            private.iter().map(|(event, _)| event.level).collect::<Vec<_>>()
        };
        assert_eq!(levels(None), [Some(Level(1))]);
        let known = Processor::Intel { family: 6, model: 0x8f };
        assert_eq!(levels(Some(known)), [Some(Level(2)), Some(Level(1))]);
    }

    #[test]
    fn the_generic_event_that_counts_l2_is_not_taken_for_the_last_level() {
        for (family, ways) in [(0x10, 0), (0x19, 1)] {
            let [_, (_, _, last), ..] = hardware_events(Some(Processor::Amd { family }));
            assert_eq!(last.len(), ways);
        }
    }
}
