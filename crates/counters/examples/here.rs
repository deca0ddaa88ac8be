//! What this machine can count, and what a read costs: `cargo run --release -p befit-counters
//! --example here`.

use std::time::Instant;

use befit_counters::{CountersError, Hardware, Quantity, Software, Source};

fn main() {
    describe("hardware", Hardware::open().map(|source| (refused(source.left_out()), source)));
    println!();
    describe("software", Software::open().map(|source| (refused(source.left_out()), source)));
}

fn refused(left_out: &[(Quantity, CountersError)]) -> Vec<String> {
    left_out.iter().map(|(quantity, why)| format!("  {quantity:<24} not counted: {why}")).collect()
}

fn describe(name: &str, opened: Result<(Vec<String>, impl Source), CountersError>) {
    println!("{name}:");
    let (refused, mut source) = match opened {
        Ok(opened) => opened,
        Err(why) => return println!("  {why}"),
    };
    for event in source.events() {
        let level = event.level.map_or(String::new(), |level| format!(" of {level}"));
        println!("  {:<24} by {}{level}", event.quantity.to_string(), event.name);
    }
    refused.iter().for_each(|line| println!("{line}"));
    match cost(&mut source) {
        Ok(nanoseconds) => {
            println!("  one read costs {nanoseconds:.0} ns (median of {BATCHES} batches)")
        }
        Err(why) => println!("  {why}"),
    }
}

const BATCHES: usize = 2_001;
const READS: u32 = 16;

/// The median over the batches of the nanoseconds that a read takes.
fn cost(source: &mut impl Source) -> Result<f64, CountersError> {
    let mut batches = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..READS {
            std::hint::black_box(source.read()?);
        }
        batches.push(start.elapsed() / READS);
    }
    batches.sort_unstable();
    Ok(batches[BATCHES / 2].as_nanos() as f64)
}
