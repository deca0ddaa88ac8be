//! What goes to a worker, and what comes back: JSON, which any engine can carry.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    Configuration, Figures, VERSION,
    programs::Recording,
    simulator::{Failure, Simulator},
};

/// Some simulations.
#[derive(Serialize, Deserialize)]
pub(crate) struct Batch {
    /// The client's [`VERSION`].
    pub(crate) version: String,
    /// The recordings that the jobs need.
    pub(crate) recordings: Vec<Recording>,
    /// The hashes of the jobs' machines, by name.
    pub(crate) machines: BTreeMap<String, String>,
    pub(crate) jobs: Vec<Job>,
}

/// What can be read of a batch of any version.
#[derive(Deserialize)]
struct Version {
    version: String,
}

/// One of them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    /// Its row.
    pub(crate) index: usize,
    /// The place of its recording in the batch.
    pub(crate) recording: usize,
    pub(crate) fields: Map<String, Json>,
}

/// What a worker has done.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BatchResult {
    /// Per simulation, its row, and its figures or why there are none.
    pub(crate) done: Vec<(usize, Result<Figures, String>)>,
    /// Seconds that the simulations took, all threads together.
    pub seconds: f64,
    /// The hash of a recording that the worker needs first; then there is nothing else.
    pub missing: Option<String>,
}

impl BatchResult {
    fn missing(recording: &Recording) -> Self {
        Self { missing: Some(recording.hash.clone()), ..Self::default() }
    }

    /// Its bytes, for [`crate::Sweep::append`].
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and text are always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The process's own: a worker gets many batches of one recording.
pub(crate) static SIMULATOR: Simulator = Simulator::new();

/// Simulates `batch`, which [`crate::Sweep::batch`] made, on so many threads, which share what they
/// read. A recording is read from `folder`, as `HASH.befit`; else from its path, if the file there
/// is that recording; else the result says that it is missing.
///
/// # Errors
/// In one line: the batch is none, or comes from another version of befit, or a machine is unknown
/// here, or another one than where the sweep began.
pub fn run_batch(
    batch: &[u8],
    folder: Option<&Path>,
    threads: NonZeroUsize,
) -> Result<BatchResult, String> {
    let none = |error| format!("this is no batch: {error}");
    let Version { version: client } = serde_json::from_slice(batch).map_err(none)?;
    if client != VERSION {
        return Err(format!("this worker has befit {VERSION}, and the sweep befit {client}"));
    }
    let batch: Batch = serde_json::from_slice(batch).map_err(none)?;
    for (name, hash) in &batch.machines {
        SIMULATOR.machine(name, hash)?;
    }
    let mut jobs = Vec::with_capacity(batch.jobs.len());
    for job in batch.jobs {
        let one = Configuration::from_fields(&job.fields).map_err(|error| error.to_string())?;
        let recording = batch.recordings.get(job.recording);
        let recording = recording.ok_or("this is no batch: a recording is missing in it")?;
        if !SIMULATOR.has(&one, recording) && !recording.may_be_here(folder) {
            return Ok(BatchResult::missing(recording));
        }
        let machine = batch.machines.get(&one.machine);
        let machine = machine.ok_or("this is no batch: a machine is missing in it")?;
        jobs.push((job.index, one, recording, machine));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let begin = Instant::now();
        let (mut done, mut missing) = (Vec::new(), None);
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (index, one, recording, machine) = job;
            match SIMULATOR.simulate(one, recording, folder, machine) {
                Ok(figures) => done.push((*index, Ok(figures))),
                Err(Failure::Because(why)) => done.push((*index, Err(why))),
                Err(Failure::Missing) => {
                    next.store(jobs.len(), Ordering::Relaxed);
                    missing = Some(*recording);
                }
            }
        }
        (done, begin.elapsed().as_secs_f64(), missing)
    };
    let parts = match threads.get().min(jobs.len()) {
        0 | 1 => vec![work()],
        threads => thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            // A simulation that panics is a failure in the result, so every thread comes back.
            running.into_iter().filter_map(|thread| thread.join().ok()).collect()
        }),
    };
    let mut result = BatchResult::default();
    for (done, seconds, missing) in parts {
        if let Some(recording) = missing {
            return Ok(BatchResult::missing(recording));
        }
        result.done.extend(done);
        result.seconds += seconds;
    }
    Ok(result)
}
