//! Tests of how a pool's threads are started and ended.

use std::{
    io,
    panic::panic_any,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use crate::{threads::testing, threads::testing::*, *};

fn builder(scheduler: SchedulerKind, threads: usize) -> ThreadPoolBuilder {
    testing::builder(scheduler, MACHINES[2], threads)
}

/// Calls `test` with builders of pools of 1, 2 and 7 threads under each scheduler.
fn with_builders(test: impl Fn(ThreadPoolBuilder, usize)) {
    for_each_kind(|scheduler, threads| test(builder(scheduler, threads), threads));
}

#[test]
fn handlers_of_start_and_exit_run_once_on_each_thread_first_and_last() {
    with_builders(|builder, threads| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let write = |what: &'static str| {
            let log = Arc::clone(&log);
            move |index: usize| {
                // They are user code like any other: they may fork in the pool.
                assert_eq!(join(current_thread_index, || 2), (Some(index), 2));
                log.lock().unwrap().push((index, what, thread::current().id()));
            }
        };
        let pool =
            builder.start_handler(write("start")).exit_handler(write("exit")).build().unwrap();
        let ids = pool.broadcast(|_| thread::current().id());
        drop(pool);
        let mut log = log.lock().unwrap().clone();
        // Stable: for each thread the order stays.
        log.sort_by_key(|entry| entry.0);
        let of_thread = |i: usize| [(i, "start", ids[i]), (i, "exit", ids[i])];
        assert!(log.into_iter().eq((0..threads).flat_map(of_thread)));
    });
}

#[test]
fn a_handler_s_panic_goes_to_the_panic_handler_and_the_thread_goes_on() {
    with_builders(|builder, threads| {
        let (sender, receiver) = mpsc::channel();
        let pool = builder
            .start_handler(|_| panic_any("start"))
            .exit_handler(|_| panic_any("exit"))
            .panic_handler(move |panic| sender.send(*panic.downcast::<&str>().unwrap()).unwrap())
            .build()
            .unwrap();
        assert_eq!(pool.broadcast(|c| c.index()).len(), threads);
        assert!(receiver.iter().take(threads).all(|what| what == "start"));
        drop(pool);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), vec!["exit"; threads]);
    });
}

#[test]
fn a_handler_s_panic_without_a_panic_handler_ends_the_process() {
    let Some(output) = alone(a_handler_s_panic_without_a_panic_handler_ends_the_process) else {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        return drop(builder.exit_handler(|_| panic!("nobody takes it")).build());
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("has no panic handler; aborting"), "{text}");
}

#[test]
fn what_an_exit_handler_spawns_is_run() {
    with_builders(|builder, threads| {
        let (sender, receiver) = mpsc::channel();
        let exit = move |index| {
            let sender = sender.clone();
            spawn(move || sender.send(index).unwrap());
        };
        drop(builder.exit_handler(exit).build().unwrap());
        assert!(sorted(receiver).into_iter().eq(0..threads));
    });
}

/// They went to the policy, which places by size, as soon as the handler had waited.
#[test]
fn regression_what_a_handler_forks_with_sizes_stays_on_its_thread() {
    fn fork_with_sizes() {
        let here = || thread::current().id();
        // Each half befits a cache that two threads share.
        assert_eq!(join(fit(400 << 10, here), fit(400 << 10, here)), (here(), here()));
    }
    for kind in [SchedulerKind::Sb, SchedulerKind::SbD] {
        let _watchdog = watchdog(MINUTE);
        let ((begun, all_begun), (ended, all_ended)) = (mpsc::channel(), mpsc::channel());
        let builder = testing::builder(kind, "pack:2 l3:1(size=1MiB) core:2 pu:1", 4);
        // After something else has run here what is forked is not inlined at once.
        let builder = builder.start_handler(move |index| {
            broadcast(|_| ());
            fork_with_sizes();
            begun.send(index).unwrap();
        });
        let builder = builder.exit_handler(move |index| {
            scope(|s| s.spawn(|_| ()));
            fork_with_sizes();
            ended.send(index).unwrap();
        });
        let pool = builder.build().unwrap();
        assert_eq!(sorted(all_begun.iter().take(4)), [0, 1, 2, 3], "{kind}");
        let total = pool.statistics().total();
        assert_eq!((total.forks, total.published), (4, 0), "{kind}");
        drop(pool);
        assert_eq!(sorted(all_ended), [0, 1, 2, 3], "{kind}");
    }
}

