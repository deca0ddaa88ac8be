//! The settings of a queue.

use std::{fmt, future::Future, marker::PhantomData};

use super::*;
use crate::{
    ByClass, ByKey, InCoroutines, InSteps, MemorySpan, NoHint, Plain, Walk, flight::IN_FLIGHT,
    hint::largest,
};

impl<T, O: Send, F: Fn(&T) -> O + Sync> Queue<T, Plain<F>> {
    /// A queue of tasks that `call` runs.
    pub fn new(call: F) -> Self {
        let settings = Settings {
            in_flight: IN_FLIGHT,
            data: None,
            mode: None,
            window: None,
            age: usize::MAX,
        };
        Self { run: Plain(call), hint: NoHint, settings, state: None, tasks: PhantomData }
    }
}

impl<T, O: Send, F: Fn(&T) -> O + Sync, H> Queue<T, Plain<F>, H> {
    /// Says how a task is run in steps: `start` makes a [`Walk`] with the result of the plain call.
    /// Then many tasks can be in flight. The plain call stays in use where it is faster.
    pub fn in_steps<W, S>(self, start: S) -> Queue<T, InSteps<F, S>, H>
    where
        W: Walk<Output = O>,
        S: Fn(&T) -> W + Sync,
    {
        self.with(|call, hint| (InSteps { call: call.0, start }, hint))
    }

    /// As [`in_steps`](Self::in_steps), with an async function that awaits
    /// [`prefetch`](crate::prefetch()) before it touches memory; see there.
    pub fn in_coroutines<A, S>(self, start: S) -> Queue<T, InCoroutines<F, S>, H>
    where
        A: Future<Output = O>,
        S: Fn(&T) -> A + Sync,
    {
        self.with(|call, hint| (InCoroutines { call: call.0, start }, hint))
    }
}

impl<T, R: Run<T>> Queue<T, R> {
    /// Tasks with near keys touch the same or near memory. Any order that keeps near data near will
    /// do: the keys of an index, cells along a space-filling curve, rows.
    pub fn by_key<F: Fn(&T) -> u64 + Sync>(self, key: F) -> Queue<T, R, ByKey<F>> {
        self.with(|run, _| (run, ByKey(key)))
    }

    /// The addresses that tasks touch are known before they run. Tasks are ordered by the address
    /// of the largest of the spans that `places` gives for a task.
    ///
    /// ```
    /// use befit_queue::{MemorySpan, Queue};
    ///
    /// let rows = vec![[1.0f64; 64]; 1000];
    /// let sum = |row: &usize| rows[*row].iter().sum::<f64>();
    /// let mut queue = Queue::new(sum).by_places(|row| Some(MemorySpan::of(&rows[*row])));
    /// assert_eq!(queue.run(&[999, 0, 5]), [64.0; 3]);
    /// ```
    pub fn by_places<I: IntoIterator<Item = MemorySpan>>(
        self,
        places: impl Fn(&T) -> I + Sync,
    ) -> Queue<T, R, ByKey<impl Fn(&T) -> u64 + Sync>> {
        self.by_key(move |task| largest(places(task)))
    }

    /// Tasks of one class touch much the same memory, in an unknown place. If tasks run [in
    /// steps](Queue::in_steps), the queue watches a few of each class now and then, and orders
    /// classes by where their memory lies; else it orders them by their numbers.
    ///
    /// ```
    /// use befit_queue::Queue;
    ///
    /// let shops = [vec![1u64; 50], vec![2; 100]];
    /// let price = |(shop, item): &(u16, usize)| shops[usize::from(*shop)][*item];
    /// let mut queue = Queue::new(price).by_class(|(shop, _)| *shop);
    /// assert_eq!(queue.run(&[(1, 99), (0, 3), (1, 4)]), [2, 1, 2]);
    /// ```
    pub fn by_class<F: Fn(&T) -> u16 + Sync>(self, class: F) -> Queue<T, R, ByClass<F>> {
        self.with(|run, _| (run, ByClass::new(class)))
    }
}

impl<T, R, H> Queue<T, R, H> {
    fn with<S, I>(self, change: impl FnOnce(R, H) -> (S, I)) -> Queue<T, S, I> {
        let (run, hint) = change(self.run, self.hint);
        Queue { run, hint, settings: self.settings, state: None, tasks: PhantomData }
    }

    /// How much memory all tasks touch together: the index's size, say. The width of the keys
    /// follows from it, and tasks whose data stay in a core's own cache anyway are not put in
    /// order. Unknown by default.
    pub fn data_bytes(mut self, bytes: usize) -> Self {
        (self.settings.data, self.state) = (Some(bytes), None);
        self
    }

    /// How many tasks a thread has in flight when it interleaves; 32 by default, and at least 1.
    pub fn in_flight(mut self, tasks: usize) -> Self {
        self.settings.in_flight = tasks;
        self
    }

    /// The age bound: no task waits for `tasks` or more that arrived after it, and none runs before
    /// that many that arrived earlier.
    ///
    /// Windows are never larger. In each mode all tasks of one window have ended before any of the
    /// next one starts, so only tasks of the same window, at most `tasks` − 1 others, can change
    /// places with it. Unbounded by default: windows are then as large as the last cache advises. 0
    /// counts as 1.
    ///
    /// ```
    /// use befit_queue::{Mode, Queue};
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// let clock = AtomicUsize::new(0);
    /// let queue = Queue::new(|_: &u64| clock.fetch_add(1, Relaxed)).by_key(|key| *key);
    /// let mut queue = queue.mode(Mode::Ordered).age(100);
    /// let backwards: Vec<u64> = (0..1000).rev().collect();
    /// let ran_at = queue.run(&backwards);
    /// assert!(ran_at.iter().enumerate().all(|(arrived, ran)| arrived.abs_diff(*ran) < 100));
    /// ```
    pub fn age(mut self, tasks: usize) -> Self {
        (self.settings.age, self.state) = (tasks, None);
        self
    }

    /// Windows of at most so many tasks, whatever the caches advise; at least 1.
    pub fn window(mut self, tasks: usize) -> Self {
        (self.settings.window, self.state) = (Some(tasks), None);
        self
    }

    /// Runs tasks always this way, and measures nothing: for comparison, or if the program knows
    /// best. Without steps nothing is in flight, and without a hint nothing is put in order.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.settings.mode = Some(mode);
        self
    }
}

impl<T, R, H> fmt::Debug for Queue<T, R, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("settings", &self.settings).finish_non_exhaustive()
    }
}
