//! A task in steps, each of which says which memory the next one needs.

use crate::Touch;

/// A task written as a state machine: a look-up in an index, say, that goes from node to node.
///
/// Between two steps other tasks run, while the memory that the next step needs is on its way. So a
/// step should touch only what the step before announced.
///
/// ```
/// use befit_queue::{Step, Walk, interleaved};
///
/// struct Node {
///     key: u32,
///     children: [usize; 2], // 0: none
/// }
///
/// struct Search<'a> {
///     nodes: &'a [Node],
///     key: u32,
///     at: usize,
///     asked: bool,
/// }
///
/// impl Walk for Search<'_> {
///     type Output = bool;
///     fn step(&mut self) -> Step<bool> {
///         let node = &self.nodes[self.at];
///         if !std::mem::replace(&mut self.asked, true) {
///             return Step::to(node); // the first one announces the root
///         }
///         if node.key == self.key {
///             return Step::Done(true);
///         }
///         self.at = node.children[usize::from(self.key > node.key)];
///         if self.at == 0 { Step::Done(false) } else { Step::to(&self.nodes[self.at]) }
///     }
/// }
///
/// let leaf = |key| Node { key, children: [0, 0] };
/// let nodes = [Node { key: 5, children: [1, 2] }, leaf(3), leaf(8)];
/// let keys = [1, 3, 5, 8, 9];
/// let mut found = [false; 5];
/// let searches = keys.iter().map(|key| Search { nodes: &nodes, key: *key, at: 0, asked: false });
/// interleaved(searches, 4, |i, answer| found[i] = answer);
/// assert_eq!(found, [false, true, true, true, false]);
/// ```
pub trait Walk {
    /// What the task finds in the end.
    type Output;

    /// Does the next piece of work. Not called again after [`Step::Done`].
    fn step(&mut self) -> Step<Self::Output>;
}

/// What a step of a [`Walk`] comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<R> {
    /// The task goes on, and will touch this.
    Next(Touch),
    /// The task is over.
    Done(R),
}

impl<R> Step<R> {
    /// The task goes on, and will touch `place`.
    #[inline(always)]
    pub fn to<T: ?Sized>(place: &T) -> Self {
        Self::Next(Touch::of(place))
    }
}
