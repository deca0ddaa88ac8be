//! A group of perf events of one thread: opened together, scheduled together, read together.
//!
//! There are two ways to read it, which give the same totals, so that reads may alternate:
//!
//! - Hardware events that the kernel maps into memory are read in user space with the processor's
//!   own instruction (`rdpmc` on x86).
//! - All others, and mapped events while they are off the processor's counters, are read by one
//!   read(2) of the group's leader.

use std::{
    fs::File,
    io::{self, Read as _},
    marker::PhantomData,
    os::fd::{AsRawFd, BorrowedFd},
};

use perf_event::{Builder, Counter, Group, Sampler};

use super::{
    reading::{LONGEST, MOST, Reading},
    refusal::of_group,
};
use crate::{CountersError, Counts, Event};

/// An open counter. Its place in the kernel is given back when this is dropped.
enum Kept {
    Mapped(Sampler),
    Plain(#[expect(dead_code, reason = "held open; its group is read through the leader")] Counter),
}

/// Events of the thread that opened the group.
pub(super) struct PerfGroup {
    leader: Group,
    /// The leader's descriptor again, since `Group::read` allocates on every call.
    descriptor: File,
    kept: Vec<Kept>,
    /// The kernel's ids of `events`.
    ids: Vec<u64>,
    events: Vec<Event>,
    /// Counters are mapped where the kernel permits it, so that they can be read in user space.
    mapped: bool,
    last: Reading,
    /// Read in user space, a counter shows the *calling* thread's count: the group must stay with
    /// its thread.
    of_one_thread: PhantomData<*const ()>,
}

impl PerfGroup {
    /// An empty group of the calling thread; with `mapped`, read in user space where possible.
    pub(super) fn new(mapped: bool) -> io::Result<Self> {
        // Its leader is the kernel's dummy event: any event may then be missing.
        let leader = Group::new()?;
        let descriptor = leader.as_counter().as_raw_fd();
        // SAFETY: `borrow_raw` asks for a descriptor that stays open while it is borrowed. `leader`
        // owns it and is dropped only after `borrowed` is last used, on the next line.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Ok(Self {
            descriptor: File::from(borrowed.try_clone_to_owned()?),
            leader,
            kept: Vec::new(),
            ids: Vec::new(),
            events: Vec::new(),
            mapped,
            last: Reading::default(),
            of_one_thread: PhantomData,
        })
    }

    /// Adds an event, described by `event`, that `builder` opens.
    pub(super) fn add(&mut self, event: Event, builder: &Builder<'_>) -> io::Result<()> {
        if self.events.len() == MOST {
            return Err(io::Error::other("the group is full"));
        }
        let mut counter = self.open(builder)?;
        if self.mapped {
            let id = counter.id();
            // 0 is rounded up to the smallest area that holds the page with the counter's state.
            match counter.sampled(0) {
                Ok(sampler) => {
                    self.keep(event, id, Kept::Mapped(sampler));
                    return Ok(());
                }
                // Locked memory is limited. The attempt used the counter up.
                Err(_) => counter = self.open(builder)?,
            }
        }
        self.keep(event, counter.id(), Kept::Plain(counter));
        Ok(())
    }

    fn open(&mut self, builder: &Builder<'_>) -> io::Result<Counter> {
        let others = self.events.len();
        let alone = || builder.build().is_ok();
        self.leader.add(builder).map_err(|error| of_group(error, others, alone))
    }

    fn keep(&mut self, event: Event, id: u64, kept: Kept) {
        self.kept.push(kept);
        self.ids.push(id);
        self.events.push(event);
    }

    /// Starts counting: the first [`PerfGroup::read`] covers the time from here on.
    pub(super) fn start(&mut self) -> io::Result<()> {
        self.leader.enable()?;
        self.last = self.through_the_kernel()?;
        Ok(())
    }

    /// The events, in the order in which they were added.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Counts of the thread since the last read.
    pub(super) fn read(&mut self) -> Result<Counts, CountersError> {
        let now = match self.in_user_space() {
            Some(reading) => reading,
            None => self.through_the_kernel().map_err(CountersError::Read)?,
        };
        let counts = now.since(&self.last, self.events.iter().map(|event| event.quantity));
        self.last = now;
        Ok(counts)
    }

    /// Without a system call; `None` unless every counter can be read so just now.
    fn in_user_space(&self) -> Option<Reading> {
        let mut reading = Reading::default();
        for (at, kept) in self.kept.iter().enumerate() {
            let Kept::Mapped(sampler) = kept else { return None };
            let shown = sampler.read_user();
            reading.values[at] = shown.count()?;
            if at == 0 {
                // The events of a group are put on the counters, and taken off them, together.
                reading.enabled = shown.time_enabled().as_nanos() as u64;
                reading.running = shown.time_running().as_nanos() as u64;
            }
        }
        (!self.kept.is_empty()).then_some(reading)
    }

    fn through_the_kernel(&self) -> io::Result<Reading> {
        let mut bytes = [0; LONGEST];
        let length = (&self.descriptor).read(&mut bytes)?;
        Reading::parse(&bytes[..length], &self.ids).ok_or_else(|| {
            io::Error::other(format!("the kernel's answer of {length} bytes is not a group's"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Quantity,
        perf::refusal::{Asked, refusal},
    };
    use perf_event::events::Software;

    const FAULTS: Event =
        Event { quantity: Quantity::PageFaults, level: None, name: "page-faults" };

    /// A group with one event, or nothing where the kernel forbids its counters.
    fn faults(mapped: bool) -> Option<PerfGroup> {
        let open = || {
            let mut group = PerfGroup::new(mapped)?;
            group.add(FAULTS, &Builder::new(Software::PAGE_FAULTS))?;
            Ok(group)
        };
        match open().map_err(|error| refusal(Asked::Software, FAULTS.name, error)) {
            Ok(mut group) => {
                group.start().unwrap();
                Some(group)
            }
            Err(why) => {
                use CountersError::{Blocked, Forbidden, Unsupported};
                assert!(matches!(why, Forbidden { .. } | Blocked | Unsupported { .. }), "{why}");
                eprintln!("not tested: {why}");
                None
            }
        }
    }

    /// Whether memory may be locked for one counter more.
    fn can_be_mapped() -> bool {
        Builder::new(Software::PAGE_FAULTS).build().and_then(|counter| counter.sampled(0)).is_ok()
    }

    /// Touches `count` pages that were never touched.
    fn touch(count: usize) {
        let page = rustix::param::page_size();
        let mut pages = memmap2::MmapMut::map_anon(count * page).unwrap();
        // Kernels without huge pages refuse the advice.
        let _ = pages.advise(memmap2::Advice::NoHugePage);
        pages.iter_mut().step_by(page).for_each(|byte| *byte = 1);
    }

    #[test]
    fn counters_that_user_space_cannot_read_are_read_through_the_kernel() {
        // Software events can be mapped, but their counts are never in the processor.
        let Some(mut group) = faults(true) else { return };
        assert!(matches!(group.kept[0], Kept::Mapped(_)) || !can_be_mapped());
        assert_eq!(group.in_user_space(), None);
        touch(100);
        assert!(group.read().unwrap().page_faults >= Some(100));
    }

    #[test]
    fn each_read_starts_a_new_interval() {
        let Some(mut group) = faults(false) else { return };
        let mut read = || group.read().unwrap().page_faults;
        let mut turn = || {
            touch(100);
            (read(), read())
        };
        turn(); // brings the code in
        let (touched, then) = turn();
        assert!(touched >= Some(100));
        assert_eq!(then, Some(0));
    }

    #[test]
    fn a_full_group_refuses_further_events() {
        let Some(mut group) = faults(false) else { return };
        let builder = Builder::new(Software::PAGE_FAULTS);
        for _ in 1..MOST {
            group.add(FAULTS, &builder).unwrap();
        }
        assert!(group.add(FAULTS, &builder).is_err());
    }
}
