//! A queue for many small independent tasks that each touch a little of much memory: look-ups in a
//! large index, particles in a large field. It runs them in an order, and in a way, that suits the
//! caches, if that pays.
//!
//! ```
//! use befit_queue::{Queue, Step, Walk};
//!
//! /// A sorted array, as an example of an index.
//! struct Index(Vec<u64>);
//!
//! /// The place of the largest number that is not above `key`, in steps: each says what the next one will touch.
//! struct Search<'a> {
//!     numbers: &'a [u64],
//!     key: u64,
//!     base: usize,
//!     size: usize,
//! }
//!
//! impl Walk for Search<'_> {
//!     type Output = usize;
//!     fn step(&mut self) -> Step<usize> {
//!         if self.size <= 1 {
//!             return Step::Done(self.base);
//!         }
//!         let half = self.size / 2;
//!         if self.numbers[self.base + half] <= self.key {
//!             self.base += half;
//!         }
//!         self.size -= half;
//!         Step::to(&self.numbers[self.base + self.size / 2])
//!     }
//! }
//!
//! let index = Index((0..1 << 16).map(|i| 10 * i).collect());
//! let numbers = &index.0;
//! let mut queue = Queue::new(|key: &u64| numbers.partition_point(|n| n <= key) - 1) // how a task is run
//!     .in_steps(|key| Search { numbers, key: *key, base: 0, size: numbers.len() }) // the same, in steps
//!     .by_key(|key| *key) // near keys touch near memory
//!     .data_bytes(size_of_val(&**numbers)); // how much there is in all
//! let keys: Vec<u64> = (0..10_000).map(|i| i * 7919 % 655_360).collect();
//! let places = queue.run(&keys);
//! assert!(keys.iter().zip(&places).all(|(key, place)| *place as u64 == key / 10));
//! ```
//!
//! # Two remedies
//! Such tasks spend their time waiting for memory. What helps:
//!
//! * **Order.** Take a window of tasks, sort it by where their data lie (a *footprint hint*), run
//!   it in that order: what one task brings into the cache the next one uses. This is
//!   footprint-based scheduling, in which tasks that share their footprint follow each other, with
//!   a sort in place of the pairwise search: for hints that are numbers it finds the same order in
//!   linear time. It pays if tasks share much: windows must be large against the data, and tasks
//!   dear against the 10 to 20 ns that sorting takes.
//! * **Flight.** Have many tasks under way on each core, and switch whenever one must wait
//!   ([`interleaved`]). It needs tasks in steps, as a state machine ([`Walk`]) or an async function
//!   ([`interleaved_async`]), and chains of misses: of independent misses a core has many on the
//!   way anyhow.
//!
//! Each can be had alone, and both together. Which of the four [`Mode`]s pays depends on data,
//! machine and load, so a [`Queue`] measures: it times small portions of each, settles on the
//! cheapest and looks again now and then. Where nothing pays it runs tasks as they come. It takes
//! what it needs to know of caches from the pool's machine: windows whose records befit half the
//! last cache, keys so wide that what shares all leading bits befits half the innermost one.
//!
//! # The age bound
//! Windows run one after another, and a task runs in the window that it arrived in. So none is
//! displaced by a window's length or more, in any mode; [`Queue::age`] bounds that length.
//!
//! # Threads
//! A window's tasks run in parallel in the current pool, each thread a contiguous range of keys.
//! With [`data_bytes`](Queue::data_bytes) ranges carry their share of the data as their task size,
//! so `sb` and `sb-d` keep a range under the cache that it befits.
//!
//! # Recorded
//! In a recorded build everything runs serially, and a queue without a set [`mode`](Queue::mode) in
//! the order of arrival: a recording must not depend on clocks. Nothing is in flight there.

mod answers;
mod choice;
mod flight;
mod hint;
mod measure;
mod order;
mod plan;
mod portion;
mod queue;
mod run;
mod touch;
mod walk;

pub use self::{
    choice::Mode,
    flight::{interleaved, interleaved_async},
    hint::{ByClass, ByKey, ByPlaces, Hint, NoHint},
    queue::{Queue, Report, Stream},
    run::{InCoroutines, InSteps, Plain, Run},
    touch::{Prefetch, Touch, prefetch},
    walk::{Step, Walk},
};
