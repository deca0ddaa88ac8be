//! Coefficients of a sum of given terms, by least relative error.

/// Most terms of a sum.
pub(crate) const TERMS: usize = 4;

/// How often rows that are far off get a new weight, while sums are tried and at the end.
pub(crate) const TRIED: usize = 4;
pub(crate) const EXACT: usize = 12;
/// Relative errors below it count the same.
const SMALL: f64 = 0.01;

/// What sums are fitted to: a measured figure in each row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    /// The figures.
    pub(crate) measured: Vec<f64>,
    /// Errors are relative to at least this.
    pub(crate) floor: f64,
}

impl Target {
    /// The error of `predicted` in row `row`, relative to the larger of it and the measured figure:
    /// at most 1, so that a few tasks that touch nothing do not decide over all others.
    pub(crate) fn error(&self, row: usize, predicted: f64) -> f64 {
        (predicted - self.measured[row]).abs() / self.scale(row, predicted)
    }

    fn scale(&self, row: usize, predicted: f64) -> f64 {
        predicted.max(self.measured[row]).max(self.floor)
    }

    /// The coefficients of `columns` whose sum has the least weighted sum of relative errors: least
    /// squares, in which a row's weight is then divided by its error (iteratively reweighted least
    /// squares: Holland & Welsch, *Robust regression using iteratively reweighted least-squares*,
    /// Communications in Statistics 6(9), 1977). None where the columns depend on one another, or a
    /// coefficient would be negative: such sums fit what was seen by chance. O(rows).
    pub(crate) fn fit(
        &self,
        columns: &[&[f64]],
        weights: &[f64],
        rounds: usize,
    ) -> Option<[f64; TERMS]> {
        let predicted = |coefficients: &[f64; TERMS], row: usize| -> f64 {
            columns.iter().zip(coefficients).map(|(column, c)| c * column[row]).sum()
        };
        let mut found = None;
        for _ in 0..rounds {
            let mut normal = Normal::default();
            for (row, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                let (far, size) = match &found {
                    Some(c) => {
                        let predicted = predicted(c, row);
                        (self.error(row, predicted).max(SMALL), self.scale(row, predicted))
                    }
                    None => (1.0, self.scale(row, 0.0)),
                };
                let scale = (weight / far).sqrt() / size;
                let values = columns.iter().map(|column| column[row] * scale);
                normal.add(values, self.measured[row] * scale);
            }
            found = Some(normal.solve(columns.len())?);
        }
        found.filter(|found| found.iter().all(|c| *c >= 0.0))
    }
}

/// The normal equations of a least-squares problem, with the right side as the last column.
#[derive(Default)]
struct Normal([[f64; TERMS + 1]; TERMS]);

impl Normal {
    fn add(&mut self, values: impl Iterator<Item = f64> + Clone, right: f64) {
        for (row, a) in self.0.iter_mut().zip(values.clone()) {
            for (cell, b) in row.iter_mut().zip(values.clone()) {
                *cell += a * b;
            }
            row[TERMS] += a * right;
        }
    }

    /// By elimination. The columns are scaled to diagonals of 1 first, so that what is left of a
    /// diagonal is the share of a column that the others do not explain.
    fn solve(mut self, terms: usize) -> Option<[f64; TERMS]> {
        let mut scales = [1.0; TERMS];
        for (i, scale) in scales.iter_mut().enumerate().take(terms) {
            *scale = self.0[i][i].sqrt();
            if !scale.is_normal() {
                return None;
            }
        }
        for i in 0..terms {
            (0..terms).for_each(|j| self.0[i][j] /= scales[i] * scales[j]);
            self.0[i][TERMS] /= scales[i];
        }
        for i in 0..terms {
            let pivot = self.0[i][i];
            if pivot < 1e-9 {
                return None;
            }
            let of_pivot = self.0[i];
            for row in self.0[i + 1..terms].iter_mut() {
                let factor = row[i] / pivot;
                row.iter_mut().zip(of_pivot).for_each(|(cell, top)| *cell -= factor * top);
            }
        }
        let mut found = [0.0; TERMS];
        for i in (0..terms).rev() {
            let known: f64 = (i + 1..terms).map(|j| self.0[i][j] * found[j]).sum();
            found[i] = (self.0[i][TERMS] - known) / self.0[i][i];
        }
        (0..terms).for_each(|i| found[i] /= scales[i]);
        found.iter().all(|c| c.is_finite()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(of: impl Fn(f64, f64) -> f64) -> (Vec<f64>, Vec<f64>, Target) {
        let rows = (0..200).map(f64::from);
        let (a, b) = (rows.clone().map(|n| 1.0 + n), rows.map(|n| n * 7.0 % 31.0));
        let (a, b): (Vec<_>, Vec<_>) = (a.collect(), b.collect());
        let measured = a.iter().zip(&b).map(|(a, b)| of(*a, *b)).collect();
        (a, b, Target { measured, floor: 1.0 })
    }

    #[test]
    fn coefficients_are_found_though_a_tenth_of_the_rows_are_far_off() {
        let (a, b, mut target) = target(|a, b| 64.0 + 8.0 * a + 24.0 * b);
        target.measured.iter_mut().step_by(10).for_each(|y| *y *= 5.0);
        let ones = vec![1.0; a.len()];
        let found = target.fit(&[&ones, &a, &b], &ones, EXACT).unwrap();
        for (found, expected) in found.into_iter().zip([64.0, 8.0, 24.0]) {
            assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        }
    }

    #[test]
    fn negative_coefficients_and_columns_that_depend_on_one_another_are_refused() {
        let (a, b, target) = target(|a, b| 400.0 * a - b);
        let ones = vec![1.0; a.len()];
        assert_eq!(target.fit(&[&a, &b], &ones, EXACT), None);
        let double: Vec<_> = a.iter().map(|a| 2.0 * a).collect();
        assert_eq!(target.fit(&[&a, &double], &ones, EXACT), None);
        assert_eq!(target.fit(&[&vec![0.0; a.len()]], &ones, EXACT), None);
    }
}
