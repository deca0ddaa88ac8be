//! The sorting kernels: [`quicksort`], [`samplesort`] and [`aware_samplesort`](aware) of n doubles.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental
//! analysis of space-bounded schedulers", SPAA 2014, section 5.1, with its sizes: 100M doubles,
//! serial below 16 Ki elements. All three use a second array of n doubles.

pub mod aware;
pub mod quicksort;
pub mod samplesort;

use std::cmp::Ordering;

use befit::{ThreadPool, fit};

use crate::{Input, KernelError, array};

/// Fewer elements are sorted by one thread.
const SERIAL_BELOW: usize = 1 << 14;

/// Elements of a sample that one thread collects at once.
const SAMPLED: usize = 64;

/// Sorts its first argument with the help of its second, as large; to be called in a pool. The
/// third is [`Input::shrink`].
pub type Sort = fn(&mut [f64], &mut [f64], usize) -> SortedIn;

/// The sorts by their kernels' names.
pub const SORTS: [(&str, Sort); 3] = [
    ("quicksort", quicksort::whole),
    ("samplesort", samplesort::whole),
    ("aware-samplesort", aware::whole),
];

/// Sorts `input.n` random doubles by `sort`, and checks the result.
fn run(pool: &ThreadPool, input: Input, sort: Sort) -> Result<(), KernelError> {
    let mut random = fastrand::Rng::with_seed(input.seed);
    let mut data = array::filled(input.n, |_| random.f64())?;
    let mut spare = array::filled(input.n, |_| 0.0)?;
    let before = fingerprint(&data);
    let place = pool.install(
        fit(bytes(&data), || sort(&mut data, &mut spare, input.shrink))
            .strand(quicksort::strand(input.n, input.cut_off(SERIAL_BELOW))),
    );
    check(if place == SortedIn::Data { &data } else { &spare }, before)
}

/// The array in which a sort leaves its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortedIn {
    /// In the array of the input.
    Data,
    /// In the other array.
    Spare,
}

/// Bytes that sorting `data` touches: it, and as much of the other array.
fn bytes(data: &[f64]) -> usize {
    2 * size_of_val(data)
}

/// A sorted sample of `len` elements of `data`, evenly spaced. It is taken in parallel, as each
/// element is a cache miss.
fn sample(data: &[f64], len: usize, part: usize) -> Vec<f64> {
    let step = (data.len() / len.max(1)).max(1);
    let mut sample = vec![0.0; data.len().div_ceil(step)];
    befit::par_chunks_mut(&mut sample, SAMPLED, |chunk, elements| {
        let from = data[chunk * SAMPLED * step..].iter().step_by(step);
        elements.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    });
    let mut spare = vec![0.0; sample.len()];
    quicksort::sort(&mut sample, &mut spare, part, SortedIn::Data);
    sample
}

fn serially(data: &mut [f64]) {
    data.sort_unstable_by(ascending);
}

/// The order of numbers. The inputs have no NaN and no −0, for which `f64::total_cmp` takes nearly
/// twice the time.
#[must_use]
pub fn ascending(a: &f64, b: &f64) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

/// Equal for the same elements in any order, and hardly ever for others.
fn fingerprint(data: &[f64]) -> u64 {
    data.iter().fold(0, |sum: u64, x| sum.wrapping_add(array::mixed(x.to_bits())))
}

fn check(sorted: &[f64], fingerprint_before: u64) -> Result<(), KernelError> {
    if let Some(index) = sorted.windows(2).position(|pair| pair[0] > pair[1]) {
        // The element must be at least the one before it.
        return Err(KernelError::WrongResult {
            index: index + 1,
            found: sorted[index + 1],
            expected: sorted[index],
        });
    }
    if fingerprint(sorted) == fingerprint_before { Ok(()) } else { Err(KernelError::OtherElements) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_out_of_order_or_with_other_elements_is_refused() {
        let data = [3.0, 1.0, 2.0];
        let before = fingerprint(&data);
        assert_eq!(check(&[1.0, 2.0, 3.0], before), Ok(()));
        assert_eq!(
            check(&data, before),
            Err(KernelError::WrongResult { index: 1, found: 1.0, expected: 3.0 })
        );
        assert_eq!(check(&[1.0, 2.0, 2.0], before), Err(KernelError::OtherElements));
    }
}
