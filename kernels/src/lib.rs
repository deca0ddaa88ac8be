//! The benchmark programs of befit: ordinary Rust on its public API. Nothing in them knows whether it is run, timed or recorded.
//!
//! ```
//! use befit_kernels::{Input, Kernel};
//!
//! let pool = befit::ThreadPoolBuilder::new().num_threads(2).build()?;
//! Kernel::find("rrm").unwrap().run(&pool, Input { n: 100_000, seed: 1 })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each kernel is a module, with its source, its sizes and what it declares to size-aware schedulers; it makes its input, runs in the
//! given pool, and checks its own result. The binary `befit-kernels` runs one by its name.

mod array;
pub mod array_abc;
pub mod array_windows;
pub mod bst;
mod error;
pub mod rgm;
mod rows;
pub mod rrm;
mod settings;

use befit::ThreadPool;

pub use error::KernelError;
pub use settings::{Setting, Variant, of as settings_of};

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

/// What a kernel works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its size in elements; see the kernel for what an element is.
    pub n: usize,
    /// Seeds whatever is random in it.
    pub seed: u64,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 6] = [
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
