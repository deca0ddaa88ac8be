//! What all strands run through: the caches, the memory, the cores, and what they cost.

mod blocks;
mod charge;
mod line;

use befit_cache::{Hierarchy, PrefetchPlan};
use befit_machine::{CleanSource, ClusterId, Lines, Machine, Worker, WorkerId};
use befit_program::{Program, Sample, Touch};
use befit_sched::WorkerCounts;

use crate::{
    SimError,
    account::{Account, Contended, Handovers, Strides},
    atomics::Atomics,
    clock::Ticks,
    execution::OPERATION,
    frames::PageFrames,
    hot::Hot,
    ledger::Booking,
    line_size,
    memory::Memory,
    runs::Runs,
    sampled::{self, scale},
    tlb::Tlbs,
    waits::{InFlight, Waits},
    work,
};

use line::hidden;
pub(crate) use line::{Level, Line};

/// Recorded lines of a page.
pub(crate) const PAGE_LINES: u32 = 64;

/// What all strands run through: the caches, the memory, and what they cost.
#[derive(Debug)]
pub(crate) struct Hardware {
    pub(crate) caches: Hierarchy,
    /// The hot lines of a sample that has some.
    pub(crate) hot: Option<Hot>,
    pub(crate) memory: Memory,
    /// Per cluster; that of the root is memory.
    levels: Vec<Level>,
    /// Another last-level cache, of the same package and of another.
    remote: Level,
    far: Level,
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
    /// Lines of the touches per line of this machine, as a power of two: 1 of a sample's.
    coarser: u32,
    /// The same of the recorded lines.
    longer: u32,
    /// Lines of the program that one of these stands for.
    pub(crate) each: u64,
    /// Per worker: its core, and its slowness against the fastest core.
    pub(crate) cores: Vec<(u32, f64)>,
    /// Per core: workers that run a strand; they share its issue slots.
    pub(crate) busy: Vec<u32>,
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

impl Hardware {
    pub(crate) fn new(
        program: &Program,
        sample: Option<&Sample>,
        machine: &Machine,
        seed: u64,
        accounted: bool,
    ) -> Result<Self, SimError> {
        let (line, longer) =
            line_size(machine, program.meta().line_size).map_err(SimError::Machine)?;
        let each = scale(sample);
        let (shared_lines, stack_lines, coarser) = match sample {
            Some(sample) if sample.coarser() != longer => {
                return Err(SimError::Machine("the sample is of lines of another length".into()));
            }
            // Its lines are the machine's.
            Some(sample) => (sample.lines() + 1, sample.stack_lines() + 1, 0),
            None => {
                let count = |lines: u32| (lines >> longer) + 1;
                (count(program.lines()), count(program.stack_lines()), longer)
            }
        };
        let workers = machine.workers().len() as u32;
        let blocks = blocks::count(program, sample, machine);
        let stacks = stack_lines.checked_mul(workers);
        let above = stacks.and_then(|stacks| stacks.checked_add(blocks * blocks::lines(longer)));
        let lines = above.and_then(|above| above.checked_add(shared_lines)).ok_or_else(|| {
            SimError::Machine(format!("{workers} stacks of {stack_lines} lines are too many lines"))
        })?;
        let hidden = hidden(machine, ClusterId::ROOT);
        let beyond = |latency: u64| Ticks::cycles(latency.saturating_sub(hidden) * each);
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
        // Of a program's pages a sample may have touches in some only.
        let pages = sample.map_or(1.0, |sample| {
            f64::from(program.lines() / PAGE_LINES) / f64::from(sample.pages().max(1))
        });
        let fault = Ticks::fractional(faults * machine.prices.fault * pages.max(1.0));
        let core_count = cores.iter().map(|c| c.0 as usize + 1).max().unwrap_or(0);
        let frames = PageFrames::new(machine, lines, longer, each, seed);
        let physical = frames.as_ref().map_or(lines, PageFrames::lines);
        let tlbs = Tlbs::new(machine, core_count, physical, longer, each);
        let (tlbs, tables) = tlbs.map_or((None, 0), |(tlbs, tables)| (Some(tlbs), tables));
        Ok(Self {
            caches: sampled::caches(sample, machine, physical.saturating_add(tables), seed)?,
            hot: Hot::new(sample, machine, seed)?,
            memory: Memory::new(machine, line, lines, each)?,
            levels: Level::all(machine, &flight, each),
            remote: Level::remote(&flight, beyond(machine.memory.remote_latency.0)),
            far: Level::remote(&flight, beyond(machine.memory.far_latency.0)),
            clean_from_memory: machine.memory.clean == CleanSource::Memory,
            clean_lines: 0,
            far_lines: 0,
            fault,
            touched: if fault == Ticks::default() {
                Vec::new()
            } else {
                let recorded = (u64::from(shared_lines) * each) << longer;
                vec![0; recorded as usize / PAGE_LINES as usize / 64 + 1]
            },
            frames,
            tlbs,
            runs: Runs::new(machine, core_count, longer, each),
            atomics: Atomics::new(program, machine, sample, coarser),
            flight,
            waits: vec![Default::default(); workers as usize],
            cycles_per_operation: work::cycles_per_operation(program, machine),
            shared_lines,
            stack_lines,
            blocks,
            coarser,
            longer,
            each,
            cores,
            busy: vec![0; core_count],
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

    /// What lines take that are found in the cache of `cluster`, or in memory for the root.
    #[inline]
    pub(crate) fn level(&self, cluster: ClusterId) -> &Level {
        &self.levels[cluster.index()]
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
        let wait = waits.all(&self.flight, now);
        let reason = waits.waited;
        self.charge(worker, wait, &reason);
        let Some(hot) = &mut self.hot else { return wait };
        let waits = &mut hot.waits[worker.index()];
        let more = waits.all(&self.flight.single(), now + wait);
        let reason = waits.waited;
        self.charge(worker, more, &reason);
        wait + more
    }

    /// The lines of the program before `line`, of this machine.
    #[inline]
    fn place(&self, line: u32) -> u64 {
        u64::from(line) * self.each
    }

    /// The lines that went to and fro most, as the program numbers them.
    pub(crate) fn worst_contended(&self, sample: Option<&Sample>) -> Vec<Contended> {
        let of = |line: u32| sample.map_or(line, |sample| sample.numbered_before(line));
        let recorded =
            |worst: Contended| Contended { line: of(worst.line) << self.longer, ..worst };
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
