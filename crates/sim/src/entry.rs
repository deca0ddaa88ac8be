//! What a virtual worker runs at one time: a job that the policy gave it, and the forks in it.

use std::collections::VecDeque;

use befit_program::TaskId;
use befit_sched::{
    Stage,
    forks::{self, Advice, Batch, Grain, PAUSE, SiteId},
};

use crate::clock::Ticks;

/// So many nested forks a region reaches: as many small frames as fit in the 8 KiB of stack that it
/// reaches on threads.
const REACH: usize = 64;

/// What one worker knows of forks. The rules are those of `befit_sched::forks`.
#[derive(Debug, Default)]
pub(crate) struct Habits {
    pub(crate) grain: Grain,
    pub(crate) batch: Batch,
    /// Halves of forks that it has published, and those of them that a worker has taken.
    pub(crate) published: usize,
    pub(crate) taken: usize,
    /// One of its forks should be published.
    pub(crate) requested: bool,
    /// The next fork is pending even in an inlined region: a fork was requested.
    pub(crate) raised: bool,
    /// When it last published because a fork was wanted.
    pub(crate) last: Option<Ticks>,
    /// It keeps its forks although one is wanted, as that was just now.
    pub(crate) pauses: bool,
}

impl Habits {
    /// Halves that it has published, and that nobody has taken.
    pub(crate) fn untaken(&self) -> usize {
        self.published - self.taken
    }

    /// A fork is wanted, and the worker is at one by `site`, `depth` forks below the program's
    /// start: whether it keeps its forks for now. If not, it publishes.
    pub(crate) fn keeps_forks(
        &mut self,
        site: Option<SiteId>,
        depth: u32,
        now: Ticks,
        stopwatch: Stopwatch,
    ) -> bool {
        let is_short = site.is_some_and(|site| self.grain.is_short(site, depth));
        let since = || Some(stopwatch.time(now.since(self.last?)));
        self.pauses = forks::pauses(is_short, since);
        if !self.pauses {
            self.last = Some(now);
        }
        self.pauses
    }

    /// Whether the next fork in an inlined region is one: a fork was requested, and if the worker
    /// pauses, that is over, and a worker is `idle`. (On threads that worker urges this one.)
    pub(crate) fn is_raised(&self, idle: bool, now: Ticks, stopwatch: Stopwatch) -> bool {
        let is_over = || self.last.is_none_or(|last| stopwatch.time(now.since(last)) >= PAUSE);
        self.raised || (self.pauses && self.requested && idle && is_over())
    }
}

/// A job that the policy gave to a worker: a task from its start or from where it waited, and what
/// it forks that is not published.
///
/// A thread that waits keeps its stack. An entry that waits moves whole to the worker that goes on
/// with it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The task that the policy knows.
    pub(crate) task: TaskId,
    pub(crate) stage: Stage,
    /// Another worker may run what it forks.
    pub(crate) shared: bool,
    /// How many pending forks enclose what runs, from the program's start on.
    pub(crate) depth: u32,
    /// The forks that enclose it in this entry.
    pub(crate) frames: Vec<Frame>,
    /// Those of them that are private, the oldest first.
    private: VecDeque<usize>,
    /// The task that runs.
    pub(crate) current: TaskId,
    region: Option<Region>,
    /// Counts the waits. Other tasks run meanwhile, so a time that spans one is not learned.
    waits: u32,
}

/// A fork between its start and its end.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) parent: TaskId,
    /// Its second half.
    second: TaskId,
    half: Half,
    /// How many pending forks enclose it, from the program's start on.
    depth: u32,
    /// It was a call, with no frame in the list of pending forks.
    inlined: bool,
    /// The `join` that it was made by, if a region may begin there.
    site: Option<SiteId>,
    /// A region began here.
    begins_region: bool,
    watch: Option<Watch>,
}

/// Which half of a fork its worker runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    /// The first, and nobody knows of the second.
    First,
    /// The first; the second is the policy's.
    FirstOfPublished,
    /// The second.
    Second,
}

