//! The six cells of every ordered pair of tasks.

use befit_cache::footprint::{Cells, Frames};
use befit_machine::{ClusterId, Level, Machine, WorkerId};

use super::{Core, Latencies, Reading, Tasks};

/// Why there are no statistics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FootprintError {
    /// The machine cannot be modelled: its name, and why.
    #[error("cannot simulate {0}: {1}")]
    Machine(String, String),
    /// The machine has no cache of the level asked for: its name, the level, and what it has.
    #[error("{0} has no {1}; it has {2}")]
    NoLevel(String, Level, String),
    /// The program, given by its command, has no leaf tasks that touch anything.
    #[error("{0} has no tasks that fork nothing; statistics are of pairs of those")]
    NoTasks(String),
}

/// The six cells of every ordered pair of some tasks, in one cache.
#[derive(Clone, PartialEq, Debug)]
pub struct Pairs {
    /// What was recorded.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// The cache's level.
    pub level: Level,
    /// All leaf tasks of the program; those of the pairs are some of them.
    pub of: usize,
    /// The tasks, by their place among the leaf tasks in serial order.
    pub tasks: Vec<usize>,
    /// Row by row: `cells[previous * tasks.len() + current]`.
    pub cells: Vec<Cells>,
}

impl Pairs {
    /// Whether `machine` has a cache of `level`: what can be known before a program is recorded.
    ///
    /// # Errors
    /// [`FootprintError::NoLevel`].
    pub fn check(machine: &Machine, level: Option<Level>) -> Result<(), FootprintError> {
        find(machine, level).map(drop)
    }

    /// Of at most `most` leaf tasks, evenly spread over the program, in the cache of `level` above
    /// the machine's first worker (the innermost where none is given).
    ///
    /// For each pair the caches are warmed by one pass over the chosen tasks in serial order; then
    /// the previous task runs, then the current one. O(`most`² × (a task's touches + the caches'
    /// size)).
    ///
    /// # Errors
    /// [`FootprintError`].
    pub fn of(
        tasks: &Tasks,
        machine: &Machine,
        level: Option<Level>,
        most: usize,
    ) -> Result<Self, FootprintError> {
        let (cluster, level) = find(machine, level)?;
        if tasks.is_empty() {
            return Err(FootprintError::NoTasks(tasks.name().to_owned()));
        }
        let count = most.clamp(1, tasks.len());
        let chosen: Vec<usize> = (0..count).map(|i| i * tasks.len() / count).collect();
        // Times do not matter here.
        let reading = Reading { instructions: 0.0, width: 1.0, latencies: Latencies::Exclusive };
        let mut warm = Core::new(machine, tasks, reading)?;
        let Some(mut warm_frames) = Frames::new(warm.caches(), machine, cluster) else {
            return Err(no_level(machine, level));
        };
        for task in &chosen {
            warm.run(tasks, *task, Some(&mut warm_frames));
            warm_frames.end_task();
        }
        let mut cells = Vec::with_capacity(count * count);
        for previous in &chosen {
            let (mut core, mut frames) = (warm.clone(), warm_frames.clone());
            core.run(tasks, *previous, Some(&mut frames));
            frames.end_task();
            for current in &chosen {
                let (mut core, mut frames) = (core.clone(), frames.clone());
                core.run(tasks, *current, Some(&mut frames));
                cells.push(frames.end_task());
            }
        }
        let (program, machine) = (tasks.name().to_owned(), machine.name.clone());
        Ok(Self { program, machine, level, of: tasks.len(), tasks: chosen, cells })
    }

    /// Of the task at place `previous` of [`Self::tasks`] and the one at place `current` after it.
    ///
    /// # Panics
    /// Where there are no such places.
    pub fn cells(&self, previous: usize, current: usize) -> Cells {
        self.cells[previous * self.tasks.len() + current]
    }
}

fn no_level(machine: &Machine, level: Level) -> FootprintError {
    let known: Vec<String> = machine.levels().iter().map(Level::to_string).collect();
    let known = if known.is_empty() { "no caches".to_owned() } else { known.join(", ") };
    FootprintError::NoLevel(machine.name.clone(), level, known)
}

/// The cache of `level` above the first worker; the innermost where no level is given.
fn find(machine: &Machine, level: Option<Level>) -> Result<(ClusterId, Level), FootprintError> {
    let mut caches = machine
        .path(WorkerId(0))
        .filter_map(|c| machine.cluster(c).cache.map(|cache| (c, cache.level)));
    let found = caches.find(|(_, at)| level.is_none_or(|level| *at == level));
    found.ok_or_else(|| no_level(machine, level.unwrap_or(Level(1))))
}
