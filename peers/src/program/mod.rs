//! The programs, each written once, over [`Runtime`].
//!
//! Each makes its input, is timed from the call into the pool to its return, and checks its result
//! outside that time.
//!
//! The leaves, in which a program's time goes, are functions that are never inlined. So all
//! runtimes run the same machine code there: one of several copies may be laid out better than
//! another, and the difference can be a tenth of the time. (T. Mytkowicz et al., *Producing wrong
//! data without doing anything obviously wrong!*, ASPLOS 2009.)

mod fib;
mod heat;
mod matmul;
mod nqueens;
mod quicksort;
mod rrm;
mod skynet;
mod spawn;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use clap::{ValueEnum, builder::PossibleValue};

pub(crate) use self::fib::{Fib, fib_sized};
use crate::{Error, runtime::Runtime};

/// A program; the comments are the lines of `--help`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Program {
    /// the n-th Fibonacci number, a fork per call
    Fib,
    /// the same; each fork says that it touches less than a private cache holds
    FibSized,
    /// the same; for befit as a task that is compiled without forks, too
    FibTask,
    /// fib-sized; each leaf works for about 100 ns
    #[value(name = "fib-100ns")]
    Fib100ns,
    /// the sum of n leaves' numbers; every other task forks ten
    Skynet,
    /// a tree of n leaves, every task spawned into one scope; a mark in each leaf
    Spawn,
    /// placements of n queens; a task per queen that stands
    Nqueens,
    /// product of two n x n matrices of 32-bit integers, by quadrants down to 32 x 32
    Matmul,
    /// recursive repeated map of n doubles (bandwidth)
    Rrm,
    /// quicksort of n doubles, partition in parallel too
    Quicksort,
    /// five-point Jacobi on n rows of 512 doubles, 100 iterations
    Heat,
}

impl Program {
    /// As users type it.
    pub(crate) fn name(self) -> String {
        self.described().get_name().to_owned()
    }

    /// One line on what it does.
    pub(crate) fn about(self) -> String {
        // The line has no styles. Looking for them takes longer than all else at the start.
        self.described().get_help().map(|help| help.ansi().to_string()).unwrap_or_default()
    }

    fn described(self) -> PossibleValue {
        self.to_possible_value().expect("no program is hidden")
    }

    /// The size of its input unless another is asked for, and the size of the untimed run before
    /// the timed one, which starts the runtime's threads.
    fn sizes(self) -> (usize, usize) {
        match self {
            Self::Fib | Self::FibSized | Self::FibTask => (38, 25),
            Self::Fib100ns => (30, 18),
            Self::Skynet => (1_000_000, 10_000),
            Self::Spawn => (1 << 20, 1 << 12),
            Self::Nqueens => (13, 9),
            Self::Matmul => (1024, 128),
            Self::Rrm | Self::Quicksort => (10_000_000, 1 << 18),
            Self::Heat => (8192, 128),
        }
    }

    /// The size of its input unless another is asked for.
    pub(crate) fn default_n(self) -> usize {
        self.sizes().0
    }

    /// The size of the untimed run.
    pub(crate) fn warm_up_n(self) -> usize {
        self.sizes().1
    }

    /// True if its data is larger than caches and its tasks declare sizes.
    pub(crate) fn has_large_data(self) -> bool {
        matches!(self, Self::Matmul | Self::Rrm | Self::Quicksort | Self::Heat)
    }

    /// True if it forks by [`Runtime::sum`].
    pub(crate) fn sums(self) -> bool {
        matches!(self, Self::Skynet | Self::Nqueens)
    }

    /// Refuses a size that it cannot have on any runtime.
    ///
    /// # Errors
    /// [`Error::Size`].
    pub(crate) fn check(self, n: usize) -> Result<(), Error> {
        let (fits, rule) = match self {
            Self::Fib | Self::FibSized | Self::FibTask | Self::Fib100ns => (n <= 60, "at most 60"),
            Self::Skynet => {
                let is_power = n > 0 && 10_usize.pow(n.ilog10()) == n;
                (is_power && n <= 1_000_000_000, "a power of ten, at most 10^9")
            }
            Self::Spawn => (n.is_power_of_two() && n <= 1 << 30, "a power of two, at most 2^30"),
            Self::Nqueens => (n <= 16, "at most 16"),
            Self::Matmul => (n.is_power_of_two() && n <= 1 << 15, "a power of two, at most 32768"),
            Self::Rrm | Self::Quicksort => (true, ""),
            Self::Heat => (n >= 3, "at least 3 rows"),
        };
        if fits { Ok(()) } else { Err(Error::Size { program: self.name(), n, rule }) }
    }

    /// Runs it on `runtime` with inputs of these sizes in turn; returns the time of the last.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Memory`] or [`Error::WrongResult`].
    pub(crate) fn run<R: Runtime>(self, runtime: &R, sizes: &[usize]) -> Result<Duration, Error> {
        sizes.iter().try_fold(Duration::ZERO, |_, n| self.run_once(runtime, *n))
    }

    fn run_once<R: Runtime>(self, runtime: &R, n: usize) -> Result<Duration, Error> {
        self.check(n)?;
        match self {
            Self::Fib => fib::plain(runtime, n),
            Self::FibSized => fib::sized::<R, 0>(runtime, n),
            Self::FibTask => fib::task(runtime, n),
            Self::Fib100ns => fib::sized::<R, { fib::ROUNDS_OF_100_NS }>(runtime, n),
            Self::Skynet => skynet::run(runtime, n),
            Self::Spawn => spawn::run(runtime, n),
            Self::Nqueens => nqueens::run(runtime, n),
            Self::Matmul => matmul::run(runtime, n),
            Self::Rrm => rrm::run(runtime, n),
            Self::Quicksort => quicksort::run(runtime, n),
            Self::Heat => heat::run(runtime, n),
        }
    }
}

pub(crate) fn parse(name: &str) -> Result<Program, String> {
    Program::from_str(name, false).map_err(|_| {
        let known: Vec<_> = Program::value_variants().iter().map(|p| p.name()).collect();
        format!("unknown program '{name}'; known: {}", known.join(", "))
    })
}

/// Times `work`, which touches `bytes`, in the pool.
fn timed<R: Runtime, T: Send>(
    runtime: &R,
    bytes: Option<usize>,
    work: impl FnOnce(&mut R::Context<'_>) -> T + Send,
) -> (Duration, T) {
    let start = Instant::now();
    let result = runtime.install(bytes, work);
    (start.elapsed(), result)
}

/// Returns `time` if the result is right.
fn checked<T: PartialEq + std::fmt::Display>(
    time: Duration,
    found: T,
    expected: T,
) -> Result<Duration, Error> {
    if found != expected {
        return Err(Error::WrongResult(format!("{found}, must be {expected}")));
    }
    Ok(time)
}

/// `n` elements made by `element` from their indices. Time O(n).
///
/// # Errors
/// [`Error::Memory`].
fn filled<T>(n: usize, element: impl FnMut(usize) -> T) -> Result<Vec<T>, Error> {
    let mut array = Vec::new();
    array.try_reserve_exact(n).map_err(|_| Error::Memory(n))?;
    array.extend((0..n).map(element));
    Ok(array)
}

/// The `i`-th of a fixed sequence of random numbers (SplitMix64: Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014, section 5, figure 14 with the constants
/// of mix64variant13).
#[inline]
fn random(i: u64) -> u64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
