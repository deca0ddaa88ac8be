//! What a core waits for: misses that are in flight together, and streams that were seen coming.
//!
//! A core that executes out of order goes on behind a load that misses until its window of
//! instructions is full. What misses in that window is in flight at the same time, as far as there
//! are miss buffers. The window moves on with each load that is there, oldest first, and a buffer
//! is free again when its line is there. So a core has as much in flight at any time as the window
//! and the buffers hold, and waits only for what the window's operations do not cover. T. S.
//! Karkhanis and J. E. Smith, "A first-order superscalar processor model", ISCA 2004, section 4.3
//! (long-latency loads), have the window; there it stands still until all of its misses are over,
//! which is right where misses come in bursts, and takes up to twice too long where they come
//! evenly. A load whose address came out of the line before, as the recording says of walks along
//! pointers, begins when that line is there; all others are independent of one another.
//!
//! A stream's lines are brought in ahead by prefetchers: one every latency / streams, as much as
//! one latency before they are needed. So a core waits for the slower of the stream and its own
//! operations, not for their sum.

#[cfg(test)]
mod tests;

use befit_program::Touch;

use crate::{account::Part, clock::Ticks, hardware::Line};

/// How much a core has in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// Operations, in the unit of the positions.
    window: u64,
    /// For misses, the one that is waited for among them.
    buffers: Buffers,
    /// The share of a latency after which the next line of a stream comes: 1 / lines in flight.
    stream: f64,
    /// The share of a walk after which the next one can begin: 1 / walks at once.
    walk: f64,
    /// Hardware threads that share it.
    sharers: u64,
    /// Lines that one stands for ([`crate::sampled`]), as a power of two.
    each: u32,
    /// How long the window's operations take; 0 until the [pace](Self::at_pace) is told.
    covers: Ticks,
}

/// The miss buffers of a core. Where it has 13.8 misses in flight in the mean, these are 14, each
/// of which is in use for 14 / 13.8 of the time that its line takes.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    misses: f64,
    count: u32,
    /// How many times as long as its line takes each is in use.
    times: f64,
}

impl Buffers {
    fn of(misses: f64) -> Self {
        let misses = misses.max(1.0);
        let count = misses.ceil();
        Self { misses, count: count as u32, times: count / misses }
    }

    /// How long a buffer is in use for a line that takes so long.
    #[inline]
    fn in_use(self, line: Ticks) -> Ticks {
        if self.times == 1.0 { line } else { Ticks((line.0 as f64 * self.times) as u64) }
    }
}

impl InFlight {
    /// A window of `operations` and up to `misses` misses, for positions of `unit` an operation;
    /// `streams` lines of a streaming run, and `walks` walks through page tables at once.
    pub(crate) fn new(
        operations: u64,
        misses: f64,
        streams: f64,
        walks: f64,
        unit: u64,
        each: u64,
    ) -> Self {
        Self {
            window: operations * unit,
            buffers: Buffers::of(misses),
            stream: 1.0 / streams.max(1.0),
            walk: 1.0 / walks.max(1.0),
            sharers: 1,
            each: each.trailing_zeros(),
            covers: Ticks::default(),
        }
    }

    /// The same where a unit of positions takes so many ticks.
    pub(crate) fn at_pace(self, pace: f64) -> Self {
        Self { covers: Ticks((self.window as f64 * pace) as u64), ..self }
    }

    /// What one of `sharers` hardware threads has of it.
    pub(crate) fn shared_by(self, sharers: u32) -> Self {
        Self {
            window: self.window / u64::from(sharers),
            buffers: Buffers::of(self.buffers.misses / f64::from(sharers)),
            sharers: self.sharers * u64::from(sharers),
            ..self
        }
    }

    /// The same for lines that stand for themselves only.
    pub(crate) fn single(self) -> Self {
        Self { window: self.window >> self.each, each: 0, ..self }
    }

    /// How long after a walk of this length the next one can begin.
    fn a_walk(self, Ticks(walk): Ticks) -> Ticks {
        Ticks((walk as f64 * self.walk) as u64 * self.sharers)
    }

    /// How long after the line before it the next one of a stream comes, where lines take `latency`
    /// and nothing else is known.
    pub(crate) fn a_stream(self, latency: Ticks) -> Ticks {
        Ticks((latency.0 as f64 * self.stream) as u64)
    }
}

/// A core at one point of its operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// The time.
    pub(crate) clock: Ticks,
    /// The operations behind it, in fractions; it only grows.
    pub(crate) position: u64,
    /// Ticks that a unit of positions takes.
    pub(crate) pace: f64,
}

