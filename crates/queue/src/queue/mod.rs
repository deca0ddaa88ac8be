//! The queue: how its tasks run, where their data lie, and the portions that they run in.

mod build;
mod stream;
#[cfg(all(test, not(befit_record)))]
mod tests;

use std::{marker::PhantomData, ops::Range};

use befit::current_num_threads;

pub use self::stream::Stream;
use crate::{
    Hint, Mode, NoHint, Run,
    choice::{Choice, Portion},
    order::Window,
    plan::{self, Caches},
    portion::{Batch, Flights},
    results::Results,
};

/// Runs many small independent tasks in an order, and in a way, that suits the caches.
///
/// [`new`](Self::new) says how a task is run, [`in_steps`](Self::in_steps) or
/// [`in_coroutines`](Self::in_coroutines) how it is run piecewise, `by_…` where its data lie; then
/// [`run`](Self::run) takes batches and [`stream`](Self::stream) single tasks. One queue should see
/// all batches of its kind: it learns from each.
///
/// `T` is a task, `R` how it is run, `H` the hint.
///
/// ```
/// use befit_queue::Queue;
///
/// let table: Vec<u64> = (0..100_000).map(|i| i * i).collect();
/// let queue = Queue::new(|i: &usize| table[*i]).by_key(|i| *i as u64);
/// let mut queue = queue.data_bytes(size_of_val(&*table));
/// assert_eq!(queue.run(&[7, 99_999, 3]), [49, 9_999_800_001, 9]);
/// ```
pub struct Queue<T, R, H = NoHint> {
    run: R,
    hint: H,
    settings: Settings,
    /// It follows from the settings, the machine and the types; made for the first batch.
    state: Option<State>,
    tasks: PhantomData<fn(&T)>,
}

/// The program's wishes.
#[derive(Clone, Copy, Debug)]
struct Settings {
    in_flight: usize,
    /// Bytes that all tasks touch together.
    data: Option<usize>,
    mode: Option<Mode>,
    window: Option<usize>,
    age: usize,
}

/// The knowledge and the buffers that a queue keeps between batches.
#[derive(Debug)]
struct State {
    caches: Caches,
    /// Tasks of the largest window.
    window: usize,
    choice: Choice,
    /// Whether tasks can be put in order, and be in flight.
    orders: bool,
    steps: bool,
    buffers: Window,
    /// Tasks that are still to be watched, for hints that learn.
    watch: usize,
    /// Tasks since some were watched, in however many batches.
    unwatched: usize,
}

/// The findings of a [`Queue`]; see [`Queue::report`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct QueueReport {
    /// The way that it runs tasks now; none while it is still looking for one.
    pub mode: Option<Mode>,
    /// Tasks of a window.
    pub window: usize,
    /// The latest measurements: way, tasks of a window, nanoseconds of thread time per task with
    /// the time for putting them in order.
    pub costs: Vec<(Mode, usize, f64)>,
}

/// So many tasks are watched at the start, an eighth as many after every [`WATCH_AGAIN`] others.
const WATCH: usize = 1024;
const WATCH_AGAIN: usize = 1 << 20;

impl<T, R, H> Queue<T, R, H> {
    /// The queue's findings; none before the first batch.
    ///
    /// ```
    /// let mut queue = befit_queue::Queue::new(|x: &u32| x + 1);
    /// assert_eq!(queue.report(), None);
    /// queue.run(&[1, 2, 3]);
    /// // Without a hint and without steps there is nothing to choose from.
    /// assert_eq!(queue.report().unwrap().mode, Some(befit_queue::Mode::Arrival));
    /// ```
    pub fn report(&self) -> Option<QueueReport> {
        let state = self.state.as_ref()?;
        let settled = state.choice.settled();
        let costs = state.choice.costs.iter();
        let found = settled.filter(|_| !state.choice.searches()).map(|way| way.mode);
        Some(QueueReport {
            mode: state.set(self.settings.mode).or(found),
            window: settled.map_or(state.window, |way| way.window),
            costs: costs.map(|c| (c.way.mode, c.way.window, c.nanoseconds)).collect(),
        })
    }
}

