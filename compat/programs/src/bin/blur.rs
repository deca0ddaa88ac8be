//! Blurs a square image four times, down its columns and then along its rows: each pass writes its
//! columns as rows, so that both passes are the same.

use rayon::prelude::*;

const ROWS: usize = 16;
const REACH: usize = 3;

fn pass(from: &[f32], to: &mut [f32], n: usize) {
    to.par_chunks_mut(ROWS * n).enumerate().for_each(|(band, to)| {
        for (column, to) in (band * ROWS..).zip(to.chunks_mut(n)) {
            let (first, last) = (column.saturating_sub(REACH), (column + REACH).min(n - 1));
            for (row, to) in to.iter_mut().enumerate() {
                let sum: f32 = from[row * n + first..=row * n + last].iter().sum();
                *to = sum / (last - first + 1) as f32;
            }
        }
    });
}

fn main() {
    let n = befit_rayon_programs::size(2048).max(1);
    let mut random = fastrand::Rng::with_seed(1);
    let mut image: Vec<f32> = (0..n * n).map(|_| random.f32()).collect();
    let mut other = image.clone();
    for _ in 0..8 {
        pass(&image, &mut other, n);
        std::mem::swap(&mut image, &mut other);
    }
    assert!(image.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    println!("{}", image[n / 2]);
}
