//! The number of ways to place n queens on a board of n × n so that none attacks another; the first
//! four rows in parallel.
//!
//! It is checked against the known numbers (OEIS A000170).

use befit::{ThreadPool, join};

use crate::{Input, KernelError, array};

/// Solutions for 0, 1, … queens.
const SOLUTIONS: [u64; 19] = [
    1,
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
];
/// Rows that are placed in parallel.
const PARALLEL: u32 = 4;

/// Runs it with `input.n` queens, 18 at most; the seed makes no difference.
pub(crate) fn run(pool: &ThreadPool, Input { n, .. }: Input) -> Result<(), KernelError> {
    let most = SOLUTIONS.len() - 1;
    let known = *SOLUTIONS.get(n).ok_or(KernelError::AtMost { n, most })?;
    let found =
        pool.install(|| Board { all: (1 << n) - 1, columns: 0, left: 0, right: 0 }.solutions(0));
    array::check_number(n, found as f64, known as f64)
}

/// The rows so far, as bits of the next row's columns.
#[derive(Clone, Copy)]
struct Board {
    all: u32,
    /// Columns that are taken, and those attacked along the diagonals.
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    fn free(self) -> u32 {
        self.all & !(self.columns | self.left | self.right)
    }

    /// With a queen in this column of the next row.
    fn with(self, queen: u32) -> Self {
        Self {
            columns: self.columns | queen,
            left: (self.left | queen) << 1,
            right: (self.right | queen) >> 1,
            ..self
        }
    }

    fn solutions(self, row: u32) -> u64 {
        if self.columns == self.all {
            1
        } else if row < PARALLEL {
            self.of(self.free(), row)
        } else {
            self.serially()
        }
    }

    /// With the next queen in one of these columns.
    fn of(self, free: u32, row: u32) -> u64 {
        match free.count_ones() {
            0 => 0,
            1 => self.with(free).solutions(row + 1),
            many => {
                let mut first = 0;
                for _ in 0..many / 2 {
                    first |= (free & !first) & (free & !first).wrapping_neg();
                }
                let (a, b) = join(|| self.of(first, row), || self.of(free & !first, row));
                a + b
            }
        }
    }

    fn serially(self) -> u64 {
        if self.columns == self.all {
            return 1;
        }
        let (mut free, mut found) = (self.free(), 0);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            found += self.with(queen).serially();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_queens_are_refused() {
        let input = Input { n: 19, ..Input::default() };
        let error = run(&crate::pool(), input).unwrap_err();
        assert_eq!(error, KernelError::AtMost { n: 19, most: 18 });
        assert_eq!(error.to_string(), "n = 19 is too many: 18 at most");
    }
}
