//! Moves n bodies under their gravity for a few steps, every pair directly, and checks that the
//! momentum stays.

use rayon::prelude::*;

const STEPS: usize = 4;
const TIME: f64 = 1e-3;
/// Keeps the force of two bodies in one place finite.
const SOFTENING: f64 = 1e-2;

#[derive(Clone, Copy)]
struct Body {
    place: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

/// The acceleration at `place`.
fn acceleration(place: [f64; 3], bodies: &[Body]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for body in bodies {
        let away: [f64; 3] = std::array::from_fn(|axis| body.place[axis] - place[axis]);
        let square = away.iter().map(|d| d * d).sum::<f64>() + SOFTENING;
        let pull = body.mass / (square * square.sqrt());
        for axis in 0..3 {
            sum[axis] += pull * away[axis];
        }
    }
    sum
}

fn step(bodies: &mut [Body], pulls: &mut [[f64; 3]]) {
    let all = &*bodies;
    pulls
        .par_iter_mut()
        .zip(all)
        .with_min_len(16)
        .for_each(|(pull, body)| *pull = acceleration(body.place, all));
    bodies.par_iter_mut().zip(pulls).with_min_len(1024).for_each(|(body, pull)| {
        for axis in 0..3 {
            body.speed[axis] += pull[axis] * TIME;
            body.place[axis] += body.speed[axis] * TIME;
        }
    });
}

fn momentum(bodies: &[Body]) -> f64 {
    bodies.iter().map(|body| body.mass * body.speed.iter().sum::<f64>()).sum()
}

fn main() {
    let n = befit_rayon_programs::size(2_000);
    let mut random = fastrand::Rng::with_seed(1);
    let mut bodies: Vec<Body> = (0..n)
        .map(|_| Body {
            place: std::array::from_fn(|_| random.f64()),
            speed: std::array::from_fn(|_| random.f64() - 0.5),
            mass: random.f64() / n as f64,
        })
        .collect();
    let mut pulls = vec![[0.0; 3]; n];
    let before = momentum(&bodies);
    // One parallel region, which is what is timed.
    rayon::scope(|_| (0..STEPS).for_each(|_| step(&mut bodies, &mut pulls)));
    let lost = (momentum(&bodies) - before).abs();
    assert!(lost < 1e-9, "the momentum stays, but {lost} of it is lost");
}
