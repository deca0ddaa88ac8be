use befit_machine::{Cycles, Placement};
use befit_program::{Program, RawTouch, ScopeId};
use befit_sched::SchedulerKind;

use super::{TWO_SOCKETS, forks, machine, program, reader, simulate, task, with_faults};
use crate::{Costs, Part, Settings, run};

pub(super) const FREE: Costs = Costs {
    inlined: 0.0,
    pending: 0.0,
    region: 0.0,
    published: 0.0,
    stolen: 0.0,
    spawn: 0.0,
    job: 0.0,
    call: 0,
    lock: 0,
    near_steal: 0,
    far_steal: 0,
    poll: 200,
    scale: 1,
};

/// The time of `program` under `ws`.
fn cycles(program: &Program, machine: &str) -> f64 {
    simulate(program, &super::machine(machine), SchedulerKind::Ws, 1).time.0 as f64
}

#[test]
fn independent_work_speeds_up_with_the_cores() {
    let program = forks(64, |b| b.work(1_000_000, 0, 0));
    let time = |cores| cycles(&program, &format!("core:{cores} l1:1(size=32768) pu:1"));
    assert!((time(1) / 6.4e7 - 1.0).abs() < 0.01, "{}", time(1));
    assert!((time(1) / time(8) - 8.0).abs() < 0.3, "{}", time(1) / time(8));
}

/// By slices of 500 cycles alone, the longest would take hours.
#[test]
fn strands_of_any_length_are_simulated_at_once() {
    for length in (20..48).map(|log| 1 << log) {
        let program = program(|b| {
            for operations in [length, length - 1, length / 3] {
                task(b, 1, None, |b| b.work(operations, 0, 0));
            }
            b.sync(ScopeId(1)).unwrap();
        });
        // All at once; two on one core, one of them with another task behind it.
        for (machine, expected) in [
            ("core:3 l1:1(size=32KiB) pu:1", length),
            ("core:2 l1:1(size=32KiB) pu:1", length / 3 * 4),
            ("core:1 l1:1(size=32KiB) pu:2", length / 3 * 7),
        ] {
            let ratio = cycles(&program, machine) / expected as f64;
            assert!((ratio - 1.0).abs() < 0.01, "{length} on {machine}: {ratio}");
        }
    }
}

#[test]
fn hardware_threads_share_their_cores_issue_slots() {
    let program = forks(16, |b| b.work(100_000, 0, 0));
    let one = cycles(&program, "core:2 l1:1(size=32768) pu:1");
    let two = cycles(&program, "core:2 l1:1(size=32768) pu:2");
    assert!((one / two - 1.0).abs() < 0.02, "{one} {two}");
}

#[test]
fn a_load_waits_for_the_line_that_its_address_is_in() {
    let walk = |touch: fn(u64) -> RawTouch| {
        program(|b| (0..1000).for_each(|i| b.touches(&[touch((i * 7919) % 100_000)])))
    };
    let machine = machine("(latency=200 parallelism=8 window=64) core:1 l1:1(size=32KiB) pu:1");
    let settings = Settings { costs: FREE, ..Settings::new(SchedulerKind::Ws, 1) };
    let latency = 200 - machine.clusters()[1].cache.unwrap().latency.0;
    let latencies = |program| {
        let time = run(&program, &machine, &settings, &|_| {}).unwrap().time.0;
        time as f64 / latency as f64
    };
    // Lines also take their turn on memory's wire.
    let (one_by_one, together) = (
        latencies(walk(RawTouch::dependent_on_last)),
        latencies(walk(|line| RawTouch::new(line, false, false))),
    );
    assert!((one_by_one / 1000.0 - 1.0).abs() < 0.01, "{one_by_one}");
    assert!((together / 125.0 - 1.0).abs() < 0.05, "{together}");
}