/// Part of an entry that runs without pending forks.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// The forks around it.
    from: usize,
    /// Why it was predicted to be short, and since when it lasts; none if it lasts to the end of
    /// the entry.
    predicted: Option<(SiteId, Ticks)>,
}

/// A measurement.
#[derive(Clone, Copy, Debug)]
struct Watch {
    site: SiteId,
    advice: Advice,
    since: Ticks,
    waits: u32,
    /// What the first half took, if the worker did not wait in it.
    first: Option<Ticks>,
}

/// Virtual time as the rules of forks know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    /// Of a cycle: those of the run that the model stands for.
    nanoseconds: f64,
}

impl Stopwatch {
    /// For a clock of so many MHz; the run that the model stands for is `scale` times as long.
    pub(crate) fn new(mhz: u32, scale: u32) -> Self {
        Self { nanoseconds: 1e3 * f64::from(scale) / f64::from(mhz.max(1)) }
    }

    fn time(self, ticks: Ticks) -> std::time::Duration {
        let cycles = ticks.0 as f64 / Ticks::cycles(1).0 as f64;
        std::time::Duration::from_nanos((cycles * self.nanoseconds) as u64)
    }
}

impl Entry {
    /// `task` at its start, `depth` pending forks below the program's.
    pub(crate) fn new(task: TaskId, shared: bool, depth: u32) -> Self {
        Self {
            task,
            stage: Stage::Start,
            shared,
            depth,
            frames: Vec::new(),
            private: VecDeque::new(),
            current: task,
            region: (!shared).then_some(Region { from: 0, predicted: None }),
            waits: 0,
        }
    }

    /// Whether the next fork is a call, unless a fork is requested.
    pub(crate) fn is_inlined(&self) -> bool {
        self.region.is_some_and(|region| {
            region.predicted.is_none() || self.frames.len() - region.from < REACH
        })
    }

    pub(crate) fn has_private(&self) -> bool {
        !self.private.is_empty()
    }

    /// Links a fork, and runs its first half.
    pub(crate) fn push(&mut self, parent: TaskId, second: TaskId, inlined: bool) {
        if !inlined {
            self.private.push_back(self.frames.len());
        }
        self.frames.push(Frame {
            parent,
            second,
            half: Half::First,
            depth: self.depth,
            inlined,
            site: None,
            begins_region: false,
            watch: None,
        });
    }

    /// The pending fork pushed last begins, after requests were served. `site` is the `join` by
    /// which a region may begin, if one may. Returns whether the fork is timed.
    pub(crate) fn begin(
        &mut self,
        site: Option<SiteId>,
        habits: &mut Habits,
        now: Ticks,
        stopwatch: Stopwatch,
    ) -> bool {
        self.depth += 1;
        if let Some(frame) = self.frames.last_mut() {
            frame.site = site;
        }
        let Some(site) = site else { return false };
        if self.goes_on(habits, now, stopwatch) {
            return false;
        }
        let (depth, from) = (self.depth - 1, self.frames.len());
        let advice = habits.grain.advice(site, depth);
        let Some(frame) = self.frames.last_mut().filter(|_| advice != Advice::Fork) else {
            return false;
        };
        frame.watch = Some(Watch { site, advice, since: now, waits: self.waits, first: None });
        if advice == Advice::Inline {
            frame.begins_region = true;
            self.region = Some(Region { from, predicted: Some((site, now)) });
            habits.raised = habits.requested && !habits.pauses;
        }
        true
    }

    /// Whether a region is active and goes on; it does not if it takes much longer than predicted.
    fn goes_on(&mut self, habits: &mut Habits, now: Ticks, stopwatch: Stopwatch) -> bool {
        let Some(Region { predicted, .. }) = self.region else { return false };
        if let Some((site, since)) = predicted
            && Grain::is_surprised(stopwatch.time(now.since(since)))
        {
            habits.grain.forget(site);
            self.region = None;
            return false;
        }
        habits.raised = habits.requested && !habits.pauses;
        true
    }

