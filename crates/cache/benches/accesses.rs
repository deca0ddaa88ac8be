//! Simulated accesses per second on one host core.
//!
//! One *access* is one [`Hierarchy::access`]: one worker reads or (30 %) writes one line; the line
//! is looked up level by level, misses fill every cache on the way, victims are handed up, an
//! inclusive L3 takes its victims out of the cores' caches, other workers' copies are invalidated
//! or downgraded, and everything is counted. The workers take turns. The machine is `xeon-7560`: 4
//! × 24 MiB L3, 32 × (256 KiB + 32 KiB), coherent.
//!
//! | case | lines that the workers touch |
//! |---|---|
//! | `uniform-96MiB` | uniformly random over 96 MiB, as much as all L3 together, in a space of 160 MiB (rrm, n = 10M) |
//! | `uniform-64MiB`, `-160MiB`, `-1GiB` | the same over less and more |
//! | `own-192KiB` | uniformly random over 192 KiB of the worker's own: more than its L1, less than its L2 |
//! | `socket-16MiB` | uniformly random over 16 MiB that the workers of a socket share: more than L2, less than L3 |
//! | `streaming` | each worker walks its own part of 160 MiB, line by line |
//! | `mostly-L1` | 95 % of accesses to 128 lines of the worker's own, the others uniform over 96 MiB |
//!
//! The touches are drawn beforehand; the caches are warm. `cargo bench -p befit-cache`.

use std::hint::black_box;

use befit_cache::{Hierarchy, LineAccess};
use befit_machine::{Machine, WorkerId};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const MIB: u32 = (1 << 20) / 64;
const TOUCHES: usize = 1 << 22;

fn touches(workers: u32, mut line: impl FnMut(u32, &mut fastrand::Rng) -> u32) -> Vec<LineAccess> {
    let mut rng = fastrand::Rng::with_seed(7);
    (0..TOUCHES as u32)
        .map(|i| {
            let worker = i % workers;
            let line = line(worker, &mut rng);
            LineAccess { worker: WorkerId(worker), line, write: rng.u32(..10) < 3 }
        })
        .collect()
}

fn accesses(c: &mut Criterion) {
    let machine = Machine::find("xeon-7560").expect("a preset");
    let workers = machine.workers().len() as u32;
    let mut group = c.benchmark_group("accesses");
    group.throughput(Throughput::Elements(TOUCHES as u64)).sample_size(10);
    let mut case = |name: &str, mib: u32, touches: Vec<LineAccess>| {
        let mut caches =
            Hierarchy::new(&machine, mib * MIB, 1).expect("the preset can be modelled");
        let mut misses = 0u64;
        for _ in 0..2 {
            caches.run(&touches, |_, _| ());
        }
        group.bench_function(name, |b| {
            b.iter(|| {
                caches
                    .run(black_box(&touches), |_, access| misses += u64::from(access.written_back))
            });
        });
        black_box(misses);
    };
    for (name, mib, space) in [
        ("uniform-64MiB", 64, 160),
        ("uniform-96MiB", 96, 160),
        ("uniform-160MiB", 160, 160),
        ("uniform-1GiB", 1024, 1024),
    ] {
        case(name, space, touches(workers, |_, rng| rng.u32(..mib * MIB)));
    }
    let own = 192 * 1024 / 64;
    case("own-192KiB", 160, touches(workers, |w, rng| w * own + rng.u32(..own)));
    let shared = 16 * MIB;
    case("socket-16MiB", 160, touches(workers, |w, rng| w / 8 * shared + rng.u32(..shared)));
    let part = 160 * MIB / workers;
    let mut at = vec![0; workers as usize];
    let streaming = touches(workers, |w, _| {
        let place = &mut at[w as usize];
        *place = (*place + 1) % part;
        w * part + *place
    });
    case("streaming", 160, streaming);
    let near = touches(workers, |w, rng| match rng.u32(..20) {
        0 => rng.u32(..96 * MIB),
        _ => 96 * MIB + w * 128 + rng.u32(..128),
    });
    case("mostly-L1", 160, near);
    group.finish();
}

criterion_group!(benches, accesses);
criterion_main!(benches);
