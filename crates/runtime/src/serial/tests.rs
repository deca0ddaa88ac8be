//! Tests of the recorded form: `RUSTFLAGS="--cfg befit_record" cargo test -p befit --lib`. Here
//! nobody reads the recording.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    rc::Rc,
    sync::{Arc, Mutex},
};

use crate::*;

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn everything_runs_on_the_calling_thread_in_serial_order() {
    let here = std::thread::current().id();
    let order = Mutex::new(Vec::new());
    let log = |what: &'static str| {
        assert_eq!(std::thread::current().id(), here);
        order.lock().unwrap().push(what);
    };
    pool(3).install(|| {
        join_context(|c| log(if c.migrated() { "moved" } else { "a" }), |_| log("b"));
        scope_fifo(|s| {
            s.spawn_fifo(|s| s.spawn_fifo(|_| log("c")));
            log("d");
        });
    });
    let not_send = Rc::new(RefCell::new(0));
    in_place_scope(|s| {
        *not_send.borrow_mut() += 1;
        s.spawn(|_| log("e"));
    });
    in_place_scope_fifo(|s| {
        *not_send.borrow_mut() += 1;
        s.spawn_fifo(|_| log("f"));
    });
    assert_eq!((order.into_inner().unwrap().concat(), not_send.take()), ("abcdef".to_owned(), 2));
}

#[test]
fn a_broadcast_runs_once_for_each_thread_that_the_pool_was_built_for() {
    let pool = pool(3);
    let indices = || pool.broadcast(|c| (c.index(), c.num_threads(), current_thread_index()));
    let expected = [(0, 3, Some(0)), (1, 3, Some(1)), (2, 3, Some(2))];
    assert_eq!(indices(), expected);
    assert_eq!(pool.install(indices), expected);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = Arc::clone(&seen);
    pool.spawn_broadcast(move |c| see.lock().unwrap().push(c.index()));
    pool.scope(|s| s.spawn_broadcast(|_, c| seen.lock().unwrap().push(10 + c.index())));
    pool.scope_fifo(|s| s.spawn_broadcast(|_, c| seen.lock().unwrap().push(20 + c.index())));
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 10, 11, 12, 20, 21, 22]);
}

#[test]
fn a_broadcast_s_panic_goes_on_after_all_have_run() {
    let ran = Mutex::new(0);
    let work = |c: BroadcastContext<'_>| {
        *ran.lock().unwrap() += 1;
        if c.index() == 1 {
            panic_any("the second");
        }
    };
    // The lock is given back before the panic.
    let panic = catch_unwind(AssertUnwindSafe(|| pool(3).broadcast(work))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the second"));
    assert_eq!(ran.into_inner().unwrap(), 3);
}

#[test]
fn there_is_never_anything_to_yield_to() {
    let ask = || (yield_now(), yield_local(), current_thread_has_pending_tasks());
    assert_eq!(ask(), (None, None, None));
    let pool = pool(2);
    assert_eq!(pool.install(ask), (Some(Yield::Idle), Some(Yield::Idle), Some(false)));
    assert_eq!(pool.yield_now(), None);
    assert_eq!(pool.install(|| pool.yield_now()), Some(Yield::Idle));
}

#[test]
fn what_is_about_threads_is_taken_and_has_no_effect() {
    let never = |_: usize| unreachable!("no thread starts or ends");
    let builder = ThreadPoolBuilder::new().num_threads(2).start_handler(never).exit_handler(never);
    let pool = builder.use_current_thread().spawn_handler(|_| unreachable!()).build().unwrap();
    assert_eq!(pool.current_num_threads(), 2);
    assert_eq!(pool.join_threads(), Ok(()));
    let scoped = ThreadPoolBuilder::new()
        .num_threads(3)
        .build_scoped(|thread| thread.run(), |p| p.broadcast(|_| 1));
    assert_eq!(scoped.unwrap(), [1, 1, 1]);
}

#[test]
fn regression_only_what_lies_on_the_region_s_own_stack_above_a_variable_there_is_near() {
    let near = |here| {
        let near = super::near(&(1000..2000), here);
        [996, 1192, 1200, 1992, 1996].map(|address| near.contains(&address))
    };
    assert_eq!(near(1200), [false, false, true, true, false]);
    // The variable lies on another stack.
    assert_eq!([near(900), near(2000), near(3000)], [[false; 5]; 3]);
    assert!(super::near(&(1000..1000), 1000).is_empty());
}

#[test]
fn a_task_is_recorded_as_one_that_forks() {
    struct Count<'a>(u32, &'a Mutex<Vec<bool>>);

    impl Task for Count<'_> {
        type Output = u32;

        fn run(self, forks: impl Forks) -> u32 {
            fn is_elided<F: Forks>(_: F) -> bool {
                std::any::type_name::<F>().contains("Elided")
            }
            let Self(depth, elided) = self;
            elided.lock().unwrap().push(is_elided(forks));
            if depth == 0 {
                return 1;
            }
            let (a, b) = forks.join(Self(depth - 1, elided), fit(64, Self(depth - 1, elided)));
            a + b
        }
    }

    let elided = Mutex::default();
    assert_eq!(pool(2).install(|| run(Count(5, &elided))), 32);
    assert_eq!(elided.into_inner().unwrap(), [false; 63]);
}
