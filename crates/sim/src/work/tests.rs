use befit_program::{Declared, RawTouch, ScopeId};

use super::*;
use crate::tests::{program, task};

const HOST: &str = "(mhz=1000 latency=200 bandwidth=16 parallelism=8 streams=20 window=50)
                    l2:1(size=256KiB latency=14) l1:1(size=32KiB latency=4) core:1 pu:1";

/// Twenty forks, of a stream of many lines and a loop over few.
fn two_kinds() -> Program {
    program(|b| {
        let (stream, few) = (b.place("stream").unwrap(), b.place("few").unwrap());
        for round in 0..20u64 {
            b.fork_at(ScopeId(1), Declared::default(), stream).unwrap();
            (0..5000).for_each(|i| b.touch(round * 5000 + i, true, false));
            b.work(20_000, 20_000, 0);
            b.end().unwrap();
            b.fork_at(ScopeId(1), Declared::default(), few).unwrap();
            (0..64).for_each(|i| b.touch(i * 3, false, false));
            b.work(50_000, 0, 1000);
            b.end().unwrap();
            b.sync(ScopeId(1)).unwrap();
        }
    })
}

/// The paces, in cycles, that are found where the model has those of [`PACES`] at these places,
/// all strands were so much faster, and each fork took so many nanoseconds of the whole, and
/// each of the program's page faults as many.
fn found(paces: [usize; 2], faster: f64, fork: u64, fault: u64) -> Vec<f64> {
    let (program, mut host) = (two_kinds(), HOST.parse::<Machine>().unwrap());
    host.prices.inlined = fork as f64;
    let mut serial = Serial::new(&program, &host).unwrap();
    let times: Vec<u64> = (0..program.strands())
        .map(StrandId)
        .map(|strand| {
            let modelled = serial.run(strand);
            (modelled[paces[class(&program, strand)]] * 1000.0) as u64
        })
        .collect();
    // One in each strand, and none in the model, whose pages are all there.
    let faults = times.len() as u64;
    let total = times.iter().sum::<u64>() + (20 * fork + faults * fault) * 1000;
    let strand =
        |time: u64| Timing { picoseconds: (time as f64 / faster) as u64 + fault * 1000, faults: 1 };
    let strands = times.into_iter().map(strand).collect();
    let timed = Timed { strands, total, faults, regions: 0, process: 0 };
    let run = fit(&program, &timed, &host, fault as f64).unwrap();
    run.classes.iter().flatten().map(|c| c.ps_per_operation / 1000.0).collect()
}

#[test]
fn the_pace_of_each_class_comes_back_from_its_times() {
    let (k, j) = (5, 3);
    // Also from times that are short of the whole's, and without what forks and faults took.
    for (faster, fork, fault) in [(1.0, 0, 0), (1.2, 0, 0), (1.2, 10_000, 0), (1.2, 0, 50_000)] {
        let found = found([k, j], faster, fork, fault);
        assert_eq!(found.len(), 2);
        for (found, pace) in found.iter().zip([PACES[k], PACES[j]]) {
            let off = (found / pace - 1.0).abs();
            assert!(off < 0.02, "{found} {pace} {faster} {fork} {fault}");
        }
    }
}

