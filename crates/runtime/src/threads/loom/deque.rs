//! Models of the deque of spawned tasks, and of the outbox that has one.

use std::{ptr::NonNull, sync::Arc};

use ::loom::{sync::Mutex, thread};

use crate::threads::{deque::Deque, primitive::UnsafeCell, worker::Outbox};

/// What lies in the deque: whoever takes it out writes it, which loom finds if two do.
struct Entry(UnsafeCell<u32>);

/// Takes an entry out for good; returns what was written before it was put in.
fn take(entry: NonNull<Entry>) -> u32 {
    // SAFETY: the deque gives each entry out once, and the entries live until all threads have
    // ended.
    let cell = unsafe { &entry.as_ref().0 };
    // SAFETY: as above.
    cell.with_mut(|value| unsafe { std::mem::replace(&mut *value, 0) })
}

fn entry(value: u32) -> NonNull<Entry> {
    NonNull::from(Box::leak(Box::new(Entry(UnsafeCell::new(value)))))
}

fn free(entry: NonNull<Entry>) {
    // SAFETY: made by `entry`; nobody uses it any more.
    drop(unsafe { Box::from_raw(entry.as_ptr()) });
}

/// The owner puts in `before` entries, then `during` while a thief takes out as many as `thefts`,
/// and takes out the rest. Each must come out once.
fn model(before: u32, during: u32, thefts: u32) {
    ::loom::model(move || {
        let deque = Arc::new(Deque::new());
        let count = before + during;
        let entries: Vec<_> = (1..=count).map(entry).collect();
        let (first, later) = entries.split_at(before as usize);
        for entry in first {
            // SAFETY: this thread is the owner.
            unsafe { deque.push(*entry) };
        }
        let theirs = Arc::clone(&deque);
        let thief = thread::spawn(move || {
            (0..thefts).filter_map(|_| theirs.take_old()).map(take).sum::<u32>()
        });
        for entry in later {
            // SAFETY: this thread is the owner.
            unsafe { deque.push(*entry) };
        }
        let mut own = 0;
        // SAFETY: this thread is the owner.
        while let Some(entry) = unsafe { deque.pop() } {
            own += take(entry);
        }
        let stolen = thief.join().unwrap();
        assert_eq!(own + stolen, (1..=count).sum::<u32>());
        entries.into_iter().for_each(free);
    });
}

#[test]
fn owner_and_thief_take_each_entry_once() {
    model(2, 0, 2);
}

#[test]
fn an_entry_that_is_put_in_while_another_is_stolen_is_not_lost() {
    model(1, 1, 2);
}

#[test]
fn a_thief_may_read_a_buffer_that_the_owner_has_replaced() {
    model(2, 1, 1);
}

/// Another thread moves tasks from the outbox to a queue. Once the owner has found the outbox empty
/// and has waited, all that it has not taken out itself lies in the queue.
#[test]
fn an_owner_that_has_waited_finds_what_others_have_moved() {
    ::loom::model(|| {
        let outbox = Arc::new(Outbox::new());
        let queue = Arc::new(Mutex::new(Vec::new()));
        let entries: Vec<_> = (1..=2).map(entry).collect();
        for entry in &entries {
            // SAFETY: this thread is the owner.
            unsafe { outbox.tasks.push(*entry) };
        }
        let (theirs, moved) = (Arc::clone(&outbox), Arc::clone(&queue));
        let mover = thread::spawn(move || {
            theirs.move_oldest(2, |entry| moved.lock().unwrap().push(take(entry)));
        });
        let mut own = 0;
        // SAFETY: this thread is the owner.
        while let Some(entry) = unsafe { outbox.tasks.pop() } {
            own += take(entry);
        }
        outbox.until_moved();
        assert_eq!(own + queue.lock().unwrap().iter().sum::<u32>(), 3);
        mover.join().unwrap();
        entries.into_iter().for_each(free);
    });
}
