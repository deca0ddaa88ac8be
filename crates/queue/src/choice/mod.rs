//! Finds the way of running a queue's tasks that costs least, by timing small portions of each way,
//! and searches again now and then.
//!
//! This is a pure policy: it says what to run next and is told what that cost. It knows neither
//! clocks nor threads.
//!
//! 1. *Arrival and interleaved*, some thousand tasks in the order of arrival, piece by piece one
//!    way and the other. The first ones do not count, as they warm the caches.
//! 2. *Windows in order*, if there is a hint: first small ones, then ever larger ones up to the
//!    largest that the caches advise, piece by piece plain and interleaved. The stage ends where
//!    order costs 15 % more than the best way without it, as a window that is eight times as large
//!    saves little more than three levels of a tree. So the search is short where order does not
//!    pay.
//! 3. The cheapest way is *settled*; an order must be a tenth cheaper for that. It runs for 64
//!    times the excess cost of the search, and twice as long each time that the search finds the
//!    same. A new search starts at once if thousands of tasks in a row are dearer by half.

use crate::{
    measure::Pieces,
    portion::{Flights, PIECE},
};

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

    /// True if windows are sorted.
    pub(crate) fn ordered(self) -> bool {
        matches!(self, Self::Ordered | Self::Both)
    }

    /// True if many tasks are in flight.
    pub(crate) fn flight(self) -> bool {
        matches!(self, Self::Interleaved | Self::Both)
    }
}

/// Tasks per thread that are timed at a time in the order of arrival.
const SAMPLE: usize = 8 << 10;

/// A sample is large enough when it has taken so many nanoseconds per thread. The contents of the
/// caches and other work on the machine change the time of cheap tasks by as much as they take, so
/// of these a sample needs more.
const SAMPLE_TIME: f64 = 4e6;

/// Sorted portions with fewer tasks may be one piece, or a few uneven ones. Each of them is plain
/// or interleaved as a whole, by turns: else a way that only later pieces take would have no cost.
const SMALL: usize = 8 * PIECE.start;

/// Tasks per thread of the smallest window that is tried, and by how much each next one is larger.
const FIRST_WINDOW: usize = 32 << 10;
const NEXT_WINDOW: usize = 8;

/// A sample of small batches is large enough when it has so many portions.
const PORTIONS: usize = 16;

/// Larger windows are not tried if order costs so many times what the best way without it does.
const HOPELESS: f64 = 1.15;

/// Order must save a tenth to be chosen. It makes other tasks wait, and small portions do not tell
/// smaller differences: their first tasks find caches and page tables cold, which harms the order
/// of arrival most.
const WORTH: f64 = 1.1;

/// A settled way runs for so many times the excess cost of the search for it.
const REST: f64 = 64.0;

/// A new search starts if the tasks of the settled way, [`SAMPLE`] of them in a row, cost so many
/// times what they did. A few tasks alone, without others beside them, are dearer always.
const DEARER: f64 = 1.5;

/// Batches that are so many times as large as those that the search saw are a new case, if they
/// fill larger windows.
const LARGER: usize = 4;

/// A part of a batch, and how it runs.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Unordered,
    /// Windows of so many tasks.
    Ordered(usize),
    Settled,
}

/// The measurements of a stage.
#[derive(Clone, Debug, Default)]
struct Measured {
    pieces: Pieces,
    portions: usize,
    tasks: usize,
}

/// The policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    steps: bool,
    orders: bool,
    threads: usize,
    /// Tasks of the largest window.
    largest: usize,
    stage: Stage,
    measured: Measured,
    /// The measurements of the current or the last search.
    pub(crate) costs: Vec<Cost>,
    settled: Option<Cost>,
    /// Nanoseconds that the search took, and its number of tasks.
    search: (f64, usize),
    /// Nanoseconds that the settled way still runs before the next search.
    rest: f64,
    /// Tasks in a row that were dearer than those of the search.
    dearer: usize,
    /// The number of searches in a row with the same result.
    same: u32,
    /// The largest batch that the search has seen, and whether a larger one would have shown more.
    batch: usize,
    short: bool,
}

impl Choice {
    pub(crate) fn new(steps: bool, orders: bool, threads: usize, largest: usize) -> Self {
        Self { steps, orders, threads, largest, ..Self::default() }
    }

