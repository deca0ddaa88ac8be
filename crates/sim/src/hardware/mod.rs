//! What all strands run through: the caches, the memory, the cores, and what they cost.

mod blocks;
mod charge;

use befit_cache::{Access, Found, Hierarchy, PrefetchPlan};
use befit_machine::{CleanSource, Cluster, ClusterId, Lines, Machine, Worker, WorkerId};
use befit_program::{Program, Sample, Touch};
use befit_sched::WorkerCounts;

use crate::{
    SimError,
    account::{Account, Contended, Handovers, Part, Strides},
    atomics::Atomics,
    clock::Ticks,
    execution::OPERATION,
    frames::PageFrames,
    hot::Hot,
    latency,
    ledger::Booking,
    line_size,
    memory::{Memory, Passing},
    runs::Runs,
    sampled::{self, scale},
    tlb::Tlbs,
    waits::{InFlight, Waits},
    work,
};

/// Recorded lines of a page.
pub(crate) const PAGE_LINES: u32 = 64;

/// What all strands run through: the caches, the memory, and what they cost.
#[derive(Debug)]
pub(crate) struct Hardware {
    pub(crate) caches: Hierarchy,
    /// The hot lines of a sample that has some.
    pub(crate) hot: Option<Hot>,
    pub(crate) memory: Memory,
    /// Per cluster: the time that a hit there costs beyond a hit in the innermost cache, which the
    /// pipeline hides; for the root, a miss everywhere.
    pub(crate) reach: Vec<Ticks>,
    /// Per cluster: the same where another cache below it hands the line over.
    transfer: Vec<Ticks>,
    /// Per cluster: the time from one line of a stream to the next, when they come from there.
    pub(crate) streams: Vec<Ticks>,
    /// As `reach`, for a line in another last-level cache, of the same package and of another.
    remote: Ticks,
    far: Ticks,
    /// Whether clean lines that another last-level cache holds come from memory all the same.
    clean_from_memory: bool,
    /// How many did.
    clean_lines: u64,
    /// Lines from a last-level cache of another package.
    far_lines: u64,
    /// The price of a page's first touch: a share of the pages faulted in the plain run.
    fault: Ticks,
    /// Pages that have been touched, a bit each; empty where a first touch costs nothing.
    touched: Vec<u64>,
    /// Where the program's pages lie; `None` where they lie side by side.
    frames: Option<PageFrames>,
    pub(crate) tlbs: Option<Tlbs>,
    /// `None` where prefetchers follow only what the recording marks.
    pub(crate) runs: Option<Runs>,
    pub(crate) atomics: Atomics,
    /// Which misses overlap.
    pub(crate) flight: InFlight,
    /// Per worker: what it has in flight, and the operations behind it.
    pub(crate) waits: Vec<(Waits, u64)>,
    /// By class of strands.
    pub(crate) cycles_per_operation: Vec<f64>,
    /// Lines of shared data; the workers' stacks lie above.
    shared_lines: u32,
    stack_lines: u32,
    /// Tasks' blocks, whose lines lie above these; 0 where they have none.
    blocks: u32,
    /// Lines of the touches per line of this machine, as a power of two.
    coarser: u32,
    /// Lines of the program that one of these stands for.
    pub(crate) each: u64,
    /// Per worker: its core, and its slowness against the fastest core.
    pub(crate) cores: Vec<(u32, f64)>,
    /// Per core: workers that run a strand; they share its issue slots.
    pub(crate) busy: Vec<u32>,
    /// Per cluster: whether only one core uses its cache.
    private: Vec<bool>,
    /// Per worker: what it has done.
    pub(crate) counts: Vec<WorkerCounts>,
    /// Whether an account is kept of what time went on.
    accounted: bool,
    /// Per worker: what its strands' time went on.
    pub(crate) accounts: Vec<Account<Ticks>>,
    strides: Vec<Strides>,
    pub(crate) handovers: Handovers,
    /// What misses come from, if that was asked for.
    pub(crate) booking: Option<Box<Booking>>,
}

