//! Transposes a square matrix eight times, halving the longer side until little is left, and checks
//! that it is as it was.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const LITTLE: usize = 1024;

/// Rows and columns, each from, and so many.
type Part = [(usize, usize); 2];

fn transpose(from: &[AtomicU32], to: &[AtomicU32], n: usize, part: Part) {
    let [(row, rows), (column, columns)] = part;
    if rows * columns <= LITTLE {
        for i in row..row + rows {
            for j in column..column + columns {
                to[j * n + i].store(from[i * n + j].load(Relaxed), Relaxed);
            }
        }
        return;
    }
    let halves =
        |(at, length): (usize, usize)| [(at, length / 2), (at + length / 2, length - length / 2)];
    let [one, other] = if rows >= columns {
        halves(part[0]).map(|rows| [rows, part[1]])
    } else {
        halves(part[1]).map(|columns| [part[0], columns])
    };
    rayon::join(|| transpose(from, to, n, one), || transpose(from, to, n, other));
}

fn main() {
    let n = befit_rayon_programs::size(2000);
    let matrix: Vec<_> = (0..n * n).map(|at| AtomicU32::new(at as u32)).collect();
    let other: Vec<_> = (0..n * n).map(|_| AtomicU32::new(0)).collect();
    for _ in 0..4 {
        transpose(&matrix, &other, n, [(0, n); 2]);
        transpose(&other, &matrix, n, [(0, n); 2]);
    }
    assert!((0..).zip(&matrix).all(|(at, cell)| cell.load(Relaxed) == at));
    println!("transposed {n} rows");
}
