//! Sorts n random numbers by merging, and checks the order. The merge is parallel too.

/// Halves of fewer elements are sorted, or merged, serially.
const SERIAL: usize = 4096;

fn sort(numbers: &mut [u64], buffer: &mut [u64]) {
    if numbers.len() <= SERIAL {
        return numbers.sort_unstable();
    }
    let middle = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    rayon::join(|| sort(left, left_buffer), || sort(right, right_buffer));
    merge(left, right, buffer);
    numbers.copy_from_slice(buffer);
}

/// Merges two sorted slices into `to`, which is as long as both.
fn merge(left: &[u64], right: &[u64], to: &mut [u64]) {
    let (longer, shorter) = if left.len() < right.len() { (right, left) } else { (left, right) };
    if to.len() <= SERIAL {
        return merge_serially(left, right, to);
    }
    let middle = longer.len() / 2;
    let cut = shorter.partition_point(|number| *number < longer[middle]);
    let (first_to, second_to) = to.split_at_mut(middle + cut);
    let (first, second) = (longer.split_at(middle), shorter.split_at(cut));
    rayon::join(|| merge(first.0, second.0, first_to), || merge(first.1, second.1, second_to));
}

fn merge_serially<'a>(mut left: &'a [u64], mut right: &'a [u64], to: &mut [u64]) {
    for to in to {
        let from_left = match (left.first(), right.first()) {
            (Some(a), Some(b)) => a <= b,
            (left, _) => left.is_some(),
        };
        let from = if from_left { &mut left } else { &mut right };
        *to = from[0];
        *from = &from[1..];
    }
}

fn main() {
    let n = befit_rayon_programs::size(4_000_000);
    let mut random = fastrand::Rng::with_seed(1);
    let mut numbers: Vec<u64> = (0..n).map(|_| random.u64(..)).collect();
    let sum = numbers.iter().fold(0_u64, |sum, number| sum.wrapping_add(*number));
    let mut buffer = vec![0; n];
    // One parallel region, which is what is timed.
    rayon::scope(|_| sort(&mut numbers, &mut buffer));
    assert!(numbers.is_sorted(), "the numbers are in order");
    let sorted = numbers.iter().fold(0_u64, |sum, number| sum.wrapping_add(*number));
    assert_eq!(sum, sorted, "none is lost");
}
