//! CATS's CPU-bound programs: on these no scheduler can do better than another by keeping data
//! near.
//!
//! Source: Q. Chen, M. Guo, Z. Huang, "CATS: cache aware task-stealing based on online profiling in
//! multi-socket multi-core architectures", ICS 2012, which names them and no more: mandelbrot,
//! queens (15), fft, ga (island model), knapsack. Their sizes, but for queens, are ours. None
//! declares sizes.

pub(crate) mod fft;
pub(crate) mod ga;
pub(crate) mod knapsack;
pub(crate) mod mandelbrot;
pub(crate) mod queens;

use befit::join;

/// Calls `leaf` for each of `items`, with its index from `first` on: by halving, down to one.
fn each<T: Send>(first: usize, items: &mut [T], leaf: &(impl Fn(usize, &mut T) + Sync)) {
    match items {
        [] => {}
        [item] => leaf(first, item),
        _ => {
            let (left, right) = items.split_at_mut(items.len() / 2);
            let middle = first + left.len();
            join(|| each(first, left, leaf), || each(middle, right, leaf));
        }
    }
}
