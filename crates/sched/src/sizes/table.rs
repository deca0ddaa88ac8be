//! The sites of a program with what was learned of their tasks.

use std::collections::{HashMap, hash_map::Entry};

use befit_machine::Bytes;

use super::{Law, SiteKey, SizeTableError, TaskView, text};

/// Names a site of one table: its place in [`SizeTable::sites`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteIndex(pub u32);

/// The recorded tasks of a site at one depth of the recursion.
///
/// A task's depth is the number of forks that enclose it, counted from the nearest spawned task or
/// the root: 0 for those, one more than its parent's for a half of a `join`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Depth {
    /// How many there are.
    pub tasks: u64,
    /// Median size.
    pub size: Bytes,
    /// How far sizes spread: the upper quartile less the lower one, as a share of the median.
    pub spread: f64,
    /// Median of the largest strands.
    pub strand: Bytes,
    /// Median work, in operations (loads, stores and basic blocks).
    pub work: u64,
}

/// What is known of the tasks that are forked at one site.
#[derive(Clone, PartialEq, Debug)]
pub struct Site {
    /// Its key.
    pub key: SiteKey,
    /// The name of the closure's type, for people.
    pub name: String,
    /// Where it stands in the source, for people; empty if that is not known.
    pub source: String,
    /// How many of its tasks were recorded.
    pub tasks: u64,
    /// The distinct bytes that a task touches, all that it forks included.
    pub size: Law,
    /// The same of its own largest strand.
    pub strand: Law,
    /// Its work, descendants included, in operations.
    pub work: Law,
    /// The median and the 90th percentile of the relative error of `size` in the recordings.
    pub error: Option<[f64; 2]>,
    /// By depth; the last entry stands for all deeper tasks too.
    pub depths: Vec<Depth>,
}

impl Site {
    /// Most entries of [`Self::depths`].
    pub const MOST_DEPTHS: usize = 64;

    /// A site of which nothing is known.
    pub fn new(key: SiteKey, name: &str) -> Self {
        Self {
            key,
            name: name.to_owned(),
            source: String::new(),
            tasks: 0,
            size: Law::ByDepth,
            strand: Law::ByDepth,
            work: Law::ByDepth,
            error: None,
            depths: Vec::new(),
        }
    }

    /// The sizes of a task of this site. None where the site knows neither a formula nor depths, or
    /// a word cannot be read. `recorded` is how much memory the recorded program used: what rests
    /// on the depth alone grows with that.
    ///
    /// Where the size has a formula but the strand has none, that is the strand of the depth whose
    /// tasks had the size nearest to it, as the depth itself would be another one in another input.
    /// O(terms + depths), no allocation.
    pub fn predict(&self, task: &impl TaskView, recorded: Option<Bytes>) -> Option<Predicted> {
        let (size, basis, row) = match &self.size {
            Law::Words(_) => {
                let size = self.size.of(task)?;
                (size, Basis::Words, self.nearest(size))
            }
            Law::Share(share) if let Some((parent, at)) = task.parent() => {
                let levels = task.depth().saturating_sub(at).max(1);
                let size = Law::whole(parent.0 as f64 * share.powi(levels.min(64) as i32));
                let size = size.max(LEAST.min(parent.0));
                (size, Basis::Parent, self.nearest(size))
            }
            Law::Share(_) | Law::ByDepth => {
                let last = self.depths.len().checked_sub(1)?;
                let row = self.depths[last.min(task.depth() as usize)];
                let row = row.times(growth(task.memory(), recorded));
                (row.size.0, Basis::Depth, Some(row))
            }
        };
        let strand = self.strand.of(task).or(row.map(|row| row.strand.0));
        Some(Predicted {
            size: Bytes(size),
            strand: Bytes(strand.map_or(size, |strand| strand.min(size))),
            basis,
        })
    }

    /// The depth whose tasks had the size nearest to this one; of several the outermost.
    fn nearest(&self, size: u64) -> Option<Depth> {
        self.depths.iter().copied().min_by_key(|depth| depth.size.0.abs_diff(size))
    }
}

impl Depth {
    /// The same of a program that uses `factor` times as much memory.
    fn times(self, factor: f64) -> Self {
        let times = |n: u64| Law::whole(n as f64 * factor);
        Self { size: Bytes(times(self.size.0)), strand: Bytes(times(self.strand.0)), ..self }
    }
}

/// A task that touches anything touches as many bytes: a cache line.
const LEAST: u64 = 64;

