//! Quantities with their units, so that no bare integer crosses a crate's border.

use std::fmt;

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub $inner);

        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::default(), |a, b| a + b)
            }
        }
    };
}

unit!(
    /// A number of bytes.
    Bytes(u64)
);
unit!(
    /// A number of cache lines.
    Lines(u64)
);
unit!(
    /// A number of processor cycles.
    Cycles(u64)
);

impl Bytes {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }
    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }
}

impl fmt::Display for Bytes {
    /// In the largest binary unit that leaves a whole number: `24 MiB`, `48 KiB`, `100 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, unit) = match self.0 {
            0 => (0, "B"),
            n if n % (1 << 30) == 0 => (n >> 30, "GiB"),
            n if n % (1 << 20) == 0 => (n >> 20, "MiB"),
            n if n % (1 << 10) == 0 => (n >> 10, "KiB"),
            n => (n, "B"),
        };
        f.pad(&format!("{n} {unit}"))
    }
}

/// A cache's level: 1 is nearest to the core. Memory is not a level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level(pub u8);

impl Level {
    /// The level's name, or `memory` where there is no cache.
    pub fn name_of(level: Option<Self>) -> String {
        level.map_or_else(|| "memory".to_owned(), |level| level.to_string())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Level {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("L{}", self.0))
    }
}

/// Names a cluster of one machine: its index in [`crate::Machine::clusters`]. The root is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClusterId(pub u32);

impl ClusterId {
    /// The root cluster: memory, with every worker under it.
    pub const ROOT: Self = Self(0);

    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names a worker (a hardware thread) of one machine: its place from left to right under the tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub u32);

impl WorkerId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
