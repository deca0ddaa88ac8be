//! The rounds: every figure once, again and again.

mod levels;
mod pairs;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use befit::ThreadPool;
use befit_machine::{Cache, Level, Machine, WorkerId};
use memmap2::MmapMut;

use crate::{
    CalibrateError, Calibration, Effort, Figure, LevelFound,
    at_once::at_once,
    chase::{self, All, OneAPage, PAGE},
    core, forks,
    memory::{self, Warm},
    pages::{self, Found},
    pin::pin,
    place::{self, Place, counted},
    prices,
};

/// What each of several threads does with its part of a buffer.
type Stream = fn(&mut [u8]);
const READ: Stream = |part| _ = chase::read(part);
const UPDATE: Stream = |part| _ = chase::update(part);

/// Misses of a sample: some milliseconds.
const MISSES: u32 = 16_000;
/// Lines that are drawn before the latency of memory is measured, and those before a gather.
const BEFORE_MEMORY: u32 = 16 * MISSES;
const BEFORE_GATHER: u32 = BEFORE_MEMORY + MISSES;
/// Loads of a gather.
const GATHERED: u32 = 4 * MISSES;
/// Runs of lines that are written by turns, and the words that are written: 16 lines of each of the
/// most, some milliseconds.
const RUNS: [usize; 5] = [16, 64, 256, 1024, 4096];
const WORDS: usize = 1 << 20;
/// Pools in which a task's first memory is measured, spread over the time.
const FRESH: usize = 9;

pub(crate) struct Rounds {
    machine: Machine,
    caches: Vec<Cache>,
    /// The levels of one core only.
    private: Vec<Level>,
    ordinary: MmapMut,
    huge: MmapMut,
    sizes: Vec<usize>,
    pool: ThreadPool,
    /// Pools whose tasks have all had their first memory. They live, so that it stays theirs.
    used: Vec<ThreadPool>,
    cpus: Vec<u32>,
    /// The memory near each of `cpus`, where the system tells it.
    nodes: Vec<Option<u32>>,
    /// The rounds that have begun.
    round: u64,
    /// The last seed that was used: two stretches that share one load the same lines.
    seed: u64,
    samples: BTreeMap<&'static str, Vec<f64>>,
    chases: Vec<Vec<f64>>,
    /// Of one line a page: of as many lines as `chases`, as far as they are near.
    paged: Vec<Vec<f64>>,
    /// Streams from each level: read, and copied.
    reads: Vec<Vec<f64>>,
    copies: Vec<Vec<f64>>,
    bandwidth: BTreeMap<usize, Vec<f64>>,
    /// Lines written in so many runs by turns.
    runs: BTreeMap<u32, Vec<f64>>,
}

impl Rounds {
    pub(crate) fn new(machine: Machine) -> Result<Self, CalibrateError> {
        let mut caches: Vec<Cache> =
            machine.path(WorkerId(0)).filter_map(|c| machine.cluster(c).cache).collect();
        caches.sort_by_key(|c| c.level);
        let private = levels::private(&machine);
        // Beyond what all last-level caches hold together.
        let outermost = machine.clusters().iter().filter(|c| c.depth == 1);
        let all: u64 = outermost.filter_map(|c| c.cache).map(|c| c.size.0).sum();
        let last = caches.last().map_or(0, |c| c.size.0);
        let cpus: Vec<u32> = machine.workers().iter().filter_map(|w| w.os_index).collect();
        let nodes: Vec<_> = cpus.iter().map(|cpu| memory::node(*cpu)).collect();
        // One of ordinary pages, one of huge ones, and for a time one near all threads.
        let buffers = 2 + u64::from(is_across(&nodes, cpus.len()));
        let wanted = memory::wanted(all, last);
        let most = memory::buffer(wanted, all, buffers, memory::available())?;
        let sizes = (0..)
            .map(|i| (4096.0 * 2_f64.powf(f64::from(i) / 2.0)) as usize / 64 * 64)
            .take_while(|s| *s <= most)
            .collect::<Vec<_>>();
        // Its thread is not to have this one's pin.
        let pool = prices::pool()?;
        // So that the buffers lie near the first core, where they are measured.
        cpus.first().copied().into_iter().for_each(pin);
        Ok(Self {
            ordinary: chase::buffer(most, false)?,
            huge: chase::buffer(most, true)?,
            chases: vec![Vec::new(); sizes.len()],
            paged: Vec::new(),
            reads: vec![Vec::new(); caches.len()],
            copies: vec![Vec::new(); caches.len()],
            pool,
            used: Vec::new(),
            samples: BTreeMap::new(),
            bandwidth: BTreeMap::new(),
            runs: BTreeMap::new(),
            round: 0,
            seed: 0,
            machine,
            private,
            caches,
            sizes,
            cpus,
            nodes,
        })
    }