/// One touch's way through the caches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Its number.
    pub(crate) line: u32,
    /// When the wires have passed it on.
    pub(crate) passed: Ticks,
    /// How long it takes from then on.
    pub(crate) latency: Ticks,
    /// What finding its page takes before that.
    pub(crate) walk: Ticks,
    /// How long after the line before it comes, as one of a stream.
    pub(crate) stream: Ticks,
    /// What the first touch of its page takes, during which the core does nothing else.
    pub(crate) fault: Ticks,
    /// Where it came from, or why that is far.
    pub(crate) part: Part,
    /// It is taken from others for an atomic read-modify-write: when the worker has it.
    pub(crate) taken: Option<Ticks>,
    /// Prefetchers saw it coming.
    pub(crate) followed: bool,
}

impl Line {
    /// The same, of a line whose times are those of `each`, for one line.
    fn single(self, each: u64) -> Self {
        let one = |time: Ticks| Ticks(time.0 / each);
        Self { latency: one(self.latency), stream: one(self.stream), ..self }
    }
}

impl Hardware {
    pub(crate) fn new(
        program: &Program,
        sample: Option<&Sample>,
        machine: &Machine,
        seed: u64,
        accounted: bool,
    ) -> Result<Self, SimError> {
        let (line, coarser) =
            line_size(machine, program.meta().line_size).map_err(SimError::Machine)?;
        let each = scale(sample);
        let (shared_lines, stack_lines, coarser) = match sample {
            Some(sample) if sample.coarser() != coarser => {
                return Err(SimError::Machine("the sample is of lines of another length".into()));
            }
            // Its lines are the machine's.
            Some(sample) => (sample.lines() + 1, sample.stack_lines() + 1, 0),
            None => {
                let count = |lines: u32| (lines >> coarser) + 1;
                (count(program.lines()), count(program.stack_lines()), coarser)
            }
        };
        let workers = machine.workers().len() as u32;
        let blocks = blocks::count(program, sample, machine);
        let stacks = stack_lines.checked_mul(workers);
        let above = stacks.and_then(|stacks| stacks.checked_add(blocks * blocks::lines(coarser)));
        let lines = above.and_then(|above| above.checked_add(shared_lines)).ok_or_else(|| {
            SimError::Machine(format!("{workers} stacks of {stack_lines} lines are too many lines"))
        })?;
        let innermost = machine.clusters().iter().filter(|c| c.children.is_empty());
        let hidden = innermost.filter_map(|c| c.cache).map(|c| c.latency.0).min().unwrap_or(0);
        let beyond = |latency: u64| Ticks::cycles(latency.saturating_sub(hidden) * each);
        let clusters = (0..machine.clusters().len() as u32).map(ClusterId);
        let reach: Vec<_> = clusters.map(|c| beyond(latency(machine, c))).collect();
        let flight = InFlight::new(
            u64::from(machine.memory.window) * each,
            machine.memory.parallelism,
            machine.memory.streams(),
            machine.memory.pages.map_or(1.0, |pages| pages.walks),
            OPERATION,
            each,
        );
        let core = |w: &Worker| (w.core, 100.0 / f64::from(w.speed.max(1)));
        let cores: Vec<_> = machine.workers().iter().map(core).collect();
        let faults = program.work_run().map_or(0.0, |run| run.faults_per_page);
        let fault = Ticks::fractional(faults * machine.prices.fault);
        let core_count = cores.iter().map(|c| c.0 as usize + 1).max().unwrap_or(0);
        let frames = PageFrames::new(machine, lines, coarser, each, seed);
        let physical = frames.as_ref().map_or(lines, PageFrames::lines);
        let tlbs = Tlbs::new(machine, core_count, physical, coarser, each);
        let (tlbs, tables) = tlbs.map_or((None, 0), |(tlbs, tables)| (Some(tlbs), tables));
        Ok(Self {
            caches: sampled::caches(sample, machine, physical.saturating_add(tables), seed)?,
            hot: Hot::new(sample, machine, seed)?,
            memory: Memory::new(machine, line, lines, each)?,
            transfer: machine
                .clusters()
                .iter()
                .map(|c| beyond(c.cache.map_or(0, |c| c.transfer.unwrap_or(c.latency).0)))
                .collect(),
            streams: machine
                .clusters()
                .iter()
                .zip(&reach)
                .map(|(c, reach)| match c.cache.and_then(|cache| cache.stream) {
                    Some(stream) => Ticks::fractional(stream * each as f64),
                    None => flight.a_stream(*reach),
                })
                .collect(),
            reach,
            remote: beyond(machine.memory.remote_latency.0),
            far: beyond(machine.memory.far_latency.0),
            clean_from_memory: machine.memory.clean == CleanSource::Memory,
            clean_lines: 0,
            far_lines: 0,
            fault,
            touched: if fault == Ticks::default() {
                Vec::new()
            } else {
                vec![0; (u64::from(shared_lines) * each) as usize / PAGE_LINES as usize / 64 + 1]
            },
            frames,
            tlbs,
            runs: Runs::new(machine, core_count, coarser, each),
            atomics: Atomics::new(program, machine, sample, coarser),
            flight,
            waits: vec![Default::default(); workers as usize],
            cycles_per_operation: work::cycles_per_operation(program, machine),
            shared_lines,
            stack_lines,
            blocks,
            coarser,
            each,
            cores,
            busy: vec![0; core_count],
            private: machine
                .clusters()
                .iter()
                .map(|c| c.cache.is_some() && is_one_cores(machine, c))
                .collect(),
            counts: vec![WorkerCounts::default(); workers as usize],
            accounted,
            accounts: vec![Account::default(); workers as usize],
            strides: vec![Strides::default(); workers as usize],
            handovers: Handovers::new(),
            booking: None,
        })
    }

