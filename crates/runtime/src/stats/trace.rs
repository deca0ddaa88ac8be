//! Each change of phase and each steal of a worker, one by one, in pools that are traced.
//!
//! A worker writes its own log, and any thread may read it. The log has a bound: what does not fit
//! is counted.

use std::sync::OnceLock;

use befit_machine::{ClusterId, WorkerId};

use super::{
    counters::{Counter, zeros},
    times::Phase,
};

/// Events of a chunk.
const CHUNK: usize = 4096;

/// Chunks of a worker at most: 2 MiB.
const CHUNKS: usize = 64;

/// The bits of an event for its kind; its time is in those above.
const KIND: u32 = 16;

/// The kind of a steal from worker 0. That of a change of phase is the phase.
const STEAL: u64 = 5;

/// What one pool did, with times in nanoseconds since the process's first traced pool was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    /// The start of the first job.
    pub(super) begin: u64,
    /// The end of the last one.
    pub(super) end: u64,
    pub(super) workers: Vec<WorkerTrace>,
}

/// What one worker did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WorkerTrace {
    /// Its last-level cache; memory where it has none.
    pub(super) cache: ClusterId,
    /// Events that did not fit.
    pub(super) left_out: u64,
    /// The phases, each with its begin.
    pub(super) phases: Vec<(u64, Phase)>,
    /// The steals' times and victims.
    pub(super) steals: Vec<(u64, WorkerId)>,
}

/// One worker's events. Only the worker's thread changes it.
#[derive(Debug)]
pub(super) struct Log {
    /// Events that are not there yet are 0.
    chunks: [OnceLock<Box<[Counter]>>; CHUNKS],
    kept: Counter,
    left_out: Counter,
}

impl Default for Log {
    fn default() -> Self {
        let (kept, left_out) = (Counter::default(), Counter::default());
        Self { chunks: [const { OnceLock::new() }; CHUNKS], kept, left_out }
    }
}

impl Log {
    pub(super) fn entered(&self, phase: Phase, now: u64) {
        self.add(phase as u64, now);
    }

    pub(super) fn stole(&self, victim: WorkerId, now: u64) {
        self.add(STEAL + u64::from(victim.0), now);
    }

    fn add(&self, kind: u64, now: u64) {
        let place = self.kept.get() as usize;
        let fits = kind < 1 << KIND && now < 1 << (u64::BITS - KIND);
        match self.chunks.get(place / CHUNK).filter(|_| fits) {
            Some(chunk) => {
                chunk.get_or_init(|| zeros(CHUNK))[place % CHUNK].set(now << KIND | kind);
                self.kept.bump();
            }
            None => self.left_out.bump(),
        }
    }

    /// The events of a worker under `cache`, by time.
    pub(super) fn read(&self, cache: ClusterId) -> WorkerTrace {
        let (mut phases, mut steals) = (Vec::new(), Vec::new());
        let events = self.chunks.iter().map_while(OnceLock::get).flatten().map(Counter::get);
        for event in events.take_while(|event| *event != 0) {
            let (now, kind) = (event >> KIND, event % (1 << KIND));
            match Phase::ALL.get(kind as usize) {
                Some(phase) => phases.push((now, *phase)),
                None => steals.push((now, WorkerId((kind - STEAL) as u32))),
            }
        }
        WorkerTrace { cache, left_out: self.left_out.get(), phases, steals }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_log_returns_what_was_written() {
        let log = Log::default();
        log.entered(Phase::Get, 7);
        log.stole(WorkerId(40_000), 9);
        log.entered(Phase::Idle, 1 << 47);
        let expected = WorkerTrace {
            cache: ClusterId(3),
            left_out: 0,
            phases: vec![(7, Phase::Get), (1 << 47, Phase::Idle)],
            steals: vec![(9, WorkerId(40_000))],
        };
        assert_eq!(log.read(ClusterId(3)), expected);
    }

    #[test]
    fn a_log_has_a_bound_and_counts_what_does_not_fit() {
        let log = Log::default();
        log.stole(WorkerId(70_000), 1);
        let most = (CHUNK * CHUNKS) as u64;
        (1..=most + 3).for_each(|now| log.entered(Phase::Active, now));
        log.entered(Phase::Idle, 1 << 48);
        let read = log.read(ClusterId::ROOT);
        assert_eq!((read.phases.len() as u64, read.left_out), (most, 5));
        assert_eq!(read.phases.last(), Some(&(most, Phase::Active)));
    }
}