    pub(crate) fn measure(
        mut self,
        effort: Effort,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Calibration, CalibrateError> {
        let (budget, least) = match effort {
            Effort::Quick => (Duration::from_secs(4), 3),
            Effort::Full => (Duration::from_secs(45), 9),
        };
        let start = Instant::now();
        let mut rounds = 0;
        // A round begins only where it can be expected to end within the budget.
        while rounds < least || start.elapsed() * (rounds + 1) < budget * rounds {
            // In turn on the first core and on the next: strangers may be near one for long.
            let serial = [self.cpus.first().copied(), self.near().or(self.cpus.first().copied())];
            self.round(serial[rounds as usize % 2])?;
            rounds += 1;
            let share = start.elapsed().as_secs_f64() / budget.as_secs_f64();
            progress(share.min(1.0));
            if self.used.len() < FRESH && share * FRESH as f64 >= self.used.len() as f64 {
                self.job()?;
            }
        }
        Ok(self.evaluate(rounds as usize))
    }

    /// Seeds that nothing has used.
    fn seeds<const N: usize>(&mut self) -> [u64; N] {
        [(); N].map(|()| {
            self.seed += 1;
            self.seed
        })
    }

    fn note(&mut self, what: &'static str, value: f64) {
        self.samples.entry(what).or_default().push(value);
    }

    /// The first memory of a task, in a new pool.
    fn job(&mut self) -> Result<(), CalibrateError> {
        let pool = prices::pool()?;
        if let Some(cpu) = self.cpus.first().copied() {
            pool.install(|| pin(cpu));
        }
        self.note("job", prices::job(&pool)?);
        self.used.push(pool);
        Ok(())
    }

    /// One round, whose serial part runs on `cpu`.
    fn round(&mut self, cpu: Option<u32>) -> Result<(), CalibrateError> {
        self.round += 1;
        if let Some(cpu) = cpu {
            pin(cpu);
            self.pool.install(|| pin(cpu));
        }
        self.note("mhz", core::clock());
        self.note("operation", core::operation());
        for at in 0..self.sizes.len() {
            let [before, timed] = self.seeds();
            let set = &self.ordinary[..self.sizes[at]];
            // The set is touched often enough before that what fits is there.
            chase::read(set);
            let lines = (set.len() / chase::LINE) as u32;
            chase::independent::<All>(set, (2 * lines).min(4 * MISSES), before);
            self.chases[at].push(chase::dependent::<All>(set, MISSES, timed));
        }
        let near = self.near_lines() as usize;
        self.paged.resize_with(self.sizes.partition_point(|s| s / chase::LINE <= near), Vec::new);
        for at in 0..self.paged.len() {
            let [before, timed] = self.seeds();
            let lines = self.sizes[at] / chase::LINE;
            let set = &self.ordinary[..lines * PAGE];
            chase::read_in_order::<OneAPage>(set);
            chase::independent::<OneAPage>(set, (2 * lines as u32).min(4 * MISSES), before);
            self.paged[at].push(chase::dependent::<OneAPage>(set, MISSES, timed));
        }
        let walk_gather = self.walk_gather();
        self.note("walk_gather", walk_gather);
        let [huge, before, memory, gather] = self.seeds();
        chase::read(&self.huge); // so that as much of it is cached
        self.note("memory_huge", chase::dependent::<All>(&self.huge, MISSES, huge));
        // As in a program that goes on for long: what finds the pages is in the caches.
        chase::independent::<All>(&self.ordinary, BEFORE_MEMORY, before);
        self.note("memory", chase::dependent::<All>(&self.ordinary, MISSES, memory));
        self.note("gather", chase::independent::<All>(&self.ordinary, GATHERED, gather));
        let window = self.window();
        self.note("window", window);
        self.scatter();
        let mut inner = 0;
        for (at, cache) in self.caches.iter().enumerate() {
            // Strangers may leave little of a shared cache: no more than the next level needs.
            let bytes = (cache.size.0 / 4).min(if inner == 0 { u64::MAX } else { 4 * inner });
            inner = cache.size.0;
            let whole = self.ordinary.len();
            let set = &mut self.ordinary[..(bytes as usize).min(whole)];
            let passes = (MISSES as usize * chase::LINE / set.len()).max(1);
            let mut mean = |stream: &dyn Fn(&mut [u8]) -> f64| {
                stream(set);
                (0..passes).map(|_| stream(set)).sum::<f64>() / passes as f64
            };
            self.reads[at].push(mean(&|set| chase::read(set)));
            self.copies[at].push(mean(&chase::copy));
        }
        self.streams()?;
        self.note("lock", prices::lock());
        let call = prices::call(&self.machine, self.round);
        self.note("call", call);
        let inlined = forks::inlined(&self.pool);
        self.note("inlined", inlined);
        let kept = forks::kept(cpu)?;
        self.note("pending", kept.pending);
        self.note("region", kept.region);
        self.note("published", kept.published);
        let spawned = prices::spawn(&self.pool);
        self.note("spawn", spawned);
        self.note("fault", prices::fault()?);
        self.pairs()
    }

    /// How much longer a load of a gather takes of one line a page than of as many lines side by
    /// side.
    fn walk_gather(&mut self) -> f64 {
        let [one_before, one_timed, side_before, side_timed] = self.seeds();
        let lines = self.near_lines() as usize;
        let (one, side) = (&self.ordinary[..lines * PAGE], &self.ordinary[..lines * chase::LINE]);
        chase::read_in_order::<OneAPage>(one);
        chase::independent::<OneAPage>(one, GATHERED, one_before);
        let one = chase::independent::<OneAPage>(one, GATHERED, one_timed);
        chase::read(side);
        chase::independent::<All>(side, GATHERED, side_before);
        one - chase::independent::<All>(side, GATHERED, side_timed)
    }

    /// Lines that are sure to stay in the second-level cache, with the page tables for them.
    fn near_lines(&self) -> f64 {
        let cache = self.caches.get(1).or(self.caches.first()).map_or(1 << 20, |c| c.size.0);
        let most = self.ordinary.len() / PAGE;
        (cache as f64 / 2.0 / chase::LINE as f64).max(4096.0).min(most as f64)
    }

    /// What finding pages takes, from some of the rounds.
    fn pages(&self, from: usize, to: usize) -> Found {
        let times = |chases: &[Vec<f64>]| -> Vec<f64> {
            chases.iter().map(|times| Figure::time(&times[from..to]).value).collect()
        };
        Found::new(&times(&self.paged), &times(&self.chases), self.near_lines())
    }

    /// Instructions between two misses of which the second still overlaps the first: where a pair
    /// takes half as long again as the nearest one.
    fn window(&mut self) -> f64 {
        let seeds: [u64; 8] = self.seeds();
        let set = &self.ordinary[..];
        let pairs = MISSES / 16;
        let steps = [
            (0, chase::apart::<0>(set, pairs, seeds[0])),
            (16, chase::apart::<16>(set, pairs, seeds[1])),
            (32, chase::apart::<32>(set, pairs, seeds[2])),
            (48, chase::apart::<48>(set, pairs, seeds[3])),
            (64, chase::apart::<64>(set, pairs, seeds[4])),
            (96, chase::apart::<96>(set, pairs, seeds[5])),
            (128, chase::apart::<128>(set, pairs, seeds[6])),
            (192, chase::apart::<192>(set, pairs, seeds[7])),
        ];
        let limit = steps[0].1 * 1.5;
        let at = steps.iter().position(|(_, time)| *time > limit).unwrap_or(steps.len() - 1).max(1);
        let ((k0, t0), (k1, t1)) = (steps[at - 1], steps[at]);
        let share = ((limit - t0) / (t1 - t0).max(1e-9)).clamp(0.0, 1.0);
        5.0 * (f64::from(k0) + share * f64::from(k1 - k0))
    }

    /// Lines that are written by turns with others, anywhere and in runs.
    fn scatter(&mut self) {
        let [seed] = self.seeds();
        let anywhere = chase::scatter(&mut self.ordinary, RUNS[0], WORDS, true, seed);
        self.note("scattered", anywhere);
        for runs in RUNS {
            let [seed] = self.seeds();
            let time = chase::scatter(&mut self.ordinary, runs, WORDS, false, seed);
            self.runs.entry(runs as u32).or_default().push(time);
        }
    }

    fn streams(&mut self) -> Result<(), CalibrateError> {
        let last = self.caches.last().map_or(0, |c| c.size.0);
        let whole = self.ordinary.len();
        let part = streamed(last, whole);
        // Each has lines of its own, if there are so many: the last-level cache may keep some.
        let round = self.round as usize;
        let from = [0, 1, 2].map(|at| (3 * round + at) % (whole / part) * part);
        let read = chase::read(&self.ordinary[from[0]..][..part]);
        let copy = chase::copy(&mut self.ordinary[from[1]..][..part]);
        let update = chase::update(&mut self.ordinary[from[2]..][..part]);
        self.note("read", read);
        self.note("copy", copy);
        self.note("update", update);
        // CPUs may have no numbers.
        let all = self.machine.workers().len().max(1);
        let under = self.machine.cluster(self.machine.last_level(WorkerId(0))).worker_count();
        let under = (under as usize).clamp(1, all);
        let powers = (0..).map(|i| 1 << i).take_while(|n| *n < all);
        for threads in powers.chain([under, all]).collect::<BTreeSet<_>>() {
            let is_updated = threads == under || threads == all;
            let streams = if is_updated { &[READ, UPDATE][..] } else { &[READ] };
            let found = self.together(threads, streams)?;
            self.bandwidth.entry(threads).or_default().push(64.0 / found[0]);
            if threads == all {
                self.note("bandwidth_update", 128.0 / found[1]);
            } else if threads == under {
                self.note("link_update", 128.0 / found[1]);
            }
        }
        let cpus = &self.cpus;
        let prepare = |at: usize, (): &mut ()| cpus.get(at).copied().into_iter().for_each(pin);
        let (clocks, _) = at_once((0..all).map(|_| ()), prepare, |()| core::clock())?;
        let mean = clocks.iter().sum::<f64>() / clocks.len().max(1) as f64;
        self.note("mhz_all", mean);
        Ok(())
    }

    /// Nanoseconds a line that `threads` threads stream together, of each of `streams`: each thread
    /// has a part of the buffer, which lies in the memory near it.
    fn together(&mut self, threads: usize, streams: &[Stream]) -> Result<Vec<f64>, CalibrateError> {
        let mut fresh = match is_across(&self.nodes, threads) {
            true => Some(chase::untouched(self.ordinary.len())?),
            false => None,
        };
        let is_fresh = fresh.is_some();
        let buffer = fresh.as_mut().unwrap_or(&mut self.ordinary);
        stream_together(&self.cpus, threads, buffer, streams, is_fresh)
    }

    fn evaluate(self, rounds: usize) -> Calibration {
        let mhz = Figure::rate(&self.samples["mhz"]);
        let cycle = 1e3 / mhz.value;
        let parts = |number: usize| -> Vec<Found> {
            self.parts(number).into_iter().map(|(from, to)| self.pages(from, to)).collect()
        };
        let found = self.pages(0, rounds);
        let (tlb, walk) = pages::figures(&found, &parts(2), &parts(3)).unzip();
        let levels = self.levels(cycle, &found);
        let raw_memory = Figure::time(&self.samples["memory"]);
        let (counted, as_described) = self.counted(&levels, raw_memory.value);
        let counted = |samples: &[f64]| place::of_counted(samples, &counted);
        let time = |what: &str| Figure::time(&self.samples[what]);
        let between = |what: &str| Figure::time_of_rounds(&counted(self.samples.get(what)?));
        let far = |what: &str| Some(Figure::time(self.samples.get(what)?));
        let rate = |samples: &[f64]| Figure::rate_of_rounds(&counted(samples));
        let rates = |what: &str| rate(self.samples.get(what)?);
        let streamed = |(threads, samples): (&usize, &Vec<f64>)| {
            let several = if *threads > 1 { rate(samples) } else { None };
            (*threads, several.unwrap_or_else(|| Figure::rate(samples)))
        };
        // Some of the loads hit in the last level; each includes an addition, of one cycle.
        let (full, hit) = levels.last().map_or((0.0, 0.0), |l| {
            (l.capacity.value / self.ordinary.len() as f64, l.latency.value)
        });
        let missed =
            |figure: Figure, hits: f64| figure.map(|t| (t - cycle - hits * hit) / (1.0 - hits));
        let warm = Warm { full, lines: self.ordinary.len() / chase::LINE };
        let share = found.share(self.near_lines()).max(0.1);
        let walk_gather = tlb.map(|_| time("walk_gather").map(|t| t.max(0.01) / share));
        let line = |figure: Option<Figure>| figure.map(|f| f.map(|t| t - cycle));
        Calibration {
            levels,
            rounds,
            as_described,
            mhz,
            mhz_all: rates("mhz_all").unwrap_or(mhz),
            memory: missed(raw_memory, warm.hits(BEFORE_MEMORY, MISSES)),
            // All of that buffer was read just before.
            memory_huge: missed(time("memory_huge"), full),
            memory_pages: self.ordinary.len() / PAGE,
            read: time("read"),
            update: time("update"),
            copy: time("copy"),
            bandwidth: self.bandwidth.iter().map(streamed).collect(),
            bandwidth_update: rates("bandwidth_update")
                .unwrap_or_else(|| Figure::rate(&self.samples["bandwidth_update"])),
            link_update: rates("link_update"),
            // Hits cost a gather next to nothing.
            gather: time("gather").map(|t| t / (1.0 - warm.hits(BEFORE_GATHER, GATHERED))),
            tlb,
            walk,
            walk_gather,
            tables: pages::tables(),
            random_frames: pages::have_random_frames(),
            window: Figure::rate(&self.samples["window"]),
            scattered: time("scattered"),
            runs: self.runs.iter().map(|(n, times)| (*n, Figure::time(times))).collect(),
            operation: time("operation"),
            inlined: time("inlined"),
            pending: time("pending"),
            region: time("region"),
            published: time("published"),
            stolen: between("stolen"),
            spawn: time("spawn"),
            job: time("job"),
            call: time("call"),
            lock: time("lock"),
            steal: between("steal"),
            far_steal: far("far_steal"),
            near_modified: line(between("near_modified")),
            near_clean: line(between("near_clean")),
            far_modified: line(far("far_modified")),
            far_clean: line(far("far_clean")),
            wake: between("wake"),
            fault: time("fault"),
        }
    }

    /// The rounds in which the first core and the near one were where the system says, and the
    /// share of them.
    fn counted(&self, levels: &[LevelFound], memory: f64) -> (Vec<bool>, f64) {
        let level = self.shared_with_near().map(|Level(level)| level);
        let shared = levels.iter().find(|found| Some(found.level) == level);
        let (Some(shared), Some(times)) = (shared, self.samples.get("near_modified")) else {
            return (Vec::new(), 1.0);
        };
        let place = |time: &f64| Place::of(*time, shared.latency.value, memory);
        counted(&times.iter().map(place).collect::<Vec<_>>())
    }
}

/// Bytes of a buffer of `whole` that one thread streams at a time: far more than the last-level
/// cache of `last` bytes may have of them.
fn streamed(last: u64, whole: usize) -> usize {
    const LEAST: usize = 64 << 20;
    LEAST.max(4 * last as usize).min(whole)
}

/// Whether the first so many threads have memories near them that are not all the same.
fn is_across(nodes: &[Option<u32>], threads: usize) -> bool {
    nodes.iter().take(threads).any(|node| *node != nodes[0])
}

/// Nanoseconds a line that `threads` threads stream together, of each of `streams`. They are pinned
/// to the first of `cpus`. If the buffer `is_fresh`, each has the pages of its part provided first.
fn stream_together(
    cpus: &[u32],
    threads: usize,
    buffer: &mut [u8],
    streams: &[Stream],
    is_fresh: bool,
) -> Result<Vec<f64>, CalibrateError> {
    // Whole pages: each is near one thread.
    let part = (buffer.len() / threads / PAGE).max(1) * PAGE;
    let measured = streams.iter().enumerate().map(|(nth, stream)| {
        let prepare = |at: usize, part: &mut &mut [u8]| {
            cpus.get(at).copied().into_iter().for_each(pin);
            if is_fresh && nth == 0 {
                chase::touch(part);
            }
        };
        let parts = buffer.chunks_exact_mut(part).take(threads);
        let lines = parts.len() * part / chase::LINE;
        let (_, time) = at_once(parts, prepare, |part| stream(part))?;
        Ok(time.as_secs_f64() * 1e9 / lines as f64)
    });
    measured.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_what_one_thread_streams_is_four_times_the_last_level_cache() {
        assert_eq!(streamed(8 << 20, 128 << 20), 64 << 20);
        assert_eq!(streamed(384 << 20, 2 << 30), 1536 << 20);
        assert_eq!(streamed(384 << 20, 768 << 20), 768 << 20, "memory has no more");
    }

    #[test]
    fn threads_are_across_memories_where_one_of_them_has_another_near_it() {
        let nodes = [Some(0), Some(0), Some(1)];
        assert_eq!([1, 2, 3, 9].map(|n| is_across(&nodes, n)), [false, false, true, true]);
        assert!(!is_across(&[None, None], 2));
        assert!(!is_across(&[], 1));
    }

    #[test]
    fn threads_that_stream_together_touch_each_its_own_part_of_a_fresh_buffer() {
        let mut buffer = chase::untouched(8 * PAGE).unwrap();
        let fill: Stream = |part| part.fill(1);
        let found = stream_together(&[], 3, &mut buffer, &[READ, fill], true).unwrap();
        assert!(found.len() == 2 && found.iter().all(|time| *time > 0.0), "{found:?}");
        // Of eight pages each of three threads has two.
        assert_eq!(buffer.iter().filter(|byte| **byte == 1).count(), 6 * PAGE);
    }
}
