//! The kernel's counters of one thread.

use perf_event::{Builder, events::Software as Kernel};

use super::{
    group::{Mapping, PerfGroup},
    hardware::Way,
    refusal::{Asked, refusal},
};
use crate::{CountersError, Counts, Event, Quantity, Source, SourceKind};

/// Time on a processor, page faults, context switches and migrations of one thread.
///
/// Stays with the thread that opened it, which is the one counted:
///
/// ```compile_fail
/// fn moves<T: Send>() {}
/// moves::<befit_counters::Software>();
/// ```
pub struct Software {
    group: PerfGroup,
    left_out: Vec<(Quantity, CountersError)>,
}

const EVENTS: [(Quantity, &str, Kernel, Asked); 4] = [
    (Quantity::TaskClock, "task-clock", Kernel::TASK_CLOCK, Asked::Software),
    (Quantity::PageFaults, "page-faults", Kernel::PAGE_FAULTS, Asked::Software),
    // These happen inside the kernel: with it left out they would always be 0.
    (Quantity::ContextSwitches, "context-switches", Kernel::CONTEXT_SWITCHES, Asked::Kernel),
    (Quantity::Migrations, "cpu-migrations", Kernel::CPU_MIGRATIONS, Asked::Kernel),
];

/// Each quantity with the way to count it.
pub(super) fn ways() -> impl Iterator<Item = (Quantity, Asked, Vec<Way>)> {
    EVENTS.into_iter().map(|(quantity, name, kernel, asked)| {
        let mut builder = Builder::new(kernel);
        builder.exclude_kernel(asked != Asked::Kernel);
        (quantity, asked, vec![(Event { quantity, level: None, name }, builder)])
    })
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
        let software = |error| refusal(Asked::Software, "software events", error);
        let mut group = PerfGroup::new(Mapping::No).map_err(software)?;
        let mut left_out = Vec::new();
        for (quantity, asked, ways) in ways() {
            for (event, builder) in ways {
                if let Err(error) = group.add(event, &builder) {
                    left_out.push((quantity, refusal(asked, &quantity.to_string(), error)));
                }
            }
        }
        if group.events().is_empty() {
            let what = "software events".to_owned();
            return Err(left_out
                .into_iter()
                .next()
                .map_or(CountersError::Unsupported { what }, |(_, why)| why));
        }
        group.start().map_err(software)?;
        Ok(Self { group, left_out })
    }

    /// What could not be counted, and why: as a rule context switches and migrations, to programs
    /// without privileges.
    pub fn left_out(&self) -> &[(Quantity, CountersError)] {
        &self.left_out
    }
}

impl Source for Software {
    fn kind(&self) -> SourceKind {
        SourceKind::Software
    }

    fn events(&self) -> &[Event] {
        self.group.events()
    }

    fn read(&mut self) -> Result<Counts, CountersError> {
        self.group.read()
    }
}
