//! Where a worker's time goes, measured only in pools that want it.
//!
//! A worker is always in one of five phases. Each change of phase reads the clock once and books
//! the time since the last change on the phase that ends, so no time is lost between phases and
//! none is counted twice.
//!
//! The statistics show the time from the start of the pool's first job to the end of its last one,
//! the same for all workers:
//!
//! ```text
//!                first                               last
//! worker 0         |active|done|idle|get|active|done··|
//! worker 1  (idle) |······|get|active|add|active|done|··|
//!                  leading: idle                    open
//! ··  booked when read; the open phase up to `last`
//! ```
//!
//! A worker knows neither when its first idle time begins to count nor whether a job follows its
//! last one. So it books neither; both are worked out when the pool is [read](read).
//!
//! Short tasks take less than the looks at the clock between them. A pool that measures its
//! [span](Clock::span) only looks at it where a worker's first job starts, where a job ends that
//! nothing in the pool waits for, and where a worker that waits for nothing finds no work.
//!
//! A pool that is [traced](Clock::trace) books all phases and keeps each change of phase as well.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use befit_machine::{ClusterId, WorkerId};

use super::{
    WorkerTime,
    counters::Counter,
    trace::{Log, Trace},
};

/// A part of a worker's time, in the order of [`Breakdown::parts`](befit_sched::Breakdown::parts).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Running the program.
    Active,
    /// In the policy, making work known.
    Add,
    /// In the policy, being given work: a task, or a strand that goes on after a wait.
    Get,
    /// In the policy, giving strands and tasks back.
    Done,
    /// Without work: looking in vain, or waiting.
    Idle,
}

impl Phase {
    /// All, each at its number.
    pub(super) const ALL: [Self; 5] = [Self::Active, Self::Add, Self::Get, Self::Done, Self::Idle];
}

/// What a pool's workers measure their times by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
    /// Each change of phase is booked.
    phases: bool,
    /// And kept.
    traced: bool,
}

impl Clock {
    /// Books all phases.
    pub(crate) fn phases() -> Self {
        Self { epoch: Instant::now(), phases: true, traced: false }
    }

    /// Books all phases and keeps each. All pools of the process have the same epoch.
    pub(crate) fn trace() -> Self {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        Self { epoch: *EPOCH.get_or_init(Instant::now), phases: true, traced: true }
    }

    /// Only from the start of a pool's first job to the end of its last.
    pub(crate) fn span() -> Self {
        Self { epoch: Instant::now(), phases: false, traced: false }
    }

    /// Nanoseconds since the epoch, from 1 up.
    fn now(self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64 + 1
    }
}

/// One worker's time. Times are nanoseconds since the epoch. Only the worker's thread changes it.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// None: nothing is measured.
    clock: Option<Clock>,
    booked: [Counter; 5],
    phase: Counter,
    /// Start of the phase.
    since: Counter,
    /// Start of the worker's first job; 0 before. Nothing is booked before.
    first: Counter,
    /// End of the worker's last job.
    last: Counter,
    log: Option<Box<Log>>,
}

impl Times {
    pub(super) fn new(clock: Option<Clock>) -> Self {
        let log = clock.filter(|clock| clock.traced).map(|_| Box::default());
        Self { clock, log, ..Self::default() }
    }

    /// Whether phases are booked.
    pub(crate) fn are_measured(&self) -> bool {
        self.clock.is_some_and(|clock| clock.phases)
    }

    /// The time, if phases are booked.
    #[inline]
    pub(crate) fn now(&self) -> Option<u64> {
        self.clock.filter(|clock| clock.phases).map(Clock::now)
    }

    /// Begins a phase now.
    #[inline]
    pub(crate) fn enter(&self, phase: Phase) {
        if let Some(now) = self.now() {
            self.enter_at(phase, now);
        }
    }

    /// The policy, asked at `asked`, gave a task, or had none.
    #[inline]
    pub(crate) fn asked(&self, asked: u64, found: bool) {
        match found {
            true => self.enter_at(Phase::Get, asked),
            // Repeated looks are one idle time, which ends only with a find.
            false if self.phase.get() == Phase::Idle as u64 => {}
            false => self.enter_at(Phase::Idle, asked),
        }
    }

    /// A job begins.
    #[inline]
    pub(crate) fn begin(&self) {
        match self.clock {
            Some(clock) if clock.phases || self.first.get() == 0 => self.begin_at(clock.now()),
            Some(_) => self.phase.set(Phase::Active as u64),
            None => {}
        }
    }

