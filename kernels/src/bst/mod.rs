//! Look-ups of words in a large binary search tree, in a good, a random and a bad order.
//!
//! Source: the second experiment (tree) of de Kruijf and Stockman (2007): 2¹⁸ − 1 nodes, each a
//! word and two 4-byte links. Every word is looked up once, each look-up a task. In order, two
//! look-ups after one another share their way but for its end; at random they share the first few
//! nodes; in the worst order they part at the root.
//!
//! The words, the size of a node, and the places of nodes in memory are not given there. Here words
//! have 12 letters (`node=20`) or 16 (`node=24`; 24 bytes a node let nodes fall onto the same
//! places of a direct-mapped cache), and nodes lie in one of four orders (`layout`): sorted,
//! preorder, by levels, or at random, as after insertions in random order. The worst order of
//! look-ups is defined as that of bit-reversed ranks: neighbours differ in the first turn, the
//! second neighbours in the second, and so on.

mod tree;
mod word;

use std::sync::atomic::{AtomicUsize, Ordering};

use befit::{ThreadPool, scope};
use befit_catalog::Settings;

use crate::{Input, KernelError, array};
use tree::Tree;
use word::Word;

/// Looks up each of `input.n` words once; the seed draws what is random in layout and order.
pub(crate) fn run(pool: &ThreadPool, input: Input, settings: &Settings) -> Result<(), KernelError> {
    match settings.get("node") {
        "24" => look_up::<4>(pool, input, settings),
        _ => look_up::<3>(pool, input, settings),
    }
}

fn look_up<const FOURS: usize>(
    pool: &ThreadPool,
    input: Input,
    settings: &Settings,
) -> Result<(), KernelError> {
    let n = u32::try_from(input.n).map_err(|_| KernelError::TooLarge { n: input.n })?;
    let mut random = fastrand::Rng::with_seed(input.seed);
    let tree = Tree::<FOURS>::new(n, settings.get("layout"), &mut random)?;
    let mut ranks = array::filled(input.n, |rank| rank as u32)?;
    match settings.get("lookups") {
        "random" => random.shuffle(&mut ranks),
        "worst" => ranks = bit_reversed(n),
        _ => {}
    }
    let (counts, tree) = (Counts::default(), &tree);
    pool.install(|| {
        scope(|s| {
            for &rank in &ranks {
                let counts = &counts;
                s.spawn(move |_| counts.add(rank, tree.has(&Word::of(rank, n))));
            }
        });
    });
    counts.check(n)
}

/// How look-ups came out.
#[derive(Debug, Default)]
struct Counts {
    missing: AtomicUsize,
    found: AtomicUsize,
}

impl Counts {
    /// Whether the look-up of this word is counted if it is found: one in 64 is, all over the tree.
    /// Workers that counted all of them would fight for the counter, and the kernel is about the
    /// tree.
    fn is_counted(rank: u32) -> bool {
        rank.wrapping_mul(0x9e37_79b9) >> 26 == 0
    }

    fn add(&self, rank: u32, found: bool) {
        if !found {
            self.missing.fetch_add(1, Ordering::Relaxed);
        } else if Self::is_counted(rank) {
            self.found.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Checks that each of `n` words was found, and that no look-up that is counted was left out.
    fn check(self, n: u32) -> Result<(), KernelError> {
        array::check_number(0, self.missing.into_inner() as f64, 0.0)?;
        let counted = (0..n).filter(|rank| Self::is_counted(*rank)).count();
        array::check_number(1, self.found.into_inner() as f64, counted as f64)
    }
}

/// 0..n in the order of their numbers with the bits reversed. O(n).
fn bit_reversed(n: u32) -> Vec<u32> {
    let bits = u32::BITS - n.saturating_sub(1).leading_zeros();
    let reversed = |i: u64| (i as u32).reverse_bits().checked_shr(u32::BITS - bits).unwrap_or(0);
    (0..1u64 << bits).map(reversed).filter(|rank| *rank < n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, Variant};

    #[test]
    fn every_word_is_found_whatever_the_layout_and_order() {
        let pool = crate::pool();
        let [node, layout, lookups] = Kernel::find("bst").unwrap().settings else {
            panic!("three settings")
        };
        for node in node.values {
            for layout in layout.values {
                for lookups in lookups.values {
                    let variant = Variant::find(&format!(
                        "bst:node={node},layout={layout},lookups={lookups}"
                    ))
                    .unwrap();
                    for n in [0, 1, 2, 1000] {
                        assert_eq!(
                            crate::run(&variant, &pool, Input { n, seed: 1, ..Input::default() }),
                            Ok(()),
                            "{}, n = {n}",
                            variant.name
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_word_that_is_not_found_and_a_counted_look_up_that_never_ran_are_wrong() {
        let after = |lost: &[u32], missing: &[u32]| {
            let counts = Counts::default();
            let ran = (0..1000).filter(|rank| !lost.contains(rank));
            ran.for_each(|rank| counts.add(rank, !missing.contains(&rank)));
            counts.check(1000)
        };
        let counted: Vec<u32> = (0..1000).filter(|rank| Counts::is_counted(*rank)).collect();
        assert!((10..20).contains(&counted.len()), "{counted:?}");
        assert_eq!(after(&[], &[]), Ok(()));
        assert!(counted.iter().all(|rank| after(&[*rank], &[]).is_err()));
        assert!(after(&[], &[999]).is_err());
    }

    #[test]
    fn bit_reversed_ranks_alternate_between_the_halves() {
        assert_eq!(bit_reversed(8), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(bit_reversed(5), [0, 4, 2, 1, 3]);
        assert_eq!((bit_reversed(1), bit_reversed(0)), (vec![0], vec![]));
    }
}
