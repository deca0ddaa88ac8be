//! The table of programs.

use crate::{CatalogError, Setting, settings};

/// The kernels whose n counts the rows of a square: their data grow with n².
const SQUARES: [&str; 4] = ["matmul", "ge", "ge-ub", "mandelbrot"];
/// The kernel that simulations shrink though its n is small: of order 5120, it has 10¹¹ operations.
const MATMUL: &str = "matmul";
/// The largest default n that is simulated as it is.
const MOST_SIMULATED: usize = 50_000_000;

/// The sizes at which kernels are verified against native runs, where the default is too large. The
/// rule: the default n where one thread of an ordinary machine runs it in under a second; else, and
/// for kernels whose recording would have more than some 10⁸ touches, a size that has fewer.
const VERIFIED: [(&str, usize); 6] = [
    ("quicksort", 4_000_000),
    ("samplesort", 4_000_000),
    ("aware-samplesort", 4_000_000),
    ("quadtree", 4_000_000),
    ("matmul", 512),
    ("queens", 13),
];
/// The kernels whose work grows exponentially with n.
const EXPONENTIAL: [&str; 2] = ["queens", "knapsack"];
/// The kernels that cut their data in two and in four by turns: with an eighth of the data the cuts
/// above the leaves are the same.
const BY_TURNS: [&str; 3] = ["heat-ub", "sor-ub", "ge-ub"];

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
        Self::new("rrm", 10_000_000, &[]).about(
            "recursive repeated map of n doubles: the space-bounded study's (Simhadri et \
             al. 2014)",
        ),
        Self::new("rgm", 10_000_000, &[]).about(
            "recursive repeated gather of n doubles, each from anywhere in its task's \
             range (the same study's text)",
        ),
        Self::new("rgm-leaf", 10_000_000, &[]).about(
            "recursive repeated gather of n doubles, each from its own leaf's range (the \
             same study's code)",
        ),
        Self::new("array-abc", 1000, settings::ARRAY_ABC).about(
            "tasks A, B and C over halves of an array that overlap, n runs of each (the \
             footprint study's arrays)",
        ),
        Self::new("array-windows", 4096, settings::ARRAY_WINDOWS).about(
            "n tasks over windows of an array that overlap at random (the same study's \
             tasks, mixed)",
        ),
        Self::new("bst", (1 << 18) - 1, settings::BST)
            .about("look-ups of each of n words in a binary search tree (the same study's tree)"),
        Self::new("quicksort", 100_000_000, &[])
            .about("quicksort of n doubles with a parallel partition (the same study's)"),
        Self::new("samplesort", 100_000_000, &[])
            .about("samplesort of n doubles with √n buckets (the same study's)"),
        Self::new("aware-samplesort", 100_000_000, &[]).about(
            "samplesort of n doubles with buckets that fit a last-level cache (the same \
             study's)",
        ),
        Self::new("quadtree", 100_000_000, &[])
            .about("sorts n points in the plane into quadrants, recursively (the same study's)"),
        Self::new("matmul", 5120, &[])
            .about("product of two n x n matrices of doubles by quadrants (the same study's)"),
        Self::new("heat", 1024, settings::ROWS).about(
            "five-point Jacobi on two matrices of n rows x 512, halved down to 8 rows: \
             CATS's (Chen et al. 2012)",
        ),
        Self::new("heat-ub", 1024, settings::ROWS).about("as heat, halved and quartered by turns"),
        Self::new("sor", 1024, settings::ROWS)
            .about("red-black over-relaxation of n rows x 512: CATS's (Chen et al. 2012)"),
        Self::new("sor-ub", 1024, settings::ROWS).about("as sor, halved and quartered by turns"),
        Self::new("ge", 1024, settings::GE)
            .about("Gaussian elimination of order n, by rows: CATS's (Chen et al. 2012)"),
        Self::new("ge-ub", 1024, settings::GE).about("as ge, halved and quartered by turns"),
        Self::new("mandelbrot", 1024, &[])
            .about("the Mandelbrot set, n x n points: CPU-bound, CATS's (Chen et al. 2012)"),
        Self::new("queens", 15, &[]).about("ways to place n queens: CPU-bound, CATS's"),
        Self::new("fft", 1 << 20, &[]).about("fast Fourier transform of n complex numbers: CATS's"),
        Self::new("ga", 128, &[]).about("genetic algorithm on n islands: CPU-bound, CATS's"),
        Self::new("knapsack", 28, &[]).about("branch and bound over n things: CPU-bound, CATS's"),
    ];

    const fn new(name: &'static str, default_n: usize, settings: &'static [Setting]) -> Self {
        Self { name, about: "", default_n, settings }
    }

    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Its settings and their values, of which the first is the default:
    /// `tasks=abc|ab|ac, rows=512|1 to 4294967296`; "none" if it has none.
    pub fn describe_settings(&self) -> String {
        settings::describe(self.settings)
    }

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

    /// The default n divided by `shrink`, or the n that goes with as many times less data. The
    /// default n itself where it stands in an exponent: a part of it would be next to no work.
    pub fn shrunk_n(&self, shrink: usize) -> usize {
        if EXPONENTIAL.contains(&self.name) {
            return self.default_n;
        }
        let shrink = shrink.max(1);
        let divisor = if SQUARES.contains(&self.name) { shrink.isqrt() } else { shrink };
        (self.default_n / divisor).max(1)
    }

    /// The n at which simulated times are compared with native ones, unless told otherwise.
    pub fn verified_n(&self) -> usize {
        let smaller = VERIFIED.iter().find(|(name, _)| *name == self.name);
        smaller.map_or(self.default_n, |(_, n)| *n)
    }

    /// The n of a smaller run of the same program, from which the work of one of size `n` is
    /// learnt: a quarter of it, or an eighth where that cuts the data in the same way; half, for
    /// `matmul`, of which that is an eighth of the work; of n that stands in an exponent, two less.
    pub fn learning_n(&self, n: usize) -> usize {
        let smaller = if EXPONENTIAL.contains(&self.name) {
            n.saturating_sub(2)
        } else if self.name == MATMUL {
            n / 2
        } else if BY_TURNS.contains(&self.name) {
            n / 8
        } else {
            n / 4
        };
        smaller.max(1)
    }

    /// By how much a simulation shrinks the kernel of default size, unless told otherwise: so much
    /// that it makes some 10⁸ line touches at most.
    pub fn usual_shrink(&self) -> usize {
        if self.default_n > MOST_SIMULATED || self.name == MATMUL { 16 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verified_size_is_a_kernels_and_no_larger_than_its_default() {
        for (name, n) in VERIFIED {
            let kernel = Kernel::find(name).unwrap();
            assert!(n <= kernel.default_n && kernel.verified_n() == n, "{name}");
        }
    }

    #[test]
    fn squares_have_as_many_times_less_data_as_they_are_shrunk_by() {
        for name in ["matmul", "ge", "ge-ub", "mandelbrot"] {
            let kernel = Kernel::find(name).unwrap();
            assert_eq!(kernel.shrunk_n(16), kernel.default_n / 4, "{name}");
        }
        let heat = Kernel::find("heat").unwrap();
        assert_eq!(heat.shrunk_n(16), heat.default_n / 16);
    }

    #[test]
    fn an_n_that_stands_in_an_exponent_is_not_shrunk() {
        for name in ["queens", "knapsack"] {
            let kernel = Kernel::find(name).unwrap();
            assert_eq!(kernel.shrunk_n(16), kernel.default_n, "{name}");
        }
    }

    #[test]
    fn work_is_learnt_at_another_size_than_the_verified_one() {
        for kernel in Kernel::ALL {
            let n = kernel.verified_n();
            assert!((1..n).contains(&kernel.learning_n(n)), "{}", kernel.name);
        }
    }
}
