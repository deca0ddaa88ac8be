//! A queue for many small independent tasks that each touch a little of a large memory: look-ups in
//! an index, particles in a field. If it pays, the queue runs them in an order, and in a way, that
//! suits the caches.
//!
//! ```
//! use befit_queue::{Queue, Walk, WalkStep};
//!
//! /// Finds the largest number up to `key`; each step announces what the next one touches.
//! struct Search<'a> {
//!     numbers: &'a [u64],
//!     key: u64,
//!     base: usize,
//!     size: usize,
//! }
//!
//! impl Walk for Search<'_> {
//!     type Output = usize;
//!     fn step(&mut self) -> WalkStep<usize> {
//!         if self.size <= 1 {
//!             return WalkStep::Done(self.base);
//!         }
//!         let half = self.size / 2;
//!         if self.numbers[self.base + half] <= self.key {
//!             self.base += half;
//!         }
//!         self.size -= half;
//!         WalkStep::to(&self.numbers[self.base + self.size / 2])
//!     }
//! }
//!
//! let numbers: &[u64] = &(0..1 << 16).map(|i| 10 * i).collect::<Vec<_>>();
//! // How a task is run.
//! let mut queue = Queue::new(|key: &u64| numbers.partition_point(|n| n <= key) - 1)
//!     // The same in steps.
//!     .in_steps(|key| Search { numbers, key: *key, base: 0, size: numbers.len() })
//!     .by_key(|key| *key) // near keys touch near memory
//!     .data_bytes(size_of_val(numbers)); // how much there is in all
//! let keys: Vec<u64> = (0..10_000).map(|i| i * 7919 % 655_360).collect();
//! let places = queue.run(&keys);
//! assert!(keys.iter().zip(&places).all(|(key, place)| *place as u64 == key / 10));
//! ```
//!
//! # Two remedies
//! Such tasks spend their time waiting for memory. Two remedies help:
//!
//! * **Order.** Take a window of tasks, sort it by where their data lie (a *footprint hint*), and
//!   run it in that order: a task uses the lines that the one before brought into the cache. This
//!   is footprint-based scheduling, in which tasks that share their footprint follow each other,
//!   with a sort in place of the pairwise search: for hints that are numbers it finds the same
//!   order in linear time. Order pays if tasks share much: windows must be large against the data,
//!   and tasks expensive against the 10 to 20 ns that sorting takes.
//! * **Flight.** Have many tasks under way on each core, and switch whenever one must wait
//!   ([`interleaved`]). Flight needs tasks in steps, as a state machine ([`Walk`]) or an async
//!   function ([`interleaved_async`]), and chains of misses: of independent misses a core has many
//!   on the way anyhow.
//!
//! A queue can use either or both. Which of the four [`Mode`]s pays depends on data, machine and
//! load, so a [`Queue`] measures: it times small portions of each, settles on the cheapest and
//! searches again now and then. It runs tasks as they come where nothing pays. The pool's machine
//! tells it the sizes of windows and keys: the records of a window befit half the last cache, and
//! the data of tasks whose keys share all sorted bits befits half the innermost one.
//!
//! # The age bound
//! Windows run one after another, and a task runs in the window that it arrived in. So no task is
//! displaced by a window's length or more, in any mode; [`Queue::age`] bounds that length.
//!
//! # Threads
//! A window's tasks run in parallel in the current pool, each thread a contiguous range of keys.
//! With [`data_bytes`](Queue::data_bytes) ranges carry their share of the data as their task size,
//! so `sb` and `sb-d` keep a range under the cache that it befits.
//!
//! # Recorded
//! A recording must not depend on clocks. So in a recorded build everything runs serially, nothing
//! is in flight, and a queue without a set [`mode`](Queue::mode) keeps the order of arrival.

mod choice;
mod flight;
mod hint;
mod measure;
mod order;
mod plan;
mod portion;
mod queue;
mod results;
mod run;
mod walk;

pub use self::{
    choice::Mode,
    flight::{interleaved, interleaved_async},
    hint::{ByClass, ByKey, Hint, NoHint},
    queue::{Queue, QueueReport, Stream},
    run::{InCoroutines, InSteps, Plain, Run},
    walk::{MemorySpan, Prefetch, Walk, WalkStep, prefetch},
};
