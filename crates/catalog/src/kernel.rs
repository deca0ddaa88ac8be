//! The table of programs.

use crate::{CatalogError, Setting, settings};

/// The kernels whose n counts the rows of square matrices: their data grow with n².
const SQUARES: [&str; 1] = ["matmul"];
/// The largest default n that is simulated as it is.
const MOST_SIMULATED: usize = 50_000_000;

/// A benchmark program.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// As users type it.
    pub name: &'static str,
    /// One line about its purpose and source.
    pub about: &'static str,
    /// The size of its input, in elements, in its source.
    pub default_n: usize,
    /// Its settings besides.
    pub settings: &'static [Setting],
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 22] = [
        Self {
            name: "rrm",
            about: "recursive repeated map of n doubles: the space-bounded study's (Simhadri et \
                    al. 2014)",
            default_n: 10_000_000,
            settings: &[],
        },
        Self {
            name: "rgm",
            about: "recursive repeated gather of n doubles, each from anywhere in its task's \
                    range (the same study's text)",
            default_n: 10_000_000,
            settings: &[],
        },
        Self {
            name: "rgm-leaf",
            about: "recursive repeated gather of n doubles, each from its own leaf's range (the \
                    same study's code)",
            default_n: 10_000_000,
            settings: &[],
        },
        Self {
            name: "array-abc",
            about: "tasks A, B and C over halves of an array that overlap, n runs of each (the \
                    footprint study's arrays)",
            default_n: 1000,
            settings: settings::ARRAY_ABC,
        },
        Self {
            name: "array-windows",
            about: "n tasks over windows of an array that overlap at random (the same study's \
                    tasks, mixed)",
            default_n: 4096,
            settings: settings::ARRAY_WINDOWS,
        },
        Self {
            name: "bst",
            about: "look-ups of each of n words in a binary search tree (the same study's tree)",
            default_n: (1 << 18) - 1,
            settings: settings::BST,
        },
        Self {
            name: "quicksort",
            about: "quicksort of n doubles with a parallel partition (the same study's)",
            default_n: 100_000_000,
            settings: &[],
        },
        Self {
            name: "samplesort",
            about: "samplesort of n doubles with √n buckets (the same study's)",
            default_n: 100_000_000,
            settings: &[],
        },
        Self {
            name: "aware-samplesort",
            about: "samplesort of n doubles with buckets that fit a last-level cache (the same \
                    study's)",
            default_n: 100_000_000,
            settings: &[],
        },
        Self {
            name: "quadtree",
            about: "sorts n points in the plane into quadrants, recursively (the same study's)",
            default_n: 100_000_000,
            settings: &[],
        },
        Self {
            name: "matmul",
            about: "product of two n x n matrices of doubles by quadrants (the same study's)",
            default_n: 5120,
            settings: &[],
        },
        Self {
            name: "heat",
            about: "five-point Jacobi on two matrices of n rows x 512, halved down to 8 rows: \
                    CATS's (Chen et al. 2012)",
            default_n: 1024,
            settings: settings::ROWS,
        },
        Self {
            name: "heat-ub",
            about: "as heat, halved and quartered by turns",
            default_n: 1024,
            settings: settings::ROWS,
        },
        Self {
            name: "sor",
            about: "red-black over-relaxation of n rows x 512: CATS's (Chen et al. 2012)",
            default_n: 1024,
            settings: settings::ROWS,
        },
        Self {
            name: "sor-ub",
            about: "as sor, halved and quartered by turns",
            default_n: 1024,
            settings: settings::ROWS,
        },
        Self {
            name: "ge",
            about: "Gaussian elimination of order n, by rows: CATS's (Chen et al. 2012)",
            default_n: 1024,
            settings: settings::GE,
        },
        Self {
            name: "ge-ub",
            about: "as ge, halved and quartered by turns",
            default_n: 1024,
            settings: settings::GE,
        },
        Self {
            name: "mandelbrot",
            about: "the Mandelbrot set, n x n points: CPU-bound, CATS's (Chen et al. 2012)",
            default_n: 1024,
            settings: &[],
        },
        Self {
            name: "queens",
            about: "ways to place n queens: CPU-bound, CATS's",
            default_n: 15,
            settings: &[],
        },
        Self {
            name: "fft",
            about: "fast Fourier transform of n complex numbers: CATS's",
            default_n: 1 << 20,
            settings: &[],
        },
        Self {
            name: "ga",
            about: "genetic algorithm on n islands: CPU-bound, CATS's",
            default_n: 128,
            settings: &[],
        },
        Self {
            name: "knapsack",
            about: "branch and bound over n things: CPU-bound, CATS's",
            default_n: 28,
            settings: &[],
        },
    ];

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`CatalogError::Unknown`], which lists the names.
    pub fn find(name: &str) -> Result<Self, CatalogError> {
        Self::ALL
            .into_iter()
            .find(|kernel| kernel.name == name)
            .ok_or_else(|| CatalogError::Unknown(name.to_owned()))
    }

    /// The default n divided by `shrink`, or the n that goes with as many times less data.
    pub fn shrunk_n(&self, shrink: usize) -> usize {
        let shrink = shrink.max(1);
        let divisor = if SQUARES.contains(&self.name) { shrink.isqrt() } else { shrink };
        (self.default_n / divisor).max(1)
    }

    /// By how much a simulation shrinks the kernel of default size, unless told otherwise: so much
    /// that it makes some 10⁸ line touches at most.
    pub fn usual_shrink(&self) -> usize {
        if self.default_n > MOST_SIMULATED || SQUARES.contains(&self.name) { 16 } else { 1 }
    }
}