#[test]
fn a_line_whose_page_the_tlb_does_not_have_waits_for_a_walk_and_for_its_tables() {
    // One load at a time, each of another page, round and round; L2 has all that is loaded.
    let loads = |pages: u64| {
        program(|b| {
            let touch = |i| RawTouch::dependent_on_last((i % pages) * 64 + i % pages % 64);
            (0..20_000).for_each(|i| b.touches(&[touch(i)]));
        })
    };
    let time = |pages: u64, told: &str| {
        let machine = format!(
            "(window=64 latency=500 {told}) core:1 l2:1(size=1MiB ways=full latency=24) \
             l1:1(size=4KiB latency=4) pu:1"
        );
        cycles(&loads(pages), &machine) / 20_000.0
    };
    let walk = |pages, told| time(pages, told) - time(pages, "");
    // Each page is walked to once.
    assert!(walk(32, "tlb=64 walk=100") < 32.0 * 700.0 / 20_000.0);
    let (none, one, two) = (
        walk(1024, "tlb=64 walk=100 tables=0"),
        walk(1024, "tlb=64 walk=100"),
        walk(1024, "tlb=64 walk=100 tables=2"),
    );
    assert!((none - 100.0).abs() < 2.0, "{none}");
    // A line of a table has eight pages: for one of them it comes from L2, at first from memory.
    let table = (20.0 * 20_000.0 + 480.0 * 1024.0) / 8.0 / 20_000.0;
    assert!((one - none - table).abs() < 1.0, "{one}");
    assert!((two - one - table).abs() < 1.0, "{two}");
}

#[test]
fn a_stream_from_a_cache_comes_as_fast_as_that_cache_gives() {
    let passes =
        |count: u64| program(|b| (0..count * 512).for_each(|i| b.touch(i % 512, false, false)));
    let time = |text: &str| {
        let told = format!("(streams=10 latency=200) core:1 l2:1({text}) l1:1(size=4KiB) pu:1");
        let time = |count| cycles(&passes(count), &told);
        (time(11) - time(1)) / (10.0 * 512.0)
    };
    // Without a figure: a tenth of what an L2 hit takes longer than an L1 hit.
    let (told, not) = (time("size=1MiB latency=44 stream=7"), time("size=1MiB latency=44"));
    assert!((told - 7.0).abs() < 0.05 && (not - 4.0).abs() < 0.05, "{told} {not}");
}

#[test]
fn misses_cost_latency_once_a_line_or_once_a_window_and_streams_overlap() {
    let touching = |line: fn(u64) -> u64| {
        program(|b| {
            for i in 0..1000 {
                b.touch(line(i), false, false);
                b.work(1, 0, 0);
            }
        })
    };
    let (stride, stream) = (touching(|i| (i * 7919) % 100_000), touching(|i| i));
    let mut machine = machine("core:1 l1:1(size=32768) pu:1");
    machine.memory.latency = Cycles(200);
    machine.memory.parallelism = 4.0;
    machine.memory.bandwidth = 64.0;
    let settings = Settings { costs: FREE, ..Settings::new(SchedulerKind::Ws, 1) };
    let latency = 200 - machine.clusters()[1].cache.unwrap().latency.0;
    let mut time = |window, program| {
        machine.memory.window = window;
        run(program, &machine, &settings, &|_| {}).unwrap().time.0
    };
    assert_eq!(time(0, &stride), 1000 * (1 + latency));
    // An operation a touch: two misses in a window of two, and no more than four in a longer one.
    // A next one begins as soon as the oldest is there. The last begins one or three operations
    // after the one before it that waited.
    assert_eq!(time(2, &stride), 2 + 500 * latency);
    assert_eq!(time(64, &stride), 4 + 250 * latency);
    let streamed = time(64, &stream) as f64;
    assert!((streamed / (1000.0 * latency as f64 / 4.0) - 1.0).abs() < 0.02, "{streamed}");
}

