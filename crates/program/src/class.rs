//! Classes of strands, by where they begin and end, and how long the operations of each take.
//!
//! A *place* is the type name of a task's closure, so it is the same in an instrumented build and
//! in a plain one. A strand's *class* is the kind and the place of the event that it begins with,
//! and of the one that it ends with: strands of a class run the same code.

use std::collections::HashMap;

/// Names a place ([`Program::place`](crate::Program::place)). 0 is the unnamed one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PlaceId(pub u32);

/// Names a class: an index into [`Program::classes`](crate::Program::classes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ClassId(pub u32);

/// The event that a strand begins with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Begin {
    /// Its task starts; the task's place.
    Task(PlaceId),
    /// A child that its task has forked ends; the child's place.
    Child(PlaceId),
    /// Its task has waited for a scope; the task's place.
    Sync(PlaceId),
}

/// The event that a strand ends with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// Its task forks; the child's place.
    Fork(PlaceId),
    /// Its task waits for a scope; the task's place.
    Sync(PlaceId),
    /// Its task ends; the task's place.
    Task(PlaceId),
}

impl Begin {
    /// The place of the event.
    pub const fn place(self) -> PlaceId {
        let (Self::Task(place) | Self::Child(place) | Self::Sync(place)) = self;
        place
    }
}

impl End {
    /// The place of the event.
    pub const fn place(self) -> PlaceId {
        let (Self::Fork(place) | Self::Sync(place) | Self::Task(place)) = self;
        place
    }
}

/// A class of strands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Class {
    /// Where its strands begin.
    pub begin: Begin,
    /// Where they end.
    pub end: End,
}

impl Class {
    /// That of all strands where no places were recorded.
    pub const UNKNOWN: Self = Self { begin: Begin::Task(PlaceId(0)), end: End::Task(PlaceId(0)) };
}

/// How long one strand took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// In picoseconds, page faults included.
    pub picoseconds: u64,
    /// The pages that it touched first, and the system had to provide.
    pub faults: u32,
}

/// How long the operations of one class take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassWork {
    /// Picoseconds of an operation (a load, a store or a basic block) on the host, without the
    /// modelled waits.
    pub ps_per_operation: f64,
    /// The number of strands that it was measured with.
    pub strands: u64,
    /// How far single strands are from it: the mean distance of their modelled times, at the
    /// nearest pace that was tried, from the measured ones, as a share of these.
    pub spread: f64,
}

/// The work of a program, as serial runs without instrumentation have shown it.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkRun {
    /// The clock of the machine that it was measured on.
    pub host_mhz: u32,
    /// `cycles_per_operation` of that machine: the width of its cores.
    pub host_operation: f64,
    /// The name of that machine, at most [`WorkRun::HOST_LIMIT`] bytes.
    pub host: String,
    /// The page faults of the run for each page that it touched.
    pub faults_per_page: f64,
    /// The processor time of the recorded regions over that of the whole process; 0 where it is not
    /// known. The rest is code outside of parallel regions, and the program's own threads.
    pub recorded: f64,
    /// By class; none where nothing could be measured.
    pub classes: Vec<Option<ClassWork>>,
}

impl WorkRun {
    /// Most bytes of a host's name; the rest is cut off.
    pub const HOST_LIMIT: usize = 1024;
    /// Most page faults for each page: a file that says more is damaged.
    pub const MOST_FAULTS: f64 = 1e6;

    /// Leaves what a file can hold.
    pub(crate) fn cut(&mut self) {
        self.host.truncate(self.host.floor_char_boundary(Self::HOST_LIMIT));
        for (figure, most) in [
            (&mut self.host_operation, f64::MAX),
            (&mut self.faults_per_page, Self::MOST_FAULTS),
            (&mut self.recorded, f64::MAX),
        ] {
            // NaN is not above 0.
            *figure = if *figure > 0.0 { figure.min(most) } else { 0.0 };
        }
        let good = |number: f64| number.is_finite() && number >= 0.0;
        for class in &mut self.classes {
            *class = class.filter(|work| good(work.ps_per_operation) && good(work.spread));
        }
    }
}

/// Most bytes of a place's name.
pub(crate) const PLACE_LIMIT: usize = 2048;

/// Gives equal names the same number; the empty one has 0.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) names: Vec<Box<str>>,
    index: HashMap<Box<str>, u32>,
}

impl Default for Places {
    fn default() -> Self {
        Self { names: vec!["".into()], index: HashMap::from([("".into(), 0)]) }
    }
}

impl Places {
    /// The number of `name`, cut to what a file can hold; none when 2^32 are in.
    pub(crate) fn intern(&mut self, name: &str) -> Option<PlaceId> {
        let name = &name[..name.floor_char_boundary(PLACE_LIMIT)];
        if let Some(&place) = self.index.get(name) {
            return Some(PlaceId(place));
        }
        let next = u32::try_from(self.names.len()).ok()?;
        self.names.push(name.into());
        self.index.insert(name.into(), next);
        Some(PlaceId(next))
    }
}
