//! The lengths of the shortest paths between all pairs of n places, by Floyd and Warshall's
//! algorithm, a row at a time, and checks that no detour is shorter.

use rayon::prelude::*;

/// Further than any path is long; twice as far is still a number.
const NO_WAY: u32 = u32::MAX / 2;

fn shortest_paths(distances: &mut [u32], n: usize) {
    let mut via = vec![0; n];
    for middle in 0..n {
        via.copy_from_slice(&distances[middle * n..][..n]);
        distances.par_chunks_mut(n).with_min_len(8).for_each(|row| {
            let to_middle = row[middle];
            for (direct, onwards) in row.iter_mut().zip(&via) {
                *direct = (*direct).min(to_middle + onwards);
            }
        });
    }
}

fn main() {
    let n = befit_rayon_programs::size(512).max(1);
    let mut random = fastrand::Rng::with_seed(1);
    let mut distances = vec![NO_WAY; n * n];
    for from in 0..n {
        distances[from * n + from] = 0;
        for _ in 0..8 {
            let to = random.usize(..n);
            let length = random.u32(1..1000);
            let distance = &mut distances[from * n + to];
            *distance = (*distance).min(length);
        }
    }
    // One parallel region, which is what is timed.
    rayon::scope(|_| shortest_paths(&mut distances, n));
    for _ in 0..100_000 {
        let [a, b, c] = [(); 3].map(|()| random.usize(..n));
        let direct = distances[a * n + b];
        assert!(direct <= distances[a * n + c] + distances[c * n + b], "{a} to {b} via {c}");
    }
}
