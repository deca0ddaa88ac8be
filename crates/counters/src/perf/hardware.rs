//! The processor's counters of one thread.

use befit_machine::Level;
use perf_event::{
    Builder,
    events::{Cache, CacheId, CacheOp, CacheResult, Hardware as Generic, Raw},
};

use super::{
    group::{Mapping, PerfGroup},
    processor::{self, Processor},
    refusal::{Asked, refusal},
    table,
};
use crate::{CountersError, Counts, Event, Quantity, Source, SourceKind};

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
/// On processors with several kinds of cores, only the time on the larger kind is counted;
/// [`Counts::coverage`] shows it.
pub struct Hardware {
    group: PerfGroup,
    left_out: Vec<(Quantity, CountersError)>,
}

/// A way to count something: what it is, and how to ask for it.
pub(super) type Way = (Event, Builder<'static>);

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
        let mapping = if cfg!(target_arch = "x86_64") && !processor::is_hybrid() {
            Mapping::Try
        } else {
            Mapping::No
        };
        let hardware = |error| refusal(Asked::Hardware, "hardware events", error);
        let mut group = PerfGroup::new(mapping).map_err(hardware)?;
        let mut left_out = Vec::new();
        for (quantity, ways) in ways(Processor::here()) {
            let mut why = Some(CountersError::NoEvent { what: quantity });
            for (event, builder) in ways {
                match group.add(event, &builder) {
                    Ok(()) => {
                        why = None;
                        break;
                    }
                    Err(error) => {
                        why = Some(refusal(Asked::Hardware, &quantity.to_string(), error))
                    }
                }
            }
            left_out.extend(why.map(|why| (quantity, why)));
        }
        if group.events().is_empty() {
            return Err(left_out
                .into_iter()
                .next()
                .map_or(CountersError::NoHardware, |(_, why)| why));
        }
        // What one event answers when it does not exist says nothing of the machine if others do.
        for (quantity, why) in &mut left_out {
            if matches!(why, CountersError::NoHardware) {
                *why = CountersError::NoEvent { what: *quantity };
            }
        }
        group.start().map_err(hardware)?;
        let mut this = Self { group, left_out };
        this.must_move()?;
        Ok(this)
    }

    /// What could not be counted, and why.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        &self.left_out
    }

    /// Some virtual machines accept every event and count none.
    fn must_move(&mut self) -> Result<(), CountersError> {
        for n in 0..10_000 {
            std::hint::black_box(n);
        }
        match self.group.read()?.instructions {
            Some(0) => Err(CountersError::StandStill),
            _ => Ok(()),
        }
    }
}

impl Source for Hardware {
    fn kind(&self) -> SourceKind {
        SourceKind::Hardware
    }

    fn events(&self) -> &[Event] {
        self.group.events()
    }

    fn read(&mut self) -> Result<Counts, CountersError> {
        self.group.read()
    }
}

/// Each quantity with the ways to count it, the best first. Misses come first: counters may not
/// suffice for all.
pub(super) fn ways(processor: Option<Processor>) -> [(Quantity, Vec<Way>); 4] {
    let raw = |raw: table::RawEvent| (raw.event, Builder::new(Raw::new(raw.config)));
    let read_misses = |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
    let event = |quantity, level, name| Event { quantity, level, name };

    let mut private: Vec<Way> =
        processor.and_then(table::private_misses).map(raw).into_iter().collect();
    let l1 = event(Quantity::PrivateMisses, Some(Level(1)), "L1-dcache-load-misses");
    private.push((l1, Builder::new(read_misses(CacheId::L1D))));

    let mut last: Vec<Way> = processor.and_then(table::llc_misses).map(raw).into_iter().collect();
    if !processor.is_some_and(table::generic_llc_is_another) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_processor_counts_the_generic_level_1_misses_and_says_so() {
        let [(_, private), ..] = ways(None);
        assert_eq!(private.len(), 1);
        assert_eq!(private[0].0.level, Some(Level(1)));
    }

    #[test]
    fn a_known_processor_tries_its_own_event_for_l2_first() {
        let [(_, private), ..] = ways(Some(Processor::Intel { family: 6, model: 0x8f }));
        assert_eq!(
            private.iter().map(|(event, _)| event.level).collect::<Vec<_>>(),
            [Some(Level(2)), Some(Level(1))]
        );
    }

    #[test]
    fn the_generic_event_that_counts_l2_is_not_taken_for_the_last_level() {
        let [_, (_, old), ..] = ways(Some(Processor::Amd { family: 0x10 }));
        assert!(old.is_empty());
        let [_, (_, zen), ..] = ways(Some(Processor::Amd { family: 0x19 }));
        assert_eq!(zen.len(), 1);
    }
}
