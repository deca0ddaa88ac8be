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
mod element;
mod error;
pub mod rgm;
pub mod rows;
pub mod rrm;

use befit::ThreadPool;

pub use element::ElementSize;
pub use error::KernelError;

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
    /// How often it goes over its data, for kernels that may do so any number of times; without it, their own number.
    pub iterations: Option<usize>,
    /// The size of its elements, for kernels that have them in several sizes.
    pub element: ElementSize,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 9] = [
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
    ];

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`KernelError::Unknown`], which lists the names.
    pub fn find(name: &str) -> Result<Self, KernelError> {
        Self::ALL.into_iter().find(|kernel| kernel.name == name).ok_or_else(|| KernelError::Unknown(name.to_owned()))
    }

    /// Makes the input on the calling thread, works on it in `pool`, and checks the result on the calling thread.
    ///
    /// # Errors
    /// [`KernelError::WrongResult`] if the result is wrong, [`KernelError::TooLarge`] if there is not enough memory.
    pub fn run(&self, pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
        (self.run)(pool, input)
    }
}