    /// Before the program's parallel part one thread has made its data, in the order of addresses:
    /// the caches of worker 0 are left as that leaves them. Pages that the plain run has met as new
    /// ones in the parallel part, the last, are not among them.
    pub(crate) fn prepare(&mut self, program: &Program) {
        let new = program.work_run().map_or(0.0, |run| run.faults_per_page.min(1.0));
        self.prepare_all_but(new);
    }

    /// The same, of all lines but a share.
    pub(crate) fn prepare_all_but(&mut self, new: f64) {
        let lines = (f64::from(self.shared_lines) * (1.0 - new)) as u32;
        for line in 0..lines {
            let line = self.physical(line);
            let _ = self.caches.access(WorkerId(0), line, true);
        }
    }

    /// Whether hits in the cache of `cluster` cost nothing beside the operations.
    pub(crate) fn is_nearest(&self, cluster: ClusterId) -> bool {
        self.reach[cluster.index()] == Ticks::default()
    }

    /// The machine's line for a touch by `worker`: its own stack's where the touch is on the stack.
    #[inline]
    pub(crate) fn line(&self, worker: WorkerId, touch: Touch) -> u32 {
        let line = touch.line >> self.coarser;
        if touch.stack { self.shared_lines + worker.0 * self.stack_lines + line } else { line }
    }

    /// Where the caches look for `line`, of this machine.
    #[inline]
    pub(crate) fn physical(&self, line: u32) -> u32 {
        self.frames.as_ref().map_or(line, |frames| frames.of(line))
    }

    /// The line of a touch by `worker`, as planned.
    #[inline]
    pub(crate) fn planned(&self, worker: WorkerId, plan: &PrefetchPlan, touch: Touch) -> u32 {
        if self.frames.is_some() { self.line(worker, touch) } else { plan.line() }
    }

    /// Worker `worker` begins to run strands at `now`.
    pub(crate) fn enter(&mut self, worker: WorkerId, now: Ticks) {
        self.busy[self.cores[worker.index()].0 as usize] += 1;
        self.waits[worker.index()].0.come_back(now);
    }

    /// Worker `worker` stops running strands at `now`. Returns how long it waits for what is in
    /// flight.
    pub(crate) fn leave(&mut self, worker: WorkerId, now: Ticks) -> Ticks {
        self.busy[self.cores[worker.index()].0 as usize] -= 1;
        let waits = &mut self.waits[worker.index()].0;
        let wait = waits.all(self.flight, now);
        let reason = waits.waited;
        self.charge(worker, wait, reason);
        let Some(hot) = &mut self.hot else { return wait };
        let waits = &mut hot.waits[worker.index()];
        let more = waits.all(self.flight.single(), now + wait);
        let reason = waits.waited;
        self.charge(worker, more, reason);
        wait + more
    }

