//! Tests of the choice, against machines whose costs are made up.

use std::time::Duration;

use super::*;
use crate::measure::Kind;

/// The nanoseconds per task of a way, without sorting.
type Costs = dyn Fn(Mode, usize) -> f64;

const SORT: f64 = 10.0;
const LARGEST: usize = 1 << 20;

/// Runs a portion on the made-up machine; returns its nanoseconds.
fn run(choice: &mut Choice, left: usize, costs: &Costs) -> (Portion, f64) {
    let portion = choice.next(left);
    assert!((1..=left).contains(&portion.tasks));
    // As a queue of one thread does.
    let piece = (portion.tasks / 16).clamp(PIECE.start, PIECE.end);
    let mut pieces = Pieces::default();
    let add = |pieces: &mut Pieces, kind, tasks: usize, cost: f64| {
        pieces.add(kind, tasks, Duration::from_nanos((cost * tasks as f64) as u64));
    };
    for i in 0..portion.tasks.div_ceil(piece) {
        let tasks = piece.min(portion.tasks - i * piece);
        let flight = portion.flights.of(i);
        let kind = if flight { Kind::Flight } else { Kind::Plain };
        add(&mut pieces, kind, tasks, costs(Mode::new(portion.ordered, flight), portion.tasks));
        if portion.ordered {
            add(&mut pieces, Kind::Sort, tasks, SORT);
        }
    }
    let total = pieces.total;
    choice.record(portion, pieces);
    (portion, total)
}

/// Runs a batch; returns its nanoseconds per task.
fn batch(choice: &mut Choice, tasks: usize, costs: &Costs) -> f64 {
    let (mut left, mut total) = (tasks, 0.0);
    while left > 0 {
        let (portion, nanoseconds) = run(choice, left, costs);
        left -= portion.tasks;
        total += nanoseconds;
    }
    total / tasks as f64
}

/// A pointer tree: each doubling of a window saves a miss of 60 ns.
fn tree(mode: Mode, window: usize) -> f64 {
    let plain = if mode.ordered() { 1700.0 - 60.0 * (window as f64).log2() } else { 1100.0 };
    if mode.flight() { plain / 8.0 } else { plain }
}

/// Tasks that are slower in steps, and faster where they are in order.
fn steps_cost(mode: Mode, _: usize) -> f64 {
    let plain = if mode.ordered() { 50.0 } else { 100.0 };
    if mode.flight() { 3.0 * plain } else { plain }
}

/// A hash table: order saves nothing, and costs.
fn hash(mode: Mode, _: usize) -> f64 {
    match mode {
        Mode::Arrival => 30.0,
        Mode::Interleaved => 28.0,
        _ => 31.0,
    }
}

fn choice(steps: bool, orders: bool) -> Choice {
    Choice::new(steps, orders, 1, LARGEST)
}

#[test]
fn the_cheapest_of_four_ways_is_found_and_finding_it_costs_little() {
    let mut both = choice(true, true);
    let cost = batch(&mut both, 10_000_000, &tree);
    assert_eq!(both.settled(), Some(Way { mode: Mode::Both, window: LARGEST }));
    let best = tree(Mode::Both, LARGEST) + SORT;
    assert!(cost < 1.08 * best, "{cost} against {best}");
}

#[test]
fn without_steps_only_order_is_looked_for() {
    let mut ordered = choice(false, true);
    let cost = batch(&mut ordered, 10_000_000, &tree);
    assert_eq!(ordered.settled().unwrap().mode, Mode::Ordered);
    assert!(cost < 1.08 * (tree(Mode::Ordered, LARGEST) + SORT), "{cost}");
    let mut flight = choice(true, false);
    batch(&mut flight, 10_000_000, &tree);
    assert_eq!(flight.settled().unwrap().mode, Mode::Interleaved);
    let mut nothing = choice(false, false);
    batch(&mut nothing, 10_000, &tree);
    assert_eq!(nothing.settled().unwrap().mode, Mode::Arrival);
}

