//! Footprint-based scheduling: an order in which tasks find in the cache what the task before has
//! left there.
//!
//! Tasks that depend on nothing wait in a [`Window`]. It looks at the oldest N_decide of them
//! together, puts N_execute of them in an order, and they run; then it looks again. The order comes
//! from numbers for pairs of tasks, the *affinity* of the next task to the one before it: the
//! source's *Shared Hits − Shared Misses* (`befit_cache::footprint`), known beforehand, [`Learned`]
//! per class of tasks while they run, or read off a key. [`Budget`] keeps deciding from costing
//! more than it gains.
//!
//! ```
//! use befit_sched::footprint::{Order, Settings, Window};
//!
//! // Tasks are the first rows of windows of 100; two of them share what overlaps.
//! let overlap = |a: &i64, b: &i64| 100 - (a - b).abs().min(100);
//! let mut window = Window::new(Settings { decide: 5, execute: 5, age: 4 }).unwrap();
//! window.extend([0, 70, 20, 90, 40]);
//! let mut order = Vec::new();
//! window.decide(Some(&10), Order::Greedy, overlap, None, &mut order);
//! assert_eq!(order, [0, 20, 40, 70, 90]);
//! ```
//!
//! Everything here is plain computation: no threads, no simulator, no cache. The experiments in
//! virtual time use it; the queue for real threads (`befit::footprint`), whose tasks take less time
//! than a look at all pairs, sorts by keys instead. `docs/footprint.md` explains the rules and
//! proves the bound on displacement.
//!
//! Source: de Kruijf & Stockman (2007) propose the window, the metric and the age, and leave the
//! algorithm as future work. The orders, the bound and the budget are ours (`docs/footprint.md`).

mod budget;
mod learned;
mod order;
mod window;

pub use budget::{Budget, Price};
pub use learned::Learned;
pub use order::{EXACT_UP_TO, Order};
pub use window::{Settings, SettingsError, Window};