/// A core's time for operations of so many picoseconds is simulated, and the fit of that time is
/// those picoseconds: both have the same waits.
#[test]
fn what_is_fitted_is_what_one_worker_is_charged() {
    let host = "(mhz=1000 latency=300 bandwidth=16 parallelism=7.5 streams=20 window=50 tlb=64
                 walk=60 inlined=0 pending=0 region=0 published=0 spawn=0 call=0 lock=0)
                l2:1(size=256KiB latency=14) l1:1(size=32KiB latency=4) core:1 pu:1";
    let host: Machine = host.parse().unwrap();
    for (kind, operations) in [("reads", 40), ("writes", 40), ("atomics", 40), ("atomics", 400)] {
        let program = program(|b| {
            for i in 0..20_000u64 {
                let line = i * i * 37 % 20_011;
                b.touch(line, kind != "reads", false);
                if kind == "atomics" {
                    b.atomic(line);
                }
                b.work(operations, 0, 0);
            }
        });
        let class = ClassWork { ps_per_operation: 400.0, spread: 0.0, strands: 1 };
        let run = WorkRun {
            host_mhz: host.mhz,
            host_operation: host.cycles_per_operation,
            host: host.name.clone(),
            faults_per_page: 0.0,
            recorded: 1.0,
            classes: vec![Some(class); program.classes().len()],
        };
        let known = program.clone().with_work(run);
        let ws = crate::Settings::new(befit_sched::SchedulerKind::Ws, 1);
        let settings = crate::Settings { prepared: true, ..ws };
        let time = crate::run(&known, &host, &settings, &|_| {}).unwrap().time;
        let picoseconds = time.0 * 1000;
        let strands = vec![Timing { picoseconds, faults: 0 }];
        let timed = Timed { strands, total: picoseconds, faults: 0, regions: 0, process: 0 };
        let found = fit(&program, &timed, &host, 0.0).unwrap();
        let found = found.classes[0].unwrap().ps_per_operation;
        assert!((found / 400.0 - 1.0).abs() < 0.02, "{kind} {operations}: {found}");
    }
}

/// What befit has found of a program's work is kept under [`GENERATION`]. So whoever changes what
/// is found here counts that up.
#[test]
fn one_generation_finds_the_same_work() {
    let host = "(mhz=2000 latency=300 bandwidth=8 parallelism=8 streams=20 window=50 runs=16 tlb=64
                 walk=40) l3:1(size=1MiB latency=40) l2:1(size=256KiB latency=14)
                l1:1(size=32KiB latency=4) core:1 pu:1";
    let mut random = 1_u64;
    let mut line = move |lines: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % lines
    };
    let program = program(|b| {
        let kinds = ["a stream", "random reads", "random writes", "a chain of few lines"];
        for (kind, name) in (0..).zip(kinds) {
            let place = b.place(name).unwrap();
            b.fork_at(ScopeId(1), Declared::default(), place).unwrap();
            for i in 0..20_000 {
                match kind {
                    0 => b.touch(i, i % 4 == 0, false),
                    1 => b.touch(line(50_000), false, false),
                    2 => b.touch(line(50_000), true, false),
                    _ => b.touches(&[RawTouch::dependent_on_last(line(5000))]),
                }
            }
            b.work(100_000, 0, 0);
            b.end().unwrap();
        }
        b.sync(ScopeId(1)).unwrap();
    });
    // So long that all waits have room in it.
    let strand = |_| Timing { picoseconds: 4_000_000_000, faults: 0 };
    let strands: Vec<_> = (0..program.strands()).map(strand).collect();
    let total = strands.iter().map(|strand| strand.picoseconds).sum();
    let timed = Timed { strands, total, faults: 0, regions: 0, process: 0 };
    let run = fit(&program, &timed, &host.parse().unwrap(), 0.0).unwrap();
    let found: Vec<_> =
        run.classes.iter().flatten().map(|class| class.ps_per_operation.round()).collect();
    assert_eq!((GENERATION, &found[..]), (11, &[39998.0, 39595.0, 39617.0, 36645.0][..]));
}

#[test]
fn a_strand_that_waits_for_nothing_takes_its_operations_at_each_pace() {
    let (program, host) = (program(|b| b.work(1_000_000, 0, 0)), HOST.parse().unwrap());
    let operations = program.work(StrandId(0)).operations() as f64;
    let found = Serial::new(&program, &host).unwrap().run(StrandId(0));
    for (cycles, pace) in found.into_iter().zip(PACES) {
        assert!((cycles / (operations * pace) - 1.0).abs() < 0.01, "{cycles} {pace}");
    }
}

