//! Speeds of the access codec and of the file format: touches encoded and decoded, programs written
//! and read.

use std::hint::black_box;
use std::time::Duration;

use befit_machine::Bytes;
use befit_program::{Declared, Meta, Program, ProgramBuilder, RawTouch, ScopeId, StrandId, Touch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const BASE: u64 = 0x7f00_0000_0000 >> 6;

/// A to B, line by line, in leaves of 2^11 lines each.
fn map() -> Vec<RawTouch> {
    let lines = 1 << 20;
    let at = |line| {
        [RawTouch::new(BASE + line, false, false), RawTouch::new(BASE + lines + line, true, false)]
    };
    (0..lines).flat_map(at).collect()
}

/// B[i] = A[idx[i]], A of 10M doubles.
fn gather() -> Vec<RawTouch> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut touches = Vec::new();
    for i in 0..2_000_000 {
        if i % 16 == 0 {
            touches.push(RawTouch::new(BASE + i / 16, false, false));
        }
        if i % 8 == 0 {
            touches.push(RawTouch::new(BASE + 500_000 + i / 8, true, false));
        }
        touches.push(RawTouch::new(BASE + 1_000_000 + random.u64(..1_250_000), false, false));
    }
    touches
}

/// Five-point stencil over rows of 512 doubles.
fn stencil() -> Vec<RawTouch> {
    let row = |i: u64, j: u64| BASE + i * 64 + j;
    let touch = |i, j, k| {
        if k < 3 {
            RawTouch::new(row(i + k, j), false, false)
        } else {
            RawTouch::new(row(i + 20_000, j), true, false)
        }
    };
    (0..4096u64)
        .flat_map(|i| (0..64u64).flat_map(move |j| (0..4u64).map(move |k| touch(i, j, k))))
        .collect()
}

/// In strands of 4096 touches.
fn program(touches: &[RawTouch]) -> Program {
    let mut builder =
        ProgramBuilder::new(Meta { name: "bench".into(), line_size: Bytes(64), filter: 4 });
    for strand in touches.chunks(4096) {
        builder.fork(ScopeId(1), Declared::default()).unwrap();
        builder.touches(strand);
        builder.work(4096, 4096, 1);
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    builder.finish().unwrap()
}

fn codec(c: &mut Criterion) {
    for (name, touches) in [("map", map()), ("stencil", stencil()), ("gather", gather())] {
        let mut group = c.benchmark_group(name);
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(2))
            .warm_up_time(Duration::from_millis(500));
        group.throughput(Throughput::Elements(touches.len() as u64));
        group.bench_function("encode", |b| b.iter(|| program(black_box(&touches))));
        let program = program(&touches);
        group.bench_function("decode", |b| {
            let mut batch = [Touch::default(); 1024];
            b.iter(|| {
                for strand in 0..program.strands() {
                    let mut touches = program.touches(StrandId(strand));
                    while touches.next_batch(&mut batch) > 0 {
                        black_box(&batch);
                    }
                }
            });
        });
        let mut file = Vec::new();
        program.write(&mut file).unwrap();
        println!(
            "{name}: {:.3} bytes a touch in the file",
            file.len() as f64 / touches.len() as f64
        );
        group.bench_function("write", |b| b.iter(|| program.write(std::io::sink()).unwrap()));
        group.bench_function("read", |b| b.iter(|| Program::read(black_box(&file[..])).unwrap()));
        group.finish();
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
