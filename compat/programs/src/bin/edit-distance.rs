//! How many letters must be changed to make one text of another: blocks of a table, one diagonal of
//! blocks after the other. The argument is the number of blocks in a row.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

const BLOCK: usize = 128;

struct Table {
    width: usize,
    cells: Vec<AtomicU32>,
}

impl Table {
    /// With the distances from an empty text.
    fn new(length: usize) -> Self {
        let width = length + 1;
        let first = |at: usize| match (at / width, at % width) {
            (0, column) => column,
            (row, 0) => row,
            _ => 0,
        };
        let cells = (0..width * width).map(|at| AtomicU32::new(first(at) as u32)).collect();
        Self { width, cells }
    }

    fn cell(&self, row: usize, column: usize) -> &AtomicU32 {
        &self.cells[row * self.width + column]
    }

    fn block(&self, (down, right): (usize, usize), one: &[u8], other: &[u8]) {
        for row in down * BLOCK + 1..=(down + 1) * BLOCK {
            for column in right * BLOCK + 1..=(right + 1) * BLOCK {
                let get = |row, column| self.cell(row, column).load(Relaxed);
                let differ = u32::from(one[row - 1] != other[column - 1]);
                let change = get(row - 1, column - 1) + differ;
                let insert = get(row - 1, column).min(get(row, column - 1)) + 1;
                self.cell(row, column).store(change.min(insert), Relaxed);
            }
        }
    }
}

fn main() {
    let blocks = befit_rayon_programs::size(32).max(1);
    let length = blocks * BLOCK;
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = || -> Vec<u8> { (0..length).map(|_| random.u8(..4)).collect() };
    let (one, other, table) = (text(), text(), Table::new(length));
    for diagonal in 0..2 * blocks - 1 {
        let downs = diagonal.saturating_sub(blocks - 1)..=diagonal.min(blocks - 1);
        downs.into_par_iter().for_each(|down| table.block((down, diagonal - down), &one, &other));
    }
    println!("{}", table.cell(length, length).load(Relaxed));
}
