//! Matrices whose rows are worked on in parallel, by recursion, many times over: the memory-bound
//! programs of CATS.
//!
//! Source: Q. Chen, M. Guo, Z. Huang, "CATS: cache aware task-stealing based on online profiling in
//! multi-socket multi-core architectures", ICS 2012: each program halves its rows until 8 are left;
//! its `-ub` form (for *unbalanced* trees) halves and quarters them by turns. The matrices have 512
//! columns, the number of rows is the input size; `ge` is square.

pub mod ge;
pub mod heat;
pub mod sor;

use befit::{fit, join, scope};
use befit_catalog::Settings;

use crate::{ElementSize, Input};

/// `input` with what is set.
pub(crate) fn with_settings(input: Input, settings: &Settings) -> Input {
    let iterations = settings.get("iterations").parse().ok().or(input.iterations);
    let element =
        if settings.get("element") == "16" { ElementSize::Sixteen } else { input.element };
    Input { iterations, element, ..input }
}

/// Columns of heat's and sor's matrices.
const COLUMNS: usize = 512;
/// So many rows or fewer are one serial leaf.
const LEAF: usize = 8;

/// The number of parts into which a task cuts its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Branching {
    Two,
    /// The tasks of even depth cut in two, those of odd depth in four.
    TwoAndFour,
}

impl Branching {
    fn parts(self, depth: u32) -> usize {
        match self {
            Self::TwoAndFour if depth % 2 == 1 => 4,
            _ => 2,
        }
    }
}

/// The default number of passes of heat and sor over n rows: 200 for 1024, and fewer for more rows,
/// as each takes longer.
fn default_iterations(n: usize) -> usize {
    (200 * 1024 / n.max(1)).clamp(8, 200)
}

/// One pass over a matrix; its tasks share this.
struct Pass<'a, L> {
    branching: Branching,
    /// Elements in a row of the matrix that is written.
    width: usize,
    /// Bytes that a task touches for each of its rows.
    row_bytes: usize,
    /// Works on rows, given the number of the first one.
    leaf: &'a L,
}

impl<'a, L: Sync> Pass<'a, L> {
    fn new(branching: Branching, width: usize, row_bytes: usize, leaf: &'a L) -> Self {
        Self { branching, width, row_bytes, leaf }
    }

    /// Works on `rows`, the first of which is number `first`.
    fn over<E: Send>(&self, first: usize, rows: &mut [E])
    where
        L: Fn(usize, &mut [E]),
    {
        self.cut(0, first, rows);
    }

    fn cut<E: Send>(&self, depth: u32, first: usize, rows: &mut [E])
    where
        L: Fn(usize, &mut [E]),
    {
        let count = rows.len() / self.width;
        if count <= LEAF {
            return (self.leaf)(first, rows);
        }
        let half = count / 2;
        let (top, bottom) = rows.split_at_mut(half * self.width);
        if self.branching.parts(depth) == 2 {
            join(
                fit(self.bytes(top), || self.cut(depth + 1, first, top)),
                fit(self.bytes(bottom), || self.cut(depth + 1, first + half, bottom)),
            );
            return;
        }
        let (quarter, three) = (half / 2, half + (count - half) / 2);
        let (a, b) = top.split_at_mut(quarter * self.width);
        let (c, d) = bottom.split_at_mut((three - half) * self.width);
        let parts = [(first, a), (first + quarter, b), (first + half, c), (first + three, d)];
        scope(|s| {
            for (first, part) in parts {
                s.spawn_fit(self.bytes(part), move |_| self.cut(depth + 1, first, part));
            }
        });
    }

    fn bytes<E>(&self, rows: &[E]) -> usize {
        rows.len() / self.width * self.row_bytes
    }
}

/// A function on a grid that averaging over the four neighbours maps to itself (a plane), and one
/// that it maps to a multiple of itself (half a wave in each direction). So the effect of a stencil
/// on their sum is known without running it.
struct Plate {
    /// Two at least.
    rows: usize,
}

impl Plate {
    fn new(rows: usize) -> Self {
        Self { rows: rows.max(2) }
    }

    /// The plane is below 2 everywhere: against larger numbers rounding would hide the wave.
    fn plane(&self, row: usize, column: usize) -> f64 {
        row as f64 / self.rows as f64 + column as f64 / COLUMNS as f64
    }

    fn angles(&self) -> [f64; 2] {
        [self.rows, COLUMNS].map(|n| std::f64::consts::PI / (n - 1) as f64)
    }

    fn wave(&self, row: usize, column: usize) -> f64 {
        let [down, across] = self.angles();
        (down * row as f64).sin() * (across * column as f64).sin()
    }

    /// The sum of the plane and a wave of this height.
    fn with_wave(&self, height: f64, row: usize, column: usize) -> f64 {
        self.plane(row, column) + height * self.wave(row, column)
    }

    /// Averaging multiplies the wave with this.
    fn factor(&self) -> f64 {
        let [down, across] = self.angles();
        (down.cos() + across.cos()) / 2.0
    }

    /// The wave's height after so many averagings.
    fn height_after(&self, passes: usize) -> f64 {
        // The exponent of `powi` would be too small for so many.
        self.factor().powf(passes as f64)
    }

    /// How far rounding may take an element from its right value. Each pass adds less than 10⁻¹⁵,
    /// and averaging makes older errors smaller as it does the wave.
    ///
    /// A row of the wave next to the edge changes by more in one pass, so a leaf that missed a pass
    /// is noticed.
    fn tolerance(&self, passes: usize) -> f64 {
        1e-14 * (1.0 + (passes as f64).min(1.0 / (1.0 - self.factor())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_worked_on_once_whatever_the_branching() {
        let pool = crate::pool();
        for branching in [Branching::Two, Branching::TwoAndFour] {
            for rows in [0, 1, 8, 9, 17, 64, 101] {
                let mut matrix = vec![0usize; rows * 3];
                let leaf = |first: usize, rows: &mut [usize]| {
                    rows.iter_mut().enumerate().for_each(|(i, x)| *x += 1 + first + i / 3);
                };
                pool.install(|| Pass::new(branching, 3, 8, &leaf).over(0, &mut matrix));
                assert!(
                    matrix.iter().enumerate().all(|(i, x)| *x == 1 + i / 3),
                    "{branching:?}, {rows}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_left_of_a_small_plates_wave_after_many_passes() {
        assert!(Plate::new(20).height_after(3000) < 1e-8);
    }

    #[test]
    fn any_number_of_passes_leaves_a_height() {
        for rows in [0, 1, 2, 3, 20] {
            for passes in [1 << 31, (1 << 31) + 1, usize::MAX] {
                let height = Plate::new(rows).height_after(passes);
                assert!(height.abs() < 1e-8, "{rows} rows, {passes} passes: {height}");
            }
        }
    }
}