    /// The second half of the oldest private fork, which is to be published, and how many pending
    /// forks enclose it.
    pub(crate) fn publish_oldest(&mut self) -> Option<(TaskId, u32)> {
        let frame = &mut self.frames[self.private.pop_front()?];
        frame.half = Half::FirstOfPublished;
        Some((frame.second, frame.depth + 1))
    }

    /// The worker waits, or finds that it could have had to.
    pub(crate) fn has_waited(&mut self) {
        self.waits += 1;
    }

    /// The first half of the youngest fork has ended. Returns its second half if that runs now, and
    /// whether it was in the list.
    pub(crate) fn first_has_ended(&mut self, now: Ticks) -> Option<(TaskId, bool)> {
        let waits = self.waits;
        let frame = self.frames.last_mut()?;
        if frame.half == Half::Second {
            return None;
        }
        if let Some(watch) = &mut frame.watch
            && watch.waits == waits
        {
            watch.first = Some(now.since(watch.since));
        }
        if frame.half == Half::FirstOfPublished {
            self.has_waited();
            return None;
        }
        frame.half = Half::Second;
        let (second, was_listed) = (frame.second, !frame.inlined);
        if was_listed {
            self.private.pop_back();
        }
        Some((second, was_listed))
    }

    /// The `join` that the youngest fork was made by, if a region may begin there.
    pub(crate) fn site(&self) -> Option<SiteId> {
        self.frames.last().and_then(|frame| frame.site)
    }