    /// A worker that waits for nothing has found no work, or has ended a job that nothing in the
    /// pool waits for.
    #[inline]
    pub(crate) fn rest(&self) {
        let Some(clock) = self.clock.filter(|clock| !clock.phases) else { return };
        if self.phase.get() == Phase::Active as u64 && self.first.get() != 0 {
            self.end_at(clock.now());
        }
    }

    fn begin_at(&self, now: u64) {
        self.enter_at(Phase::Active, now);
        if self.first.get() == 0 {
            self.first.set(now);
        }
    }

    /// A job has ended, as far as the policy is concerned.
    #[inline]
    pub(crate) fn end(&self) {
        if let Some(now) = self.now() {
            self.end_at(now);
        }
    }

    fn end_at(&self, now: u64) {
        self.enter_at(Phase::Idle, now);
        self.last.set(now);
    }

    fn enter_at(&self, phase: Phase, now: u64) {
        if self.first.get() != 0 {
            self.booked[self.phase.get() as usize].add(now.saturating_sub(self.since.get()));
        }
        self.since.set(now);
        self.phase.set(phase as u64);
        if let Some(log) = &self.log {
            log.entered(phase, now);
        }
    }

    /// A task was taken from the queue of `victim`.
    pub(super) fn stole(&self, victim: WorkerId) {
        if let (Some(log), Some(clock)) = (&self.log, self.clock) {
            log.stole(victim, clock.now());
        }
    }

    /// Whether the open phase is one in which the worker has something to do.
    fn is_busy(&self) -> bool {
        let busy = [Phase::Active, Phase::Add, Phase::Done];
        self.first.get() != 0 && busy.iter().any(|phase| *phase as u64 == self.phase.get())
    }

    /// Where the worker's time went from `first` to `last`.
    fn between(&self, first: u64, last: u64) -> WorkerTime {
        let mut booked = self.booked.each_ref().map(Counter::get);
        let own_first = if self.first.get() == 0 { last } else { self.first.get() };
        booked[Phase::Idle as usize] += own_first.saturating_sub(first);
        let open = if self.is_busy() { self.phase.get() as usize } else { Phase::Idle as usize };
        if self.first.get() != 0 {
            booked[open] += last.saturating_sub(self.since.get());
        }
        booked.map(Duration::from_nanos).into()
    }
}

/// The time from the start of the first job of `workers` to the end of their last, and where it
/// went for each of them, if phases are booked. None if nothing is measured.
pub(super) fn read<'a>(
    workers: impl Iterator<Item = &'a Times> + Clone,
) -> Option<(Duration, Option<Vec<WorkerTime>>)> {
    let (clock, first, last) = ends(workers.clone())?;
    let span = Duration::from_nanos(last.saturating_sub(first));
    Some((span, clock.phases.then(|| workers.map(|w| w.between(first, last)).collect())))
}

/// What `workers`, each under a last-level cache, did one by one; none if they are not traced.
pub(super) fn trace<'a>(
    workers: impl Iterator<Item = (ClusterId, &'a Times)> + Clone,
) -> Option<Trace> {
    let (clock, begin, end) = ends(workers.clone().map(|(_, times)| times))?;
    let read = |(cache, times): (_, &Times)| Some(times.log.as_ref()?.read(cache));
    clock.traced.then(|| Trace { begin, end, workers: workers.filter_map(read).collect() })
}

