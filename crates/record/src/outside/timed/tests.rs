//! Streams of work runs by hand.

use befit_machine::Bytes;
use befit_program::{Declared, Meta, ProgramBuilder, ScopeId};

use super::*;

fn event(kind: u64, argument: u64) -> u64 {
    stream::EVENT | kind << stream::KIND_SHIFT | argument
}

/// A region with two children that each have a strand.
fn program() -> Program {
    let meta = Meta { name: "by hand".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    builder.fork(ScopeId(1), Declared::default()).unwrap();
    for _ in 0..2 {
        builder.fork(ScopeId(2), Declared::default()).unwrap();
        builder.work(1, 1, 1);
        builder.end().unwrap();
    }
    builder.sync(ScopeId(2)).unwrap();
    builder.end().unwrap();
    builder.sync(ScopeId(1)).unwrap();
    builder.finish().unwrap()
}

/// Ticks of half a nanosecond.
fn good() -> Vec<u64> {
    let [fork, end, sync] = [stream::FORK, stream::END, stream::SYNC];
    vec![
        event(stream::HELLO, VERSION.into()),
        WORK_MAGIC,
        event(fork, 0),
        event(fork, 7),
        event(end, 100),
        event(fork, 0),
        event(stream::FAULTS, 3),
        event(end, 4000),
        event(sync, 0),
        event(end, 0),
        event(sync, 0),
        event(stream::REGION, 20),
        3000,
        6000,
        5,
        2900,
    ]
}

fn read_words(words: &[u64]) -> Result<Timed, StreamError> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    read(&bytes[..], Some(&program()), 2)
}

#[test]
fn each_strand_gets_the_time_and_the_faults_of_its_interval() {
    let timed = read_words(&good()).unwrap();
    let first = Timing { picoseconds: 50_000, faults: 0 };
    assert_eq!(timed.strands, [first, Timing { picoseconds: 2_000_000, faults: 3 }]);
    assert_eq!((timed.total_ps, timed.faults_total, timed.regions), (3_000_000, 5, 1));
    assert_eq!(timed.regions_ps, 2_900_000);
    assert_eq!(timed.event_price, 10_000);
}

#[test]
fn the_process_may_say_at_its_end_how_long_it_took() {
    let said = [good(), vec![event(stream::PROCESS, 0), 9000]].concat();
    assert_eq!(read_words(&said).unwrap().process_ps, 9_000_000);
    assert_eq!(read_words(&good()).unwrap().process_ps, 0);
    assert!(read_words(&said[..said.len() - 1]).is_err());
}

#[test]
fn a_program_that_forks_otherwise_than_it_did_differs() {
    let mut other = good();
    other[3] = event(stream::SYNC, 7);
    assert!(matches!(read_words(&other), Err(StreamError::Differs(3))));
    let mut shorter = good();
    shorter.drain(8..11);
    assert!(matches!(read_words(&shorter), Err(StreamError::Differs(_))));
}

#[test]
fn a_program_is_run_the_more_often_the_less_time_it_takes() {
    let seconds = [0.0, 0.02, 0.2, 0.6, 9.0, 11.0];
    let found = seconds.map(|seconds| repeats(Duration::from_secs_f64(seconds)));
    assert_eq!(found, [10, 10, 5, 3, 3, 1]);
}

#[test]
fn a_work_run_cut_off_anywhere_is_an_error() {
    let good = good();
    for length in 0..good.len() {
        assert!(read_words(&good[..length]).is_err(), "{length} words");
    }
}

#[test]
fn times_of_a_class_that_differ_tell_how_far_the_runs_are_apart() {
    let program = program();
    let of = |each: u64| vec![Timing { picoseconds: each, faults: 0 }; 2];
    assert_eq!(classes_apart(&program, &of(1000), &of(1000)), 0.0);
    // What one strand gains another of its class may lose.
    let turned = [1500, 500].map(|picoseconds| Timing { picoseconds, faults: 0 });
    let apart = classes_apart(&program, &of(1000), &turned);
    let one_class = program.class(StrandId(0)) == program.class(StrandId(1));
    assert_eq!(apart, if one_class { 0.0 } else { 2.0 / 3.0 });
    assert_eq!(classes_apart(&program, &of(1300), &of(1000)), 0.3);
}
