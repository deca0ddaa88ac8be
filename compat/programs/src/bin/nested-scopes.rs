//! Goes over n numbers four times by scopes within scopes: each spawns a task for each quarter of
//! its part, and steps through the part when these have ended. Checks the result against that of
//! plain calls.

/// So many numbers a task at the bottom has at least.
const LEAF: usize = 256;
const ROUNDS: usize = 4;

fn in_parallel(numbers: &mut [u64]) {
    if numbers.len() < 4 * LEAF {
        return mix(numbers);
    }
    let quarter = numbers.len().div_ceil(4);
    rayon::scope(|s| {
        for part in numbers.chunks_mut(quarter) {
            s.spawn(|_| in_parallel(part));
        }
    });
    step(numbers);
}

fn in_order(numbers: &mut [u64]) {
    if numbers.len() < 4 * LEAF {
        return mix(numbers);
    }
    numbers.chunks_mut(numbers.len().div_ceil(4)).for_each(in_order);
    step(numbers);
}

fn mix(numbers: &mut [u64]) {
    for number in numbers {
        *number = number.wrapping_mul(31).rotate_left(7);
    }
}

fn step(numbers: &mut [u64]) {
    for number in numbers.iter_mut().step_by(8) {
        *number = number.wrapping_add(1);
    }
}

fn main() {
    let n = befit_rayon_programs::size(1 << 20);
    let mut numbers: Vec<u64> = (0..n as u64).collect();
    let mut expected = numbers.clone();
    (0..ROUNDS).for_each(|_| in_order(&mut expected));
    // One parallel region, which is what is timed.
    rayon::scope(|_| (0..ROUNDS).for_each(|_| in_parallel(&mut numbers)));
    assert!(numbers == expected, "it gives what plain calls give");
}