#[test]
fn measured_work_scales_by_cycles_and_by_the_widths_of_the_cores() {
    let program = two_kinds();
    let kinds = [0, 1].map(|strand| class(&program, StrandId(strand)));
    assert_ne!(kinds[0], kinds[1]);
    let mut classes = vec![None; program.classes().len()];
    let work = |ps, strands| Some(ClassWork { ps_per_operation: ps, strands, spread: 0.0 });
    (classes[kinds[0]], classes[kinds[1]]) = (work(500.0, 30), work(100.0, 10));
    let run = WorkRun {
        host_mhz: 2000,
        host_operation: 0.5,
        host: String::new(),
        faults_per_page: 0.0,
        recorded: 0.0,
        classes,
    };
    // 500 ps are a cycle there, and half a one on cores of twice the width.
    let machine = "(mhz=4000 operation=0.25) pu:1".parse().unwrap();
    let found = cycles_per_operation(&program.with_work(run), &machine);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    for (class, cycles) in found.into_iter().enumerate() {
        // The others take the mean of all strands.
        let expected = [0.5, 0.1][..].iter().zip(kinds).find(|(_, kind)| *kind == class);
        assert!(near(cycles, expected.map_or(0.4, |(cycles, _)| *cycles)), "{class} {cycles}");
    }
}

#[test]
fn pages_that_a_strand_met_when_it_was_passed_are_found_when_it_is_run() {
    let host = HOST.replace("window=50", "window=50 frames=random tlb=256 walk=1000");
    let (host, pages) = (host.parse().unwrap(), 200);
    let program = program(|b| {
        (0..pages).for_each(|page| b.touch(page * 64, false, false));
        b.work(pages, 0, 0);
    });
    let serial = || Serial::new(&program, &host).unwrap();
    let mut passed = serial();
    passed.pass(StrandId(0));
    let (first, second) = (serial().run(StrandId(0)), passed.run(StrandId(0)));
    // Two walks at once.
    let walks = pages as f64 * 1000.0 / 2.0;
    for (first, second) in first.into_iter().zip(second) {
        assert!(first > 0.9 * walks && second < 0.1 * walks, "{first} {second}");
    }
}

#[test]
fn strands_too_short_for_the_clock_share_what_the_others_leave() {
    let mut classes = [(10, 10_000.0), (1000, 20_000.0)].map(|(strands, measured)| Sums {
        strands,
        measured,
        ..Sums::default()
    });
    share_what_is_short(&mut classes, 15_000.0, 100.0);
    assert_eq!([classes[0].measured, classes[1].measured], [10_000.0, 5_000.0]);
    // A whole of which forks and faults leave nothing tells nothing.
    share_what_is_short(&mut classes, -1.0, 100.0);
    assert_eq!([classes[0].measured, classes[1].measured], [10_000.0, 5_000.0]);
}

#[test]
fn the_share_that_was_recorded_is_known_where_the_process_s_time_is() {
    for (regions, process, share) in [(30, 120, 0.25), (7, 0, 0.0), (121, 120, 1.0)] {
        let timed = Timed { strands: Vec::new(), total: 0, faults: 0, regions, process };
        assert_eq!(timed.recorded(), share);
    }
}

/// A thousand operations whose waits take 500 cycles at any pace, and which took so long.
fn chosen(measured: f64) -> Chosen {
    let modelled = PACES.map(|pace| 500.0 + 1000.0 * pace);
    let missed = std::array::from_fn(|k| 100.0 + k as f64);
    Chosen { operations: 1000, measured, modelled, missed }
}

#[test]
fn the_pace_is_the_one_at_which_the_modelled_time_is_the_measured_one() {
    for (measured, expected, nearest) in [
        // The waits alone take as long, or longer.
        (400.0, PACES[0], 0),
        (520.0, PACES[0], 0),
        // Between 0.1 and 0.2.
        (620.0, 0.12, 2),
        (650.0, 0.15, 3),
        (700.0, 0.2, 3),
        // As slow as the slowest, and slower.
        (6900.0, 6.4, 8),
        (8500.0, 8.0, 8),
    ] {
        let (pace, at) = chosen(measured).pace();
        assert!((pace - expected).abs() < 1e-9, "{measured}: {pace}");
        assert_eq!(at, nearest, "{measured}");
    }
}

