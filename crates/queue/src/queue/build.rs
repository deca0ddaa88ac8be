//! What a program says of its tasks.

use std::{fmt, future::Future, marker::PhantomData};

use super::*;
use crate::{ByClass, ByKey, ByPlaces, InCoroutines, InSteps, Touch, Walk, flight::IN_FLIGHT};

impl<T, O, F> Queue<T, Plain<F>>
where
    O: Send,
    F: Fn(&T) -> O + Sync,
{
    /// A queue of tasks that `call` runs.
    pub fn new(call: F) -> Self {
        Self {
            run: Plain(call),
            hint: NoHint,
            in_flight: IN_FLIGHT,
            data: None,
            mode: None,
            window: None,
            age: usize::MAX,
            state: None,
            tasks: PhantomData,
        }
    }
}

impl<T, O, F, H> Queue<T, Plain<F>, H>
where
    O: Send,
    F: Fn(&T) -> O + Sync,
{
    /// Says how a task is run in steps: `start` makes a state machine that answers the same as the
    /// plain call. Then many can be in flight. The plain call stays in use, where it is faster.
    ///
    /// ```
    /// use befit_queue::{Queue, Step, Walk};
    ///
    /// /// Follows a chain of links to its end.
    /// struct Follow<'a>(&'a [usize], usize);
    ///
    /// impl Walk for Follow<'_> {
    ///     type Output = usize;
    ///     fn step(&mut self) -> Step<usize> {
    ///         let next = self.0[self.1];
    ///         if next == self.1 {
    ///             return Step::Done(next);
    ///         }
    ///         self.1 = next;
    ///         Step::to(&self.0[next])
    ///     }
    /// }
    ///
    /// let links: Vec<usize> = (0..1000).map(|i: usize| i.saturating_sub(7)).collect();
    /// let end = |start: &usize| std::iter::successors(Some(*start), |i| Some(links[*i]).filter(|n| n != i)).last().unwrap();
    /// let mut queue = Queue::new(end).in_steps(|start| Follow(&links, *start)).by_key(|start| *start as u64);
    /// assert_eq!(queue.run(&[999, 5, 70]), [0; 3]);
    /// ```
    pub fn in_steps<W, S>(self, start: S) -> Queue<T, InSteps<F, S>, H>
    where
        W: Walk<Output = O>,
        S: Fn(&T) -> W + Sync,
    {
        self.with(|call, hint| (InSteps { call: call.0, start }, hint))
    }

    /// As [`in_steps`](Self::in_steps), with an async function that awaits
    /// [`prefetch`](crate::prefetch()) before it touches memory.
    ///
    /// ```
    /// use befit_queue::{Queue, Touch, prefetch};
    ///
    /// let links: Vec<usize> = (0..1000).map(|i: usize| i.saturating_sub(7)).collect();
    /// let follow = |mut i: usize| {
    ///     while links[i] != i {
    ///         i = links[i];
    ///     }
    ///     i
    /// };
    /// let links = &links;
    /// let follow_async = |start: &usize| {
    ///     let mut i = *start;
    ///     async move {
    ///         while links[i] != i {
    ///             i = links[i];
    ///             prefetch(Touch::of(&links[i])).await;
    ///         }
    ///         i
    ///     }
    /// };
    /// let mut queue = Queue::new(|i: &usize| follow(*i)).in_coroutines(follow_async);
    /// assert_eq!(queue.run(&[999, 5, 70]), [0; 3]);
    /// ```
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

    /// What tasks touch is known before they run: the order is that of addresses, of the largest of
    /// the places that `places` gives for a task.
    ///
    /// ```
    /// use befit_queue::{Queue, Touch};
    ///
    /// let rows = vec![[1.0f64; 64]; 1000];
    /// let sum = |row: &usize| rows[*row].iter().sum::<f64>();
    /// let mut queue = Queue::new(sum).by_places(|row| Some(Touch::of(&rows[*row])));
    /// assert_eq!(queue.run(&[999, 0, 5]), [64.0; 3]);
    /// ```
    pub fn by_places<F, I>(self, places: F) -> Queue<T, R, ByPlaces<F>>
    where
        F: Fn(&T) -> I + Sync,
        I: IntoIterator<Item = Touch>,
    {
        self.with(|run, _| (run, ByPlaces(places)))
    }

    /// Tasks of one class touch much the same memory, and nobody knows where that is. The queue
    /// watches a few tasks of each class now and then, if they are run [in steps](Queue::in_steps),
    /// and lets classes follow each other as what they touch lies in memory; otherwise in the order
    /// of their numbers.
    ///
    /// ```
    /// use befit_queue::Queue;
    ///
    /// let shops = [vec![1u64; 50], vec![2; 100]];
    /// let mut queue = Queue::new(|(shop, item): &(u16, usize)| shops[usize::from(*shop)][*item]).by_class(|(shop, _)| *shop);
    /// assert_eq!(queue.run(&[(1, 99), (0, 3), (1, 4)]), [2, 1, 2]);
    /// ```
    pub fn by_class<F: Fn(&T) -> u16 + Sync>(self, class: F) -> Queue<T, R, ByClass<F>> {
        self.with(|run, _| (run, ByClass::new(class)))
    }
}

impl<T, R, H> Queue<T, R, H> {
    fn with<S, I>(self, change: impl FnOnce(R, H) -> (S, I)) -> Queue<T, S, I> {
        let Self { run, hint, in_flight, data, mode, window, age, .. } = self;
        let (run, hint) = change(run, hint);
        Queue { run, hint, in_flight, data, mode, window, age, state: None, tasks: PhantomData }
    }

    /// How much memory the tasks touch, all of them together: the index's size, say. The width of
    /// the keys follows from it, and tasks whose data stay in a core's own cache anyway are not put
    /// in order. Unknown by default.
    pub fn data_bytes(mut self, bytes: usize) -> Self {
        (self.data, self.state) = (Some(bytes), None);
        self
    }

    /// How many tasks a thread has in flight when it interleaves; 32 by default, and at least 1.
    pub fn in_flight(mut self, tasks: usize) -> Self {
        self.in_flight = tasks;
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
    /// let mut queue =
    ///     Queue::new(|_: &u64| clock.fetch_add(1, Relaxed)).by_key(|key| *key).mode(Mode::Ordered).age(100);
    /// let backwards: Vec<u64> = (0..1000).rev().collect();
    /// let ran_at = queue.run(&backwards);
    /// assert!(ran_at.iter().enumerate().all(|(arrived, ran)| arrived.abs_diff(*ran) < 100));
    /// ```
    pub fn age(mut self, tasks: usize) -> Self {
        (self.age, self.state) = (tasks, None);
        self
    }

    /// Windows of at most so many tasks, whatever the caches advise; at least 1.
    pub fn window(mut self, tasks: usize) -> Self {
        (self.window, self.state) = (Some(tasks), None);
        self
    }

    /// Runs tasks this way always, and measures nothing. For comparison, or for programs that know.
    /// What the queue has no means for is left out: without steps nothing is in flight, and without
    /// a hint nothing is put in order.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }
}

impl<T, R, H> fmt::Debug for Queue<T, R, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Queue");
        debug
            .field("in_flight", &self.in_flight)
            .field("data", &self.data)
            .field("mode", &self.mode);
        debug.field("window", &self.window).field("age", &self.age).finish_non_exhaustive()
    }
}