/// Why a line takes long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reason {
    pub(crate) part: Part,
    pub(crate) line: u32,
    /// The share of its time that it spends behind other lines on the wires.
    pub(crate) wires: Ticks,
    /// The share that the walk to its page takes.
    pub(crate) walk: Ticks,
}

/// A line that misses, in flight.
#[derive(Clone, Copy, Debug)]
struct Miss {
    /// The position that the core comes to only when the line is there: its window's end.
    end: u64,
    /// When it is there.
    there: Ticks,
    /// When its buffer is free.
    free: Ticks,
    reason: Reason,
}

/// Misses in flight, by position; some of them may be there already. Those before `first` are over.
#[derive(Clone, Debug, Default)]
struct Flying {
    misses: Vec<Miss>,
    first: usize,
}

impl Flying {
    /// So many misses are kept, with those that are over, before room is made of the latter.
    const KEPT: usize = 64;

    fn len(&self) -> usize {
        self.misses.len() - self.first
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn clear(&mut self) {
        self.misses.clear();
        self.first = 0;
    }

    fn push(&mut self, miss: Miss) {
        if self.misses.len() >= Self::KEPT || self.is_empty() {
            self.misses.drain(..self.first);
            self.first = 0;
        }
        self.misses.push(miss);
    }

    /// Takes the first one out if its window has ended at `position`.
    #[inline]
    fn take_ended(&mut self, position: u64) -> Option<Miss> {
        let first = self.misses.get(self.first).filter(|first| first.end <= position)?;
        self.first += 1;
        Some(*first)
    }

    /// Gives up those whose buffers are free at `clock`, from the first on.
    #[inline]
    fn pass_first(&mut self, clock: Ticks) {
        while self.misses.get(self.first).is_some_and(|first| first.free <= clock) {
            self.first += 1;
        }
    }

    /// Keeps those whose buffers are not free at `clock`. Without branches: which these are cannot
    /// be foreseen.
    fn keep_from(&mut self, clock: Ticks) {
        let mut kept = 0;
        for i in self.first..self.misses.len() {
            let miss = self.misses[i];
            self.misses[kept] = miss;
            kept += usize::from(miss.free > clock);
        }
        self.misses.truncate(kept);
        self.first = 0;
    }

    /// Takes out the one whose buffer is free first.
    fn take_first_free(&mut self) -> Option<Miss> {
        let next = (self.first..self.misses.len()).min_by_key(|i| self.misses[*i].free)?;
        Some(self.misses.remove(next))
    }
}

/// What a core has in flight and will wait for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    flying: Flying,
    /// When the last of them is there.
    until: Ticks,
    /// The time that the operations up to the newest one's end take from its beginning.
    covered: Ticks,
    /// When the core left what it ran.
    left: Ticks,
    /// Why the last of them is.
    reason: Reason,
    /// Why the core waited when it last did.
    pub(crate) waited: Reason,
    /// When the line that was streamed in last was there.
    streamed: Ticks,
    /// When the line that was touched last is there; 0 where it was there at once.
    there: Ticks,
    /// When the next walk through the page tables can begin.
    walker: Ticks,
}

/// How long a line takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Takes {
    /// To find its page.
    pub(crate) walk: Ticks,
    /// From then on.
    pub(crate) latency: Ticks,
    /// Its address came out of the line before.
    pub(crate) dependent: bool,
}

impl Waits {
    /// The wait for misses whose window has ended by `now`.
    #[inline]
    pub(crate) fn before(&mut self, now: Now) -> Ticks {
        let mut clock = now.clock;
        while let Some(first) = self.flying.take_ended(now.position) {
            // The operations behind the window's end were made after the wait.
            let behind = Ticks(((now.position - first.end) as f64 * now.pace) as u64);
            let goes_on = first.there + behind;
            if goes_on > clock {
                (clock, self.waited) = (goes_on, first.reason);
            }
        }
        clock.since(now.clock)
    }

    /// The wait for a miss at `now`, after [`Self::before`], which takes so long, for that
    /// `reason`: nothing, while there is room for it.
    #[inline]
    pub(crate) fn miss(
        &mut self,
        flight: &InFlight,
        now: Now,
        Takes { walk, latency, dependent }: Takes,
        reason: Reason,
    ) -> Ticks {
        let known = if dependent { self.there } else { Ticks::default() };
        if latency == Ticks::default() {
            self.there = known;
            return latency;
        }
        let wait = self.make_room(flight.buffers.count, now.clock);
        let clock = now.clock + wait;
        let mut begins = clock.max(known);
        if walk != Ticks::default() {
            begins = begins.max(self.walker);
            self.walker = begins + flight.a_walk(walk);
        }
        self.there = begins + walk + latency;
        if flight.window == 0 {
            // Executed in order: nothing goes on behind it.
            self.waited = reason;
            return self.there.since(now.clock);
        }
        if self.there > self.until {
            (self.until, self.reason) = (self.there, reason);
        }
        self.covered = clock + flight.covers;
        let end = now.position + flight.window;
        let free = begins + flight.buffers.in_use(walk + latency);
        self.flying.push(Miss { end, there: self.there, free, reason });
        wait
    }

