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

use befit_program::Touch;

use crate::{account::Part, clock::Ticks, hardware::Line};

/// How much a core has in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// Operations, in the unit of the positions.
    window: u64,
    /// Misses, the one that is waited for among them.
    misses: u32,
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
            misses: (misses as u32).max(1),
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
            misses: (self.misses / sharers).max(1),
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

    /// Gives up those that are there at `clock`, from the first on.
    #[inline]
    fn pass_first(&mut self, clock: Ticks) {
        while self.misses.get(self.first).is_some_and(|first| first.there <= clock) {
            self.first += 1;
        }
    }

    /// Keeps those that are not there at `clock`. Without branches: which these are cannot be
    /// foreseen.
    fn keep_from(&mut self, clock: Ticks) {
        let mut kept = 0;
        for i in self.first..self.misses.len() {
            let miss = self.misses[i];
            self.misses[kept] = miss;
            kept += usize::from(miss.there > clock);
        }
        self.misses.truncate(kept);
        self.first = 0;
    }

    /// Takes out the one that is there first.
    fn take_first_there(&mut self) -> Option<Miss> {
        let next = (self.first..self.misses.len()).min_by_key(|i| self.misses[*i].there)?;
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
        let wait = self.make_room(flight.misses, now.clock);
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
        self.flying.push(Miss { end, there: self.there, reason });
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
            let Some(next) = self.flying.take_first_there() else { break };
            (free, self.waited) = (next.there, next.reason);
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
        if !(touch.streaming || touch.stack || touch.dependent) {
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
            self.waited = Reason { part: Part::Handovers, ..reason };
            before.max(taken.since(now.clock))
        } else if followed {
            self.stream(flight, now.clock, latency, stream, passed, reason)
        } else if touch.stack && latency + wires == Ticks::default() {
            Ticks::default()
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
            miss.there += away;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Reason = Reason { part: Part::Memory, line: 0, wires: Ticks(0), walk: Ticks(0) };

    fn takes(latency: u64, dependent: bool) -> Takes {
        Takes { walk: Ticks::default(), latency: Ticks(latency), dependent }
    }

    /// The time at which misses of these positions and latencies are over, an operation a tick.
    fn time(flight: InFlight, misses: &[(u64, u64)]) -> u64 {
        let flight = flight.at_pace(1.0);
        let mut waits = Waits::default();
        let (mut clock, mut at) = (Ticks::default(), 0);
        for &(position, latency) in misses {
            clock += Ticks(position - at);
            at = position;
            let mut now = Now { clock, position, pace: 1.0 };
            now.clock += waits.before(now);
            clock = now.clock + waits.miss(&flight, now, takes(latency, false), MEMORY);
        }
        (clock + waits.all(&flight, clock)).0
    }

    #[test]
    fn misses_wait_for_one_another_as_window_and_buffers_allow() {
        let each = [(0, 7), (0, 7), (1, 7)];
        for (window, misses, expected) in [
            // Those of a window are in flight together: until 100, 104, and 109.
            (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 100), (4, 100), (9, 100)][..], 109),
            // The next window begins when the first is over.
            (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 100), (10, 100), (12, 100)], 202),
            // The operations behind a window's end come after its wait.
            (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 100), (30, 100)], 220),
            // No more than the buffers hold.
            (InFlight::new(100, 3.0, 1.0, 1.0, 1, 1), &[(0, 50), (1, 50), (2, 50), (3, 50)], 100),
            // A longer one is waited for until it comes; hits are not.
            (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 30), (1, 100), (2, 40), (3, 0)], 101),
            // Operations that take longer than the miss cover it.
            (InFlight::new(50, 8.0, 1.0, 1.0, 1, 1), &[(0, 20), (60, 0)], 60),
            // An in-order core waits for each.
            (InFlight::new(0, 10.0, 1.0, 1.0, 1, 1), &each, 22),
            (InFlight::new(10, 1.0, 1.0, 1.0, 1, 1), &each, 21),
        ] {
            assert_eq!(time(window, misses), expected, "{window:?} {misses:?}");
        }
    }

    #[test]
    fn threads_that_share_a_core_have_a_part_of_its_window_and_of_its_buffers_each() {
        let core = |misses| InFlight::new(20, misses, 1.0, 4.0, 1, 1);
        let misses = [(0, 50), (1, 50), (2, 50), (3, 50)];
        // Eight buffers, four, two, and one at least.
        let of = |sharers| time(core(8.0).shared_by(sharers), &misses);
        assert_eq!([1, 2, 4, 8, 9].map(of), [53, 53, 101, 200, 200]);
        // The second half begins when the window's first line is there.
        let wide = [(0, 100), (9, 100), (10, 100)];
        assert_eq!([1, 2].map(|sharers| time(core(8.0).shared_by(sharers), &wide)), [110, 200]);
        let walks = [1, 2, 6].map(|sharers| core(8.0).shared_by(sharers).a_walk(Ticks(40)));
        assert_eq!(walks, [10, 20, 60].map(Ticks));
    }

    #[test]
    fn misses_that_come_evenly_take_the_longer_of_operations_and_latencies() {
        // A miss every 10 operations, so 10 of them in a window of 100.
        let misses = |latency| (0..1000).map(|i| (i * 10, latency)).collect::<Vec<_>>();
        for (buffers, latency, expected) in [
            // The operations cover it.
            (16.0, 90, 10_000),
            // The window's operations take half as long as a line.
            (16.0, 200, 20_000),
            // Five buffers for what takes as long as 20.
            (5.0, 200, 40_000),
        ] {
            let flight = InFlight::new(100, buffers, 1.0, 1.0, 1, 1);
            let taken = time(flight, &misses(latency));
            assert!(taken.abs_diff(expected) <= latency, "{buffers} {latency}: {taken}");
        }
    }

    #[test]
    fn a_miss_whose_address_is_still_to_come_begins_when_it_is_there() {
        let flight = InFlight::new(1000, 8.0, 1.0, 1.0, 1, 1).at_pace(1.0);
        // Misses of 100 ticks, a tick apart, and hits; whether each depends on the one before.
        for (loads, expected) in [
            (&[(100, false), (100, false), (100, false)][..], 102),
            (&[(100, false), (100, true), (100, true)], 300),
            // Two chains in one window overlap.
            (&[(100, false), (100, true), (100, false), (100, true)], 202),
            // A hit hands on what it waits for; another one is there at once.
            (&[(100, false), (0, true), (100, true)], 200),
            (&[(100, false), (0, false), (100, true)], 102),
        ] {
            let (mut waits, mut clock) = (Waits::default(), Ticks::default());
            for (at, &(latency, dependent)) in (0..).zip(loads) {
                clock = clock.max(Ticks(at));
                let now = Now { clock, position: at, pace: 1.0 };
                clock += waits.before(now);
                clock += waits.miss(&flight, now, takes(latency, dependent), MEMORY);
            }
            assert_eq!((clock + waits.all(&flight, clock)).0, expected, "{loads:?}");
        }
    }

    #[test]
    fn walks_go_on_side_by_side_as_far_as_the_walkers_allow() {
        for (walks, dependent, expected) in [
            // A walker has the next walk when it is done with the one before.
            (1.0, false, 4 * 20 + 100),
            // Two of them have them in half of the time.
            (2.0, false, 20 + 3 * 10 + 100),
            // An address that is still to come has no walk before.
            (2.0, true, 4 * 120),
        ] {
            let flight = InFlight::new(1000, 8.0, 1.0, walks, 1, 1).at_pace(1.0);
            let (mut waits, now) =
                (Waits::default(), Now { clock: Ticks(0), position: 0, pace: 1.0 });
            for _ in 0..4 {
                let takes = Takes { walk: Ticks(20), latency: Ticks(100), dependent };
                assert_eq!(waits.miss(&flight, now, takes, MEMORY), Ticks(0));
            }
            assert_eq!(waits.all(&flight, now.clock).0, expected, "{walks} {dependent}");
        }
    }

    #[test]
    fn a_stream_takes_the_longer_of_its_lines_and_the_operations() {
        let flight = InFlight::new(10, 8.0, 4.0, 1.0, 1, 1);
        // A line every 25 ticks at most; the first are ahead by one latency.
        for (operations, lines, expected) in [(10, 1000, 25_000), (40, 1000, 40_000)] {
            let (mut waits, mut clock) = (Waits::default(), Ticks(1_000));
            let each = flight.a_stream(Ticks(100));
            for _ in 0..lines {
                clock += Ticks(operations);
                clock += waits.stream(&flight, clock, Ticks(100), each, Ticks::default(), MEMORY);
            }
            let taken = clock.0 - 1_000;
            assert!(taken.abs_diff(expected) <= 100, "{operations}: {taken}");
        }
    }

    /// Misses of 1000 ticks each, with a window of 400 operations, a tick each: how long the core
    /// waits when it leaves at 40 and at once again when it is back at 2040, and then at the end of
    /// the window.
    fn left_and_back(each: u64) -> [u64; 3] {
        let flight = InFlight::new(400, 8.0, 1.0, 1.0, 1, each).at_pace(1.0);
        let (mut waits, now) = (Waits::default(), Now { clock: Ticks(0), position: 0, pace: 1.0 });
        assert_eq!(waits.miss(&flight, now, takes(1000, false), MEMORY), Ticks(0));
        let leaves = waits.all(&flight, Ticks(40));
        waits.come_back(Ticks(2040));
        let again = waits.all(&flight, Ticks(2040));
        waits.come_back(Ticks(2040));
        let end = Now { clock: Ticks(2400), position: 400, pace: 1.0 };
        [leaves, again, waits.before(end)].map(|wait| wait.0)
    }

    #[test]
    fn a_core_that_leaves_waits_for_all_or_of_a_sample_for_what_one_window_lacks() {
        assert_eq!(left_and_back(1), [960, 0, 0]);
        // Of four windows one loses the 360 operations that were to come; the others go on.
        assert_eq!(left_and_back(4), [360 / 4, 360 / 4, 600]);
    }
}