    /// Both halves of the youngest fork have ended: its parent goes on.
    pub(crate) fn pop(&mut self, grain: &Grain, now: Ticks, stopwatch: Stopwatch) {
        let Some(frame) = self.frames.pop() else { return };
        self.current = frame.parent;
        if frame.inlined {
            return;
        }
        self.depth -= 1;
        if frame.begins_region {
            self.region = None;
        }
        let Some(Watch { site, advice, since, waits, first }) = frame.watch else { return };
        let taken = if waits == self.waits {
            Some(now.since(since))
        } else {
            // Another worker may have run the second half: it is taken to be like the first.
            first.map(|first| first + first)
        };
        if let Some(taken) = taken {
            grain.learn(site, self.depth, advice, stopwatch.time(taken));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SITE: Option<SiteId> = Some(SiteId(16));
    /// A clock of 1 GHz.
    const FINE: Stopwatch = Stopwatch { nanoseconds: 1.0 };

    fn at(cycles: u64) -> Ticks {
        Ticks::cycles(cycles)
    }

    /// An entry of task 0 in so many forks, each around the next: 1 is the outermost second half.
    fn nested(forks: u32, habits: &mut Habits) -> Entry {
        let mut entry = Entry::new(TaskId(0), true, 0);
        for second in 1..=forks {
            entry.push(TaskId(0), TaskId(second), false);
            let _ = entry.begin(None, habits, at(0), FINE);
        }
        entry
    }

    #[test]
    fn the_oldest_private_fork_is_published_first_and_the_others_stay() {
        let habits = &mut Habits::default();
        let mut entry = nested(3, habits);
        assert_eq!(entry.publish_oldest(), Some((TaskId(1), 1)));
        assert_eq!(entry.publish_oldest(), Some((TaskId(2), 2)));
        // The youngest is private: its second half runs here. The next one's does not.
        assert_eq!(entry.first_has_ended(at(5)), Some((TaskId(3), true)));
        entry.pop(&habits.grain, at(9), FINE);
        assert_eq!(entry.first_has_ended(at(9)), None);
        assert_eq!((entry.publish_oldest(), entry.depth), (None, 2));
    }

    #[test]
    fn a_site_of_long_tasks_forks_and_below_them_a_region_reaches_so_many_forks() {
        let habits = &mut Habits::default();
        let mut entry = nested(2, habits);
        entry.push(TaskId(0), TaskId(9), false);
        assert!(entry.begin(SITE, habits, at(0), FINE));
        assert!(!entry.is_inlined(), "nothing is known yet");
        let _ = entry.first_has_ended(at(10_000));
        // 20 µs, two forks below the start: from three on they are worth no fork.
        entry.pop(&habits.grain, at(20_000), FINE);
        let mut deeper = nested(3, habits);
        deeper.push(TaskId(0), TaskId(9), false);
        assert!(deeper.begin(SITE, habits, at(0), FINE));
        for fork in 0..REACH {
            assert!(deeper.is_inlined(), "{fork}");
            deeper.push(TaskId(0), TaskId(9), true);
        }
        assert!(!deeper.is_inlined());
        // A fork that comes far later than predicted ends the region, and what was learned.
        deeper.push(TaskId(0), TaskId(9), false);
        assert!(deeper.begin(SITE, habits, at(1_000_000), FINE));
        deeper.pop(&habits.grain, at(1_000_001), FINE);
        let _ = deeper.frames.pop();
        assert!(!deeper.is_inlined());
        assert_eq!(habits.grain.advice(SITE.unwrap(), 30), Advice::Watch);
    }

    #[test]
    fn an_entry_that_nobody_shares_is_one_region() {
        let mut entry = Entry::new(TaskId(0), false, 0);
        for _ in 0..3 * REACH {
            assert!(entry.is_inlined());
            entry.push(TaskId(0), TaskId(1), true);
        }
    }

    /// Of a worker that has seen the tasks of [`SITE`] whole, and found them short.
    fn at_short_tasks() -> Habits {
        let habits = Habits::default();
        for advice in [Advice::Watch, Advice::Inline] {
            habits.grain.learn(SiteId(16), 0, advice, Duration::from_micros(1));
        }
        assert!(habits.grain.is_short(SiteId(16), 0));
        habits
    }

    /// [`PAUSE`] by the fine clock.
    const PAUSED: u64 = PAUSE.as_nanos() as u64;

    #[test]
    fn a_worker_at_short_tasks_publishes_again_after_a_pause_only() {
        let habits = &mut at_short_tasks();
        for (site, now, keeps) in [
            // It has never published.
            (SITE, 100, false),
            (SITE, 100 + PAUSED - 1, true),
            (SITE, 100 + PAUSED, false),
            // Nothing is known of these tasks: the next occasion may be far.
            (None, 150 + PAUSED, false),
            (SITE, 100 + 2 * PAUSED, true),
            (SITE, 150 + 2 * PAUSED, false),
        ] {
            assert_eq!(habits.keeps_forks(site, 0, at(now), FINE), keeps, "{site:?} at {now}");
            assert_eq!(habits.pauses, keeps);
        }
    }

    #[test]
    fn a_pause_is_over_in_an_inlined_region_if_a_worker_is_idle_after_it() {
        let raised = |[raised, pauses, requested, idle]: [bool; 4], last: Option<u64>, now| {
            let last = last.map(at);
            let habits = Habits { raised, pauses, requested, last, ..Habits::default() };
            habits.is_raised(idle, at(now), FINE)
        };
        assert!(raised([true, false, false, false], Some(0), 0), "a fork was requested");
        let waits = [false, true, true, true];
        assert!(!raised(waits, Some(7), 6 + PAUSED) && raised(waits, Some(7), 7 + PAUSED));
        assert!(raised(waits, None, 0));
        for lacks in 1..4 {
            let mut state = waits;
            state[lacks] = false;
            assert!(!raised(state, Some(7), 7 + PAUSED), "{state:?}");
        }
    }

    #[test]
    fn what_has_been_published_and_not_taken_is_untaken() {
        let habits = Habits { published: 7, taken: 5, ..Habits::default() };
        assert_eq!(habits.untaken(), 2);
    }

    #[test]
    fn a_shrunk_model_s_cycles_take_as_many_times_longer_by_the_clock() {
        let time = |mhz, scale| Stopwatch::new(mhz, scale).time(at(3000)).as_nanos();
        assert_eq!(
            [time(1000, 1), time(2000, 1), time(3000, 16), time(0, 1)],
            [3000, 1500, 16_000, 3_000_000]
        );
    }
}