    /// The lines of the program before `line`, of this machine.
    #[inline]
    fn place(&self, line: u32) -> u64 {
        u64::from(line) * self.each
    }

    /// What it costs that `line`, of this machine and at `place`, comes from memory for the first
    /// time.
    fn first_touch(&mut self, line: u32, place: u64) -> Ticks {
        let page = (place << self.coarser) / u64::from(PAGE_LINES);
        match self.touched.get_mut(page as usize / 64) {
            Some(pages) if line < self.shared_lines && *pages >> (page % 64) & 1 == 0 => {
                *pages |= 1 << (page % 64);
                self.fault
            }
            _ => Ticks::default(),
        }
    }

    /// How long the line of atomics is on its way to `worker`, which writes it.
    fn way(&mut self, worker: WorkerId, line: u32, own: bool, latency: Ticks) -> Ticks {
        let Some((cluster, other)) = self.atomics.common(worker, line) else { return latency };
        let way = if own { self.handover(worker, other, cluster) } else { latency };
        way.max(self.atomics.handed(cluster))
    }

    /// How long a line is on its way to `worker` that `other` has written. `common` is the smallest
    /// cluster of both.
    pub(crate) fn handover(&self, worker: WorkerId, other: WorkerId, common: ClusterId) -> Ticks {
        match common {
            ClusterId::ROOT if self.memory.are_far(worker, other) => self.far,
            ClusterId::ROOT => self.remote,
            cluster => self.transfer[cluster.index()],
        }
    }

    /// One touch, as planned, at `now`.
    #[inline]
    pub(crate) fn touch<const HOT: bool>(
        &mut self,
        worker: WorkerId,
        plan: &PrefetchPlan,
        touch: Touch,
        now: Ticks,
    ) -> Line {
        if HOT
            && let Some(hot) = &mut self.hot
            && let Some(number) = hot.number(touch)
        {
            let access = hot.caches.access_planned(plan);
            let passing = Passing { place: hot.place(number), single: true, now };
            let line = self.found(worker, touch, touch.line, access, passing);
            return line.single(self.each);
        }
        let line = self.planned(worker, plan, touch);
        let access = self.caches.access_planned(plan);
        let passing = Passing { place: self.place(line), single: false, now };
        self.found(worker, touch, line, access, passing)
    }

    /// A touch of `line`, which the caches have given that way, and which sets out as `passing`
    /// says where it comes from afar.
    #[inline(always)]
    fn found(
        &mut self,
        worker: WorkerId,
        touch: Touch,
        line: u32,
        access: Access,
        passing: Passing,
    ) -> Line {
        let Passing { place, single, now } = passing;
        let each = if single { 1 } else { self.each };
        let part = self.part(worker, touch, line, &access);
        self.write_back(worker, &access, passing);
        self.count(worker, access.found, each);
        if self.booking.is_some() {
            self.book(worker, touch, &access, part);
        }
        let (root, no) = (ClusterId::ROOT.index(), Ticks::default());
        let nothing = Line {
            line,
            passed: now,
            latency: no,
            walk: no,
            stream: no,
            fault: no,
            part,
            taken: None,
            followed: touch.streaming,
        };
        let from_memory = Line { latency: self.reach[root], stream: self.streams[root], ..nothing };
        let mut found = match access.found {
            Found::Own(cluster) => {
                let stream = self.streams[cluster.index()];
                Line { latency: self.reach[cluster.index()], stream, ..nothing }
            }
            Found::Sibling(cluster) => {
                let stream = self.streams[cluster.index()];
                Line { latency: self.transfer[cluster.index()], stream, ..nothing }
            }
            Found::Remote { from, modified } if modified || !self.clean_from_memory => {
                let far = self.memory.is_far(worker, from);
                self.far_lines += u64::from(far) * each;
                let latency = if far { self.far } else { self.remote };
                let passed = self.memory.supply(worker, from, passing);
                Line { passed, latency, stream: self.flight.a_stream(latency), ..nothing }
            }
            Found::Remote { .. } => {
                self.clean_lines += each;
                let passed = self.memory.read(worker, passing);
                Line { passed, ..from_memory }
            }
            Found::Memory => {
                let passed = self.memory.read(worker, passing);
                Line { passed, fault: self.first_touch(line, place), ..from_memory }
            }
        };
        if !single && found.latency != no {
            found.followed = self.is_followed(worker, touch, line);
        }
        found.walk = self.walk_to(worker, &found, passing);
        if !self.atomics.has(line) {
            return found;
        }
        self.atomics.note(worker, line);
        let own = matches!(access.found, Found::Own(cluster) if self.private[cluster.index()]);
        let taken = (touch.write && (access.invalidated || !own)).then(|| {
            let way = self.way(worker, line, own, found.latency);
            self.atomics.take(line, found.passed, Ticks(way.0 / (self.each / each)))
        });
        Line { taken, ..found }
    }

