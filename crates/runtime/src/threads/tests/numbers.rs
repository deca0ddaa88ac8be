//! Tests of the numbers that a policy knows tasks by: which child of its parent each is.

use befit_sched::Capabilities;

use crate::{threads::testing::*, *};

/// Depth and number of each task that `program` spawns in a pool of so many threads, in the order
/// in which the policy gets them.
fn numbers(threads: usize, program: impl FnOnce(&ThreadPool)) -> Vec<(u32, u32)> {
    let noting = Noting::with(|usual| Capabilities { sees_forks: true, ..usual });
    let builder = ThreadPoolBuilder::new().num_threads(threads).machine("pu:8".parse().unwrap());
    program(&builder.policy(noting.clone()).build().unwrap());
    let spawned = noting.tasks().into_iter().filter(|task| task.depth > 0);
    spawned.map(|task| (task.depth, task.index)).collect()
}

/// They were all children of the task that ran: a policy by serial order took them the wrong way
/// round.
#[test]
fn regression_private_forks_are_as_deep_as_they_were_forked() {
    fn nest(depth: u32, within: &(dyn Fn() + Sync)) {
        match depth {
            0 => within(),
            _ => drop(join(|| nest(depth - 1, within), || ())),
        }
    }
    let _watchdog = watchdog(MINUTE);
    let noting = Noting::with(|usual| usual);
    let pool = ThreadPoolBuilder::new().num_threads(2).policy(noting.clone()).build().unwrap();
    let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let depths = || {
        let depths = noting.tasks().into_iter().map(|task| task.depth);
        depths.filter(|depth| *depth > 0).collect::<Vec<_>>()
    };
    // A worker that waits makes all its forks known.
    pool.install(|| nest(5, &|| other.install(|| wait_until(|| depths().len() == 5))));
    let mut depths = depths();
    depths.sort_unstable();
    assert_eq!(depths, [1, 2, 3, 4, 5]);
}

/// They were numbered through all that was spawned into their scope, whoever spawned it.
#[test]
fn regression_spawned_tasks_are_numbered_among_the_children_of_the_task_that_spawns_them() {
    fn spawn_two(s: &Scope<'_>) {
        (0..2).for_each(|_| s.spawn(|_| ()));
    }
    let _watchdog = watchdog(MINUTE);
    for threads in [1, 2] {
        let mut inside =
            numbers(threads, |pool| pool.scope(|s| (0..3).for_each(|_| s.spawn(spawn_two))));
        inside.sort_unstable();
        let twice = [(2, 0), (2, 0), (2, 0), (2, 1), (2, 1), (2, 1)];
        assert_eq!(inside, [&[(1, 0), (1, 1), (1, 2)][..], &twice].concat());
    }
    let mut in_place = numbers(1, |pool| {
        pool.in_place_scope_fifo(|s| {
            (0..2).for_each(|_| s.spawn_fifo(|s| s.spawn_fifo(|_| ())));
        });
    });
    in_place.sort_unstable();
    assert_eq!(in_place, [(1, 0), (1, 1), (2, 0), (2, 0)]);
}

#[test]
fn regression_a_task_numbers_what_it_spawns_into_several_scopes_together_and_anew_after_each_sync()
{
    let _watchdog = watchdog(MINUTE);
    let mut numbers = numbers(1, |pool| {
        pool.scope(|outer| {
            let spawns_two = |s: &Scope<'_>| (0..2).for_each(|_| s.spawn(|_| ()));
            outer.spawn(spawns_two);
            // Another task runs, and this one goes on.
            assert_eq!(yield_now(), Some(Yield::Executed));
            outer.spawn(|_| ());
            scope(|inner| {
                inner.spawn(|_| ());
                // It runs while this one waits.
                outer.spawn(spawns_two);
            });
            (0..2).for_each(|_| outer.spawn(|_| ()));
        });
    });
    numbers.retain(|(depth, _)| *depth == 1);
    assert_eq!(numbers, [0, 1, 2, 3, 0, 1].map(|index| (1, index)));
}
