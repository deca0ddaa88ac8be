//! Batches of look-ups in six large indexes, in each way that a [`Queue`] can run them.
//!
//! ```text
//! cargo bench -p befit-queue --bench lookups -- \
//!     [MIB] [LOOKUPS] [THREADS] [REPEATS] [INDEX]
//! ```
//! By default 256 MiB, 10 million look-ups of random keys, one thread, 5 repeats, all indexes. The
//! keys come as one batch and the results must be in the keys' order: putting keys in order and
//! results in their places is in the times. `automatic` is a new queue each time, so the time in
//! which it looks for the best way is included too. `coroutines` are the same searches as async
//! functions, in flight and in both. Prints medians over repeats, in which the ways take turns,
//! their spread, and how many times faster than look-ups in the order of arrival each is.

mod btree;
mod hash;
mod sorted;
mod tree;

use std::time::Instant;

use befit::{ThreadPool, ThreadPoolBuilder};
use befit_queue::{Hint, Mode, Queue, QueueReport, Run, Walk, WalkStep, prefetch};

/// Pairs of a key and a value. All are built from the keys 1, 3, 5, …, so that even keys are
/// missing.
trait Index: Sync + Sized {
    /// As shown.
    const NAME: &str;

    /// A search, node by node.
    type Search<'a>: Walk<Output = Option<u64>>
    where
        Self: 'a;

    /// An index of about `bytes` bytes.
    fn build(bytes: usize) -> Self;

    /// The number of pairs.
    fn len(&self) -> u64;

    /// Bytes of the nodes.
    fn bytes(&self) -> usize;

    /// The value of `key`, found by a plain loop.
    fn get(&self, key: u64) -> Option<u64>;

    /// The same, in steps.
    fn search(&self, key: u64) -> Self::Search<'_>;

    /// Keys that are near in this order are found near to each other in memory, or on common paths.
    fn order(&self, key: u64) -> u64 {
        key
    }
}

/// The value that goes with a key.
fn value(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Random numbers: splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// A way of running all look-ups: a mode with its windows; none is the queue's own choice.
type Way = (&'static str, Option<(Mode, usize)>);

const WAYS: [Way; 9] = [
    ("arrival", Some((Mode::Arrival, 1 << 20))),
    ("ordered, 256 Ki", Some((Mode::Ordered, 1 << 18))),
    ("ordered, 1 Mi", Some((Mode::Ordered, 1 << 20))),
    ("interleaved", Some((Mode::Interleaved, 1 << 20))),
    ("both, 256 Ki", Some((Mode::Both, 1 << 18))),
    ("both, 1 Mi", Some((Mode::Both, 1 << 20))),
    ("automatic", None),
    ("coroutines", Some((Mode::Interleaved, 1 << 20))),
    ("both, as coroutines", Some((Mode::Both, 1 << 20))),
];

/// The place of `automatic`; it does not choose from the coroutines behind it.
const AUTOMATIC: usize = 6;

struct Options {
    bytes: usize,
    lookups: usize,
    repeats: usize,
    only: Option<String>,
    pool: ThreadPool,
}

fn main() {
    // `cargo bench` adds this to what it was told.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let mut number = |default: usize| match args.next() {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number")),
        None => default,
    };
    let (bytes, lookups) = (number(256) << 20, number(10_000_000).max(1));
    let pool = ThreadPoolBuilder::new().num_threads(number(1)).build().expect("a pool");
    let repeats = number(5).max(1);
    let options = Options { bytes, lookups, repeats, only: args.next(), pool };
    measure::<tree::Lines>(&options);
    measure::<tree::Compact>(&options);
    measure::<tree::Levels>(&options);
    measure::<btree::BTree>(&options);
    measure::<sorted::Sorted>(&options);
    measure::<hash::Hash>(&options);
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// A search as an async function would be: it says what it will look at, and waits.
async fn as_coroutine<W: Walk>(mut search: W) -> W::Output {
    loop {
        match search.step() {
            WalkStep::Next(place) => prefetch(place).await,
            WalkStep::Done(result) => return result,
        }
    }
}

/// Runs all look-ups; returns the values, the seconds, and the queue's report.
fn timed<R: Run<u64> + Send, H: Hint<u64> + Send>(
    options: &Options,
    mut queue: Queue<u64, R, H>,
    keys: &[u64],
) -> (Vec<R::Output>, f64, Option<QueueReport>)
where
    R::Output: Send,
{
    let start = Instant::now();
    let results = options.pool.install(|| queue.run(keys));
    (results, start.elapsed().as_secs_f64(), queue.report())
}

fn measure<I: Index>(options: &Options) {
    if options.only.as_ref().is_some_and(|only| only != I::NAME) {
        return;
    }
    let index = I::build(options.bytes);
    let mut random = Random(7);
    // One in sixteen is missing.
    let key = |r: u64| {
        if r.is_multiple_of(16) { r % (2 * index.len()) / 2 * 2 } else { r % index.len() * 2 + 1 }
    };
    let keys: Vec<u64> = (0..options.lookups).map(|_| key(random.next())).collect();
    let mut times = [const { Vec::new() }; WAYS.len()];
    let mut found = Vec::new();
    for repeat in 0..options.repeats {
        // Each repeat starts with another way: what else the machine does comes and goes.
        for turn in 0..WAYS.len() {
            let turn = (turn + 3 * repeat) % WAYS.len();
            let (way, times) = (WAYS[turn].1, &mut times[turn]);
            let queue = Queue::new(|key: &u64| index.get(*key)).by_key(|key| index.order(*key));
            let mut queue = queue.data_bytes(index.bytes());
            if let Some((mode, window)) = way {
                queue = queue.mode(mode).window(window);
            }
            let (results, time, report) = if turn > AUTOMATIC {
                timed(options, queue.in_coroutines(|key| as_coroutine(index.search(*key))), &keys)
            } else {
                timed(options, queue.in_steps(|key| index.search(*key)), &keys)
            };
            times.push(time * 1e9 / keys.len() as f64);
            let right = |(key, result): (&u64, &Option<u64>)| {
                *result == (key % 2 == 1).then(|| value(*key))
            };
            assert!(keys.iter().zip(&results).all(right), "each result belongs to its key");
            found.extend(report.filter(|_| way.is_none()));
        }
    }
    println!(
        "{}, {} MiB, {} look-ups, {} thread(s)",
        I::NAME,
        index.bytes() >> 20,
        keys.len(),
        options.pool.current_num_threads()
    );
    let medians = times.each_ref().map(|times| median(times));
    for ((name, _), (median, times)) in WAYS.iter().zip(medians.iter().zip(&times)) {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        println!(
            "  {name:<20}{median:>8.1} ns ({least:.1} to {most:.1}){:>8.2} x",
            medians[0] / median
        );
    }
    let best = (0..AUTOMATIC).min_by(|a, b| medians[*a].total_cmp(&medians[*b])).unwrap_or(0);
    let more: Vec<f64> =
        times[AUTOMATIC].iter().zip(&times[best]).map(|(a, b)| (a / b - 1.0) * 100.0).collect();
    println!(
        "  automatic takes {:+.1} % more than {}, in the median of repeats",
        median(&more),
        WAYS[best].0
    );
    for report in found {
        println!(
            "    {:?}, windows of {}; measured {:.0?}",
            report.mode, report.window, report.costs
        );
    }
}
