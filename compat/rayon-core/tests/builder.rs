//! The builder takes its settings in any order and number, as rayon-core's does.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
};

use rayon_core::{ThreadBuilder, ThreadPoolBuilder};

#[test]
fn the_last_of_several_spawn_handlers_starts_the_threads() {
    let (first, second) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = |thread: ThreadBuilder, count: &AtomicUsize| {
        count.fetch_add(1, SeqCst);
        thread::Builder::new().spawn(|| thread.run()).map(drop)
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .spawn_handler(|thread| start(thread, &first))
        .spawn_handler(|thread| start(thread, &second))
        .build()
        .unwrap();
    assert_eq!(pool.install(rayon_core::current_num_threads), 2);
    assert_eq!((first.load(SeqCst), second.load(SeqCst)), (0, 2));
}
