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

use crate::{Configuration, Figures, column, machines, programs};

/// Programs, and machines, that are kept at most. Configurations come sorted by both.
pub(crate) const KEPT: usize = 4;

/// What was made of keys before: the latest few.
struct Latest<T>(Mutex<Vec<(String, Arc<T>)>>);

impl<T> Latest<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// What `make` makes of `key`, or made before. Others wait meanwhile: they want the same.
    fn get(&self, key: String, make: impl FnOnce() -> Result<T, String>) -> Result<Arc<T>, String> {
        let mut kept = self.lock();
        if let Some(at) = kept.iter().position(|(known, _)| *known == key) {
            let found = kept.remove(at);
            kept.push(found);
        } else {
            let made = Arc::new(make()?);
            if kept.len() >= KEPT {
                kept.remove(0);
            }
            kept.push((key, made));
        }
        kept.last().map(|(_, value)| value.clone()).ok_or_else(String::new)
    }

    fn has(&self, key: &str) -> bool {
        self.lock().iter().any(|(known, _)| known == key)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Arc<T>)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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

    /// True if the program of this hash is here, so that its file is not needed.
    pub(crate) fn has(&self, one: &Configuration, hash: &str) -> bool {
        self.programs.has(&format!("{hash} {}", one.sizes))
    }

    /// Reads the recording in `path`, which has this hash, and keeps it.
    ///
    /// # Errors
    /// In one line: it cannot be read, or has changed.
    pub(crate) fn read(
        &self,
        one: &Configuration,
        path: &Path,
        hash: &str,
    ) -> Result<Arc<Program>, String> {
        self.programs.get(format!("{hash} {}", one.sizes), || load(one, path, hash))
    }

    /// The machine that `name` stands for, which has this hash.
    ///
    /// # Errors
    /// In one line: it is unknown here, or is another one.
    pub(crate) fn machine(&self, name: &str, hash: &str) -> Result<Arc<Machine>, String> {
        self.machines.get(format!("{hash} {name}"), || machines::known(name, hash))
    }

    /// The figures of `one` on the recording in `path`, and the machine, which have these hashes.
    ///
    /// # Errors
    /// In one line: the recording or the machine has changed, or the simulation fails, even by a
    /// panic.
    pub(crate) fn simulate(
        &self,
        one: &Configuration,
        path: &Path,
        hash: &str,
        machine: &str,
    ) -> Result<Figures, String> {
        let run = AssertUnwindSafe(|| self.try_simulate(one, path, hash, machine));
        catch_unwind(run).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("the simulation panicked: {}", text.unwrap_or("without a word")))
        })
    }

    fn try_simulate(
        &self,
        one: &Configuration,
        path: &Path,
        hash: &str,
        machine: &str,
    ) -> Result<Figures, String> {
        let program = self.read(one, path, hash)?;
        let changed = (machine, one.sockets, one.cores, one.bandwidth, one.shrink);
        let bounded = self.bounded.get(format!("{hash} {} {changed:?}", one.sizes), || {
            let machine = self.machine(&one.machine, machine)?;
            let machine = one.varied((*machine).clone()).map_err(|error| error.to_string())?;
            let bounds = Bounds::of(&program, &machine);
            Ok((machine, bounds))
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

fn load(one: &Configuration, path: &Path, hash: &str) -> Result<Program, String> {
    let now = programs::file_hash(path).map_err(|why| format!("{}: {why}", path.display()))?;
    if now != hash {
        return Err(format!("the recording {} has changed since the sweep began", path.display()));
    }
    let program = programs::load(path).map_err(|error| error.to_string())?;
    let sizes = match &*one.sizes {
        "usual" => GivenSizes::usual(&program),
        name => GivenSizes::find(name)?,
    };
    Ok(sizes.give(program, &Silent))
}
