//! A genetic algorithm on n islands, which evolve in parallel; now and then each sends its best to
//! the next.
//!
//! It looks for the minimum of Rastrigin's function of 16 numbers. Each island has a random
//! generator of its own, so that the result does not depend on who evolves it: it is checked
//! against the same run serially.

use std::f64::consts::TAU;

use befit::ThreadPool;
use fastrand::Rng;

use super::each;
use crate::{Input, KernelError, array};

/// Numbers that a creature is made of.
const GENES: usize = 16;
/// Creatures on an island.
const CREATURES: usize = 64;
/// Generations between two exchanges.
const GENERATIONS: usize = 10;
/// Exchanges.
const EPOCHS: usize = 5;

type Creature = [f64; GENES];

/// Runs it with `input.n` islands, whose populations come from the seed.
pub(crate) fn run(pool: &ThreadPool, Input { n, seed, .. }: Input) -> Result<(), KernelError> {
    let parallel =
        pool.install(|| evolve(n, seed, |islands| each(0, islands, &|_, island| island.evolve())))?;
    let serial = evolve(n, seed, |islands| islands.iter_mut().for_each(Island::evolve))?;
    let of =
        |islands: &[Island]| islands.iter().map(|island| cost(island.best())).collect::<Vec<_>>();
    let serial = of(&serial);
    array::check(&of(&parallel), |i| serial[i])
}

fn evolve(
    n: usize,
    seed: u64,
    mut epoch: impl FnMut(&mut [Island]),
) -> Result<Vec<Island>, KernelError> {
    let mut islands = array::filled(n, |i| Island::new(seed.wrapping_add(i as u64)))?;
    for _ in 0..EPOCHS {
        epoch(&mut islands);
        let best: Vec<_> = islands.iter().map(|island| *island.best()).collect();
        for (i, creature) in best.iter().enumerate() {
            islands[(i + 1) % n].receive(*creature);
        }
    }
    Ok(islands)
}

struct Island {
    /// The best first.
    creatures: Vec<Creature>,
    random: Rng,
}

impl Island {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let creatures =
            (0..CREATURES).map(|_| std::array::from_fn(|_| 10.24 * random.f64() - 5.12)).collect();
        let mut island = Self { creatures, random };
        island.sort();
        island
    }

    fn best(&self) -> &Creature {
        &self.creatures[0]
    }

    fn sort(&mut self) {
        self.creatures.sort_unstable_by(|a, b| cost(a).total_cmp(&cost(b)));
    }

    /// A creature comes from elsewhere; the worst one makes room for it.
    fn receive(&mut self, creature: Creature) {
        self.creatures[CREATURES - 1] = creature;
        self.sort();
    }

    /// The better half stays; the other half makes room for its children.
    fn evolve(&mut self) {
        for _ in 0..GENERATIONS {
            let (parents, children) = self.creatures.split_at_mut(CREATURES / 2);
            for child in children {
                let (a, b) =
                    (self.random.usize(..parents.len()), self.random.usize(..parents.len()));
                for (gene, (x, y)) in child.iter_mut().zip(parents[a].iter().zip(&parents[b])) {
                    *gene =
                        if self.random.bool() { *x } else { *y } + 0.1 * (self.random.f64() - 0.5);
                }
            }
            self.sort();
        }
    }
}

/// Rastrigin's function: 0 at the origin, with many other valleys.
fn cost(creature: &Creature) -> f64 {
    creature.iter().map(|x| 10.0 + x * x - 10.0 * (TAU * x).cos()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evolution_makes_the_best_better() {
        let begin = cost(Island::new(1).best());
        let end =
            evolve(1, 1, |islands| islands[0].evolve()).ok().map(|islands| cost(islands[0].best()));
        assert!(end.is_some_and(|end| end < begin));
    }

    #[test]
    fn regression_a_creature_that_comes_to_an_island_has_children_there() {
        let best = |n| {
            let islands = evolve(n, 1, |islands| islands.iter_mut().for_each(Island::evolve));
            islands.ok().map(|islands| *islands[0].best())
        };
        // Island 0 is the same in both; but in one it has a neighbour.
        assert_ne!(best(1), best(2));
    }
}
