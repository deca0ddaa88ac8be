//! Which way of running a queue's tasks costs least: found by timing small portions of each, and
//! looked at again now and then.
//!
//! A pure policy: it says what to run next and is told what that cost, and knows neither clocks nor
//! threads.
//!
//! 1. *Arrival and interleaved*, some thousand tasks in the order of arrival, piece by piece one
//!    way and the other; the first ones do not count, as they warm the caches.
//! 2. *Windows in order*, if there is a hint: first small ones, then ever larger ones up to the
//!    largest that the caches advise, piece by piece plain and interleaved. That ends where order
//!    costs 15 % more than the best way without it: a window that is eight times as large saves
//!    three levels of a tree, not much more. So where order does not pay, little time goes into
//!    finding out.
//! 3. The cheapest, which must be a tenth cheaper to be an order, is *settled*, and runs until it
//!    has run 64 times as long as the search for it cost more than it did itself; twice as long
//!    each time that the search finds the same. It is questioned at once if its tasks become dearer
//!    by half.

use super::{measure::Pieces, portion::Flights};

/// A way of running the tasks of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One after another, as they came.
    Arrival,
    /// One after another, in windows sorted by the hint.
    Ordered,
    /// As they came, with many in flight.
    Interleaved,
    /// In sorted windows, with many in flight.
    Both,
}

impl Mode {
    pub(crate) fn new(ordered: bool, flight: bool) -> Self {
        match (ordered, flight) {
            (false, false) => Self::Arrival,
            (true, false) => Self::Ordered,
            (false, true) => Self::Interleaved,
            (true, true) => Self::Both,
        }
    }

    /// Whether windows are sorted.
    pub(crate) fn ordered(self) -> bool {
        matches!(self, Self::Ordered | Self::Both)
    }

    /// Whether many tasks are in flight.
    pub(crate) fn flight(self) -> bool {
        matches!(self, Self::Interleaved | Self::Both)
    }
}

/// Tasks per thread that are timed at a time in the order of arrival.
const SAMPLE: usize = 8 << 10;

/// They are enough when they have taken so many nanoseconds per thread: of cheap tasks more are
/// needed, as what they gain or lose by the caches' contents, or by a moment's trouble of the
/// machine, is as large as they are.
const SAMPLE_TIME: f64 = 4e6;

/// Tasks per thread of the smallest window that is tried, and by how much each next one is larger.
const FIRST_WINDOW: usize = 32 << 10;
const NEXT_WINDOW: usize = 8;

/// A sample of small batches is large enough when it has so many portions.
const PORTIONS: usize = 16;

/// Larger windows are not tried if order costs so many times what the best way without it does.
const HOPELESS: f64 = 1.15;

/// Order must save a tenth to be chosen. It makes others wait, and small portions do not tell
/// finer: their first tasks find caches and page tables cold, which harms the order of arrival
/// most.
const WORTH: f64 = 1.1;

/// A settled way runs so many times as long as looking for it took, beyond what it would have taken
/// itself.
const REST: f64 = 64.0;

/// A settled way is questioned if its tasks cost so many times what they did.
const DEARER: f64 = 1.5;

/// Batches that are so many times as large as those that the search saw are a new case, if they
/// fill larger windows.
const LARGER: usize = 4;

/// What to run next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Portion {
    pub(crate) tasks: usize,
    pub(crate) ordered: bool,
    pub(crate) flights: Flights,
}

/// A way with all its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    pub(crate) mode: Mode,
    /// Tasks of a window, also of one that is not sorted.
    pub(crate) window: usize,
}

/// Nanoseconds of thread time per task.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cost {
    pub(crate) way: Way,
    pub(crate) nanoseconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Unordered,
    /// Windows of so many tasks.
    Ordered(usize),
    Settled,
}

/// The policy.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    steps: bool,
    orders: bool,
    threads: usize,
    /// Tasks of the largest window.
    largest: usize,
    stage: Stage,
    /// What the stage has measured, in how many portions of how many tasks.
    pieces: Pieces,
    portions: usize,
    tasks: usize,
    /// Of this search.
    costs: Vec<Cost>,
    settled: Option<Cost>,
    /// Nanoseconds that the search took, for how many tasks.
    search: (f64, usize),
    /// Nanoseconds that the settled way still runs before the next search.
    rest: f64,
    /// How many times in a row the search found the same.
    same: u32,
    /// The largest batch that the search has seen, and whether a larger one would have shown more.
    batch: usize,
    short: bool,
}

impl Choice {
    pub(crate) fn new(steps: bool, orders: bool, threads: usize, largest: usize) -> Self {
        Self {
            steps,
            orders,
            threads,
            largest,
            stage: Stage::Unordered,
            pieces: Pieces::default(),
            portions: 0,
            tasks: 0,
            costs: Vec::new(),
            settled: None,
            search: (0.0, 0),
            rest: 0.0,
            same: 0,
            batch: 0,
            short: false,
        }
    }

    /// What was found; none before the first search is over.
    pub(crate) fn settled(&self) -> Option<Way> {
        (!self.alternatives()).then_some(self.arrival()).or(self.settled.map(|cost| cost.way))
    }

    /// What was measured, of the current or the last search.
    pub(crate) fn costs(&self) -> &[Cost] {
        &self.costs
    }

    fn alternatives(&self) -> bool {
        self.steps || self.orders
    }

    fn arrival(&self) -> Way {
        Way { mode: Mode::Arrival, window: self.largest }
    }