#[test]
fn order_switches_itself_off_where_it_does_not_pay() {
    let mut choice = choice(true, true);
    let cost = batch(&mut choice, 10_000_000, &hash);
    assert_eq!(choice.settled().unwrap().mode, Mode::Interleaved);
    assert!(
        choice.costs.iter().all(|cost| cost.way.window == FIRST_WINDOW || !cost.way.mode.ordered())
    );
    assert!(cost < 1.02 * 28.0, "{cost}");
}

#[test]
fn a_change_of_what_tasks_cost_is_noticed() {
    let mut choice = choice(true, true);
    batch(&mut choice, 10_000_000, &hash);
    // Dearer by far: at once.
    batch(&mut choice, 3_000_000, &tree);
    assert_eq!(choice.settled().unwrap().mode, Mode::Both);
    // Cheaper: with the next search.
    batch(&mut choice, 100_000_000, &hash);
    assert_eq!(choice.settled().unwrap().mode, Mode::Interleaved);
}

#[test]
fn searches_take_a_small_share_of_the_time() {
    let mut choice = choice(true, true);
    batch(&mut choice, 20_000_000, &tree);
    let cost = batch(&mut choice, 200_000_000, &tree);
    assert!(cost < 1.02 * (tree(Mode::Both, LARGEST) + SORT), "{cost}");
}

#[test]
fn small_batches_find_their_way_over_many_of_them() {
    let mut choice = choice(true, true);
    for _ in 0..2000 {
        batch(&mut choice, 500, &tree);
    }
    // Windows cannot be larger than a batch, so order saves nothing here.
    assert_eq!(choice.settled().unwrap().mode, Mode::Interleaved);
    // Larger ones are a new case.
    batch(&mut choice, 50_000, &tree);
    for _ in 0..2 {
        batch(&mut choice, 5_000_000, &tree);
    }
    assert_eq!(choice.settled(), Some(Way { mode: Mode::Both, window: LARGEST }));
}

#[test]
fn no_portion_is_larger_than_the_largest_window() {
    for largest in [1, 100, 50_000] {
        let mut choice = Choice::new(true, true, 4, largest);
        for _ in 0..1000 {
            assert!(run(&mut choice, 1 << 20, &tree).0.tasks <= largest);
        }
    }
}

#[test]
fn portions_of_one_piece_are_timed_both_ways() {
    for (tasks, orders, best) in [
        (200, false, Mode::Arrival),
        (200, true, Mode::Ordered),
        (500, true, Mode::Ordered),
        (700, true, Mode::Ordered),
    ] {
        // Windows, and batches; of dear tasks one portion takes longer than a sample needs.
        for factor in [1.0, 1000.0] {
            let costs = move |mode: Mode, window: usize| factor * steps_cost(mode, window);
            let mut windows = Choice::new(true, orders, 1, tasks);
            batch(&mut windows, 100_000, &costs);
            assert_eq!(windows.settled().unwrap().mode, best, "windows of {tasks}, {factor}");
            let mut batches = choice(true, orders);
            for _ in 0..500 {
                batch(&mut batches, tasks, &costs);
            }
            assert_eq!(batches.settled().unwrap().mode, best, "batches of {tasks}, {factor}");
        }
    }
}

#[test]
fn small_portions_that_become_dearer_are_noticed_too() {
    let mut choice = Choice::new(true, false, 1, 200);
    batch(&mut choice, 10_000_000, &steps_cost);
    assert_eq!(choice.settled().unwrap().mode, Mode::Arrival);
    // The search that follows sees no more than sixteen portions.
    batch(&mut choice, 2 * SAMPLE, &tree);
    assert_eq!(choice.settled().unwrap().mode, Mode::Interleaved);
}

#[test]
fn a_few_dear_tasks_by_themselves_start_no_search() {
    let mut choice = choice(true, false);
    batch(&mut choice, 10_000_000, &steps_cost);
    for _ in 0..100 {
        batch(&mut choice, 100, &|mode, window| 5.0 * steps_cost(mode, window));
        assert!(!choice.searches());
        batch(&mut choice, 10_000, &steps_cost);
    }
}