#[test]
fn time_is_bound_by_bandwidth_where_many_workers_stream() {
    let program = program(|b| {
        (0..128).for_each(|i| reader(b, 1, i * 500, 500, 1));
        b.sync(ScopeId(1)).unwrap();
    });
    let mut machine = machine("core:64 l1:1(size=32768) pu:1");
    machine.memory.controllers = 4;
    machine.memory.bandwidth = 1.0;
    let mut time = |placement| {
        machine.memory.placement = placement;
        simulate(&program, &machine, SchedulerKind::Ws, 1).time.0 as f64
    };
    // Pages are 64 lines: with a worker or two per controller they would queue behind each other
    // while other controllers idle.
    let all = time(Placement::Interleaved);
    assert!((all / (64_000.0 * 64.0 / 4.0) - 1.0).abs() < 0.1, "{all}");
    let quarter = time(Placement::Bound(1));
    assert!((quarter / all - 4.0).abs() < 0.2, "{}", quarter / all);
}

#[test]
fn a_spawned_task_pays_for_memory_only_if_more_wait_than_ever_before() {
    let program = program(|b| {
        for (scope, tasks) in [(1, 100), (2, 60), (3, 130)] {
            (0..tasks).for_each(|_| task(b, scope, None, |b| b.work(10, 0, 0)));
            b.sync(ScopeId(scope)).unwrap();
        }
    });
    let machine = machine("core:1 l1:1(size=32768) pu:1");
    let time = |job| {
        let costs = Costs { job, ..FREE };
        let settings = Settings { costs, ..Settings::new(SchedulerKind::Ws, 1) };
        run(&program, &machine, &settings, &|_| {}).unwrap().time.0
    };
    assert_eq!(time(50.0) - time(0.0), 130 * 50);
}

#[test]
fn a_spawned_task_that_another_worker_starts_comes_from_the_one_that_spawned_it() {
    let program = forks(200, |b| b.work(1000, 0, 0));
    let machine =
        machine("l3:1(size=1MiB latency=50 transfer=405) core:2 l1:1(size=32KiB latency=5) pu:1");
    let outcome = |scheduler| {
        let settings = Settings { costs: FREE, ..Settings::new(scheduler, 1) };
        run(&program, &machine, &settings, &|_| {}).unwrap()
    };
    // The thief keeps the blocks of all of them, so none comes back.
    let central = outcome(SchedulerKind::Central).account.get(Part::Forks).0;
    assert!(central > 50 * 400 && central.is_multiple_of(400), "{central}");
    // Out of an outbox they come in batches. Each of these is seen before, and its end goes back.
    let ws = outcome(SchedulerKind::Ws);
    let (moving, back) = (ws.account.get(Part::Policy).0, ws.account.get(Part::Forks).0);
    assert!(ws.steals > 50, "{}", ws.steals);
    assert!(moving >= 400 * ws.steals && moving.is_multiple_of(400), "{moving}");
    assert!(back < 400 * ws.steals / 4 && back.is_multiple_of(400), "{back}");
}

#[test]
fn a_spawned_task_whose_memory_another_worker_had_waits_for_it() {
    let machine =
        machine("l3:1(size=1MiB latency=50 transfer=405) core:2 l1:1(size=32KiB latency=5) pu:1");
    // Lines that were handed over, and tasks that the worker beside the spawner has started.
    let handed = |scopes: u32| {
        let program = program(|b| {
            for scope in 1..=scopes {
                (0..1200).for_each(|_| task(b, scope, None, |b| b.work(1000, 0, 0)));
                b.sync(ScopeId(scope)).unwrap();
            }
        });
        let settings = Settings { costs: FREE, ..Settings::new(SchedulerKind::Central, 1) };
        let outcome = run(&program, &machine, &settings, &|_| {}).unwrap();
        let started = outcome.started_on.iter().filter(|worker| **worker == 1).count() as u64;
        (outcome.account.get(Part::Forks).0 as f64 / 400.0, started as f64)
    };
    let (once, started) = handed(1);
    assert_eq!(once, started, "all memory is new");
    // What the other worker had too much of came back, in whole batches.
    let (twice, started) = handed(2);
    assert!(twice >= started + 128.0, "{twice} for {started}");
}

#[test]
fn dealing_many_spawned_tasks_out_keeps_their_spawner_for_little_longer_than_stealing_does() {
    let program = forks(20_000, |b| b.work(400, 0, 0));
    let machine = machine("pack:4 l3:1(size=1MiB latency=50) core:8 l1:1(size=32KiB) pu:1");
    let time = |scheduler| simulate(&program, &machine, scheduler, 1).time.0 as f64;
    let (ws, homes) = (time(SchedulerKind::Ws), time(SchedulerKind::Homes));
    assert!(homes < 1.8 * ws, "{homes} {ws}");
}