    /// Dirty lines go to memory because of an access.
    #[inline(always)]
    fn write_back(&mut self, worker: WorkerId, access: &Access, passing: Passing) {
        let mut victims = access.written_back;
        if let Found::Remote { from, modified: true } = access.found
            && !access.invalidated
        {
            // Both have it from now on, and memory has it, too.
            victims -= 1;
            self.memory.write_shared(worker, from, passing);
        }
        for _ in 0..victims {
            self.memory.write_back(worker, passing);
        }
    }

    /// What it takes to find the page of a line that is not in the innermost cache.
    #[inline(always)]
    fn walk_to(&mut self, worker: WorkerId, found: &Line, passing: Passing) -> Ticks {
        if self.tlbs.is_none() || passing.single || found.latency == Ticks::default() {
            return Ticks::default();
        }
        let Some(walk) = self.walk(worker, found.line).filter(|_| !found.followed) else {
            return Ticks::default();
        };
        let passed = (0..walk.from_memory).map(|_| self.memory.read(worker, passing)).last();
        walk.time + passed.map_or(Ticks::default(), |passed| passed.since(passing.now))
    }

    /// The lines that went to and fro most, as the program numbers them.
    pub(crate) fn worst_contended(&self) -> Vec<Contended> {
        let recorded = |line: Contended| Contended { line: line.line << self.coarser, ..line };
        self.handovers.worst().into_iter().map(recorded).collect()
    }

    /// A count of the caches, for all lines of the program.
    fn whole(&self, of: impl Fn(&Hierarchy) -> Lines) -> Lines {
        let hot = self.hot.as_ref().map_or(Lines(0), |hot| of(&hot.caches));
        Lines(of(&self.caches).0 * self.each) + hot
    }

    /// Counts of the cache of `cluster`: accesses, misses, and those of them for coherence.
    pub(crate) fn counts(&self, cluster: ClusterId) -> [Lines; 3] {
        [
            self.whole(|caches| caches.counts(cluster).accesses),
            self.whole(|caches| caches.counts(cluster).misses),
            self.whole(|caches| caches.counts(cluster).coherence_misses),
        ]
    }

    /// Lines that came from memory.
    pub(crate) fn memory_reads(&self) -> Lines {
        self.whole(Hierarchy::memory_reads) + Lines(self.clean_lines)
    }

    /// Lines written back to memory.
    pub(crate) fn memory_writes(&self) -> Lines {
        self.whole(Hierarchy::memory_writes)
    }

    /// Lines that came from a last-level cache of another package.
    pub(crate) fn far_hits(&self) -> Lines {
        Lines(self.far_lines)
    }

    /// Lines that came from another last-level cache.
    pub(crate) fn remote_hits(&self) -> Lines {
        self.whole(Hierarchy::remote_hits) - Lines(self.clean_lines)
    }

    /// Lines that came from a cache beside the worker's own, below a common one.
    pub(crate) fn sibling_hits(&self) -> Lines {
        self.whole(Hierarchy::sibling_hits)
    }
}

/// Whether all workers under the cluster are hardware threads of one core.
fn is_one_cores(machine: &Machine, cluster: &Cluster) -> bool {
    let workers = &machine.workers()[cluster.workers.start as usize..cluster.workers.end as usize];
    workers.iter().all(|worker| worker.core == workers[0].core)
}
