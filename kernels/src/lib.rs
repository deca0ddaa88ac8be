//! The benchmark programs of befit: ordinary Rust on its public API. Nothing in them knows whether
//! it is run, timed or recorded.
//!
//! ```
//! use befit_kernels::{Input, Variant, run};
//!
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build()?;
//! run(&Variant::find("rrm")?, &pool, Input { n: 100_000, seed: 1, ..Input::default() })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each kernel is a module, with its source, its sizes and what it declares to size-aware
//! schedulers; it makes its input, runs in the given pool, and checks its own result. Their names,
//! default sizes and settings are in `befit-catalog`. The binary `befit-kernels` runs one by its
//! name.

mod array;
pub mod array_abc;
pub mod array_windows;
pub mod bst;
pub mod compute;
mod distribute;
mod element;
mod error;
pub mod matmul;
pub mod quadtree;
pub mod rgm;
mod row;
pub mod rows;
pub mod rrm;
mod sizes;
pub mod sort;

use befit::ThreadPool;

pub use befit_catalog::{CatalogError, Kernel, Setting, Variant};
pub use element::ElementSize;
pub use error::KernelError;

/// What a kernel works on. `..Input::default()` stands for what a kernel need not be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Input {
    /// Its size in elements; see the kernel for what an element is.
    pub n: usize,
    /// Seeds whatever is random in it.
    pub seed: u64,
    /// Divides the cut-offs below which one thread does the work. 1 on a machine; more for a small
    /// model of a large run: with n and the caches divided by it too, the task tree is that of the
    /// large run.
    pub shrink: usize,
    /// How often it goes over its data, for kernels that may do so any number of times; without it,
    /// their own number.
    pub iterations: Option<usize>,
    /// The size of its elements, for kernels that have them in several sizes.
    pub element: ElementSize,
}

impl Input {
    /// A cut-off of so many elements, shrunk; 2 at least.
    fn cut_off(&self, elements: usize) -> usize {
        cut_off(elements, self.shrink)
    }
}

/// A cut-off of so many elements, shrunk; 2 at least.
fn cut_off(elements: usize, shrink: usize) -> usize {
    (elements / shrink.max(1)).max(2)
}

/// Makes the kernel's input on the calling thread, works on it in `pool`, and checks the result on
/// the calling thread.
///
/// # Errors
/// [`KernelError::WrongResult`] and its like if the result is wrong, [`KernelError::TooLarge`] if
/// there is not enough memory.
///
/// # Panics
/// Where the catalog has a kernel that is not here (a test runs all of them).
pub fn run(variant: &Variant, pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    let settings = &variant.settings;
    let input = rows::with_settings(input, settings);
    match variant.kernel.name {
        "rrm" => rrm::run(pool, input),
        "rgm" => rgm::run_in_range(pool, input),
        "rgm-leaf" => rgm::run_in_leaf(pool, input),
        "array-abc" => array_abc::run(pool, input, settings),
        "array-windows" => array_windows::run(pool, input, settings),
        "bst" => bst::run(pool, input, settings),
        "quicksort" => sort::quicksort::run(pool, input),
        "samplesort" => sort::samplesort::run(pool, input),
        "aware-samplesort" => sort::aware::run(pool, input),
        "quadtree" => quadtree::run(pool, input),
        "matmul" => matmul::run(pool, input),
        "heat" => rows::heat::run(pool, input),
        "heat-ub" => rows::heat::run_unbalanced(pool, input),
        "sor" => rows::sor::run(pool, input),
        "sor-ub" => rows::sor::run_unbalanced(pool, input),
        "ge" => rows::ge::run(pool, input),
        "ge-ub" => rows::ge::run_unbalanced(pool, input),
        "mandelbrot" => compute::mandelbrot::run(pool, input),
        "queens" => compute::queens::run(pool, input),
        "fft" => compute::fft::run(pool, input),
        "ga" => compute::ga::run(pool, input),
        "knapsack" => compute::knapsack::run(pool, input),
        name => unreachable!("the catalog's {name} is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_the_catalog_is_here() {
        let pool = befit::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for kernel in Kernel::ALL {
            let variant = Variant::find(kernel.name).unwrap();
            assert_eq!(
                run(&variant, &pool, Input { n: 8, seed: 1, ..Input::default() }),
                Ok(()),
                "{}",
                kernel.name
            );
        }
    }
}