impl<T: Sync, R: Run<T>, H: Hint<T> + Send> Queue<T, R, H> {
    /// Runs `tasks` and returns their results, in the tasks' order.
    ///
    /// It runs them in windows, one after another: every task of a window has ended before the
    /// first one of the next starts. Within a window there is no order, so no task is displaced,
    /// against the order of arrival, by more than the window's length less 1: see
    /// [`age`](Self::age). Contiguous parts of a window run in parallel in the caller's pool,
    /// outside any in the global one.
    ///
    /// Beyond the tasks themselves it takes O(n) time and memory for the largest window.
    ///
    /// # Panics
    /// If a task does. Then some of the other tasks may not have run, and results of those that
    /// have are not dropped.
    pub fn run(&mut self, tasks: &[T]) -> Vec<R::Output> {
        let Self { run, hint, settings, state, .. } = self;
        let Settings { in_flight, data, mode, .. } = *settings;
        let all = |results: &Results<R::Output>| {
            in_pool(|| {
                let state = state.get_or_insert_with(|| State::new::<T, R, H>(settings));
                let mut done = 0;
                while done < tasks.len() {
                    let left = tasks.len() - done;
                    if state.watch > 0 && mode.is_none_or(Mode::ordered) {
                        let count = left.min(state.watch);
                        // SAFETY: no portion has these numbers, and `collect` hands the results
                        // out after the loop.
                        unsafe { watch(tasks, done..done + count, run, hint, results) };
                        state.watch -= count;
                        done += count;
                        continue;
                    }
                    let portion = state.next(left, mode);
                    let batch = Batch { tasks, results, run, hint: &*hint, in_flight, data };
                    let numbers = done..done + portion.tasks;
                    let pieces = if portion.ordered && H::ORDERS {
                        let bits = plan::bits(&state.caches, data, portion.tasks);
                        // SAFETY: no other portion has these numbers, and `collect` hands the
                        // results out after the loop.
                        unsafe { batch.ordered(numbers, &mut state.buffers, bits, portion.flights) }
                    } else {
                        // SAFETY: as in the branch above.
                        unsafe { batch.arrival(numbers, portion.flights) }
                    };
                    if mode.is_none() {
                        state.choice.record(portion, pieces);
                    }
                    done += portion.tasks;
                    state.unwatched += portion.tasks;
                    if learns::<T, R, H>() && state.unwatched >= WATCH_AGAIN {
                        (state.watch, state.unwatched) = (WATCH / 8, 0);
                    }
                }
            });
        };
        // SAFETY: the loop covers the numbers from 0 to `tasks.len()`, as each portion starts where
        // the one before ends. `watch`, `arrival` and `ordered` put a result for each number of
        // theirs, and return when all have been put.
        unsafe { Results::collect(tasks.len(), all) }
    }
}

/// True if watching tasks gains anything.
fn learns<T, R: Run<T>, H: Hint<T>>() -> bool {
    H::LEARNS && R::ANNOUNCES
}

/// Runs the tasks with these numbers one by one, and lets the hint learn from each.
///
/// # Safety
/// As [`Results::put`], for each of the numbers.
unsafe fn watch<T, R: Run<T>, H: Hint<T>>(
    tasks: &[T],
    numbers: Range<usize>,
    run: &R,
    hint: &mut H,
    results: &Results<R::Output>,
) {
    let mut spans = Vec::new();
    for number in numbers {
        spans.clear();
        let result = run.watched(&tasks[number], &mut |span| spans.push(span));
        hint.learn(&tasks[number], &spans);
        // SAFETY: the caller promises it for each of the numbers, and none comes twice.
        unsafe { results.put(number, result) };
    }
}

impl State {
    fn new<T, R: Run<T>, H: Hint<T>>(settings: &Settings) -> Self {
        let caches = befit::with_current_machine(Caches::of);
        let window = settings.window.unwrap_or_else(|| plan::window::<T, R::Output>(&caches));
        let window = window.min(settings.age).max(1);
        let orders = H::ORDERS && !settings.data.is_some_and(|data| caches.holds(data));
        let choice = Choice::new(R::STEPS, orders, current_num_threads(), window);
        let watch = if learns::<T, R, H>() { WATCH } else { 0 };
        Self {
            caches,
            window,
            choice,
            orders: H::ORDERS,
            steps: R::STEPS,
            buffers: Window::default(),
            watch,
            unwatched: 0,
        }
    }

    /// The way of all tasks, where the program has set a `mode`: as much of it as the queue has
    /// the means for.
    fn set(&self, mode: Option<Mode>) -> Option<Mode> {
        // A recording must not depend on clocks, and its tasks run one after another.
        let recorded = cfg!(befit_record);
        let mode = if recorded { mode.or(Some(Mode::Arrival)) } else { mode }?;
        Some(Mode::new(mode.ordered() && self.orders, mode.flight() && self.steps && !recorded))
    }

    /// The next portion of `left` tasks.
    fn next(&mut self, left: usize, mode: Option<Mode>) -> Portion {
        match self.set(mode) {
            None => self.choice.next(left),
            Some(mode) => Portion {
                tasks: left.div_ceil(left.div_ceil(self.window)),
                ordered: mode.ordered(),
                flights: Flights::Are(mode.flight()),
            },
        }
    }
}

/// Runs `f` on a worker of the pool: else each of its forks would be handed over to one. A
/// recording would show that fork.
fn in_pool<F: FnOnce() + Send>(f: F) {
    if cfg!(befit_record) {
        f();
    } else {
        befit::join(f, || ());
    }
}

#[cfg(all(test, befit_record))]
mod recorded_tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_recorded_queue_runs_its_tasks_one_after_another_as_they_came() {
        let ran = Mutex::new(Vec::new());
        let run = |key: &u64| {
            ran.lock().unwrap().push(*key);
            key + 1
        };
        let keys: Vec<u64> = (0..5000).map(|i| i * 7919 % 5000).collect();
        let results = Queue::new(run).by_key(|key| *key).run(&keys);
        assert!(results.into_iter().eq(keys.iter().map(|key| key + 1)));
        assert_eq!(ran.into_inner().unwrap(), keys);
    }
}
