//! Which workers run something and what it moves, and how long the others have waited.

use std::{
    ops::Range,
    sync::atomic::{
        AtomicBool, AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

use befit_machine::{Bytes, WorkerId};
use crossbeam_utils::CachePadded;

use super::{line::stamp, pace::Pace};
use crate::Env;

/// Stands for "does not wait".
const BUSY: u64 = u64::MAX;
/// Stands for "nobody asks again".
const NEVER: u64 = u64::MAX;

/// The workers of a machine.
#[derive(Debug)]
pub(super) struct Crew {
    /// Only the first so many workers take part.
    present: AtomicU32,
    members: Vec<CachePadded<Member>>,
    /// Where sockets differ.
    pace: Option<Pace>,
    /// So many instructions of a worker are what it did lately: then they count half.
    lately: u64,
    /// Something waits that an idle worker may take later: it asks again when a strand has ended.
    asks_at: CachePadded<AtomicU64>,
    /// Whether anything counts what workers do.
    counts: AtomicBool,
}

#[derive(Debug)]
struct Member {
    running: AtomicU32,
    /// Since when it has had nothing although something waited for others, in nanoseconds.
    waits_since: AtomicU64,
    /// How long it will have waited before it looks again at what it may not take at once, in
    /// nanoseconds.
    next_look: AtomicU64,
    /// How many other workers have their places in the home of what it runs and has not divided,
    /// and when that began, in nanoseconds.
    holds: AtomicU32,
    holds_since: AtomicU64,
    /// Whether what it does counts since a strand began.
    counted: AtomicBool,
    /// Lines that its strands brought into its private caches lately, those of them that the shared
    /// cache did not have, and their instructions.
    lines: AtomicU64,
    far_lines: AtomicU64,
    instructions: AtomicU64,
    /// The most of either that there was, in lines for so many instructions as [`Crew::lately`]
    /// says.
    most_lines: AtomicU64,
    most_far_lines: AtomicU64,
}

/// Fewer say nothing.
const ENOUGH: u64 = 1 << 10;
/// The most that there was is forgotten by this part with each strand.
const FORGETS: u64 = 64;

impl Member {
    /// So many lines, for each instruction; `None` where these are too few.
    fn each(&self, lines: &AtomicU64) -> Option<f64> {
        let instructions = self.instructions.load(Relaxed);
        (instructions >= ENOUGH).then(|| lines.load(Relaxed) as f64 / instructions as f64)
    }

    /// The same for so many instructions.
    fn of(&self, lines: &AtomicU64, instructions: u64) -> Option<u64> {
        self.each(lines).map(|lines| (lines * instructions as f64) as u64)
    }
}

impl Crew {
    /// What a worker did lately is as many instructions as its private cache has bytes.
    pub(super) fn new(workers: u32, pace: Option<Pace>, private: Bytes) -> Self {
        let member = |_| Member {
            running: AtomicU32::new(0),
            waits_since: AtomicU64::new(BUSY),
            next_look: AtomicU64::new(0),
            holds: AtomicU32::new(0),
            holds_since: AtomicU64::new(0),
            counted: AtomicBool::new(false),
            lines: AtomicU64::new(0),
            far_lines: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
            most_lines: AtomicU64::new(0),
            most_far_lines: AtomicU64::new(0),
        };
        Self {
            present: AtomicU32::new(workers),
            pace,
            lately: private.0.max(4 * ENOUGH),
            members: (0..workers).map(member).map(CachePadded::new).collect(),
            asks_at: CachePadded::new(AtomicU64::new(NEVER)),
            counts: AtomicBool::new(false),
        }
    }

    /// Whether anything counts what workers do.
    pub(super) fn counts(&self) -> bool {
        self.counts.load(Relaxed)
    }

    /// Only the first `workers` take part.
    pub(super) fn limit(&self, workers: u32) {
        self.present.store(workers.clamp(1, self.members.len() as u32), Relaxed);
    }

    pub(super) fn present(&self) -> u32 {
        self.present.load(Relaxed)
    }

    /// `w` begins or goes on with a strand.
    pub(super) fn begins(&self, w: WorkerId, env: &mut dyn Env) {
        let member = &self.members[w.index()];
        if !member.counted.load(Relaxed) {
            env.counts(); // what it did in between is nobody's
            member.counted.store(true, Relaxed);
        }
        let was_idle = member.running.fetch_add(1, Relaxed) == 0;
        if let Some(pace) = self.pace.as_ref().filter(|_| was_idle) {
            pace.begins(w, stamp(env.now()));
        }
        member.waits_since.store(BUSY, Relaxed);
        member.next_look.store(0, Relaxed);
    }

    /// A strand has ended on `w`.
    pub(super) fn ends(&self, w: WorkerId, env: &mut dyn Env) {
        let member = &self.members[w.index()];
        member.holds.store(0, Relaxed);
        let is_idle = member.running.fetch_sub(1, Relaxed) == 1;
        if let Some(pace) = self.pace.as_ref().filter(|_| is_idle) {
            pace.ends(w, stamp(env.now()));
        }
        if let Some(counts) = env.counts() {
            if !self.counts() {
                self.counts.store(true, Relaxed);
            }
            let Member { lines, far_lines, instructions, .. } = &**member;
            let age = u32::from(instructions.load(Relaxed) > self.lately);
            let add = |to: &AtomicU64, more| to.store((to.load(Relaxed) >> age) + more, Relaxed);
            add(lines, counts.private_misses);
            add(far_lines, counts.llc_misses);
            add(instructions, counts.instructions);
            for (lines, most) in [(lines, &member.most_lines), (far_lines, &member.most_far_lines)]
            {
                if let Some(now) = member.of(lines, self.lately) {
                    let most_so_far = most.load(Relaxed);
                    most.store(now.max(most_so_far - most_so_far / FORGETS), Relaxed);
                }
            }
        }
    }

    /// `w` begins a task in whose home so many others have their places.
    pub(super) fn holds(&self, w: WorkerId, others: u32, env: &mut dyn Env) {
        let member = &self.members[w.index()];
        if others > 0 {
            member.holds_since.store(stamp(env.now()), Relaxed);
        }
        member.holds.store(others, Relaxed);
    }

    /// How many of `workers` have their places in what others of them have run undivided for so
    /// long.
    pub(super) fn held(&self, workers: Range<u32>, moment: Duration, now: u64) -> u32 {
        let since = now.saturating_sub(nanoseconds(moment));
        let members = &self.members[workers.start as usize..workers.end as usize];
        let old = members.iter().filter(|it| it.holds_since.load(Relaxed) <= since);
        old.map(|it| it.holds.load(Relaxed)).sum()
    }

    /// `w` found nothing.
    pub(super) fn found_nothing(&self, w: WorkerId) {
        self.members[w.index()].counted.store(false, Relaxed);
    }

    /// `w` has looked everywhere and found nothing, or nothing but what it `left` to others, until
    /// it has waited for so long. Only a wait for such pays for it: between two rounds there is
    /// nothing to be had, and whoever has waited for the second would take at once what belongs to
    /// others.
    pub(super) fn waits(&self, w: WorkerId, left: Option<Duration>, env: &mut dyn Env) {
        let Member { waits_since, next_look, .. } = &*self.members[w.index()];
        let Some(until) = left else {
            next_look.store(0, Relaxed);
            return waits_since.store(BUSY, Relaxed);
        };
        let until = nanoseconds(until);
        if until < next_look.load(Relaxed) {
            next_look.store(until, Relaxed);
        }
        if waits_since.load(Relaxed) == BUSY {
            waits_since.store(stamp(env.now()), Relaxed);
        }
    }

    /// How long it is until `w` [looks again](Self::looks_again) at what it must pay for; `None` if
    /// it leaves nothing to others.
    pub(super) fn due(&self, w: WorkerId, first: Duration, env: &mut dyn Env) -> Option<Duration> {
        let Member { waits_since, next_look, .. } = &*self.members[w.index()];
        let since = Some(waits_since.load(Relaxed)).filter(|since| *since != BUSY)?;
        let wait = next_look.load(Relaxed).max(first.as_nanos() as u64);
        let left = since.saturating_add(wait).saturating_sub(stamp(env.now()));
        Some(Duration::from_nanos(left))
    }

    /// How long `w` has waited. Where nothing tells the time, every wait has been long enough.
    pub(super) fn waited(&self, w: WorkerId, now: Option<Duration>) -> Duration {
        let Some(now) = now else { return Duration::MAX };
        match self.members[w.index()].waits_since.load(Relaxed) {
            BUSY => Duration::ZERO,
            since => now.saturating_sub(Duration::from_nanos(since)),
        }
    }

    /// Whether `w`, which has `waited`, looks at what it must pay for by waiting. It does so when
    /// it has waited for `first`, and then each time that its wait has doubled: each look takes
    /// locks that others need.
    pub(super) fn looks_again(&self, w: WorkerId, waited: Duration, first: Duration) -> bool {
        let next = &self.members[w.index()].next_look;
        let waited = nanoseconds(waited);
        if waited < next.load(Relaxed).max(first.as_nanos() as u64) {
            return false;
        }
        // Where nothing tells the time, it always does.
        next.store(if waited == u64::MAX { 0 } else { 2 * waited }, Relaxed);
        true
    }

    /// The lines that `w` brought in lately, for each instruction; `None` where nothing counts.
    pub(super) fn lines(&self, w: u32) -> Option<f64> {
        let member = &self.members[w as usize];
        member.each(&member.lines)
    }

    /// The share of its lines that `w` finds again: how many fewer it brings in lately than it did
    /// when it brought in the most, into its private caches or into the shared one. `None` where
    /// nothing counts.
    pub(super) fn found_again(&self, w: u32) -> Option<f64> {
        let member = &self.members[w as usize];
        let share = |lines, most: &AtomicU64| {
            let most = most.load(Relaxed).max(1) as f64;
            Some(1.0 - member.of(lines, self.lately)? as f64 / most)
        };
        let near = share(&member.lines, &member.most_lines)?;
        Some(near.max(share(&member.far_lines, &member.most_far_lines)?).clamp(0.0, 1.0))
    }

    /// How often `workers` found a line in the cache that they share, for each one that they did
    /// not find there, lately; `None` where nothing counts.
    pub(super) fn reuse(&self, workers: Range<u32>) -> Option<f64> {
        let members = &self.members[workers.start as usize..workers.end as usize];
        let sum = |get: fn(&Member) -> &AtomicU64| -> u64 {
            members.iter().map(|member| get(member).load(Relaxed)).sum()
        };
        let [lines, far] = [sum(|it| &it.lines), sum(|it| &it.far_lines)];
        let found = lines.saturating_sub(far) as f64;
        (sum(|it| &it.instructions) >= ENOUGH).then(|| found / far.max(1) as f64)
    }

    /// The program's pace, where it matters.
    pub(super) fn pace(&self) -> Option<&Pace> {
        self.pace.as_ref()
    }

    pub(super) fn is_running(&self, w: u32) -> bool {
        self.members[w as usize].running.load(Relaxed) > 0
    }

    /// At the time `at` a worker may take what it may not take now.
    pub(super) fn may_later(&self, at: u64) {
        if at < self.asks_at.load(Relaxed) {
            self.asks_at.fetch_min(at, SeqCst);
        }
    }

    /// Whether that time has come; once for each.
    pub(super) fn is_later(&self, env: &mut dyn Env) -> bool {
        let at = self.asks_at.load(SeqCst);
        let is_over = at != NEVER && env.now().is_none_or(|now| stamp(Some(now)) >= at);
        is_over && self.asks_at.swap(NEVER, SeqCst) != NEVER
    }
}

/// Of the longest times as many as a word has room for.
fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().min(u128::from(u64::MAX)) as u64
}