/// Recorded programs that used less memory are no measure: others have as much of their own,
/// for code and stacks.
const LEAST_RECORDED: Bytes = Bytes(1 << 20);

/// How many times as much memory the program uses as the recorded one.
fn growth(now: Option<Bytes>, recorded: Option<Bytes>) -> f64 {
    match (now, recorded) {
        (Some(now), Some(recorded)) if recorded >= LEAST_RECORDED => {
            now.0 as f64 / recorded.0 as f64
        }
        _ => 1.0,
    }
}

/// What a prediction rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// The captured words: it holds for other inputs.
    Words,
    /// The size of the task that forks it.
    Parent,
    /// The depth of the recursion, and the program's memory.
    Depth,
}

/// The sizes that a table tells of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predicted {
    /// The distinct bytes that the task touches, all that it forks included.
    pub size: Bytes,
    /// The same of its own largest strand; at most `size`.
    pub strand: Bytes,
    /// What the size rests on.
    pub basis: Basis,
}

/// The learned sizes of a program's tasks, by site. Its text form, which [`Display`](std::fmt)
/// writes and [`FromStr`](std::str::FromStr) reads, is described in docs/sizes.md.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SizeTable {
    pub(super) recorded: Vec<String>,
    pub(super) picoseconds: Option<f64>,
    pub(super) memory: Option<Bytes>,
    pub(super) sites: Vec<Site>,
    pub(super) index: HashMap<SiteKey, SiteIndex>,
}

impl SizeTable {
    /// Most sites of a table.
    pub const MOST_SITES: usize = 4096;
    /// Most bytes of a table's text: longer ones are not read.
    pub const LONGEST: usize = 1 << 20;

    /// A table of the recordings of these commands. A text of several lines becomes one.
    pub fn new(recorded: impl IntoIterator<Item = String>) -> Self {
        let recorded = recorded.into_iter().map(|command| one_line(&command));
        Self { recorded: recorded.collect(), ..Self::default() }
    }

    /// Sets how long an operation took where the program was recorded, in picoseconds.
    #[must_use]
    pub fn with_picoseconds(mut self, picoseconds: Option<f64>) -> Self {
        self.picoseconds = picoseconds.filter(|ps| text::PICOSECONDS.contains(ps));
        self
    }

    /// Sets how much memory the largest recorded run used.
    #[must_use]
    pub fn with_memory(mut self, memory: Option<Bytes>) -> Self {
        self.memory = memory.filter(|memory| memory.0 <= Law::MOST);
        self
    }

    /// Adds a site. Expected O(1), but for the check.
    ///
    /// # Errors
    /// When the table has it already or is full, or one of its figures cannot be.
    pub fn push(&mut self, mut site: Site) -> Result<(), SizeTableError> {
        (site.name, site.source) = (one_line(&site.name), one_line(&site.source));
        self.insert(site).map_err(|what| SizeTableError { line: 0, what })
    }

    pub(super) fn insert(&mut self, site: Site) -> Result<(), String> {
        if self.sites.len() == Self::MOST_SITES {
            return Err(format!("more than {} sites", Self::MOST_SITES));
        }
        text::check(&site)?;
        match self.index.entry(site.key) {
            Entry::Occupied(_) => return Err(format!("site {:016x} stands twice", site.key.0)),
            Entry::Vacant(entry) => entry.insert(SiteIndex(self.sites.len() as u32)),
        };
        self.sites.push(site);
        Ok(())
    }

    /// The commands that it was learned from.
    pub fn recorded(&self) -> &[String] {
        &self.recorded
    }

    /// How long an operation took where the program was recorded, in picoseconds, if that is known.
    pub fn picoseconds(&self) -> Option<f64> {
        self.picoseconds
    }

    /// All sites, in the order of the text.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Which of [`Self::sites`] has this key. Expected O(1); engines keep the result.
    pub fn site(&self, key: SiteKey) -> Option<SiteIndex> {
        self.index.get(&key).copied()
    }

    /// As [`Site::predict`], of one of [`Self::sites`].
    pub fn predict(&self, site: SiteIndex, task: &impl TaskView) -> Option<Predicted> {
        self.sites.get(site.0 as usize)?.predict(task, self.memory)
    }
}

/// `text` without control characters, cut to what a line may hold.
fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.trim();
    text[..text.floor_char_boundary(SiteKey::NAME_LIMIT)].trim_end().to_owned()
}
