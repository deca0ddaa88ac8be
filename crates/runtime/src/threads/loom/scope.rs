//! Model of a scope's credits.

use std::sync::Arc;

use ::loom::thread;

use crate::threads::{latch::Latch, primitive::UnsafeCell, scope::Credits, sleep::Sleep};

struct Scope {
    sleep: Sleep,
    credits: Credits,
    over: Latch,
    /// What three tasks write, each its own.
    written: [UnsafeCell<u32>; 3],
}

// SAFETY: each cell is written by one task, and read after the latch was seen set, which loom
// checks.
unsafe impl Sync for Scope {}
// SAFETY: it holds a latch, which is `Send`, and numbers.
unsafe impl Send for Scope {}

impl Scope {
    fn new() -> Arc<Self> {
        let sleep = Sleep::new(1, 0);
        let over = Latch::new(sleep.parker(0));
        Arc::new(Self {
            sleep,
            credits: Credits::new(),
            over,
            written: [0; 3].map(UnsafeCell::new),
        })
    }

    fn run_task(&self, number: usize) {
        // SAFETY: the only writer, and before its credit is returned.
        self.written[number].with_mut(|written| unsafe { *written = 1 });
    }

    fn end(&self, count: usize) {
        if self.credits.take(count) {
            assert!(!self.over.probe(), "over once");
            // SAFETY: latch and parker live as long as the scope.
            unsafe { Latch::set(&self.over) };
        }
    }

    fn wait_and_look(&self) {
        super::wait(&self.sleep, &self.over);
        // SAFETY: the latch is set, and nobody writes any more.
        assert!(self.written.iter().all(|cell| cell.with(|written| unsafe { *written }) == 1));
    }
}

#[test]
fn a_scope_is_over_once_all_credits_are_returned_and_sees_what_its_tasks_wrote() {
    ::loom::model(|| {
        let scope = Scope::new();
        scope.credits.add(2);
        let first = Arc::clone(&scope);
        // Runs two tasks. It holds the first one's credit, and gives it to the task that the second
        // spawns, which another worker runs.
        let worker = thread::spawn(move || {
            first.run_task(0);
            let second = Arc::clone(&first);
            let thief = thread::spawn(move || {
                second.run_task(1);
                second.end(1);
            });
            first.run_task(2);
            first.end(1);
            thief.join().unwrap();
        });
        scope.end(1);
        scope.wait_and_look();
        worker.join().unwrap();
    });
}
