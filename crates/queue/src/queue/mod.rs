//! The queue: what to run, where its data lie, and the portions that it is run in.

mod build;
mod report;
mod stream;
#[cfg(all(test, not(befit_record)))]
mod tests;

use std::{marker::PhantomData, ops::Range};

pub use self::{report::Report, stream::Stream};
use befit::current_num_threads;

use crate::{
    Hint, Mode, NoHint, Plain, Run,
    answers::Answers,
    choice::{Choice, Portion},
    order::Window,
    plan::{self, Caches},
    portion::{Batch, Flights},
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
/// let mut queue = Queue::new(|i: &usize| table[*i]).by_key(|i| *i as u64).data_bytes(size_of_val(&*table));
/// assert_eq!(queue.run(&[7, 99_999, 3]), [49, 9_999_800_001, 9]);
/// ```
pub struct Queue<T, R, H = NoHint> {
    run: R,
    hint: H,
    in_flight: usize,
    data: Option<usize>,
    /// What the program asks for.
    mode: Option<Mode>,
    window: Option<usize>,
    age: usize,
    /// What follows from that, the machine and the types; made for the first batch.
    state: Option<State>,
    tasks: PhantomData<fn(&T)>,
}

/// What a queue keeps between batches.
#[derive(Debug)]
struct State {
    caches: Caches,
    /// Tasks of the largest window.
    window: usize,
    choice: Choice,
    buffers: Window,
    /// Tasks that are still to be watched, for hints that learn.
    watch: usize,
}

/// So many tasks are watched at the start, and every [`WATCH_AGAIN`]th again.
const WATCH: usize = 1024;
const WATCH_AGAIN: usize = 1 << 20;

impl<T, R, H> Queue<T, R, H>
where
    T: Sync,
    R: Run<T>,
    H: Hint<T> + Send,
{
    /// Runs `tasks` and returns their answers, in the tasks' order.
    ///
    /// It runs them in windows, one after another: every task of a window has ended before the
    /// first one of the next starts. Within a window there is no order, so no task is displaced,
    /// against the order of arrival, by more than the window's length less 1: see
    /// [`age`](Self::age). Contiguous parts of a window run in parallel in the pool that the caller
    /// is in, else in the global one.
    ///
    /// Beyond the tasks themselves it takes O(n) time and memory for the largest window.
    ///
    /// # Panics
    /// If a task does. Then some of the other tasks may not have been run, and answers that there
    /// were are not dropped.
    pub fn run(&mut self, tasks: &[T]) -> Vec<R::Output> {
        let Self { run, hint, in_flight, data, mode, window, age, state, .. } = self;
        let all = |answers: &Answers<R::Output>| {
            in_pool(|| {
                let state =
                    state.get_or_insert_with(|| State::new::<T, R, H>(*data, *window, *age));
                let mut done = 0;
                while done < tasks.len() {
                    let left = tasks.len() - done;
                    if state.watch > 0 && mode.is_none_or(Mode::ordered) {
                        let count = left.min(state.watch);
                        // SAFETY: the numbers are of no portion, and the answers are given out
                        // after the loop.
                        unsafe { watch(tasks, done..done + count, run, hint, answers) };
                        state.watch -= count;
                        done += count;
                        continue;
                    }
                    let portion = state.next(left, *mode);
                    let batch = Batch {
                        tasks,
                        answers,
                        run,
                        hint: &*hint,
                        in_flight: *in_flight,
                        data: *data,
                    };
                    let numbers = done..done + portion.tasks;
                    let pieces = if portion.ordered && H::ORDERS {
                        let bits = plan::bits(&state.caches, *data, portion.tasks);
                        // SAFETY: the numbers are of no other portion, and the answers are given
                        // out after the loop.
                        unsafe { batch.ordered(numbers, &mut state.buffers, bits, portion.flights) }
                    } else {
                        // SAFETY: as above.
                        unsafe { batch.arrival(numbers, portion.flights) }
                    };
                    if mode.is_none() {
                        state.choice.record(portion, pieces);
                    }
                    if H::LEARNS && (done + portion.tasks) / WATCH_AGAIN > done / WATCH_AGAIN {
                        state.watch = WATCH / 8;
                    }
                    done += portion.tasks;
                }
            });
        };
        // SAFETY: the loop covers the numbers from 0 to `tasks.len()`: where one portion ends the
        // next starts. `watch`, `arrival` and `ordered` put an answer for each number that they are
        // given, and return when all have been put.
        unsafe { Answers::collect(tasks.len(), all) }
    }
}

/// Runs the tasks with these numbers one by one, and lets the hint learn from each.
///
/// # Safety
/// As [`Answers::put`], for each of the numbers.
unsafe fn watch<T, R: Run<T>, H: Hint<T>>(
    tasks: &[T],
    numbers: Range<usize>,
    run: &R,
    hint: &mut H,
    answers: &Answers<R::Output>,
) {
    let mut touches = Vec::new();
    for number in numbers {
        touches.clear();
        let answer = run.watched(&tasks[number], &mut |touch| touches.push(touch));
        hint.learn(&tasks[number], &touches);
        // SAFETY: the caller's promise.
        unsafe { answers.put(number, answer) };
    }
}

impl State {
    fn new<T, R: Run<T>, H: Hint<T>>(
        data: Option<usize>,
        window: Option<usize>,
        age: usize,
    ) -> Self {
        let caches = befit::with_current_machine(Caches::of);
        let window =
            window.unwrap_or_else(|| plan::window::<T, R::Output>(&caches)).min(age).max(1);
        let orders = H::ORDERS && !data.is_some_and(|data| caches.holds(data));
        let choice = Choice::new(R::STEPS, orders, current_num_threads(), window);
        Self {
            caches,
            window,
            choice,
            buffers: Window::default(),
            watch: if H::LEARNS { WATCH } else { 0 },
        }
    }

    /// What to run next of `left` tasks.
    fn next(&mut self, left: usize, mode: Option<Mode>) -> Portion {
        // A recording must not depend on clocks, and records what tasks do one after another.
        let mode = if cfg!(befit_record) { mode.or(Some(Mode::Arrival)) } else { mode };
        match mode {
            None => self.choice.next(left),
            Some(mode) => Portion {
                tasks: left.div_ceil(left.div_ceil(self.window)),
                ordered: mode.ordered(),
                flights: Flights::Are(mode.flight() && !cfg!(befit_record)),
            },
        }
    }
}

/// Runs `f` where what it forks runs, so that it has not to be handed over each time.
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
        let answers = Queue::new(run).by_key(|key| *key).run(&keys);
        assert!(answers.into_iter().eq(keys.iter().map(|key| key + 1)));
        assert_eq!(ran.into_inner().unwrap(), keys);
    }
}
