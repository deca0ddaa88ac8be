//! Model of a latch: `RUSTFLAGS="--cfg loom" cargo test -p befit --release --lib loom`.

use std::sync::Arc;

use super::Latch;
use crate::{primitive::UnsafeCell, sleep::Sleep};

struct Shared {
    sleep: Sleep,
    latch: Latch,
    written: UnsafeCell<u32>,
}

// SAFETY: `written` is read only after the latch was seen set, which loom checks.
unsafe impl Sync for Shared {}
// SAFETY: it holds a latch, which is `Send`, and a number.
unsafe impl Send for Shared {}

#[test]
fn who_waits_for_a_latch_wakes_up_and_sees_what_was_written_before() {
    ::loom::model(|| {
        let sleep = Sleep::new(1);
        let latch = Latch::new(sleep.parker(0));
        let shared = Arc::new(Shared { sleep, latch, written: UnsafeCell::new(0) });
        let setter = Arc::clone(&shared);
        let setting = ::loom::thread::spawn(move || {
            // SAFETY: the only writer, and before the latch is set.
            setter.written.with_mut(|written| unsafe { *written = 1 });
            // SAFETY: latch and parker live as long as `setter`.
            unsafe { Latch::set(&setter.latch) };
        });
        while !shared.latch.probe() {
            let seen = shared.sleep.seen();
            shared.sleep.sleep(0, seen, &shared.latch, || false);
        }
        // SAFETY: the latch is set, and nobody writes any more.
        assert_eq!(shared.written.with(|written| unsafe { *written }), 1);
        setting.join().unwrap();
    });
}