    /// The wait, from `clock`, until one of so many miss buffers is free.
    #[inline]
    fn make_room(&mut self, buffers: u32, clock: Ticks) -> Ticks {
        if self.flying.len() < buffers as usize {
            return Ticks::default();
        }
        // Mostly they come in their order.
        self.flying.pass_first(clock);
        if self.flying.len() < buffers as usize {
            return Ticks::default();
        }
        self.flying.keep_from(clock);
        let mut free = clock;
        while self.flying.len() >= buffers as usize {
            let Some(next) = self.flying.take_first_free() else { break };
            (free, self.waited) = (next.free, next.reason);
        }
        free.since(clock)
    }

    /// The wait for the next line of a stream, which comes after `latency` where nothing saw it
    /// coming, `each` after the one before, and no sooner than `bus`, when memory has it on its
    /// way, for that `reason`.
    #[inline]
    pub(crate) fn stream(
        &mut self,
        flight: &InFlight,
        now: Ticks,
        latency: Ticks,
        each: Ticks,
        bus: Ticks,
        reason: Reason,
    ) -> Ticks {
        if latency == Ticks::default() {
            return latency;
        }
        let each = Ticks((each.0 * flight.sharers).min(latency.max(each).0));
        // Of the lines that this one stands for, each came in its own time; only the last must.
        let ahead = Ticks(now.0.saturating_sub(latency.0 >> flight.each) + (each.0 >> flight.each));
        let without = (self.streamed + each).max(ahead);
        self.streamed = without.max(bus);
        self.there = self.streamed;
        self.waited = Reason { wires: self.streamed.since(without.max(now)), ..reason };
        self.streamed.since(now)
    }

    /// A touch of a line for which there is nothing to wait. What depends on it need not wait.
    #[inline(always)]
    pub(crate) fn at_hand(&mut self, touch: Touch) {
        if !(touch.stack || touch.dependent) {
            self.there = Ticks::default();
        }
    }

    /// The wait for the `line` of a touch; [`Self::waited`] says why.
    #[inline(always)]
    pub(crate) fn line(&mut self, flight: &InFlight, now: Now, touch: Touch, line: &Line) -> Ticks {
        let Line { line, passed, latency, walk, stream, part, taken, followed, .. } = *line;
        let wires = passed.since(now.clock);
        let reason = Reason { part, line, wires, walk };
        if let Some(taken) = taken {
            let before = self.all(flight, now.clock);
            let own = taken.since(now.clock);
            if own > before {
                self.waited = reason;
            }
            before.max(own)
        } else if latency + wires == Ticks::default() {
            self.at_hand(touch);
            Ticks::default()
        } else if followed {
            self.stream(flight, now.clock, latency, stream, passed, reason)
        } else {
            let takes = Takes { walk, latency: latency + wires, dependent: touch.dependent };
            self.miss(flight, now, takes, reason)
        }
    }

    /// The wait for all that is in flight: the core is about to do something else.
    ///
    /// Of a sample, what is in flight stands for many windows, of which one is cut short here: that
    /// one's operations will not cover any of its wait. The others go on when the core comes back.
    pub(crate) fn all(&mut self, flight: &InFlight, now: Ticks) -> Ticks {
        if self.flying.is_empty() {
            return Ticks::default();
        }
        (self.left, self.waited) = (now, self.reason);
        if flight.each == 0 {
            self.flying.clear();
            return self.until.since(now);
        }
        let uncovered = self.until.since(self.covered.max(now));
        Ticks(self.until.since(now).since(uncovered).0 >> flight.each)
    }

    /// The core comes back to run something else than what it left.
    pub(crate) fn come_back(&mut self, now: Ticks) {
        if self.flying.is_empty() {
            return;
        }
        let away = now.since(self.left);
        (self.until, self.covered) = (self.until + away, self.covered + away);
        for miss in &mut self.flying.misses {
            (miss.there, miss.free) = (miss.there + away, miss.free + away);
        }
    }
}
