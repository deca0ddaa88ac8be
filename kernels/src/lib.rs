//! The benchmark programs of befit: ordinary Rust on its public API. They do not know whether they
//! are run, timed or recorded.
//!
//! ```
//! use befit_kernels::{Input, Variant, run};
//!
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build()?;
//! run(&Variant::find("rrm")?, &pool, Input { n: 100_000, seed: 1, ..Input::default() })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each kernel is a module, which documents its source, its sizes and the sizes that it declares to
//! size-aware schedulers. It makes its input, runs in the given pool, and checks its own result.
//! Their names, default sizes and settings are in `befit-catalog`. The binary `befit-kernels` runs
//! one by its name.

mod array;
pub mod array_abc;
pub mod array_windows;
mod bst;
mod compute;
mod distribute;
mod element;
mod matmul;
mod quadtree;
mod rgm;
mod row;
pub mod rows;
mod rrm;
pub mod sort;

use std::{error::Error, fmt};

use befit::ThreadPool;

use self::compute::{fft, ga, knapsack, mandelbrot, queens};
pub use self::element::ElementSize;
pub use befit_catalog::{CatalogError, Kernel, Setting, Variant};

/// The most that a strand touches that only cuts its task's input in two, or puts results together:
/// a few lines of stack and of data.
const BOOKKEEPING: usize = 1 << 10;

/// The ways in which a kernel fails.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum KernelError {
    /// The input does not fit in memory.
    TooLarge {
        /// The size asked for.
        n: usize,
    },
    /// The right result is known of smaller inputs only.
    AtMost {
        /// The size asked for.
        n: usize,
        /// The largest that there may be.
        most: usize,
    },
    /// The result is not what it must be: the scheduler, or befit, has a defect.
    WrongResult {
        /// Where.
        index: usize,
        /// The result.
        found: f64,
        /// The right one.
        expected: f64,
    },
    /// The sorted elements are not those of the input: the scheduler, or befit, has a defect.
    OtherElements,
    /// The matrix product is wrong: the scheduler, or befit, has a defect.
    WrongProduct {
        /// Which row of it.
        row: usize,
    },
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { n } => {
                write!(
                    f,
                    "there is not enough memory for n = {n}; give a smaller --n, or smaller \
                     settings"
                )
            }
            Self::AtMost { n, most } => write!(f, "n = {n} is too many: {most} at most"),
            Self::WrongResult { index, found, expected } => {
                write!(f, "wrong result: element {index} is {found}, must be {expected}")
            }
            Self::OtherElements => {
                f.write_str("wrong result: it does not hold the elements of the input")
            }
            Self::WrongProduct { row } => {
                write!(f, "wrong result: row {row} of the product is not what it must be")
            }
        }
    }
}

impl Error for KernelError {}

/// The input of a kernel. `..Input::default()` stands for all that a kernel has defaults for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Input {
    /// Its size in elements; see the kernel for what an element is.
    pub n: usize,
    /// The seed of its random numbers.
    pub seed: u64,
    /// Divides the cut-offs below which one thread does the work. 1 on a machine; more for a small
    /// model of a large run: with n and the caches divided by it too, the task tree of `rrm`,
    /// `rgm`, `rgm-leaf`, `quicksort`, `aware-samplesort`, `quadtree` and `matmul` is that of the
    /// large run. `samplesort` has √n buckets, so fewer in a model. The other kernels have leaves
    /// of a fixed size, which this does not divide.
    pub shrink: usize,
    /// The number of passes over the data, for kernels that can make any number; without it, their
    /// own number.
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
/// there is not enough memory, [`KernelError::AtMost`] if the kernel takes no input so large.
///
/// # Panics
/// If the catalog has a kernel that is not here (a test runs all of them).
pub fn run(variant: &Variant, pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    let settings = &variant.settings;
    let input = rows::with_settings(input, settings);
    let result = match variant.kernel.name {
        "rrm" => rrm::run(pool, input),
        "rgm" => rgm::run(pool, input, rgm::Source::Range),
        "rgm-leaf" => rgm::run(pool, input, rgm::Source::Leaf),
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
        "mandelbrot" => mandelbrot::run(pool, input),
        "queens" => queens::run(pool, input),
        "fft" => fft::run(pool, input),
        "ga" => ga::run(pool, input),
        "knapsack" => knapsack::run(pool, input),
        name => unreachable!("the catalog's {name} is missing"),
    };
    result.map_err(|error| match error {
        // The array that did not fit has some other number of elements.
        KernelError::TooLarge { .. } => KernelError::TooLarge { n: input.n },
        other => other,
    })
}

