//! Which tasks of a window run next, and in which order.
//!
//! All functions take the number of tasks in the window, oldest first, how many are to run
//! (`execute`), and how many of the oldest are due and must be among those (`due`). They are pure.

mod exact;
mod greedy;
mod key;
#[cfg(test)]
mod tests;

pub use exact::{EXACT_UP_TO, exact};
pub use greedy::greedy;
pub use key::by_key;

/// How a window is put in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// As they came: what FIFO does.
    Arrival,
    /// Each next task is the one with the greatest affinity to the task before it.
    Greedy,
    /// The greatest sum of affinities; of windows larger than [`EXACT_UP_TO`], greedy.
    Exact,
}

/// What was chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// The tasks to run, in order, as indices into the window.
    pub order: Vec<usize>,
    /// The sum of their affinities, each to the one before it, as far as they were looked at.
    pub gain: i64,
    /// How many affinities were looked at: what deciding costs.
    pub looks: u64,
}

impl Chosen {
    /// The oldest, as they came.
    pub fn arrival(execute: usize) -> Self {
        Self { order: (0..execute).collect(), ..Self::default() }
    }
}
