//! A model of the marks at places that have something.

use std::sync::{
    Arc,
    atomic::Ordering::{AcqRel, Acquire, Release},
};

use ::loom::thread;

use crate::threads::{marks::Marks, primitive::AtomicUsize};

/// What one owner puts in while two others look is found by one of them, or is marked.
#[test]
fn what_is_put_in_is_found_or_stays_marked() {
    ::loom::model(|| {
        let shared = Arc::new((Marks::new(2), AtomicUsize::new(0)));
        shared.0.of(1).put_in();
        let looks = |(marks, inside): &(Marks, AtomicUsize)| {
            let mut found = 0;
            let take = |_| {
                let taken = inside.compare_exchange(1, 0, AcqRel, Acquire).is_ok();
                found += usize::from(taken);
                taken
            };
            marks.look_around(0, |_| inside.load(Acquire) == 0, take);
            found
        };
        let theirs = Arc::clone(&shared);
        let looker = thread::spawn(move || looks(&theirs));
        let theirs = Arc::clone(&shared);
        let owner = thread::spawn(move || {
            theirs.1.store(1, Release);
            theirs.0.of(1).put_in();
        });
        let found = looker.join().unwrap();
        owner.join().unwrap();
        assert_eq!(found + looks(&shared), 1);
    });
}
