//! Virtual time.

use befit_machine::Cycles;

/// A point or span of virtual time, in 1/256 of a cycle: fine enough for a fraction of an
/// instruction, wide enough for years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Ticks(pub(crate) u64);

const PER_CYCLE: u64 = 256;

impl Ticks {
    pub(crate) const fn cycles(n: u64) -> Self {
        Self(n * PER_CYCLE)
    }

    pub(crate) fn fractional(cycles: f64) -> Self {
        Self((cycles * PER_CYCLE as f64).round() as u64)
    }

    /// Whole cycles, rounded down.
    pub(crate) const fn whole(self) -> Cycles {
        Cycles(self.0 / PER_CYCLE)
    }

    /// The sum, or the latest that there is.
    pub(crate) const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Ticks {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::iter::Sum for Ticks {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        Self(all.map(|ticks| ticks.0).sum())
    }
}

impl std::ops::AddAssign for Ticks {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