#[test]
fn threads_started_by_the_program_are_the_pool_s_threads() {
    with_builders(|builder, threads| {
        let started = Arc::new(Mutex::new(Vec::new()));
        let handles = Arc::new(Mutex::new(Vec::new()));
        let (keep, keep_handle) = (Arc::clone(&started), Arc::clone(&handles));
        let start = move |thread: ThreadBuilder| {
            let name = thread.name().map(str::to_owned);
            keep.lock().unwrap().push((thread.index(), name, thread.stack_size()));
            let builder = thread::Builder::new().name("the program's".into());
            let handle = builder.spawn(|| thread.run())?;
            keep_handle.lock().unwrap().push(handle);
            Ok(())
        };
        let builder =
            builder.thread_name(|i| format!("t{i}")).stack_size(1 << 20).spawn_handler(start);
        let pool = builder.build().unwrap();
        let names = pool.broadcast(|_| thread::current().name().map(str::to_owned));
        assert_eq!(names, vec![Some("the program's".to_owned()); threads]);
        pool.join_threads().unwrap();
        let expected = (0..threads).map(|i| (i, Some(format!("t{i}")), Some(1 << 20)));
        assert!(started.lock().unwrap().drain(..).eq(expected));
        handles.lock().unwrap().drain(..).for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_spawn_handler_that_fails_is_an_error_and_ends_the_others() {
    let _watchdog = watchdog(MINUTE);
    let mut handles = Vec::new();
    let start = |thread: ThreadBuilder| {
        if thread.index() == 2 {
            return Err(io::Error::other("no more"));
        }
        handles.push(thread::spawn(|| thread.run()));
        Ok(())
    };
    let error = ThreadPoolBuilder::new().num_threads(4).spawn_handler(start).build().unwrap_err();
    assert!(matches!(error, ThreadPoolBuildError::Thread { index: 2, .. }));
    assert_eq!(error.to_string(), "cannot start thread 2 of the pool: no more");
    handles.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_thread_that_the_program_does_not_run_is_not_waited_for() {
    let _watchdog = watchdog(MINUTE);
    let start = |thread: ThreadBuilder| {
        if thread.index() > 0 {
            thread::spawn(|| thread.run());
        }
        Ok(())
    };
    let pool = ThreadPoolBuilder::new().num_threads(3).spawn_handler(start).build().unwrap();
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    pool.join_threads().unwrap();
}

#[test]
fn a_scoped_pool_s_threads_may_borrow_and_have_ended_when_it_returns() {
    with_builders(|builder, threads| {
        let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let wrapper = |thread: ThreadBuilder| {
            started.fetch_add(1, SeqCst);
            thread.run();
            ended.fetch_add(1, SeqCst);
        };
        let count = AtomicUsize::new(0);
        let sum = builder.build_scoped(wrapper, |pool| {
            pool.spawn_broadcast(|_| ());
            pool.scope(|s| (0..10).for_each(|_| s.spawn(|_| add(&count, 1))));
            pool.broadcast(|c| c.index()).iter().sum::<usize>()
        });
        assert_eq!(sum.unwrap(), threads * (threads - 1) / 2);
        assert_eq!([started, ended, count].map(AtomicUsize::into_inner), [threads, threads, 10]);
    });
}

#[test]
fn a_scoped_pool_ends_when_its_user_panics_and_refuses_bad_parameters() {
    let _watchdog = watchdog(MINUTE);
    let run = |sigma: f64| {
        let builder = ThreadPoolBuilder::new().num_threads(2).sigma(sigma);
        builder.build_scoped(|thread| thread.run(), |_| panic_any("the user"))
    };
    assert_eq!(panic_of::<&str, _>(|| run(0.5)), "the user");
    assert!(matches!(run(7.0), Err(ThreadPoolBuildError::Option(_))));
}

/// Calls `test` with pools of which the calling thread, a new one as it cannot leave the pool, is
/// thread 0.
fn on_an_adopted_thread(test: impl Fn(ThreadPool, usize) + Sync) {
    for_each_kind(|scheduler, threads| {
        let run =
            || test(builder(scheduler, threads).use_current_thread().build().unwrap(), threads);
        thread::scope(|s| s.spawn(run).join().unwrap());
    });
}

#[test]
fn the_current_thread_can_be_thread_0_of_a_pool() {
    on_an_adopted_thread(|pool, threads| {
        let here = thread::current().id();
        assert_eq!((current_thread_index(), pool.current_thread_index()), (Some(0), Some(0)));
        assert_eq!(current_num_threads(), threads);
        assert_eq!(pool.install(|| thread::current().id()), here);
        let (first, second) = join(|| thread::current().id(), || 2);
        // A policy that sees every fork may give either half to another thread.
        let sees_all = [
            SchedulerKind::Cats,
            SchedulerKind::CatsS,
            SchedulerKind::Cab,
            SchedulerKind::Hws,
            SchedulerKind::Homes,
            SchedulerKind::Auto,
        ];
        assert!(first == here || sees_all.contains(&pool.scheduler()), "{}", pool.scheduler());
        assert_eq!(second, 2);
        let ids = broadcast(|_| thread::current().id());
        assert_eq!((ids[0], ids.len()), (here, threads));
        let count = AtomicUsize::new(0);
        scope(|s| (0..20).for_each(|_| s.spawn(|_| add(&count, 1))));
        assert_eq!(count.into_inner(), 20);
        assert_eq!(fib(15), 610);
    });
}

#[test]
fn an_adopted_thread_runs_tasks_when_it_yields_and_what_is_left_when_the_pool_ends() {
    on_an_adopted_thread(|pool, threads| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..10 {
            let sender = sender.clone();
            pool.spawn(move || sender.send(current_thread_index().unwrap()).unwrap());
        }
        let mut received = 0;
        while received < 10 {
            yield_now().unwrap();
            received += receiver.try_iter().count();
        }
        // Left to the end: only this thread can run its part.
        pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        pool.join_threads().unwrap();
        assert!(sorted(receiver.try_iter()).into_iter().eq(0..threads));
    });
}

/// In a process of its own: there is one global pool.
#[test]
fn the_current_thread_can_be_thread_0_of_the_global_pool() {
    if let Some(output) = alone(the_current_thread_can_be_thread_0_of_the_global_pool) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let _watchdog = watchdog(MINUTE);
    assert_eq!(current_thread_index(), None);
    ThreadPoolBuilder::new().num_threads(2).use_current_thread().build_global().unwrap();
    assert_eq!((current_thread_index(), current_num_threads()), (Some(0), 2));
    assert_eq!(broadcast(|c| c.index()), [0, 1]);
    // This thread only waits, so the other one must do.
    let elsewhere = thread::spawn(|| join(current_thread_index, || ()).0);
    assert_eq!(elsewhere.join().unwrap(), Some(1));
}

/// In a process of its own. The thread was thread 0 of a pool that had ended, and did all alone.
#[test]
fn regression_a_thread_is_not_given_to_a_pool_that_comes_too_late_to_be_the_global_one() {
    let test = regression_a_thread_is_not_given_to_a_pool_that_comes_too_late_to_be_the_global_one;
    if let Some(output) = alone(test) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let _watchdog = watchdog(MINUTE);
    let mut handles = Vec::new();
    let start = |thread: ThreadBuilder| {
        // The first use of the global pool, while another is being built.
        assert_eq!(thread::spawn(|| join(|| 1, || 2)).join().unwrap(), (1, 2));
        assert_eq!(join(|| 3, || 4), (3, 4));
        handles.push(thread::spawn(|| thread.run()));
        Ok(())
    };
    let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    let error = builder.spawn_handler(start).build_global().unwrap_err();
    assert!(matches!(error, ThreadPoolBuildError::GlobalPoolExists));
    assert_eq!(current_thread_index(), None);
    assert_ne!(scope(|_| thread::current().id()), thread::current().id());
    handles.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_thread_can_be_given_to_one_pool_only() {
    let _watchdog = watchdog(MINUTE);
    let builder = || ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    let refused = |result| matches!(result, Err(ThreadPoolBuildError::CurrentThreadInPool));
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(pool.install(|| refused(builder().build())));
    thread::spawn(move || {
        let pool = builder().build().unwrap();
        assert!(refused(builder().build()));
        drop(pool);
        assert_eq!(join(|| 1, || 2), (1, 2), "it works on, alone, when the pool has ended");
    })
    .join()
    .unwrap();
}

/// The threads that had been started were waited for, with those that had not.
#[test]
fn regression_a_name_that_panics_ends_the_threads_that_were_started() {
    let _watchdog = watchdog(MINUTE);
    let ended = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ended);
    let builder = ThreadPoolBuilder::new().num_threads(5);
    let builder = builder
        .exit_handler(move |_| add(&counted, 1))
        .thread_name(|index| if index < 3 { index.to_string() } else { panic!("no name") });
    assert_eq!(panic_of::<&str, _>(|| builder.build()), "no name");
    wait_until(|| ended.load(SeqCst) == 3);
}

/// The thread whose name it was ended twice, once as one that was not run, once as one that was not
/// started.
#[test]
fn regression_a_thread_whose_name_panics_is_no_more_than_not_started() {
    let _watchdog = watchdog(MINUTE);
    for first in 0..3 {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count_begun, count_ended) = (Arc::clone(&begun), Arc::clone(&ended));
        let mut handles = Vec::new();
        let start = |thread: ThreadBuilder| {
            let index = thread.index();
            handles.push(thread::spawn(|| thread.run()));
            wait_until(|| begun.load(SeqCst) > index);
            Ok(())
        };
        let name = move |index| if index < first { String::new() } else { panic_any("no name") };
        let builder = ThreadPoolBuilder::new().num_threads(3).thread_name(name);
        let builder = builder
            .start_handler(move |_| add(&count_begun, 1))
            .exit_handler(move |_| add(&count_ended, 1))
            .spawn_handler(start);
        assert_eq!(panic_of::<&str, _>(|| builder.build()), "no name");
        handles.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ended.load(SeqCst), first);
    }
}

#[test]
fn dropping_a_pool_and_joining_its_threads_wait_for_all_that_was_spawned() {
    for_each_kind(|scheduler, threads| {
        for end in ENDS {
            let count = Arc::new(AtomicUsize::new(0));
            let pool = pool(scheduler, "pack:2 l3:1(size=1MiB) core:4 pu:1", threads);
            for _ in 0..50 {
                let count = Arc::clone(&count);
                pool.spawn(move || spawn(move || add(&count, 1)));
            }
            end(pool);
            assert_eq!(Arc::try_unwrap(count).unwrap().into_inner(), 50);
        }
    });
}

/// The two ways of ending a pool and waiting for it.
const ENDS: [fn(ThreadPool); 2] = [drop, |pool| pool.join_threads().unwrap()];

#[test]
fn joining_the_threads_from_inside_is_refused_and_does_not_hang() {
    let _watchdog = watchdog(MINUTE);
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (give, take) = mpsc::channel::<ThreadPool>();
    let (answer, answered) = mpsc::channel();
    pool.spawn(move || {
        let result = take.recv().unwrap().join_threads();
        answer.send((result, current_thread_index())).unwrap();
    });
    give.send(pool).unwrap();
    let (result, index) = answered.recv().unwrap();
    let error = result.unwrap_err();
    assert_eq!(error, JoinThreadsError::InsidePool { index: index.unwrap() });
    assert!(error.to_string().contains("cannot wait for that pool's end"));
    assert!(answered.recv().is_err(), "the task has ended");
}

#[test]
fn another_pool_s_only_thread_may_end_a_pool_that_needs_that_thread() {
    let _watchdog = watchdog(MINUTE);
    for (end, scheduler) in ENDS.into_iter().zip([SchedulerKind::Ws, SchedulerKind::Sb]) {
        let outer = Arc::new(pool(SchedulerKind::Ws, "pu:1", 1));
        let (again, count) = (Arc::clone(&outer), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        outer.install(move || {
            let inner = pool(scheduler, "pu:1", 1);
            inner.spawn(move || add(&counted, again.install(|| 1)));
            end(inner);
        });
        assert_eq!(count.load(SeqCst), 1);
    }
}

#[test]
fn a_detached_pool_runs_what_was_spawned_and_nobody_waits() {
    let _watchdog = watchdog(MINUTE);
    let (go_on, wait) = mpsc::channel();
    let (sender, receiver) = mpsc::channel();
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.spawn(move || {
        wait.recv().unwrap();
        spawn(move || sender.send(thread::current().id()).unwrap());
    });
    pool.detach();
    go_on.send(()).unwrap();
    assert_ne!(receiver.recv().unwrap(), thread::current().id());
}

#[test]
fn regression_the_end_of_a_pool_does_not_wait_for_a_thread_that_was_never_begun() {
    let _watchdog = watchdog(MINUTE);
    let kept = Mutex::new(Vec::new());
    let start = |thread: ThreadBuilder| {
        if thread.index() == 1 {
            kept.lock().unwrap().push(thread);
        } else {
            thread::spawn(|| thread.run());
        }
        Ok(())
    };
    let pool = ThreadPoolBuilder::new().num_threads(2).spawn_handler(start).build().unwrap();
    assert_eq!(pool.install(|| fib(10)), 55);
    drop(pool);
    // It comes too late, and has nothing to do.
    kept.into_inner().unwrap().pop().unwrap().run();
}

#[test]
fn regression_spawned_tasks_that_wait_for_one_another_run_at_once_if_there_are_threads() {
    let _watchdog = watchdog(2 * MINUTE);
    for machine in MACHINES {
        for kind in SchedulerKind::ALL {
            let all = Barrier::new(4);
            testing::builder(kind, machine, 4).build().unwrap().scope(|s| {
                (0..4).for_each(|_| {
                    s.spawn(|_| {
                        all.wait();
                    });
                });
            });
        }
    }
}

/// Two tasks spawn a task each, so many scopes further down, that another worker begins. Two more
/// are spawned when it has. These and the two children wait for one another, so the workers that
/// wait for the children must run them. All have the same size, if any.
fn tasks_below_waiting_workers_wait_for_one_another(
    pool: &ThreadPool,
    depth: usize,
    size: Option<usize>,
) {
    fn spawn_one<'s>(
        s: &Scope<'s>,
        size: Option<usize>,
        work: impl FnOnce(&Scope<'s>) + Send + 's,
    ) {
        match size {
            Some(bytes) => s.spawn_fit(bytes, work),
            None => s.spawn(work),
        }
    }
    fn nest(depth: usize, begun: &AtomicUsize, all: &Barrier) {
        if depth > 0 {
            return scope(|s| s.spawn(|_| nest(depth - 1, begun, all)));
        }
        let is_begun = AtomicBool::new(false);
        scope(|s| {
            s.spawn(|_| {
                is_begun.store(true, SeqCst);
                begun.fetch_add(1, SeqCst);
                all.wait();
            });
            wait_for(&is_begun);
        });
    }
    let (all, begun) = (Barrier::new(4), AtomicUsize::new(0));
    let (all, begun) = (&all, &begun);
    thread::scope(|outside| {
        for _ in 0..2 {
            outside.spawn(move || {
                pool.scope(|s| spawn_one(s, size, move |_| nest(depth, begun, all)));
            });
        }
        wait_until(|| begun.load(SeqCst) == 2);
        for _ in 0..2 {
            outside.spawn(move || {
                pool.scope(|s| spawn_one(s, size, move |_| _ = all.wait()));
            });
        }
    });
}

#[test]
fn regression_tasks_below_waiting_workers_may_wait_for_one_another_whatever_their_size() {
    for kind in schedulers() {
        let _watchdog = watchdog(MINUTE);
        for (depth, size) in [(1, None), (4, None), (1, Some(200 << 10)), (0, Some(700 << 10))] {
            let pool = builder(kind, 4).build().unwrap();
            tasks_below_waiting_workers_wait_for_one_another(&pool, depth, size);
        }
    }
}

#[test]
fn regression_a_task_begins_elsewhere_if_its_worker_waits_for_it_and_all_others_slept_before() {
    for kind in schedulers() {
        let _watchdog = watchdog(MINUTE);
        builder(kind, 4).build().unwrap().install(|| {
            // What is refused from now on is refused to nobody.
            wait_until(the_others_sleep);
            let is_begun = AtomicBool::new(false);
            scope(|s| {
                s.spawn(|_| is_begun.store(true, SeqCst));
                wait_for(&is_begun);
            });
        });
    }
}
