//! Hardware counters where there are some, and the polite refusal where there are none.

use befit_counters::{Chosen, CountersError, Hardware, Quantity, Source, SourceKind};
use befit_machine::{Bytes, Lines};

/// Some work with a known least number of instructions.
fn work() {
    for n in 0..1_000_000 {
        std::hint::black_box(n);
    }
}

#[test]
fn hardware_counts_or_says_in_one_line_why_not() {
    match Hardware::open() {
        Ok(mut hardware) => {
            assert!(!hardware.events().is_empty());
            hardware.read().unwrap();
            work();
            let counts = hardware.read().unwrap();
            let listed =
                |quantity| hardware.events().iter().any(|event| event.quantity == quantity);
            assert_eq!(counts.private_misses.is_some(), listed(Quantity::PrivateMisses));
            if listed(Quantity::Instructions) && counts.coverage.is_complete() {
                assert!(counts.instructions >= Some(1_000_000), "{counts:?}");
            }
        }
        Err(why) => {
            let message = why.to_string();
            eprintln!("here: {message}");
            assert!(!message.is_empty() && !message.contains('\n'), "{message}");
            assert!(
                !matches!(why, CountersError::Open { .. }),
                "a refusal without advice: {message}"
            );
        }
    }
}

#[test]
fn where_hardware_counts_nothing_declared_sizes_stand_in() {
    let (mut source, why) = Chosen::open(Bytes(64));
    source.declare(Bytes(100));
    let counts = source.read().unwrap();
    match source.kind() {
        SourceKind::Hardware => assert!(why.is_none()),
        kind => {
            assert_eq!(kind, SourceKind::Declared);
            assert!(why.is_some());
            assert_eq!(counts.private_misses, Some(Lines(2)));
        }
    }
}

#[test]
fn every_thread_gets_the_same_kind_of_source() {
    let here = Chosen::open(Bytes(64)).0.kind();
    let there = std::thread::spawn(|| Chosen::open(Bytes(64)).0.kind()).join().unwrap();
    assert_eq!(here, there);
}
