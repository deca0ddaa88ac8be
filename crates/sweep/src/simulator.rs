//! Simulates configurations, and keeps what several of them have in common.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use befit_lab::{GivenSizes, Silent};
use befit_machine::Machine;
use befit_program::Program;
use befit_sim::{Bounds, Costs, Settings};

use crate::{
    Configuration, Figures, column, machines,
    programs::{self, Recording},
};

/// Programs, and machines, that are kept at most. Configurations come sorted by both.
pub(crate) const KEPT: usize = 4;

/// What was made of keys before: the latest few.
struct Latest<T>(Mutex<Vec<(String, Arc<T>)>>);

impl<T> Latest<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// What `make` makes of `key`, or made before. Others wait meanwhile: they want the same.
    fn get<E>(&self, key: String, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut kept = self.lock();
        let value = match kept.iter().position(|(known, _)| *known == key) {
            Some(at) => kept.remove(at).1,
            None => Arc::new(make()?),
        };
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key, value.clone()));
        Ok(value)
    }

    fn has(&self, key: &str) -> bool {
        self.lock().iter().any(|(known, _)| known == key)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Arc<T>)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Why there are no figures.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The recording is not here.
    Missing,
    /// In one line.
    Because(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

/// Simulates configurations, on any number of threads.
pub(crate) struct Simulator {
    /// By hash and sizes.
    programs: Latest<Program>,
    /// By name and hash.
    machines: Latest<Machine>,
    /// By the program's hash, sizes, the machine's hash, and how it is changed.
    bounded: Latest<(Machine, Bounds)>,
}

impl Simulator {
    pub(crate) const fn new() -> Self {
        Self { programs: Latest::new(), machines: Latest::new(), bounded: Latest::new() }
    }

    /// True if the recording is kept, so that its file is not needed for now.
    pub(crate) fn has(&self, one: &Configuration, Recording { hash, .. }: &Recording) -> bool {
        self.programs.has(&format!("{hash} {}", one.sizes))
    }

    /// Reads the recording as [`Recording::find`] does, and keeps it.
    ///
    /// # Errors
    /// It is not here, cannot be read, or has changed.
    pub(crate) fn read(
        &self,
        one: &Configuration,
        recording: &Recording,
        folder: Option<&Path>,
    ) -> Result<Arc<Program>, Failure> {
        let key = format!("{} {}", recording.hash, one.sizes);
        self.programs.get(key, || load(one, recording, folder))
    }

    /// The machine that `name` stands for, which has this hash.
    ///
    /// # Errors
    /// In one line: it is unknown here, or is another one.
    pub(crate) fn machine(&self, name: &str, hash: &str) -> Result<Arc<Machine>, String> {
        self.machines.get(format!("{hash} {name}"), || machines::known(name, hash))
    }

    /// The figures of `one` on the recording, which [`Self::read`] reads, and the machine of this
    /// hash.
    ///
    /// # Errors
    /// The recording is not here, it or the machine has changed, or the simulation fails, even by a
    /// panic.
    pub(crate) fn simulate(
        &self,
        one: &Configuration,
        recording: &Recording,
        folder: Option<&Path>,
        machine: &str,
    ) -> Result<Figures, Failure> {
        let run = AssertUnwindSafe(|| self.try_simulate(one, recording, folder, machine));
        catch_unwind(run).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("the simulation panicked: {}", text.unwrap_or("without a word")).into())
        })
    }

    fn try_simulate(
        &self,
        one: &Configuration,
        recording: &Recording,
        folder: Option<&Path>,
        machine: &str,
    ) -> Result<Figures, Failure> {
        let program = self.read(one, recording, folder)?;
        let changed = (machine, one.sockets, one.cores, one.bandwidth, one.shrink);
        let key = format!("{} {} {changed:?}", recording.hash, one.sizes);
        let bounded = self.bounded.get(key, || {
            let machine = self.machine(&one.machine, machine)?;
            let machine = one.varied((*machine).clone()).map_err(|error| error.to_string())?;
            let bounds = Bounds::of(&program, &machine);
            Ok::<_, String>((machine, bounds))
        })?;
        let (machine, bounds) = &*bounded;
        let costs = Costs::of(&machine.prices).shrunk(one.shrink);
        let Configuration { scheduler, options, seed, .. } = *one;
        let settings =
            Settings { options, costs, accounted: false, ..Settings::new(scheduler, seed) };
        let outcome = befit_sim::run_within(&program, None, machine, &settings, *bounds, &|_| ());
        Ok(column::figures(machine, &outcome.map_err(|error| error.to_string())?))
    }
}

fn load(
    one: &Configuration,
    recording: &Recording,
    folder: Option<&Path>,
) -> Result<Program, Failure> {
    let path = recording.find(folder)?.ok_or(Failure::Missing)?;
    let program = programs::load(&path).map_err(|error| error.to_string())?;
    let sizes = match &*one.sizes {
        "usual" => GivenSizes::usual(&program),
        name => GivenSizes::find(name)?,
    };
    Ok(sizes.give(program, &Silent))
}
