//! Replays a trace through the caches of a machine and prints what each level counted.
//!
//! `replay MACHINE < trace`, with MACHINE anything that names a machine. Each line of the trace is
//! `r` or `w`, an address in decimal, and optionally a worker: `r 4096 0`. Addresses are taken by
//! the machine's line length. Printed as `level accesses misses writebacks store-misses`, then
//! memory's reads and writes.

use std::{collections::BTreeMap, error::Error, io::BufRead};

use befit_cache::{Found, Hierarchy, LineAccess};
use befit_machine::{ClusterId, Machine, WorkerId};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("usage: replay MACHINE < trace")?;
    let machine = Machine::find(&name)?;
    let line = machine.clusters().iter().find_map(|c| c.cache).map_or(64, |c| c.line.0);
    let mut touches = Vec::new();
    for (i, text) in std::io::stdin().lock().lines().enumerate() {
        let wrong = || format!("line {}: not `r ADDRESS` or `w ADDRESS`", i + 1);
        touches.push(touch(&text?, line).ok_or_else(wrong)?);
    }
    let lines = touches.iter().map(|t| t.line + 1).max().unwrap_or(0);
    let mut caches = Hierarchy::new(&machine, lines, 1)?;
    let mut levels = BTreeMap::<_, [u64; 4]>::new();
    caches.run(&touches, |access, outcome| {
        let passed = machine.path(access.worker).take_while(|c| outcome.found != Found::Own(*c));
        for cache in passed.filter_map(|c| machine.cluster(c).cache).filter(|_| access.write) {
            levels.entry(cache.level).or_default()[3] += 1;
        }
    });
    for (i, cluster) in machine.clusters().iter().enumerate() {
        let Some(cache) = cluster.cache else { continue };
        let counts = caches.counts(ClusterId(i as u32));
        let sum = levels.entry(cache.level).or_default();
        for (sum, n) in sum.iter_mut().zip([counts.accesses, counts.misses, counts.writebacks]) {
            *sum += n.0;
        }
    }
    for (level, [accesses, misses, writebacks, stores]) in levels {
        println!("{level} {accesses} {misses} {writebacks} {stores}");
    }
    println!("memory {} {}", caches.memory_reads().0, caches.memory_writes().0);
    Ok(())
}

fn touch(text: &str, line: u64) -> Option<LineAccess> {
    let mut words = text.split_ascii_whitespace();
    let write = match words.next()? {
        "r" => false,
        "w" => true,
        _ => return None,
    };
    let address: u64 = words.next()?.parse().ok()?;
    let worker = words.next().map_or(Some(0), |w| w.parse().ok())?;
    Some(LineAccess { worker: WorkerId(worker), line: u32::try_from(address / line).ok()?, write })
}