    /// The way that was found; none before the first search is over.
    pub(crate) fn settled(&self) -> Option<Way> {
        (!self.alternatives()).then_some(self.arrival()).or(self.settled.map(|cost| cost.way))
    }

    /// True while it tries ways, one after another: at first, and now and then.
    pub(crate) fn searches(&self) -> bool {
        self.alternatives() && self.stage != Stage::Settled
    }

    fn alternatives(&self) -> bool {
        self.steps || self.orders
    }

    fn arrival(&self) -> Way {
        Way { mode: Mode::Arrival, window: self.largest }
    }

    /// The next portion of `left` tasks.
    pub(crate) fn next(&mut self, left: usize) -> Portion {
        if self.stage == Stage::Settled && self.short && left >= LARGER * self.batch {
            self.search_again();
        }
        if self.stage != Stage::Settled {
            self.batch = self.batch.max(left);
        }
        // The first piece runs one way and then the other: there may be no second one.
        let turn = self.measured.portions.is_multiple_of(2);
        let (tasks, ordered, flights) = match self.stage {
            _ if !self.alternatives() => (self.largest, false, Flights::Are(false)),
            Stage::Unordered => {
                let flights =
                    if self.steps { Flights::Mixed(turn, 2) } else { Flights::Are(false) };
                (SAMPLE * self.threads, false, flights)
            }
            Stage::Ordered(window) if self.steps && window.min(left) < SMALL => {
                (window, true, Flights::Are(self.favourite() == turn))
            }
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

    /// Takes note of the cost of a portion.
    pub(crate) fn record(&mut self, portion: Portion, pieces: Pieces) {
        if !self.alternatives() {
            return;
        }
        let total = pieces.total;
        match self.stage {
            Stage::Settled => {
                self.rest -= total;
                let dearer = self.settled.is_some_and(|settled| {
                    let cost = pieces.cost(portion.ordered, settled.way.mode.flight());
                    cost.is_some_and(|cost| cost > DEARER * settled.nanoseconds)
                });
                self.dearer = if dearer { self.dearer + portion.tasks } else { 0 };
                if self.rest <= 0.0 || self.dearer >= SAMPLE {
                    self.search_again();
                }
            }
            Stage::Unordered | Stage::Ordered(_) => {
                self.search.0 += total;
                self.search.1 += portion.tasks;
                let measured = &mut self.measured;
                measured.portions += 1;
                if self.stage == Stage::Unordered && measured.portions == 1 {
                    return;
                }
                measured.tasks += portion.tasks;
                measured.pieces.extend(pieces);
                let timed =
                    |flight: &bool| measured.pieces.cost(portion.ordered, *flight).is_some();
                let compared = !self.steps || [false, true].iter().all(timed);
                let enough = match self.stage {
                    Stage::Ordered(window) if window >= SMALL => measured.tasks >= window / 2,
                    _ => compared && measured.pieces.total >= SAMPLE_TIME * self.threads as f64,
                };
                if enough || measured.portions >= PORTIONS {
                    self.end_stage(portion);
                }
            }
        }
    }

    fn first_window(&self) -> usize {
        (FIRST_WINDOW * self.threads).min(self.largest)
    }

    /// True if interleaving was cheaper in the last comparison.
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
        let measured = std::mem::take(&mut self.measured);
        for flight in [false, true] {
            if let Some(nanoseconds) = measured.pieces.cost(portion.ordered, flight) {
                let way = Way { mode: Mode::new(portion.ordered, flight), window };
                self.costs.push(Cost { way, nanoseconds });
            }
        }
        // Batches are smaller than the window: larger windows would not be filled either.
        let filled = measured.tasks / measured.portions.max(1) >= window / 2;
        self.short = portion.ordered && !filled;
        let best = |ordered: bool| {
            self.costs.iter().filter(move |c| c.way.mode.ordered() == ordered).min_by(cheaper)
        };
        let next = match self.stage {
            Stage::Unordered if self.orders => Some(self.first_window()),
            Stage::Ordered(window) if filled && window < self.largest => {
                let hope = best(true).zip(best(false)).is_none_or(|(ordered, unordered)| {
                    ordered.nanoseconds <= HOPELESS * unordered.nanoseconds
                });
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
        self.dearer = 0;
        self.measured = Measured::default();
    }
}

fn cheaper(a: &&Cost, b: &&Cost) -> std::cmp::Ordering {
    a.nanoseconds.total_cmp(&b.nanoseconds)
}

#[cfg(test)]
mod tests;
