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
mod input;
mod matmul;
mod nqueens;
mod quicksort;
mod rrm;
mod skynet;
mod spawn;
#[cfg(test)]
mod tests;

use std::{
    str::FromStr,
    time::{Duration, Instant},
};

pub(crate) use self::fib::{Fib, fib_sized};
use crate::{error::Error, runtime::Runtime};

/// A program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Program {
    /// [`fib::plain`]
    Fib,
    /// [`fib::sized`] with empty leaves
    FibSized,
    /// [`fib::task`]
    FibTask,
    /// [`fib::sized`] with leaves of about 100 ns
    Fib100ns,
    /// [`skynet`]
    Skynet,
    /// [`spawn`]
    Spawn,
    /// [`nqueens`]
    Nqueens,
    /// [`matmul`]
    Matmul,
    /// [`rrm`]
    Rrm,
    /// [`quicksort`]
    Quicksort,
    /// [`heat`]
    Heat,
}

impl Program {
    /// Every program.
    pub(crate) const ALL: [Self; 11] = [
        Self::Fib,
        Self::FibSized,
        Self::FibTask,
        Self::Fib100ns,
        Self::Skynet,
        Self::Spawn,
        Self::Nqueens,
        Self::Matmul,
        Self::Rrm,
        Self::Quicksort,
        Self::Heat,
    ];

    /// Its name, the size of its input unless another is asked for, and the size of the untimed run
    /// before the timed one, which starts the runtime's threads.
    fn facts(self) -> (&'static str, usize, usize) {
        match self {
            Self::Fib => ("fib", 38, 25),
            Self::FibSized => ("fib-sized", 38, 25),
            Self::FibTask => ("fib-task", 38, 25),
            Self::Fib100ns => ("fib-100ns", 30, 18),
            Self::Skynet => ("skynet", 1_000_000, 10_000),
            Self::Spawn => ("spawn", 1 << 20, 1 << 12),
            Self::Nqueens => ("nqueens", 13, 9),
            Self::Matmul => ("matmul", 1024, 128),
            Self::Rrm => ("rrm", 10_000_000, 1 << 18),
            Self::Quicksort => ("quicksort", 10_000_000, 1 << 18),
            Self::Heat => ("heat", 8192, 128),
        }
    }

    /// One line on what it does.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Fib => "the n-th Fibonacci number, a fork per call",
            Self::FibSized => {
                "the same; each fork says that it touches less than a private cache holds"
            }
            Self::FibTask => "the same; for befit as a task that is compiled without forks, too",
            Self::Fib100ns => "fib-sized; each leaf works for about 100 ns",
            Self::Skynet => "the sum of n leaves' numbers; every other task forks ten",
            Self::Spawn => {
                "a tree of n leaves, every task spawned into one scope; a mark in each leaf"
            }
            Self::Nqueens => "placements of n queens; a task per queen that stands",
            Self::Matmul => {
                "product of two n x n matrices of 32-bit integers, by quadrants down to 32 x 32"
            }
            Self::Rrm => "recursive repeated map of n doubles (bandwidth)",
            Self::Quicksort => "quicksort of n doubles, partition in parallel too",
            Self::Heat => "five-point Jacobi on n rows of 512 doubles, 100 iterations",
        }
    }

    /// As users type it.
    pub(crate) fn name(self) -> &'static str {
        self.facts().0
    }

    /// The size of its input unless another is asked for.
    pub(crate) fn default_n(self) -> usize {
        self.facts().1
    }

    /// The size of the untimed run.
    pub(crate) fn warm_up_n(self) -> usize {
        self.facts().2
    }

    /// True if its data is larger than caches and its tasks declare sizes.
    pub(crate) fn has_large_data(self) -> bool {
        matches!(self, Self::Matmul | Self::Rrm | Self::Quicksort | Self::Heat)
    }

    /// True if it forks by [`Runtime::sum`].
    pub(crate) fn sums(self) -> bool {
        matches!(self, Self::Skynet | Self::Nqueens)
    }

    /// Runs it on `runtime`, first small and then of size `n`; returns the time of the latter.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Memory`] or [`Error::WrongResult`].
    pub(crate) fn run<R: Runtime>(self, runtime: &R, n: usize) -> Result<Duration, Error> {
        self.run_once(runtime, self.warm_up_n())?;
        self.run_once(runtime, n)
    }

    fn run_once<R: Runtime>(self, runtime: &R, n: usize) -> Result<Duration, Error> {
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

impl FromStr for Program {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|program| program.name() == name);
        found.ok_or_else(|| format!("unknown program '{name}'; known: {}", known()))
    }
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
    if found == expected {
        Ok(time)
    } else {
        Err(Error::WrongResult(format!("{found}, must be {expected}")))
    }
}
