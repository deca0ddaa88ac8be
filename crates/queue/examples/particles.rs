//! Particles that move through a large field: each reads the eight cells around it and moves with
//! what it finds there.
//!
//! ```text
//! cargo run -p befit-queue --release --example particles -- \
//!     [CELLS_A_SIDE] [PARTICLES] [THREADS] [REPEATS]
//! ```
//! By default a field of 256³ cells of 16 bytes (256 MiB), 4 million particles that have lost any
//! order, one thread, 5 repeats. The footprint of a particle is its block of 8³ cells; blocks lie
//! one after another in memory and are numbered along a Morton curve. A step
//! knows all its cells at once, so there is no chain of misses to interleave, and a core has many
//! cells on the way by itself: here only order can gain. The output has medians over repeats, in
//! which the ways take turns.

use std::time::Instant;

use befit::ThreadPoolBuilder;
use befit_queue::{Mode, Queue};

/// Cells of a block's side, as a power of two.
const BLOCK: u32 = 3;

type Cell = [f32; 4];

/// A field of 2^bits cells a side, in blocks.
struct Field {
    bits: u32,
    cells: Vec<Cell>,
}

/// Puts two zero bits before each of a coordinate's ten bits.
fn spread(x: u32) -> u64 {
    let x = u64::from(x & 0x3ff);
    let x = (x | x << 16) & 0x0300_00ff;
    let x = (x | x << 8) & 0x0300_f00f;
    let x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

impl Field {
    fn new(side: usize) -> Self {
        let bits = side.next_power_of_two().trailing_zeros().clamp(BLOCK + 1, 10);
        let cell = |i: usize| [0.3, 0.2, 0.1, 0.0].map(|v| v * (i % 97) as f32 / 97.0);
        Self { bits, cells: (0..1 << (3 * bits)).map(cell).collect() }
    }

    /// The block that a cell is in, by its place on the Morton curve.
    fn block(&self, [x, y, z]: [u32; 3]) -> u64 {
        spread(x >> BLOCK) | spread(y >> BLOCK) << 1 | spread(z >> BLOCK) << 2
    }

    fn cell(&self, at: [u32; 3]) -> &Cell {
        let at = at.map(|c| c & ((1 << self.bits) - 1));
        let within =
            at.iter().fold(0, |within, c| within << BLOCK | u64::from(c & ((1 << BLOCK) - 1)));
        &self.cells[(self.block(at) << (3 * BLOCK) | within) as usize]
    }

    /// A particle's place after one step: it moves with the mean of the field at the eight corners
    /// around it, weighted by distance.
    fn step(&self, particle: &[f32; 3]) -> [f32; 3] {
        let low = particle.map(|c| c as u32);
        let part = [0, 1, 2].map(|d| particle[d] - low[d] as f32);
        let mut moved = *particle;
        for corner in 0..8u32 {
            let offset = [corner & 1, corner >> 1 & 1, corner >> 2];
            let cell = self.cell([0, 1, 2].map(|d| low[d] + offset[d]));
            let share: f32 =
                (0..3).map(|d| if offset[d] == 1 { part[d] } else { 1.0 - part[d] }).product();
            (0..3).for_each(|d| moved[d] += share * cell[d]);
        }
        moved.map(|c| c.rem_euclid((1 << self.bits) as f32))
    }
}

fn main() {
    let mut args =
        std::env::args().skip(1).map(|a| a.parse::<usize>().expect("arguments are numbers"));
    let field = Field::new(args.next().unwrap_or(256));
    let count = args.next().unwrap_or(4_000_000).max(1);
    let pool =
        ThreadPoolBuilder::new().num_threads(args.next().unwrap_or(1)).build().expect("a pool");
    let repeats = args.next().unwrap_or(5).max(1);

    // The golden ratio's higher-dimensional relatives fill a cube evenly, in no local order.
    let at = |i: usize| {
        [0.819_172_5, 0.671_043_6, 0.549_700_5].map(|g: f64| (i as f64 * g).fract() as f32)
    };
    let side = (1u32 << field.bits) as f32;
    let particles: Vec<[f32; 3]> =
        (1..=count).map(|i| at(i).map(|c| (c * side).min(side - 1.0))).collect();
    let expected: Vec<[f32; 3]> = particles.iter().map(|particle| field.step(particle)).collect();

    let ways =
        [("arrival", Some(Mode::Arrival)), ("ordered", Some(Mode::Ordered)), ("automatic", None)];
    let mut times = vec![Vec::new(); ways.len()];
    let mut report = None;
    for _ in 0..repeats {
        for ((_, mode), times) in ways.iter().zip(&mut times) {
            let block = |particle: &[f32; 3]| field.block(particle.map(|c| c as u32));
            let queue = Queue::new(|particle: &[f32; 3]| field.step(particle)).by_key(block);
            let mut queue = queue.data_bytes(size_of_val(&*field.cells));
            if let Some(mode) = mode {
                queue = queue.mode(*mode);
            }
            let start = Instant::now();
            let moved = pool.install(|| queue.run(&particles));
            times.push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
            assert!(moved == expected, "the same as one after another");
            report = queue.report().filter(|_| mode.is_none()).or(report);
        }
    }
    println!(
        "{count} particles, {} MiB, {} thread(s)",
        size_of_val(&*field.cells) >> 20,
        pool.current_num_threads()
    );
    let mut arrival = None;
    for ((name, _), mut times) in ways.iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let ratio = *arrival.get_or_insert(median) / median;
        println!(
            "  {name:<12}{median:>8.1} ns ({:.1} to {:.1}){ratio:>8.2} x",
            times[0],
            times[times.len() - 1]
        );
    }
    println!("  {:.0?}", report.map(|report| (report.mode, report.window, report.costs)));
}
