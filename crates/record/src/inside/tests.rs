//! The inner half on a C half that is written in Rust: for Miri, which runs no C. It writes down
//! what it is told, and checks that what it is handed can be read.

use std::{
    cell::{Cell, RefCell},
    ffi::{c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    slice, str,
};

use super::{
    Origin, Scope, captured, captured_word, detached, hooks::Task, in_region, region, unrecorded,
};

#[derive(Clone, PartialEq, Eq, Debug)]
enum Event {
    Begin(String),
    Fork(u32, String, u64),
    Captured(Vec<u64>),
    End,
    Sync(u32),
    Over,
}

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
    static IN_REGION: Cell<bool> = const { Cell::new(false) };
    /// Recording goes on.
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static SCOPES: Cell<u32> = const { Cell::new(0) };
}

fn write(event: Event) {
    EVENTS.with_borrow_mut(|events| events.push(event));
}

/// The place of a task.
///
/// # Safety
/// `task` points to a task, whose place has as many bytes as it says.
unsafe fn place(task: *const Task) -> (String, u64) {
    // SAFETY: promised by the caller.
    let task = unsafe { &*task };
    assert!(task.strand == u64::MAX || task.strand <= task.size);
    assert!(task.bytes < 1 << 20 && task.index < 2);
    // SAFETY: as above.
    let bytes = unsafe { slice::from_raw_parts(task.place, task.length) };
    (str::from_utf8(bytes).expect("a name").to_owned(), task.size)
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_in_region() -> c_int {
    IN_REGION.get().into()
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_pause() -> c_int {
    ACTIVE.replace(false).into()
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_resume() {
    ACTIVE.set(IN_REGION.get());
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_scope() -> u32 {
    SCOPES.set(SCOPES.get() + 1);
    SCOPES.get()
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_stack_base() -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_stack_top() -> usize {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn befit_record_captured(words: *const u64, count: usize) {
    // SAFETY: promised by the caller.
    write(Event::Captured(unsafe { slice::from_raw_parts(words, count) }.to_vec()));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn befit_record_fork(scope: u32, task: *const Task) {
    assert!(!ACTIVE.get(), "the recorder's own work does not show");
    // SAFETY: promised by the caller.
    let (name, size) = unsafe { place(task) };
    write(Event::Fork(scope, name, size));
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_end() {
    assert!(!ACTIVE.get(), "the recorder's own work does not show");
    write(Event::End);
}

#[unsafe(no_mangle)]
extern "C" fn befit_record_sync(scope: u32) {
    assert!(!ACTIVE.get(), "the recorder's own work does not show");
    write(Event::Sync(scope));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn befit_record_region(
    task: *const Task,
    body: extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    // SAFETY: promised by the caller.
    write(Event::Begin(unsafe { place(task) }.0));
    IN_REGION.set(true);
    ACTIVE.set(true);
    body(data);
    ACTIVE.set(false);
    IN_REGION.set(false);
    write(Event::Over);
}

fn events() -> Vec<Event> {
    EVENTS.take()
}

fn task(place: &'static str, size: usize) -> Origin {
    Origin { size: Some(size), strand: None, place, bytes: 8, index: 1 }
}

fn fork(scope: u32, place: &str, size: u64) -> Event {
    Event::Fork(scope, place.to_owned(), size)
}

#[test]
fn a_region_returns_what_its_closure_returns_and_what_it_borrows_is_changed() {
    let mut numbers = vec![1_u64, 2, 3];
    let taken = Box::new(4_u64);
    let sum = region(task("root", 24), || {
        assert!(in_region() && ACTIVE.get());
        numbers.push(*taken);
        // Inside a region this only calls.
        region(task("inner", 8), || numbers.iter().sum::<u64>())
    });
    assert_eq!((sum, numbers.len(), in_region()), (10, 4, false));
    assert_eq!(events(), [Event::Begin("root".to_owned()), Event::Over]);
}

#[test]
fn tasks_are_told_in_serial_order_and_pauses_nest() {
    let words = [captured_word(0, 7), captured_word(1, 9)];
    region(Origin::NOTHING, || {
        let scope = Scope::new();
        assert!(!ACTIVE.get(), "paused between two closures");
        captured(&words);
        let left = scope.task(task("left", 64), || {
            assert!(ACTIVE.get());
            unrecorded(|| assert!(!ACTIVE.get()));
            assert!(ACTIVE.get());
            detached(task("detached", 16), || String::from("left"))
        });
        let own = scope.run(|| (ACTIVE.get(), scope.task(task("right", 32), || 2)));
        assert_eq!((left.as_str(), own), ("left", (true, 2)));
        drop(scope);
        assert!(ACTIVE.get());
    });
    let expected = [
        Event::Begin(String::new()),
        Event::Captured(words.to_vec()),
        fork(1, "left", 64),
        fork(0, "detached", 16),
        Event::End,
        Event::End,
        fork(1, "right", 32),
        Event::End,
        Event::Sync(1),
        Event::Over,
    ];
    assert_eq!(events(), expected);
}

#[test]
fn a_panic_ends_its_tasks_and_goes_on_beyond_the_region() {
    let panic = catch_unwind(AssertUnwindSafe(|| {
        region(task("root", 8), || {
            let scope = Scope::new();
            scope.task(task("panics", 8), || -> u32 {
                std::panic::resume_unwind(Box::new(String::from("why")))
            })
        })
    }));
    let panic = panic.expect_err("it panics");
    assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("why"));
    let expected = [
        Event::Begin("root".to_owned()),
        fork(1, "panics", 8),
        Event::End,
        Event::Sync(1),
        Event::Over,
    ];
    assert_eq!((events(), in_region()), (expected.to_vec(), false));
}
