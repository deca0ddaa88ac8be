//! The fast Fourier transform of n complex numbers, n a power of two: Cooley and Tukey's, of radix
//! two, by recursion.
//!
//! The input is a wave and an impulse, whose transforms are an impulse and a wave: so the result is
//! known.

use std::f64::consts::TAU;

use befit::{ThreadPool, join};

use crate::{Input, KernelError, array};

type Complex = [f64; 2];

/// Transforms of so many numbers are serial.
const LEAF: usize = 1 << 10;

/// Runs it on `input.n` complex numbers, rounded up to a power of two; the seed makes no
/// difference.
pub(crate) fn run(pool: &ThreadPool, Input { n, .. }: Input) -> Result<(), KernelError> {
    let n = n.max(1).checked_next_power_of_two().ok_or(KernelError::TooLarge { n })?;
    let turn = |turns: usize| unit(turns, n);
    let (frequency, delay) = (n / 3, n / 5);
    let input = array::filled(n, |i| {
        let [re, im] = turn(i * frequency % n);
        [re + f64::from(u8::from(i == delay)), im]
    })?;
    let factors = array::filled(n / 2, |i| conjugate(turn(i)))?;
    let mut output = array::filled(n, |_| [0.0, 0.0])?;
    pool.install(|| transform(&mut output, &input, 1, &factors));
    let expected = |i: usize| {
        let [re, im] = conjugate(turn(i * delay % n));
        [re + if i == frequency { n as f64 } else { 0.0 }, im]
    };
    array::check_near(output.iter().flatten().copied(), |i| expected(i / 2)[i % 2], tolerance(n))
}

/// How far rounding may take an element: the largest is n, and each of log₂ n steps rounds. It is
/// far below the height of the wave, 1, for all n that memory has room for.
fn tolerance(n: usize) -> f64 {
    1e-14 * n as f64 * (1.0 + (n as f64).log2())
}

/// The complex number of length 1 at `turns` ÷ `n` of a turn.
fn unit(turns: usize, n: usize) -> Complex {
    let angle = TAU * turns as f64 / n as f64;
    [angle.cos(), angle.sin()]
}

fn conjugate([re, im]: Complex) -> Complex {
    [re, -im]
}

/// The transform of every `stride`-th number of `input`. `factors` are those of the whole.
fn transform(output: &mut [Complex], input: &[Complex], stride: usize, factors: &[Complex]) {
    if let [only] = output {
        *only = input[0];
        return;
    }
    let parallel = output.len() > LEAF;
    let (even, odd) = output.split_at_mut(output.len() / 2);
    if parallel {
        join(
            || transform(even, input, 2 * stride, factors),
            || transform(odd, &input[stride..], 2 * stride, factors),
        );
        return combine(even, odd, stride, factors, 0);
    }
    transform(even, input, 2 * stride, factors);
    transform(odd, &input[stride..], 2 * stride, factors);
    butterflies(even, odd, stride, factors, 0);
}

/// Makes one transform of two; from number `first` of each on.
fn combine(
    even: &mut [Complex],
    odd: &mut [Complex],
    stride: usize,
    factors: &[Complex],
    first: usize,
) {
    if even.len() <= LEAF / 2 {
        return butterflies(even, odd, stride, factors, first);
    }
    let middle = even.len() / 2;
    let (even1, even2) = even.split_at_mut(middle);
    let (odd1, odd2) = odd.split_at_mut(middle);
    join(
        || combine(even1, odd1, stride, factors, first),
        || combine(even2, odd2, stride, factors, first + middle),
    );
}

fn butterflies(
    even: &mut [Complex],
    odd: &mut [Complex],
    stride: usize,
    factors: &[Complex],
    first: usize,
) {
    for (i, (e, o)) in even.iter_mut().zip(odd).enumerate() {
        let [a, b] = factors[(first + i) * stride];
        let turned = [a * o[0] - b * o[1], a * o[1] + b * o[0]];
        *o = [e[0] - turned[0], e[1] - turned[1]];
        *e = [e[0] + turned[0], e[1] + turned[1]];
    }
}

#[cfg(test)]
mod tests {
    use rustfft::{FftPlanner, num_complex::Complex as Other};

    use super::*;

    #[test]
    fn the_wave_is_told_from_zeros_at_every_size_that_memory_has_room_for() {
        assert!(tolerance(1 << 40) < 0.5 && tolerance(1 << 20) < 1e-6);
    }

    #[test]
    fn random_numbers_are_transformed_as_another_library_does() {
        let n = 1 << 12;
        let mut random = fastrand::Rng::with_seed(1);
        let input: Vec<Complex> = (0..n).map(|_| [random.f64(), random.f64()]).collect();
        let factors: Vec<_> = (0..n / 2).map(|i| conjugate(unit(i, n))).collect();
        let mut output = vec![[0.0; 2]; n];
        crate::pool().install(|| transform(&mut output, &input, 1, &factors));
        let mut other: Vec<_> = input.iter().map(|[re, im]| Other::new(*re, *im)).collect();
        FftPlanner::new().plan_fft_forward(n).process(&mut other);
        let far = |(a, b): (&Complex, &Other<f64>)| (a[0] - b.re).abs().max((a[1] - b.im).abs());
        assert!(output.iter().zip(&other).map(far).fold(0.0, f64::max) < 1e-9);
    }
}
