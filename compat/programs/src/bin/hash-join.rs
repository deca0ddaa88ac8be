//! Joins two tables by a key: divides both by a hash, then builds and probes a table of each part.

use rayon::prelude::*;

const PARTS: usize = 128;
const CHUNKS: usize = 64;

type Row = (u32, u32);
/// No row has this key.
const NONE: u32 = u32::MAX;

/// The rows of each part, chunk by chunk.
fn divide(rows: &[Row]) -> Vec<Vec<Vec<Row>>> {
    let of_chunk = |chunk: &[Row]| {
        let mut parts = vec![Vec::new(); PARTS];
        for row in chunk {
            parts[row.0.wrapping_mul(0x9e37_79b9) as usize >> 25].push(*row);
        }
        parts
    };
    rows.par_chunks(rows.len().div_ceil(CHUNKS).max(1)).map(of_chunk).collect()
}

/// The pairs of rows with equal keys in one part of both tables.
fn join(left: &[Vec<Vec<Row>>], right: &[Vec<Vec<Row>>], part: usize) -> u64 {
    let rows: usize = left.iter().map(|chunk| chunk[part].len()).sum();
    let mask = (2 * rows).next_power_of_two() - 1;
    let mut table = vec![(NONE, 0); mask + 1];
    let first = |key: u32| key.wrapping_mul(0x85eb_ca6b) as usize >> 7 & mask;
    for row in left.iter().flat_map(|chunk| &chunk[part]) {
        let mut at = first(row.0);
        while table[at].0 != NONE {
            at = (at + 1) & mask;
        }
        table[at] = *row;
    }
    let mut pairs = 0;
    for row in right.iter().flat_map(|chunk| &chunk[part]) {
        let mut at = first(row.0);
        while table[at].0 != NONE {
            pairs += u64::from(table[at].0 == row.0);
            at = (at + 1) & mask;
        }
    }
    pairs
}

fn main() {
    let n = befit_rayon_programs::size(2_000_000).max(1) as u32;
    let mut random = fastrand::Rng::with_seed(1);
    let mut rows = |count| -> Vec<Row> { (0..count).map(|i| (random.u32(..n), i)).collect() };
    let (left, right) = (rows(n), rows(2 * n));
    let (one, other) = rayon::join(|| divide(&left), || divide(&right));
    let pairs: u64 = (0..PARTS).into_par_iter().map(|part| join(&one, &other, part)).sum();
    println!("{pairs} pairs");
}