    /// What to run next, of `left` tasks.
    pub(crate) fn next(&mut self, left: usize) -> Portion {
        if self.stage == Stage::Settled && self.short && left >= LARGER * self.batch {
            self.search_again();
        }
        if self.stage != Stage::Settled {
            self.batch = self.batch.max(left);
        }
        let (tasks, ordered, flights) = match self.stage {
            _ if !self.alternatives() => (self.largest, false, Flights::Are(false)),
            Stage::Unordered if self.steps => {
                (SAMPLE * self.threads, false, Flights::Mixed(true, 2))
            }
            Stage::Unordered => (SAMPLE * self.threads, false, Flights::Are(false)),
            Stage::Ordered(window) if self.steps => {
                let pieces = (window / self.first_window()).max(1) * 4;
                (window, true, Flights::Mixed(self.favourite(), pieces.min(64)))
            }
            Stage::Ordered(window) => (window, true, Flights::Are(false)),
            Stage::Settled => {
                let way = self.settled.map_or(self.arrival(), |cost| cost.way);
                // All windows of a batch of one size: sorted ones gain by size.
                let tasks = left.div_ceil(left.div_ceil(way.window).max(1));
                (tasks, way.mode.ordered(), Flights::Are(way.mode.flight()))
            }
        };
        Portion { tasks: tasks.min(left).min(self.largest), ordered, flights }
    }

    /// What a portion cost.
    pub(crate) fn record(&mut self, portion: Portion, pieces: Pieces) {
        if !self.alternatives() {
            return;
        }
        let total = pieces.total();
        match self.stage {
            Stage::Settled => {
                self.rest -= total;
                let cost = |flight| pieces.cost(portion.ordered, flight);
                let dearer = self.settled.is_some_and(|settled| {
                    cost(settled.way.mode.flight())
                        .is_some_and(|cost| cost > DEARER * settled.nanoseconds)
                });
                // A few tasks alone, without others beside them, are dearer always.
                if self.rest <= 0.0 || dearer && portion.tasks >= SAMPLE {
                    self.search_again();
                }
            }
            Stage::Unordered | Stage::Ordered(_) => {
                self.search.0 += total;
                self.search.1 += portion.tasks;
                self.portions += 1;
                if self.stage == Stage::Unordered && self.portions == 1 {
                    return;
                }
                self.tasks += portion.tasks;
                self.pieces.extend(pieces);
                let enough = match self.stage {
                    Stage::Ordered(window) => self.tasks >= window / 2,
                    _ => self.pieces.total() >= SAMPLE_TIME * self.threads as f64,
                };
                if enough || self.portions >= PORTIONS {
                    self.end_stage(portion);
                }
            }
        }
    }

    fn first_window(&self) -> usize {
        (FIRST_WINDOW * self.threads).min(self.largest)
    }

    /// Whether interleaving was the cheaper one where it was last compared.
    fn favourite(&self) -> bool {
        let last = self.costs.last().map(|cost| cost.way);
        let of_last =
            |cost: &&Cost| last.is_some_and(|way| cost.way.mode.ordered() == way.mode.ordered());
        let cheapest = self.costs.iter().rev().take(2).filter(of_last).min_by(cheaper);
        cheapest.is_some_and(|cost| cost.way.mode.flight())
    }

    fn end_stage(&mut self, portion: Portion) {
        let window = match self.stage {
            Stage::Ordered(window) => window,
            _ => self.largest,
        };
        for flight in [false, true] {
            if let Some(nanoseconds) = self.pieces.cost(portion.ordered, flight) {
                let way = Way { mode: Mode::new(portion.ordered, flight), window };
                self.costs.push(Cost { way, nanoseconds });
            }
        }
        // Batches are smaller than the window: larger windows would not be filled either.
        let filled = self.tasks / self.portions.max(1) >= window / 2;
        self.clear();
        self.short = portion.ordered && !filled;
        let best = |ordered: bool| {
            self.costs.iter().filter(move |c| c.way.mode.ordered() == ordered).min_by(cheaper)
        };
        let next = match self.stage {
            Stage::Unordered if self.orders => Some(self.first_window()),
            Stage::Ordered(window) if filled && window < self.largest => {
                let hope = match (best(true), best(false)) {
                    (Some(ordered), Some(unordered)) => {
                        ordered.nanoseconds <= HOPELESS * unordered.nanoseconds
                    }
                    _ => true,
                };
                // Not one that is hardly larger than the last.
                let next = window * NEXT_WINDOW;
                hope.then_some(if next * 2 > self.largest { self.largest } else { next })
            }
            _ => None,
        };
        match next {
            Some(window) => self.stage = Stage::Ordered(window),
            None => self.settle(),
        }
    }

    fn settle(&mut self) {
        self.stage = Stage::Settled;
        let handicap =
            |cost: &Cost| cost.nanoseconds * if cost.way.mode.ordered() { WORTH } else { 1.0 };
        let best = self.costs.iter().min_by(|a, b| handicap(a).total_cmp(&handicap(b)));
        let Some(best) = best.copied() else { return };
        let same = self.settled.is_some_and(|settled| settled.way == best.way);
        self.same = if same { (self.same + 1).min(6) } else { 0 };
        let excess =
            (self.search.0 - best.nanoseconds * self.search.1 as f64).max(0.1 * self.search.0);
        self.rest = REST * excess * f64::from(1 << self.same);
        self.settled = Some(best);
    }

    fn search_again(&mut self) {
        self.stage = Stage::Unordered;
        self.costs.clear();
        self.search = (0.0, 0);
        self.batch = 0;
        self.clear();
    }

    fn clear(&mut self) {
        self.pieces = Pieces::default();
        (self.portions, self.tasks) = (0, 0);
    }
}

fn cheaper(a: &&Cost, b: &&Cost) -> std::cmp::Ordering {
    a.nanoseconds.total_cmp(&b.nanoseconds)
}

#[cfg(test)]
mod tests;