#[test]
fn a_contended_lock_is_waited_for() {
    let program = forks(2000, |b| b.work(10, 0, 0));
    let machine = machine("core:16 l1:1(size=32768) pu:1");
    let time = |lock| {
        let costs = Costs { lock, ..FREE };
        let settings = Settings { costs, ..Settings::new(SchedulerKind::Sb, 1) };
        run(&program, &machine, &settings, &|_| {}).unwrap().time.0
    };
    // Each of the 2,000 tasks passes the root's lock twice, whichever worker runs it.
    assert!(time(100) > 2000 * 2 * 100, "{}", time(100));
    assert!(time(0) < time(100));
}

#[test]
fn the_account_adds_up_to_the_time_of_all_workers() {
    let program = program(|b| {
        b.work(400_000, 0, 0);
        for from in 0..40 {
            reader(b, 1, from * 100, 400, 3);
        }
        b.sync(ScopeId(1)).unwrap();
        b.work(400_000, 0, 0);
    });
    let mut machine = machine(TWO_SOCKETS);
    machine.memory.bandwidth = 0.2;
    for scheduler in SchedulerKind::ALL {
        let outcome = simulate(&program, &machine, scheduler, 1);
        let whole = outcome.time.0 * 4;
        let parts = outcome.account.total().0;
        assert!(whole.abs_diff(parts) < 40, "{scheduler}: {parts} of {whole}");
        let of = |part| outcome.account.get(part).0 as f64 / whole as f64;
        let (serial, bandwidth) = (of(Part::Serial), of(Part::Bandwidth));
        assert!(serial > 0.1 && bandwidth > 0.1, "{scheduler}: {serial} {bandwidth}");
        assert_eq!(outcome.account.get(Part::Work), outcome.work, "{scheduler}");
    }
}

#[test]
fn the_first_touch_of_a_page_that_the_plain_run_met_as_new_costs_a_fault() {
    // Two pages, each line twice, and the stack's, which are there.
    let program = program(|b| {
        (0..256).for_each(|i| b.touch(i % 128, true, false));
        (0..10).for_each(|line| b.touch(line, true, true));
    });
    let mut machine = machine(TWO_SOCKETS);
    machine.prices.fault = 500.0;
    let faults = |program: &Program| {
        simulate(program, &machine, SchedulerKind::Ws, 1).account.get(Part::Faults).0
    };
    assert_eq!(faults(&program), 0);
    assert_eq!(faults(&with_faults(program)), 2 * 500);
}

/// A join of two halves whose other half another worker runs takes what the machine says.
#[test]
fn a_fork_that_another_worker_runs_takes_what_was_measured() {
    const LEAF: u64 = 100_000;
    const JOINS: u32 = 2000;
    let program = program(|b| {
        for scope in 1..=JOINS {
            for _ in 0..2 {
                task(b, scope, None, |b| b.work(LEAF, 0, 0));
            }
            b.sync(ScopeId(scope)).unwrap();
        }
    });
    for (prices, stolen) in [
        ("inlined=4 pending=94 region=214 published=458 call=22 lock=16 steal=115", 2100.0),
        ("inlined=2 pending=60 region=100 published=200 call=50 lock=50 steal=300", 5000.0),
    ] {
        let cores = "l3:1(size=1MiB) core:2 l1:1 pu:1";
        let machine = machine(&format!("(mhz=3700 {prices} stolen={stolen}) {cores}"));
        let costs = Costs::of(&machine.prices);
        let settings = Settings { costs, ..Settings::new(SchedulerKind::Ws, 1) };
        let time = run(&program, &machine, &settings, &|_| {}).unwrap().time.0;
        let each = time as f64 / f64::from(JOINS) - LEAF as f64;
        assert!((each / stolen - 1.0).abs() < 0.1, "{prices}: {each} instead of {stolen}");
    }
}
