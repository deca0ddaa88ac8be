//! Tasks that come one by one.

use std::mem;

use super::{Queue, State};
use crate::{Hint, Run};

/// Collects tasks until a window is full; made by [`Queue::stream`].
#[must_use = "a Stream keeps its last tasks until it is finished"]
pub struct Stream<'q, T, R: Run<T>, H, S> {
    queue: &'q mut Queue<T, R, H>,
    waiting: Vec<T>,
    window: usize,
    sink: S,
}

impl<T: Sync, R: Run<T>, H: Hint<T> + Send> Queue<T, R, H> {
    /// Takes tasks one by one and runs them window by window, as they fill. `sink` gets each task
    /// with its result, in the order of arrival.
    ///
    /// A task waits until its window is full, that is for less than [`age`](Queue::age) later ones,
    /// or until [`flush`](Stream::flush).
    ///
    /// ```
    /// use befit_queue::Queue;
    ///
    /// let mut queue = Queue::new(|x: &u64| x * x).by_key(|x| *x).age(2);
    /// let mut squares = Vec::new();
    /// let mut stream = queue.stream(|x, square| squares.push((x, square)));
    /// for x in [9, 3, 4] {
    ///     stream.push(x);
    /// }
    /// stream.finish();
    /// assert_eq!(squares, [(9, 81), (3, 9), (4, 16)]);
    /// ```
    pub fn stream<S: FnMut(T, R::Output)>(&mut self, sink: S) -> Stream<'_, T, R, H, S> {
        let Self { settings, state, .. } = self;
        let window = state.get_or_insert_with(|| State::new::<T, R, H>(settings)).window;
        Stream { queue: self, waiting: Vec::new(), window, sink }
    }
}

impl<T: Sync, R: Run<T>, H: Hint<T> + Send, S: FnMut(T, R::Output)> Stream<'_, T, R, H, S> {
    /// Takes a task; runs the window, if it is full with it.
    ///
    /// # Panics
    /// If a task or the sink does. Then the window's tasks that the sink has not got are given up:
    /// after a task's panic all of them, though some may have run. The stream can take later tasks.
    pub fn push(&mut self, task: T) {
        self.waiting.push(task);
        if self.waiting.len() >= self.window {
            self.flush();
        }
    }

    /// Runs the tasks that wait.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub fn flush(&mut self) {
        // Taken out, or those of a window with a panic would run again with the next task.
        let mut tasks = mem::take(&mut self.waiting);
        let results = self.queue.run(&tasks);
        tasks.drain(..).zip(results).for_each(|(task, result)| (self.sink)(task, result));
        // For its allocation.
        self.waiting = tasks;
    }

    /// Runs the tasks that wait, for the last time. A stream that is dropped without it forgets its
    /// last tasks.
    ///
    /// # Panics
    /// If a task or the sink does.
    pub fn finish(mut self) {
        self.flush();
    }
}
