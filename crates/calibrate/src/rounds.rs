//! The rounds: every figure once, again and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use befit::ThreadPool;
use befit_machine::{Cache, Cluster, Level, Machine, WorkerId};
use memmap2::MmapMut;

use crate::{
    CalibrateError, Calibration, Effort, Figure, LevelFound, chase, core, fit, pin::pin, prices,
};

/// Misses of a sample: some milliseconds.
const MISSES: u32 = 16_000;

pub(crate) struct Rounds {
    machine: Machine,
    caches: Vec<Cache>,
    /// The levels of one core only.
    private: Vec<Level>,
    ordinary: MmapMut,
    huge: MmapMut,
    sizes: Vec<usize>,
    pool: ThreadPool,
    cpus: Vec<u32>,
    seed: u64,
    samples: BTreeMap<&'static str, Vec<f64>>,
    chases: Vec<Vec<f64>>,
    /// Streams from each level: read, and copied.
    reads: Vec<Vec<f64>>,
    copies: Vec<Vec<f64>>,
    bandwidth: BTreeMap<usize, Vec<f64>>,
}

impl Rounds {
    pub(crate) fn new(machine: Machine) -> Result<Self, CalibrateError> {
        let mut caches: Vec<Cache> =
            machine.path(WorkerId(0)).filter_map(|c| machine.cluster(c).cache).collect();
        caches.sort_by_key(|c| c.level);
        let of_one_core = |c: &&Cluster| {
            let workers = c.workers.start as usize..c.workers.end as usize;
            machine.workers()[workers].iter().all(|w| w.core == 0)
        };
        let private = machine.path(WorkerId(0)).map(|c| machine.cluster(c)).filter(of_one_core);
        let private = private.filter_map(|c| c.cache).map(|c| c.level).collect();
        // Beyond what all last-level caches hold together.
        let outermost = machine.clusters().iter().filter(|c| c.depth == 1);
        let all: u64 = outermost.filter_map(|c| c.cache).map(|c| c.size.0).sum();
        let last = caches.last().map_or(0, |c| c.size.0);
        let most = (2 * all).max(4 * last).clamp(64 << 20, 2 << 30) as usize;
        let sizes = (0..)
            .map(|i| (4096.0 * 2_f64.powf(f64::from(i) / 2.0)) as usize / 64 * 64)
            .take_while(|s| *s <= most)
            .collect::<Vec<_>>();
        let cpus = machine.workers().iter().filter_map(|w| w.os_index).collect();
        Ok(Self {
            ordinary: chase::buffer(most, false)?,
            huge: chase::buffer(most, true)?,
            chases: vec![Vec::new(); sizes.len()],
            reads: vec![Vec::new(); caches.len()],
            copies: vec![Vec::new(); caches.len()],
            pool: prices::pool()?,
            samples: BTreeMap::new(),
            bandwidth: BTreeMap::new(),
            seed: 1,
            machine,
            private,
            caches,
            sizes,
            cpus,
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
        if let Some(cpu) = self.cpus.first() {
            pin(*cpu);
        }
        // Once: then no memory is new any more.
        self.samples.insert("job", prices::job(&self.pool));
        let mut rounds = 0;
        // A round begins only where it can be expected to end within the budget.
        while rounds < least || start.elapsed() * (rounds + 1) < budget * rounds {
            self.round()?;
            rounds += 1;
            let share = start.elapsed().as_secs_f64() / budget.as_secs_f64();
            progress(share.min(1.0));
        }
        Ok(self.evaluate(rounds as usize))
    }

    fn note(&mut self, what: &'static str, value: f64) {
        self.samples.entry(what).or_default().push(value);
    }

    fn round(&mut self) -> Result<(), CalibrateError> {
        self.seed += 1;
        let seed = self.seed;
        if let Some(cpu) = self.cpus.first() {
            pin(*cpu);
        }
        self.note("mhz", core::clock());
        self.note("operation", core::operation());
        for (at, size) in self.sizes.iter().enumerate() {
            let set = &self.ordinary[..*size];
            // The set is touched often enough before that what fits is there.
            chase::read(set);
            let lines = (size / chase::LINE) as u32;
            chase::independent(set, (2 * lines).min(4 * MISSES), seed);
            self.chases[at].push(chase::dependent(set, MISSES, seed + 7));
        }
        let memory = chase::dependent(&self.ordinary, MISSES, seed + 11);
        self.note("memory", memory);
        chase::read(&self.huge); // so that as much of it is cached
        self.note("memory_huge", chase::dependent(&self.huge, MISSES, seed + 13));
        self.note("gather", chase::independent(&self.ordinary, 4 * MISSES, seed + 17));
        let window = self.window(seed + 19);
        self.note("window", window);
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
        self.streams();
        self.note("lock", prices::lock());
        let call = prices::call(&self.machine);
        self.note("call", call);
        let (inlined, pending) = (prices::inlined(&self.pool), prices::pending(&self.pool));
        self.note("inlined", inlined);
        self.note("pending", pending);
        let spawned = prices::spawn(&self.pool);
        self.note("spawn", spawned);
        self.note("fault", prices::fault()?);
        self.pairs();
        Ok(())
    }

    /// Instructions between two misses of which the second still overlaps the first: where a pair
    /// takes half as long again as the nearest one.
    fn window(&self, seed: u64) -> f64 {
        let set = &self.ordinary[..];
        let pairs = MISSES / 16;
        let steps = [
            (0, chase::apart::<0>(set, pairs, seed)),
            (16, chase::apart::<16>(set, pairs, seed + 1)),
            (32, chase::apart::<32>(set, pairs, seed + 2)),
            (48, chase::apart::<48>(set, pairs, seed + 3)),
            (64, chase::apart::<64>(set, pairs, seed + 4)),
            (96, chase::apart::<96>(set, pairs, seed + 5)),
            (128, chase::apart::<128>(set, pairs, seed + 6)),
            (192, chase::apart::<192>(set, pairs, seed + 7)),
        ];
        let limit = steps[0].1 * 1.5;
        let at = steps.iter().position(|(_, time)| *time > limit).unwrap_or(steps.len() - 1).max(1);
        let ((k0, t0), (k1, t1)) = (steps[at - 1], steps[at]);
        let share = ((limit - t0) / (t1 - t0).max(1e-9)).clamp(0.0, 1.0);
        5.0 * (f64::from(k0) + share * f64::from(k1 - k0))
    }

    fn streams(&mut self) {
        let part = self.ordinary.len().min(64 << 20);
        let from = self.seed as usize % (self.ordinary.len() / part) * part;
        let read = chase::read(&self.ordinary[from..from + part]);
        let copy = chase::copy(&mut self.ordinary[from..from + part]);
        let update = chase::update(&mut self.ordinary[from..from + part]);
        self.note("read", read);
        self.note("copy", copy);
        self.note("update", update);
        let all = self.cpus.len().max(1);
        let under = self.machine.cluster(self.machine.last_level(WorkerId(0))).worker_count();
        let under = (under as usize).clamp(1, all);
        let powers = (0..).map(|i| 1 << i).take_while(|n| *n < all);
        for threads in powers.chain([under, all]).collect::<BTreeSet<_>>() {
            let found = self.together(threads, |part| chase::read(part));
            self.bandwidth.entry(threads).or_default().push(64.0 / found);
        }
        let both = self.together(all, chase::update);
        self.note("bandwidth_update", 128.0 / both);
        if under < all {
            let both = self.together(under, chase::update);
            self.note("link_update", 128.0 / both);
        }
        let cpus = &self.cpus;
        let busy = Barrier::new(all);
        let run = |at: usize| {
            cpus.get(at).copied().into_iter().for_each(pin);
            busy.wait();
            core::clock()
        };
        let run = &run;
        let clocks: Vec<f64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..all).map(|at| scope.spawn(move || run(at))).collect();
            threads.into_iter().filter_map(|t| t.join().ok()).collect()
        });
        let mean = clocks.iter().sum::<f64>() / clocks.len().max(1) as f64;
        self.note("mhz_all", mean);
    }

    /// Nanoseconds a line that `threads` threads stream together.
    fn together(&mut self, threads: usize, stream: impl Fn(&mut [u8]) -> f64 + Sync) -> f64 {
        let part = self.ordinary.len() / threads / 64 * 64;
        let (barrier, cpus, stream) = (Barrier::new(threads), &self.cpus, &stream);
        let barrier = &barrier;
        let times: Vec<f64> = thread::scope(|scope| {
            let started = self.ordinary.chunks_exact_mut(part).take(threads).enumerate();
            let started = started.map(|(at, part)| {
                scope.spawn(move || {
                    cpus.get(at).copied().into_iter().for_each(pin);
                    barrier.wait();
                    stream(part)
                })
            });
            started.collect::<Vec<_>>().into_iter().filter_map(|t| t.join().ok()).collect()
        });
        times.iter().copied().fold(0.0, f64::max) / threads as f64
    }

    /// What passes between two cores, near and far.
    fn pairs(&mut self) {
        let Some(&here) = self.cpus.first() else { return };
        let home = self.machine.last_level(WorkerId(0));
        let of = |near: bool| {
            let others = self.machine.workers().iter().enumerate().skip(1);
            let mut of = others.filter(|(at, w)| {
                w.core != 0 && (self.machine.last_level(WorkerId(*at as u32)) == home) == near
            });
            of.next().and_then(|(_, w)| w.os_index)
        };
        let (near, far) = (of(true), of(false));
        if let Some(there) = near {
            self.note("steal", prices::handed(here, there));
            self.lines_of(there, "near_modified", "near_clean");
        }
        if let Some(there) = far {
            self.note("far_steal", prices::handed(here, there));
            self.lines_of(there, "far_modified", "far_clean");
        }
        if let Some(there) = near.or(far) {
            self.note("wake", prices::wake(here, there));
        }
    }

    /// Nanoseconds of a line that only the core of CPU `there` has: one that it has written, and
    /// one that it has read.
    fn lines_of(&mut self, there: u32, modified: &'static str, clean: &'static str) {
        // Half of its innermost cache but one; and a part that this core has not touched lately.
        let private = self.caches.get(1).or(self.caches.first()).map_or(1 << 18, |c| c.size.0);
        let bytes = (private as usize / 2).min(self.ordinary.len() / 2);
        let (set, rest) = self.ordinary.split_at_mut(bytes);
        for (what, writes) in [(modified, true), (clean, false)] {
            chase::read(rest); // the last turn's lines leave all caches
            thread::scope(|scope| {
                let touch = || {
                    pin(there);
                    if writes { chase::update(set) } else { chase::read(set) }
                };
                // A panic of the thread would be one of this one too.
                scope.spawn(touch);
            });
            self.seed += 1;
            let time = chase::dependent(set, (bytes / chase::LINE / 8) as u32, self.seed);
            self.samples.entry(what).or_default().push(time);
        }
    }

    fn evaluate(self, rounds: usize) -> Calibration {
        let try_figure = |what: &str| self.samples.get(what).map(|s| Figure::of(s));
        let zero = Figure { median: 0.0, quartiles: (0.0, 0.0) };
        let figure = |what: &str| try_figure(what).unwrap_or(zero);
        let mhz = figure("mhz");
        let cycle = 1e3 / mhz.median;
        let levels = self.levels(cycle);
        // Some of the loads hit in the last level; each includes an addition, of one cycle.
        let (hits, hit) = levels.last().map_or((0.0, 0.0), |l| {
            (l.capacity.median / self.ordinary.len() as f64, l.latency.median)
        });
        let missed = |figure: Figure| figure.map(|t| (t - cycle - hits * hit) / (1.0 - hits));
        let line = |what: &str| try_figure(what).map(|f| f.map(|t| t - cycle));
        let (memory, gather) = (missed(figure("memory")), figure("gather"));
        Calibration {
            levels,
            rounds,
            mhz,
            mhz_all: figure("mhz_all"),
            memory,
            memory_huge: missed(figure("memory_huge")),
            read: figure("read"),
            update: figure("update"),
            copy: figure("copy"),
            bandwidth: self.bandwidth.iter().map(|(n, s)| (*n, Figure::of(s))).collect(),
            bandwidth_update: figure("bandwidth_update"),
            link_update: try_figure("link_update"),
            // Hits cost a gather next to nothing.
            gather: gather.map(|t| t / (1.0 - hits)),
            window: figure("window"),
            operation: figure("operation"),
            inlined: figure("inlined"),
            pending: figure("pending"),
            spawn: figure("spawn"),
            job: figure("job"),
            call: figure("call"),
            lock: figure("lock"),
            steal: try_figure("steal"),
            far_steal: try_figure("far_steal"),
            near_modified: line("near_modified"),
            near_clean: line("near_clean"),
            far_modified: line("far_modified"),
            far_clean: line("far_clean"),
            wake: try_figure("wake"),
            fault: figure("fault"),
        }
    }

    /// Fits the levels of each third of the rounds and of all: the first tell the spread.
    fn levels(&self, cycle: f64) -> Vec<LevelFound> {
        let rounds = self.chases.first().map_or(0, Vec::len);
        let part = rounds.div_ceil(3).max(1);
        let parts = (0..rounds).step_by(part).map(|at| (at, rounds.min(at + part)));
        let fits: Vec<Vec<(f64, f64)>> =
            parts.map(|(from, to)| self.fit(from, to, cycle)).collect();
        let all = self.fit(0, rounds, cycle);
        let levels = self.caches.iter().zip(&all).enumerate();
        levels
            .map(|(at, (cache, &(capacity, latency)))| {
                let spread = |value: f64, of: &dyn Fn(&(f64, f64)) -> f64| {
                    let found = fits.iter().filter_map(|f| f.get(at)).map(of).collect::<Vec<_>>();
                    Figure { median: value, ..Figure::of(&found) }
                };
                LevelFound {
                    level: cache.level.0,
                    claimed: cache.size.0,
                    capacity: spread(capacity, &|f| f.0),
                    latency: spread(latency, &|f| f.1),
                    read: Figure::of(&self.reads[at]),
                    copy: Figure::of(&self.copies[at]),
                }
            })
            .collect()
    }

    /// Capacity and latency of each level, from some of the rounds.
    fn fit(&self, from: usize, to: usize, cycle: f64) -> Vec<(f64, f64)> {
        let median = |at: usize| Figure::of(&self.chases[at][from..to]).median - cycle;
        let points: Vec<(f64, f64)> =
            self.sizes.iter().enumerate().map(|(at, s)| (*s as f64, median(at))).collect();
        let mut inner: Vec<(f64, f64)> = Vec::new();
        for (at, cache) in self.caches.iter().enumerate() {
            let claimed = cache.size.0 as f64;
            let below = inner.last().map_or(0.0, |(c, _)| *c);
            // Up to where the next level is sure to hold all; of the last, up to memory.
            let next = self.caches.get(at + 1).map(|c| c.size.0 as f64 / 2.0);
            let upto = next.unwrap_or(f64::INFINITY).min(16.0 * claimed);
            let near: Vec<_> =
                points.iter().copied().filter(|(s, _)| *s <= upto && *s > below).collect();
            let least = if below > 0.0 { below * 1.1 } else { claimed / 8.0 };
            let found = fit::level(&near, &inner, least, claimed * 1.1);
            let (capacity, latency) = found.map_or_else(
                || (claimed, near.first().map_or(0.0, |p| p.1)),
                |f| (f.capacity, f.latency),
            );
            // No stranger has a part of a private cache; sets that fill unevenly miss early.
            let whole = self.private.contains(&cache.level) && capacity > 0.8 * claimed;
            inner.push((if whole { claimed } else { capacity.min(claimed) }, latency));
        }
        inner
    }
}
