//! The Mandelbrot set: for each of n × n points, after how many steps z² + c leaves the circle of
//! radius 2; rows in parallel.
//!
//! It is checked against the same computed serially.

use befit::ThreadPool;

use super::each;
use crate::{Input, KernelError, array};

/// So many steps inside the circle count as for ever.
const MOST: u32 = 256;

/// Runs it on a picture of `input.n` × `input.n` points; the seed makes no difference.
pub(crate) fn run(pool: &ThreadPool, Input { n, .. }: Input) -> Result<(), KernelError> {
    let points = n.checked_mul(n).ok_or(KernelError::TooLarge { n })?;
    let mut picture = array::filled(points, |_| 0.0)?;
    pool.install(|| {
        let mut rows: Vec<&mut [f64]> = picture.chunks_exact_mut(n.max(1)).collect();
        each(0, &mut rows, &|row, points| {
            for (column, point) in points.iter_mut().enumerate() {
                *point = steps(row, column, n).into();
            }
        });
    });
    array::check(&picture, |i| steps(i / n, i % n, n).into())
}

/// Steps of the point in this row and column of n × n.
fn steps(row: usize, column: usize, n: usize) -> u32 {
    let (re, im) = (-2.0 + 3.0 * column as f64 / n as f64, -1.5 + 3.0 * row as f64 / n as f64);
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..MOST {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 {
            return step;
        }
        y = 2.0 * x * y + im;
        x = xx - yy + re;
    }
    MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_stays_and_two_leaves() {
        assert_eq!(steps(150, 200, 300), MOST);
        assert!(steps(0, 0, 300) < 3);
    }
}
