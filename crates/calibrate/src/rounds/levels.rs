//! The levels of cache, from the times of random loads.

use befit_machine::{Cluster, Level, Machine, Worker, WorkerId};

use super::Rounds;
use crate::{Figure, LevelFound, fit, pages::Found};

impl Rounds {
    /// So many parts of the rounds: from which, and up to which.
    pub(super) fn parts(&self, number: usize) -> Vec<(usize, usize)> {
        let rounds = self.chases.first().map_or(0, Vec::len);
        let part = rounds.div_ceil(number).max(1);
        (0..rounds).step_by(part).map(|at| (at, rounds.min(at + part))).collect()
    }

    /// Fits the levels of all rounds; of thirds of them, for the quartiles; and of the halves.
    pub(super) fn levels(&self, cycle: f64, pages: &Found) -> Vec<LevelFound> {
        let rounds = self.chases.first().map_or(0, Vec::len);
        let fit = |(from, to): (usize, usize)| self.fit(from, to, cycle, pages);
        let parts = |number: usize| self.parts(number).into_iter().map(fit).collect::<Vec<_>>();
        let (all, halves, thirds) = (fit((0, rounds)), parts(2), parts(3));
        let levels = self.caches.iter().zip(&all).enumerate();
        levels
            .map(|(at, (cache, &(capacity, latency)))| {
                let figure = |value: f64, of: &dyn Fn(&(f64, f64)) -> f64| {
                    let found = |parts: &[Vec<(f64, f64)>]| -> Vec<f64> {
                        parts.iter().filter_map(|fit| fit.get(at)).map(of).collect()
                    };
                    let half = found(&halves);
                    let halves = (half[0], *half.last().unwrap_or(&half[0]));
                    Figure { value, median: value, halves, ..Figure::time(&found(&thirds)) }
                };
                LevelFound {
                    level: cache.level.0,
                    claimed: cache.size.0,
                    capacity: figure(capacity, &|f| f.0),
                    latency: figure(latency, &|f| f.1),
                    read: Figure::time(&self.reads[at]),
                    copy: Figure::time(&self.copies[at]),
                }
            })
            .collect()
    }

    /// Capacity and latency of each level, from some of the rounds.
    fn fit(&self, from: usize, to: usize, cycle: f64, pages: &Found) -> Vec<(f64, f64)> {
        let time = |at: usize| {
            let loads = Figure::time(&self.chases[at][from..to]).value;
            loads - pages.walked_side_by_side(at) - cycle
        };
        let points: Vec<(f64, f64)> =
            self.sizes.iter().enumerate().map(|(at, s)| (*s as f64, time(at))).collect();
        let mut inner: Vec<(f64, f64)> = Vec::new();
        for (at, cache) in self.caches.iter().enumerate() {
            let claimed = cache.size.0 as f64;
            let below = inner.last().map_or(0.0, |(c, _)| *c);
            // Up to where the next level is sure to hold all; of the last, up to memory.
            let next = self.caches.get(at + 1).map(|c| c.size.0 as f64 / 2.0);
            let upto = next.unwrap_or(f64::INFINITY).min(16.0 * claimed);
            let near: Vec<_> =
                points.iter().copied().filter(|(s, _)| *s <= upto && *s > below).collect();
            let least = if below > 0.0 { below * 1.1 } else { claimed / 8.0 };
            let found = fit::level(&near, &inner, least, claimed * 1.1);
            let (capacity, latency) = found.map_or_else(
                || (claimed, near.first().map_or(0.0, |p| p.1.max(0.0))),
                |f| (f.capacity, f.latency),
            );
            // No stranger has a part of a private cache; sets that fill unevenly miss early.
            let whole = self.private.contains(&cache.level) && capacity > 0.8 * claimed;
            inner.push((if whole { claimed } else { capacity.min(claimed) }, latency));
        }
        inner
    }
}

/// The levels of the first core only. Where no other core is visible, one beyond the second level
/// may still be shared with some.
pub(super) fn private(machine: &Machine) -> Vec<Level> {
    const SURELY: u8 = 2;
    let of_first = |workers: &[Worker]| workers.iter().all(|w| w.core == 0);
    let is_alone = of_first(machine.workers());
    let clusters = machine.path(WorkerId(0)).map(|c| machine.cluster(c));
    let of_one_core = |c: &&Cluster| {
        of_first(&machine.workers()[c.workers.start as usize..c.workers.end as usize])
    };
    let levels = clusters.filter(of_one_core).filter_map(|c| c.cache).map(|c| c.level);
    levels.filter(|level| !is_alone || level.0 <= SURELY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_level_is_private_only_where_another_core_is_seen_not_to_share_it() {
        let private = |tree: &str| private(&tree.parse().unwrap());
        let two = [Level(1), Level(2)];
        assert_eq!(private("l3:1 core:1 l2:1 l1:1 pu:2"), two);
        assert_eq!(private("l3:1 core:2 l2:1 l1:1 pu:2"), two);
        assert_eq!(private("l3:2 core:1 l2:1 l1:1 pu:2"), [Level(1), Level(2), Level(3)]);
    }
}