/// The clock, the start of the first job and the end of the last.
fn ends<'a>(workers: impl Iterator<Item = &'a Times> + Clone) -> Option<(Clock, u64, u64)> {
    let clock = workers.clone().find_map(|worker| worker.clock)?;
    let first = workers.clone().map(|worker| worker.first.get()).filter(|first| *first != 0).min();
    let ended = workers.clone().map(|worker| worker.last.get()).max().unwrap_or(0);
    let last = if workers.clone().any(Times::is_busy) { clock.now() } else { ended };
    Some((clock, first.unwrap_or(last), last))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A worker whose phases begin at these times; without a phase, a job begins.
    fn worker(changes: &[(Option<Phase>, u64)]) -> Times {
        let times = Times::new(Some(Clock::phases()));
        for (phase, at) in changes {
            match phase {
                Some(phase) => times.enter_at(*phase, *at),
                None => times.begin_at(*at),
            }
        }
        times
    }

    fn ended(changes: &[(Option<Phase>, u64)], last: u64) -> Times {
        let times = worker(changes);
        times.end_at(last);
        times
    }

    fn nanoseconds(time: &WorkerTime) -> [u64; 5] {
        time.parts().map(|part| part.as_nanos() as u64)
    }

    #[test]
    fn every_worker_accounts_for_the_time_from_the_first_job_to_the_end_of_the_last() {
        use Phase::*;
        let one = ended(
            &[(Some(Get), 5), (None, 10), (Some(Done), 40), (Some(Add), 42), (Some(Active), 47)],
            60,
        );
        let two = ended(&[(Some(Get), 20), (None, 30)], 90);
        two.asked(500, false);
        let three = worker(&[(Some(Idle), 3)]);
        let (span, times) = read([&one, &two, &three].into_iter()).unwrap();
        let times = times.unwrap();
        assert_eq!(span.as_nanos(), 80);
        assert_eq!(nanoseconds(&times[0]), [43, 5, 0, 2, 30]);
        assert_eq!(nanoseconds(&times[1]), [60, 0, 0, 0, 20]);
        assert_eq!(nanoseconds(&times[2]), [0, 0, 0, 0, 80]);
        assert!(times.iter().all(|time| time.total() == span));
    }

    #[test]
    fn a_search_that_finds_something_is_get_and_all_before_it_is_idle() {
        let times = ended(&[(None, 10)], 20);
        times.asked(30, false);
        times.asked(40, false);
        times.asked(50, true);
        times.enter_at(Phase::Active, 53);
        times.end_at(60);
        let (_, read) = read([&times].into_iter()).unwrap();
        assert_eq!(nanoseconds(&read.unwrap()[0]), [17, 0, 3, 0, 30]);
    }

    #[test]
    fn a_span_lasts_from_the_first_job_to_the_last_rest_and_no_phase_is_booked() {
        let times = Times::new(Some(Clock::span()));
        times.rest();
        times.begin();
        let first = times.first.get();
        times.begin();
        assert!(times.is_busy() && times.first.get() == first && first > 0);
        assert_eq!((times.now(), times.are_measured()), (None, false));
        times.rest();
        let last = times.last.get();
        times.rest();
        let (span, phases) = read([&times, &Times::new(times.clock)].into_iter()).unwrap();
        assert_eq!((span.as_nanos() as u64, phases), (last - first, None));
    }

    #[test]
    fn a_pool_without_a_job_has_no_time() {
        let (span, times) = read([&worker(&[])].into_iter()).unwrap();
        assert_eq!((span, nanoseconds(&times.unwrap()[0])), (Duration::ZERO, [0; 5]));
        assert!(read([&Times::new(None)].into_iter()).is_none());
    }

    #[test]
    fn the_phases_of_a_trace_last_as_long_as_those_that_are_booked() {
        use Phase::*;
        let worker = |changes: &[(Phase, u64)], first: u64, last: u64| {
            let times = Times::new(Some(Clock::trace()));
            times.enter_at(Get, first - 3);
            times.stole(WorkerId(1));
            times.begin_at(first);
            changes.iter().for_each(|(phase, at)| times.enter_at(*phase, *at));
            times.end_at(last);
            times
        };
        let one = worker(&[(Done, 40), (Add, 42), (Active, 47)], 10, 60);
        let two = worker(&[(Get, 70), (Active, 75)], 30, 90);
        let (_, booked) = read([&one, &two].into_iter()).unwrap();
        let workers = [(ClusterId(1), &one), (ClusterId(2), &two)].into_iter();
        let trace = trace(workers).unwrap();
        assert_eq!((trace.begin, trace.end), (10, 90));
        for (worker, booked) in trace.workers.iter().zip(booked.unwrap()) {
            let own = worker.phases.iter().skip_while(|(_, phase)| *phase != Active);
            let begins = std::iter::once((trace.begin, Idle)).chain(own.copied());
            let ends = begins.clone().skip(1).map(|(at, _)| at).chain([trace.end]);
            let mut sums = [0; 5];
            begins.zip(ends).for_each(|((from, phase), to)| sums[phase as usize] += to - from);
            assert_eq!(sums, nanoseconds(&booked));
            assert_eq!((worker.steals.len(), worker.left_out), (1, 0));
        }
        assert!(
            super::trace([(ClusterId(1), &Times::new(Some(Clock::phases())))].into_iter())
                .is_none()
        );
    }
}
