//! The benchmark programs of befit: ordinary Rust on its public API. Nothing in them knows whether it is run, timed or recorded.
//!
//! ```
//! use befit_kernels::{Input, Kernel};
//!
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build()?;
//! Kernel::find("rrm").unwrap().run(&pool, Input { n: 100_000, seed: 1, ..Input::default() })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each kernel is a module, with its source, its sizes and what it declares to size-aware schedulers; it makes its input, runs in the
//! given pool, and checks its own result. The binary `befit-kernels` runs one by its name.

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
mod settings;
mod sizes;
pub mod sort;

use befit::ThreadPool;

pub use element::ElementSize;
pub use error::KernelError;
pub use settings::{Setting, Variant, of as settings_of};

/// The kernels whose n counts the rows of square matrices: their data grow with n².
const SQUARES: [&str; 1] = ["matmul"];
/// The largest default n that is simulated as it is.
const MOST_SIMULATED: usize = 50_000_000;

/// A benchmark program.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// As users type it.
    pub name: &'static str,
    /// One line on what it does and where it comes from.
    pub about: &'static str,
    /// The size of its input, in elements, in its source.
    pub default_n: usize,
    run: fn(&ThreadPool, Input) -> Result<(), KernelError>,
}

/// What a kernel works on. `..Input::default()` stands for what a kernel need not be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Input {
    /// Its size in elements; see the kernel for what an element is.
    pub n: usize,
    /// Seeds whatever is random in it.
    pub seed: u64,
    /// Divides the cut-offs below which one thread does the work. 1 on a machine; more for a small model of a large run: with n and the
    /// caches divided by it too, the task tree is that of the large run.
    pub shrink: usize,
    /// How often it goes over its data, for kernels that may do so any number of times; without it, their own number.
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

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 22] = [
        Self {
            name: "rrm",
            about: "recursive repeated map of n doubles: the space-bounded study's (Simhadri et al. 2014)",
            default_n: 10_000_000,
            run: rrm::run,
        },
        Self {
            name: "rgm",
            about: "recursive repeated gather of n doubles, each from anywhere in its task's range (the same study's text)",
            default_n: 10_000_000,
            run: rgm::run_in_range,
        },
        Self {
            name: "rgm-leaf",
            about: "recursive repeated gather of n doubles, each from its own leaf's range (the same study's code)",
            default_n: 10_000_000,
            run: rgm::run_in_leaf,
        },
        Self {
            name: "array-abc",
            about: "tasks A, B and C over halves of an array that overlap, n runs of each (the footprint study's arrays)",
            default_n: 1000,
            run: array_abc::run,
        },
        Self {
            name: "array-windows",
            about: "n tasks over windows of an array that overlap at random (the same study's tasks, mixed)",
            default_n: 4096,
            run: array_windows::run,
        },
        Self {
            name: "bst",
            about: "look-ups of each of n words in a binary search tree (the same study's tree)",
            default_n: (1 << 18) - 1,
            run: bst::run,
        },
        Self {
            name: "quicksort",
            about: "quicksort of n doubles with a parallel partition (the same study's)",
            default_n: 100_000_000,
            run: sort::quicksort::run,
        },
        Self {
            name: "samplesort",
            about: "samplesort of n doubles with √n buckets (the same study's)",
            default_n: 100_000_000,
            run: sort::samplesort::run,
        },
        Self {
            name: "aware-samplesort",
            about: "samplesort of n doubles with buckets that fit a last-level cache (the same study's)",
            default_n: 100_000_000,
            run: sort::aware::run,
        },
        Self {
            name: "quadtree",
            about: "sorts n points in the plane into quadrants, recursively (the same study's)",
            default_n: 100_000_000,
            run: quadtree::run,
        },
        Self {
            name: "matmul",
            about: "product of two n x n matrices of doubles by quadrants (the same study's)",
            default_n: 5120,
            run: matmul::run,
        },
        Self {
            name: "heat",
            about: "five-point Jacobi on two matrices of n rows x 512, halved down to 8 rows: CATS's (Chen et al. 2012)",
            default_n: 1024,
            run: rows::heat::run,
        },
        Self {
            name: "heat-ub",
            about: "as heat, halved and quartered by turns",
            default_n: 1024,
            run: rows::heat::run_unbalanced,
        },
        Self {
            name: "sor",
            about: "red-black over-relaxation of n rows x 512: CATS's (Chen et al. 2012)",
            default_n: 1024,
            run: rows::sor::run,
        },
        Self {
            name: "sor-ub",
            about: "as sor, halved and quartered by turns",
            default_n: 1024,
            run: rows::sor::run_unbalanced,
        },
        Self {
            name: "ge",
            about: "Gaussian elimination of order n, by rows: CATS's (Chen et al. 2012)",
            default_n: 1024,
            run: rows::ge::run,
        },
        Self {
            name: "ge-ub",
            about: "as ge, halved and quartered by turns",
            default_n: 1024,
            run: rows::ge::run_unbalanced,
        },
        Self {
            name: "mandelbrot",
            about: "the Mandelbrot set, n x n points: CPU-bound, CATS's (Chen et al. 2012)",
            default_n: 1024,
            run: compute::mandelbrot::run,
        },
        Self {
            name: "queens",
            about: "ways to place n queens: CPU-bound, CATS's",
            default_n: 15,
            run: compute::queens::run,
        },
        Self {
            name: "fft",
            about: "fast Fourier transform of n complex numbers: CATS's",
            default_n: 1 << 20,
            run: compute::fft::run,
        },
        Self {
            name: "ga",
            about: "genetic algorithm on n islands: CPU-bound, CATS's",
            default_n: 128,
            run: compute::ga::run,
        },
        Self {
            name: "knapsack",
            about: "branch and bound over n things: CPU-bound, CATS's",
            default_n: 28,
            run: compute::knapsack::run,
        },
    ];

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`KernelError::Unknown`], which lists the names.
    pub fn find(name: &str) -> Result<Self, KernelError> {
        Self::ALL.into_iter().find(|kernel| kernel.name == name).ok_or_else(|| KernelError::Unknown(name.to_owned()))
    }

    /// The default n divided by `shrink`, or what goes with as many times less data.
    pub fn shrunk_n(&self, shrink: usize) -> usize {
        let shrink = shrink.max(1);
        let divisor = if SQUARES.contains(&self.name) { shrink.isqrt() } else { shrink };
        (self.default_n / divisor).max(1)
    }

    /// By how much a simulation shrinks the kernel of default size, unless told otherwise: so much that it makes some 10⁸ line touches at most.
    pub fn usual_shrink(&self) -> usize {
        if self.default_n > MOST_SIMULATED || SQUARES.contains(&self.name) { 16 } else { 1 }
    }

    /// Makes the input on the calling thread, works on it in `pool`, and checks the result on the calling thread.
    ///
    /// # Errors
    /// [`KernelError::WrongResult`] if the result is wrong, [`KernelError::TooLarge`] if there is not enough memory.
    pub fn run(&self, pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
        (self.run)(pool, input)
    }
}