/// The pool of the tests.
#[cfg(test)]
fn pool() -> ThreadPool {
    befit::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variants, input sizes around their cut-offs, seed, and divisors of the cut-offs.
    type Case = (&'static [&'static str], &'static [usize], u64, &'static [usize]);

    const CASES: &[Case] = &[
        (&["rrm"], &[0, 1, 8192, 8193, 16_384, 100_001], 0, &[1, 64]),
        (&["rgm", "rgm-leaf"], &[0, 1, 8192, 8193, 16_384, 100_001], 7, &[1, 64]),
        (
            &["quicksort", "samplesort", "aware-samplesort"],
            &[0, 1, 2, 100, 16_384, 100_001],
            3,
            &[1, 64],
        ),
        (&["quadtree"], &[0, 1, 16, 17, 100_001], 1, &[1, 64]),
        (&["matmul"], &[1, 2, 64, 100, 131, 258, 320], 1, &[1, 64]),
        (
            &[
                "heat:iterations=7",
                "heat:iterations=7,element=16",
                "heat-ub:iterations=7",
                "heat-ub:iterations=7,element=16",
                "sor:iterations=7",
                "sor:iterations=7,element=16",
                "sor-ub:iterations=7",
                "sor-ub:iterations=7,element=16",
            ],
            &[0, 1, 2, 3, 65, 130],
            0,
            &[1],
        ),
        // Of 20 rows the wave loses 1.4 % in a pass: nothing is left of it but the plane.
        (&["heat:iterations=3000"], &[20], 0, &[1]),
        (&["ge", "ge:element=16", "ge-ub", "ge-ub:element=16"], &[0, 1, 2, 9, 100], 3, &[1]),
        (&["fft"], &[0, 1, 2, 8, 1024, 5000], 0, &[1]),
        (&["ga"], &[0, 1, 5], 7, &[1]),
        (&["knapsack"], &[0, 1, 16], 1, &[1]),
        (&["knapsack"], &[18], 2, &[1]),
        (&["knapsack"], &[18], 3, &[1]),
        (&["mandelbrot"], &[0, 1, 2, 33], 0, &[1]),
        (&["queens"], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0, &[1]),
        (
            &[
                "array-abc",
                "array-abc:tasks=ac,schedule=2",
                "array-abc:tasks=ab",
                "array-abc:schedule=2",
            ],
            &[1, 10, 100],
            0,
            &[1],
        ),
        (
            &[
                "array-windows",
                "array-windows:rows=4096,window=128,order=random",
                "array-windows:overlap=none,window=3",
                "array-windows:rows=5,window=9",
            ],
            &[0, 1, 500],
            3,
            &[1],
        ),
    ];

    #[test]
    fn results_are_right_whatever_the_size_the_settings_and_the_cut_offs() {
        let pool = pool();
        for (names, sizes, seed, shrinks) in CASES {
            for name in *names {
                let variant = Variant::find(name).unwrap();
                for n in *sizes {
                    for shrink in *shrinks {
                        let input =
                            Input { n: *n, seed: *seed, shrink: *shrink, ..Input::default() };
                        assert_eq!(run(&variant, &pool, input), Ok(()), "{name}, {input:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_too_large_is_the_input_as_it_was_given() {
        let pool = pool();
        // Of squares and of windows the elements can be counted, but no memory has room for them.
        for (name, n) in [
            ("mandelbrot", 1 << 31),
            ("matmul", 1 << 31),
            ("matmul", usize::MAX),
            ("heat", 1 << 53),
            ("array-windows:overlap=none", 1 << 50),
        ] {
            let input = Input { n, seed: 1, ..Input::default() };
            let error = run(&Variant::find(name).unwrap(), &pool, input).unwrap_err();
            assert_eq!(error, KernelError::TooLarge { n }, "{name}");
        }
    }

    #[test]
    fn every_kernel_of_the_catalog_is_here() {
        let pool = pool();
        for kernel in Kernel::ALL {
            let variant = Variant::find(kernel.name).unwrap();
            let input = Input { n: 8, seed: 1, ..Input::default() };
            assert_eq!(run(&variant, &pool, input), Ok(()), "{}", kernel.name);
        }
    }
}
