//! The orders against all permutations, and what each must keep.

use proptest::prelude::*;

use super::{Chosen, by_key, exact, greedy};
use crate::footprint::{Budget, Price};

/// Affinities of a window of `n` tasks: the first row is that to the task that ran last.
fn affinities(most: usize) -> impl Strategy<Value = (usize, Vec<i64>)> {
    (1..=most).prop_flat_map(|n| (Just(n), prop::collection::vec(-20..20i64, (n + 1) * n)))
}

fn look(n: usize, table: &[i64]) -> impl FnMut(Option<usize>, usize) -> i64 + '_ {
    move |before, next| table[before.map_or(0, |b| b + 1) * n + next]
}

fn sum(order: &[usize], mut affinity: impl FnMut(Option<usize>, usize) -> i64) -> i64 {
    let mut before = None;
    order.iter().map(|next| affinity(before.replace(*next), *next)).sum()
}

/// The best sum over all ordered choices.
fn best(n: usize, execute: usize, due: usize, table: &[i64], order: &mut Vec<usize>) -> i64 {
    if order.len() == execute {
        let allowed = (0..due).all(|d| order.contains(&d));
        return if allowed { sum(order, look(n, table)) } else { i64::MIN };
    }
    let mut most = i64::MIN;
    for next in 0..n {
        if !order.contains(&next) {
            order.push(next);
            most = most.max(best(n, execute, due, table, order));
            order.pop();
        }
    }
    most
}

fn is_a_choice(chosen: &Chosen, n: usize, execute: usize, due: usize) -> bool {
    let mut sorted = chosen.order.clone();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() == chosen.order.len()
        && sorted.len() == execute.min(n)
        && sorted.iter().all(|task| *task < n)
        && (0..due.min(execute).min(n)).all(|d| sorted.contains(&d))
}

proptest! {
    #[test]
    fn exact_is_the_best_of_all_orders(
        (n, table) in affinities(6), execute in 1..8usize, due in 0..4usize,
    ) {
        let chosen = exact(n, execute, due, look(n, &table));
        prop_assert!(is_a_choice(&chosen, n, execute, due));
        prop_assert_eq!(chosen.gain, sum(&chosen.order, look(n, &table)));
        let due = due.min(execute).min(n);
        prop_assert_eq!(chosen.gain, best(n, execute.min(n), due, &table, &mut Vec::new()));
    }

    #[test]
    fn greedy_is_never_better_than_exact(
        (n, table) in affinities(9), execute in 0..10usize, due in 0..12usize,
    ) {
        let chosen = greedy(n, execute, due, look(n, &table), None);
        prop_assert!(is_a_choice(&chosen, n, execute, due));
        prop_assert_eq!(chosen.gain, sum(&chosen.order, look(n, &table)));
        prop_assert!(chosen.gain <= exact(n, execute, due, look(n, &table)).gain);
    }

    #[test]
    fn keys_are_taken_in_a_circle(
        keys in prop::collection::vec(0..50u32, 0..20), last in prop::option::of(0..50u32),
        execute in 0..25usize, due in 0..6usize,
    ) {
        let chosen = by_key(&keys, last, execute, due);
        prop_assert!(is_a_choice(&chosen, keys.len(), execute, due));
        let last = last.unwrap_or(0);
        let way = chosen.order.iter().map(|task| (keys[*task] < last, keys[*task]));
        prop_assert!(way.is_sorted());
    }

    #[test]
    fn a_budget_that_runs_out_leaves_a_choice_that_ends_by_arrival(
        (n, table) in affinities(9), execute in 1..10usize, due in 0..12usize, affinity in 0..6u32,
    ) {
        let price = Price { look: 1.0, affinity: f64::from(affinity) };
        // For a smaller window, so that it may run out.
        let mut budget = Budget::new(price, n / 8);
        let with = greedy(n, execute, due, look(n, &table), Some(&mut budget));
        let without = greedy(n, execute, due, look(n, &table), None);
        prop_assert!(is_a_choice(&with, n, execute, due));
        prop_assert!(with.looks <= without.looks + execute as u64);
        let same = with.order.iter().zip(&without.order).take_while(|(a, b)| a == b).count();
        prop_assert!(with.order[same..].is_sorted());
    }
}

#[test]
fn where_all_share_alike_a_budget_stops_looking() {
    let mut budget = Budget::new(Price { look: 3.0, affinity: 6.0 }, 64);
    // However much: one order is as good as another.
    let chosen = greedy(64, 32, 0, |_, _| 100, Some(&mut budget));
    assert!(chosen.order.into_iter().eq(0..32));
    // It opens with enough for 16 looks at each of 64, and the window becomes smaller on the way.
    assert!((15 * 64..=16 * 64).contains(&chosen.looks), "{}", chosen.looks);
}

#[test]
fn a_window_too_large_for_all_orders_is_gone_through_greedily() {
    let affinity =
        |before: Option<usize>, next: usize| -(before.unwrap_or(0).abs_diff(next) as i64);
    assert_eq!(exact(40, 20, 0, affinity), greedy(40, 20, 0, affinity, None));
}