#[test]
fn a_class_s_work_is_in_the_host_s_time_and_tells_how_far_its_strands_are_from_the_model() {
    let host: Machine = "(mhz=2000) pu:1".parse().unwrap();
    let sums = Sums { strands: 7, chosen: chosen(700.0), ..Sums::default() };
    let work = sums.work(&host).unwrap();
    // A cycle is 500 ps.
    assert!((work.ps_per_operation - 0.2 * 500.0).abs() < 1e-9, "{work:?}");
    assert_eq!((work.strands, work.spread), (7, 103.0 / 700.0));
    assert_eq!(Sums { strands: 7, ..Sums::default() }.work(&host), None);
}

#[test]
fn of_a_class_as_many_strands_are_chosen_as_suffice() {
    for (strands, touches, expected) in [
        (150, 30_000_000, 150),
        (2000, 0, 2000),
        (2000, 3_000_000, 2000),
        // By the strands, and by their touches.
        (2000, 300_000_000, 200),
        (2000, 6_000_000, 1000),
    ] {
        let sums = Sums { strands, touches, ..Sums::default() };
        let chosen = (0..strands as u32).filter(|strand| sums.chooses(StrandId(*strand)));
        let off = chosen.count().abs_diff(expected);
        assert!(off <= expected / 8 && (expected < strands as usize || off == 0), "{sums:?}");
    }
}

#[test]
fn strands_that_took_no_time_have_the_fastest_pace() {
    let program = program(|b| {
        (0..100).for_each(|line| b.touch(line, false, false));
        b.work(100, 0, 0);
    });
    let host = HOST.parse().unwrap();
    let strands = vec![Timing { picoseconds: 0, faults: 0 }; program.strands() as usize];
    let timed = Timed { strands, total: 1000, faults: 0, regions: 1, process: 4 };
    let run = fit(&program, &timed, &host, 0.0).unwrap();
    let paces: Vec<f64> = run.classes.iter().flatten().map(|c| c.ps_per_operation).collect();
    assert_eq!(paces, [PACES[0] * 1000.0]);
    assert_eq!((run.host_mhz, run.faults_per_page, run.recorded), (1000, 0.0, 0.25));
}

#[test]
fn a_host_that_cannot_be_modelled_is_no_host() {
    let program = program(|b| b.touch(1, false, false));
    let strands = vec![Timing { picoseconds: 1000, faults: 0 }];
    let timed = Timed { strands, total: 1000, faults: 0, regions: 0, process: 0 };
    let host = "l1:1(size=4KiB line=32) pu:1".parse().unwrap();
    let error = fit(&program, &timed, &host, 0.0).unwrap_err().to_string();
    assert!(error.ends_with("lines of 32 bytes are finer than the recorded ones of 64"), "{error}");
}

#[test]
fn a_strand_on_the_host_waits_for_memory_then_for_the_second_cache_then_for_nothing() {
    // One load at a time; the L2 has all of the lines, the L1 those that were read last.
    let host = HOST.replace("window=50", "window=0").parse().unwrap();
    let program = program(|b| {
        for reads in [0..2000u64, 0..2000, 1900..2000] {
            task(b, 1, None, |b| {
                b.work(reads.end - reads.start, 0, 0);
                // Eleven lines apart, which is no stream.
                reads.for_each(|i| b.touch(i * 11 % 2000, false, false));
            });
        }
        b.sync(ScopeId(1)).unwrap();
    });
    let mut serial = Serial::new(&program, &host).unwrap();
    for (strand, (count, wait)) in (0..).zip([(2000.0, 196.0), (2000.0, 10.0), (100.0, 0.0)]) {
        let found = serial.run(StrandId(strand));
        for (cycles, pace) in found.into_iter().zip(PACES) {
            let expected = count * (pace + wait);
            // Each step is rounded to a 256th of a cycle.
            let off = (cycles - expected).abs();
            assert!(off <= count / 256.0, "strand {strand} at {pace}: {cycles} of {expected}");
        }
    }
}
