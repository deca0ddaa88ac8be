//! Tests of loops.

use std::{
    ops::Range,
    panic::panic_any,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use befit_sched::TaskInfo;

use crate::api::{LEAF_BYTES, grain};
use crate::{threads::testing::*, *};

#[test]
fn par_for_calls_its_body_once_with_each_number() {
    let most = or_under_miri(1000, 60);
    on_every_pool(|pool| {
        let backwards = Range { start: 9, end: 2 };
        for range in [0..0, 5..6, 3..40, 7..most, backwards] {
            let calls: Vec<_> = (0..most).map(|_| AtomicUsize::new(0)).collect();
            pool.install(|| par_for(range.clone(), |i| add(&calls[i], 1)));
            for (i, calls) in calls.into_iter().enumerate() {
                assert_eq!(calls.into_inner(), usize::from(range.contains(&i)), "{i} of {range:?}");
            }
        }
    });
}

#[test]
fn par_for_reaches_the_end_of_the_numbers() {
    let _watchdog = watchdog(MINUTE);
    let last = AtomicUsize::new(0);
    par_for(usize::MAX - 100..usize::MAX, |i| drop(last.fetch_max(i, SeqCst).to_string()));
    assert_eq!(last.into_inner(), usize::MAX - 1);
}

#[test]
fn par_for_each_mut_changes_each_element_once() {
    on_every_pool(|pool| {
        for len in [0, 1, 2, or_under_miri(1000, 50), or_under_miri(10_000, 300)] {
            let mut v: Vec<usize> = (0..len).collect();
            pool.install(|| par_for_each_mut(&mut v, |x| *x += 1));
            assert!(v.into_iter().eq(1..=len));
        }
    });
}

#[test]
fn par_chunks_mut_gives_each_chunk_its_index_and_its_length() {
    let (many, some) = (or_under_miri(5000, 300), or_under_miri(600, 70));
    on_every_pool(|pool| {
        for (len, chunk_len) in
            [(0, 3), (1, 3), (10, 1), (10, 3), (9, 3), (10, 100), (many, 7), (many, some)]
        {
            let mut v = vec![(0, 0); len];
            pool.install(|| {
                par_chunks_mut(&mut v, chunk_len, |index, chunk| {
                    let len = chunk.len();
                    chunk.iter_mut().for_each(|x| *x = (index + 1, len));
                });
            });
            for (i, (index, chunk)) in v.into_iter().enumerate() {
                let rest = len - i / chunk_len * chunk_len;
                assert_eq!((index, chunk), (i / chunk_len + 1, rest.min(chunk_len)));
            }
        }
    });
}

#[test]
#[should_panic = "chunk_len is 0; a chunk must have at least one element"]
fn chunks_without_elements_are_refused() {
    par_chunks_mut(&mut [1, 2], 0, |_, _| ());
}

/// Sums of floats hang on how they are put together.
#[test]
fn par_map_reduce_puts_the_same_together_each_time() {
    let numbers: Vec<f64> =
        (0..or_under_miri(100_000, 1000)).map(|i| 1.0 / (i + 1) as f64).collect();
    let pool = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    let sum = || pool.install(|| par_map_reduce(&numbers, || 0.0, |n| *n, |a, b| a + b));
    let first: f64 = sum();
    assert!((0..50).all(|_| sum().to_bits() == first.to_bits()));
}

#[test]
fn par_map_reduce_combines_neighbours_in_order() {
    on_every_pool(|pool| {
        for len in [0, 1, 2, or_under_miri(100, 20), or_under_miri(3000, 60)] {
            let numbers: Vec<u32> = (0..len).collect();
            // Not commutative.
            let append = |mut a: Vec<u32>, b: Vec<u32>| {
                a.extend(b);
                a
            };
            let copy = pool.install(|| par_map_reduce(&numbers, Vec::new, |n| vec![*n], append));
            assert_eq!(copy, numbers);
        }
        let count = or_under_miri(20_000, 200);
        let numbers: Vec<u64> = (0..count).collect();
        let sum = pool.install(|| par_map_reduce(&numbers, || 0, |n| *n, |a, b| a + b));
        assert_eq!(sum, (count - 1) * count / 2);
    });
}

#[test]
fn elements_of_no_size_are_visited_like_others() {
    on_every_pool(|pool| {
        let (mut v, count) = ([(); 1000], AtomicUsize::new(0));
        pool.install(|| {
            par_for_each_mut(&mut v, |()| add(&count, 1));
            par_chunks_mut(&mut v, 30, |_, chunk| add(&count, chunk.len()));
            add(&count, par_map_reduce(&v, || 0, |()| 1, |a, b| a + b));
        });
        assert_eq!(count.into_inner(), 3000);
        // As many as there can be.
        let endless = [(); usize::MAX];
        assert_eq!(grain(endless.len(), size_of_val(&endless), 2), LEAF_BYTES);
    });
}

#[test]
fn loops_work_outside_any_pool() {
    let _watchdog = watchdog(MINUTE);
    let mut v = vec![1u64; 1000];
    par_for_each_mut(&mut v, |x| *x = current_thread_index().is_some().into());
    assert_eq!(par_map_reduce(&v, || 0, |x| *x, |a, b| a + b), 1000);
}

#[test]
fn a_panic_leaves_out_the_rest_of_its_piece_only() {
    on_every_pool(|pool| {
        let census = Census::default();
        let visited = AtomicUsize::new(0);
        let numbers: Vec<usize> = (0..10_000).collect();
        let visit = |n: &usize| {
            add(&visited, 1);
            if *n % 5000 == 100 {
                panic_any(*n);
            }
            census.token()
        };
        let work = || par_map_reduce(&numbers, || census.token(), visit, |_, b| b);
        assert_eq!(panic_of::<usize, _>(|| pool.install(work)), 100, "the first in order");
        let grain = grain(10_000, 80_000, pool.current_num_threads());
        assert!(visited.into_inner() >= 10_000 - 2 * grain);
        census.check_all();
    });
}

#[test]
fn two_elements_that_take_long_run_at_the_same_time() {
    on_each_scheduler("l3:1(size=8MiB) core:2 l2:1(size=256KiB) pu:1", 2, |pool| {
        let both = AtomicUsize::new(0);
        // Each waits for the other: however small they are, they must not run as inlined calls.
        let wait = || {
            add(&both, 1);
            wait_until(|| both.load(SeqCst).is_multiple_of(2));
        };
        pool.install(|| par_for_each_mut(&mut [0u8; 2], |_| wait()));
        pool.install(|| par_chunks_mut(&mut [0u8; 8], 4, |_, _| wait()));
        pool.install(|| par_for(0..2, |_| wait()));
        pool.install(|| par_map_reduce(&[0u8; 2], || (), |_| wait(), |(), ()| ()));
    });
}

#[test]
fn pieces_are_small_enough_for_the_innermost_cache_and_for_all_threads() {
    assert_eq!(grain(1 << 20, 8 << 20, 2), 2048, "16 KiB of eight bytes each");
    assert_eq!(grain(1000, 8000, 2), 31, "a sixteenth of a thread's share");
    assert_eq!(grain(8, 64, 2), 1);
    assert_eq!(grain(100, 100 << 20, 1), 1, "an element of 1 MiB cannot be divided");
    assert_eq!(grain(1 << 30, 0, 2), 16 << 10, "of unknown size");
}

#[test]
fn regression_a_strand_of_chunks_is_as_large_as_a_chunk_though_the_last_one_is_short() {
    let policy = Noting::with(|usual| usual);
    let builder = ThreadPoolBuilder::new().num_threads(2).machine("pu:2".parse().unwrap());
    let pool = builder.policy(policy.clone()).build().unwrap();
    let largest = || {
        let tasks = policy.tasks().into_iter().filter(|task| task.size != TaskInfo::UNKNOWN);
        tasks.map(|task| (task.size.0, task.strand.0)).max()
    };
    // The first fork is early: the scheduler gets its second half, with two of the three chunks.
    let mut v = vec![0u64; 2 * 4096 + 1];
    pool.install(|| par_chunks_mut(&mut v, 4096, |_, chunk| chunk.fill(1)));
    assert_eq!(largest(), Some((4097 * 8, 4096 * 8)));
    // No strand is larger than its task, though a chunk may have more elements than there are.
    let mut v = vec![0u64; 4 * 4096 + 2500];
    pool.install(|| par_chunks_mut(&mut v, 4 * 4096, |_, chunk| chunk.fill(1)));
    let tasks = policy.tasks();
    assert!(tasks.iter().any(|task| task.size.0 == 2500 * 8));
    assert!(tasks.iter().all(|task| task.strand <= task.size));
}

#[test]
fn the_halves_of_a_large_slice_are_anchored_where_they_befit() {
    let _watchdog = watchdog(MINUTE);
    let pool = pool(SchedulerKind::Sb, "pack:2 l3:1(size=1MiB) core:2 pu:1", 4);
    let mut v = vec![0u8; 2 << 20];
    pool.install(|| par_for_each_mut(&mut v, |x| *x += 1));
    // 2 MiB in all, and σ of 1 MiB is 512 KiB.
    assert_eq!(pool.statistics().total().anchored, 4);
}
