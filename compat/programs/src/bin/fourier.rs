//! Transforms n complex numbers, n rounded up to a power of two, by Cooley and Tukey's recursion,
//! and checks the transform of two waves.

use std::{
    f64::consts::TAU,
    ops::{Add, Mul, Sub},
};

/// Parts of fewer numbers are transformed serially.
const SERIAL: usize = 1024;

#[derive(Clone, Copy, Default)]
struct Complex(f64, f64);

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }
}

/// Transforms every `stride`-th number of `from`, as many as `to` holds. `roots` are those of
/// unity, half as many as the whole transform has numbers.
fn transform(from: &[Complex], stride: usize, to: &mut [Complex], roots: &[Complex]) {
    let n = to.len();
    if n == 1 {
        to[0] = from[0];
        return;
    }
    let (even, odd) = to.split_at_mut(n / 2);
    let mut halves = (
        || transform(from, stride * 2, even, roots),
        || transform(&from[stride..], stride * 2, odd, roots),
    );
    if n <= SERIAL {
        halves.0();
        halves.1();
    } else {
        rayon::join(&mut halves.0, &mut halves.1);
    }
    for ((even, odd), root) in even.iter_mut().zip(odd).zip(roots.iter().step_by(stride)) {
        let turned = *root * *odd;
        (*even, *odd) = (*even + turned, *even - turned);
    }
}

fn main() {
    let n = befit_rayon_programs::size(1 << 20).next_power_of_two();
    let wave = |of: usize, at: usize| {
        let angle = TAU * (of * at % n) as f64 / n as f64;
        Complex(angle.cos(), angle.sin())
    };
    let (first, second) = (3 % n, n / 2);
    let from: Vec<Complex> = (0..n).map(|at| wave(first, at) + wave(second, at)).collect();
    let root = |at: usize| {
        let angle = -TAU * at as f64 / n as f64;
        Complex(angle.cos(), angle.sin())
    };
    let roots: Vec<Complex> = (0..n / 2).map(root).collect();
    let mut to = vec![Complex::default(); n];
    // One parallel region, which is what is timed.
    rayon::scope(|_| transform(&from, 1, &mut to, &roots));
    for (at, found) in to.iter().enumerate() {
        let waves = usize::from(at == first) + usize::from(at == second);
        let off = (found.0 - (waves * n) as f64).hypot(found.1);
        assert!(off < 1e-6 * n as f64, "frequency {at} is off by {off}");
    }
}
