//! The study of parallel depth-first scheduling: S. Chen et al., *Scheduling threads for
//! constructive cache sharing on CMPs* (SPAA 2007). `pdf` is compared with `ws` on chips of ever
//! more cores under one shared cache; `cpdf` stands beside them.
//!
//! The claims are those of the paper's abstract. Of its programs, Mergesort is `merge-sort` of
//! `compat/programs`; LU, whose blocks are small against the cache, has `matmul` in its place; its
//! hash join has none, and `quicksort` is a second one that divides and conquers.

use std::num::NonZeroU32;

use befit_machine::{Machine, MachineError};
use befit_program::{Op, Program, TaskId};
use befit_sched::{
    Options,
    SchedulerKind::{self, Cpdf, Pdf, Ws},
};

use super::{
    Axis, Plot, PlotKind, Range, Reproduction, Request, Series,
    measure::{IDLE, MISS_CHANGE, MISSES, ResultTable, SPEED, TIME, miss_change, of, speed},
};
use crate::{KernelSource, LabError, Progress, Sampling, Seeds, SimulationPlan, Source, Summary};

/// The baseline first.
const SCHEDULERS: [SchedulerKind; 3] = [Ws, Pdf, Cpdf];

/// By how much caches, kernels and their costs are divided.
const SHRINK: u32 = 16;
/// The private and the shared caches at full size, in KiB.
const L1: u32 = 64;
const L2: u32 = 16 << 10;

/// Elements that `merge-sort` and `quicksort` sort, in two arrays of 8 bytes each: eight times the
/// shared cache.
const SORTED: u64 = 1 << 19;
/// The order of `matmul`: its three matrices are as large as the shared cache and a half.
const ORDER: u64 = 256;

/// The shared cache of a model that has one part in `share` of it, in KiB.
fn l2(share: u32) -> u32 {
    L2 / SHRINK / share
}

/// A chip of so many cores: those of `xeon-7560`, with private L1 caches under one shared L2 and a
/// socket's memory, all caches [`SHRINK`] times smaller. `share` is the part of the shared cache
/// that it has.
fn chip(cores: u32, share: u32) -> Result<Machine, MachineError> {
    let text = format!(
        "(mhz=2266 latency=363 bandwidth=8 parallelism=10 streams=12.5 window=64 operation=1)
         l2:1(size={}KiB ways=16 latency=30 inclusion=inclusive) core:{cores}
         l1:1(size={}KiB ways=4 latency=4) pu:1",
        l2(share),
        L1 / SHRINK
    );
    text.parse()
}

/// The cores of the chips.
const CORES: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Those of the short form.
const QUICK_CORES: [u32; 3] = [1, 16, 32];

/// A program, and how many times cheaper scheduling is: as many times as its leaves are shorter.
struct Subject {
    name: &'static str,
    shrink: u32,
    program: Program,
}

fn subjects(request: &Request, progress: &dyn Progress) -> Result<[Subject; 3], LabError> {
    let merge_sort = Source::of_rayon("merge-sort", SORTED)?;
    let kernel = |name: &str, n| {
        let kernel = KernelSource::new(name);
        Source::Kernel(KernelSource { n: Some(n), shrink: SHRINK, ..kernel })
    };
    let record = |name, shrink, source: Source| -> Result<_, LabError> {
        Ok(Subject { name, shrink, program: request.record(&source, progress)? })
    };
    Ok([
        record("merge-sort", 1, merge_sort)?,
        record("quicksort", SHRINK, kernel("quicksort", SORTED))?,
        record("matmul", SHRINK, kernel("matmul", ORDER))?,
    ])
}

impl Subject {
    fn simulate(
        &self,
        chip: Machine,
        seeds: NonZeroU32,
        progress: &dyn Progress,
    ) -> Result<Vec<Summary>, LabError> {
        let plan = SimulationPlan {
            machines: vec![chip],
            schedulers: SCHEDULERS.to_vec(),
            seeds: Seeds::Fixed(seeds),
            options: Options::default(),
            shrink: self.shrink,
            sampling: Sampling::Off,
        };
        plan.simulate_unaccounted(&self.program, progress)
    }
}

/// Repeats the study.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    if request.machine.is_some() {
        return Err(LabError::Usage("this study has machines of its own".to_owned()));
    }
    let seeds = request.seeds_or(2, 5);
    let cores = if request.quick { &QUICK_CORES[..] } else { &CORES };
    let machine = format!("chips of 1 to 32 cores, a model {SHRINK} times smaller");
    let mut all = request.reproduction(machine, notes(seeds));
    let columns = &[TIME, SPEED, MISSES, MISS_CHANGE, IDLE];
    let mut table =
        ResultTable::new("The programs on the chips", &["program", "cores", "L2, KiB"], columns);
    let mut plots = Vec::new();
    for subject in subjects(request, progress)? {
        let mut lines = [Pdf, Cpdf].map(|s| Series { name: s.name().to_owned(), points: vec![] });
        let mut whole = Vec::new();
        for cores in cores {
            let results = subject.simulate(chip(*cores, 1)?, seeds, progress)?;
            table.add(&[subject.name, &cores.to_string(), &l2(1).to_string()], &results);
            for (line, scheduler) in lines.iter_mut().zip([Pdf, Cpdf]) {
                line.points.push(speed(of(&results, Ws), of(&results, scheduler)).point(cores));
            }
            whole.push((*cores, results));
        }
        let half = subject.simulate(chip(16, 2)?, seeds, progress)?;
        table.add(&[subject.name, "16", &l2(2).to_string()], &half);
        figures(&subject, &whole, &half, &mut all);
        let title = format!("{}: speed of ws", subject.name);
        let axis = Axis::log("cores");
        plots.push(Plot::new(title, PlotKind::Lines, axis, "times", lines));
    }
    all.tables.push(table.table);
    all.plots = plots;
    Ok(all)
}

/// Why `pdf` may gain little on so many cores: the leaves that they run at once fill the cache, in
/// whatever order they come (the paper's task granularity).
fn too_coarse(program: &Program, cores: u32, cache: u32) -> Option<String> {
    let footprints = program.footprints(&|_| {});
    let is_leaf = |task: &TaskId| !program.ops(*task).any(|op| matches!(op, Op::Fork { .. }));
    let lines = (0..program.tasks()).map(TaskId).filter(is_leaf);
    let mut lines: Vec<_> = lines.map(|task| footprints[task.0 as usize].task.0).collect();
    lines.sort_unstable();
    // Half of what leaves touch lies in leaves of this size and above.
    let (all, mut so_far) = (lines.iter().sum::<u64>(), 0);
    let usual = lines.into_iter().find(|lines| {
        so_far += lines;
        2 * so_far >= all
    })?;
    let kib = usual * program.meta().line_size.0 / 1024;
    let together = kib * u64::from(cores);
    (2 * together > u64::from(cache)).then(|| {
        format!(
            "the leaves are coarse: {kib} KiB each, {together} KiB on {cores} cores, against a \
             cache of {cache} KiB"
        )
    })
}

/// The claims about one program, on chips of so many cores, and on one of 16 with half the cache.
fn figures(
    subject: &Subject,
    whole: &[(u32, Vec<Summary>)],
    half: &[Summary],
    to: &mut Reproduction,
) {
    let name = subject.name;
    let why = |cores, share| too_coarse(&subject.program, cores, l2(share));
    let on = |cores| &whole.iter().find(|(at, _)| *at == cores).expect("a chip of CORES").1;
    let [alone, many] = [1, 16].map(on);
    let divides = name != "matmul";
    for cores in [16, 32] {
        let [ws, pdf] = [Ws, Pdf].map(|scheduler| of(on(cores), scheduler));
        let (said, range) = if divides {
            ("1.3 to 1.6 x for several fine-grain programs", Range::new(1.3, 1.6))
        } else {
            ("limited where working sets are small: about 1", Range::about(1.0, 0.1))
        };
        let id = format!("speed/{name}/{cores}");
        let what = format!("speed of {name} under pdf on {cores} cores, against ws");
        let figure = speed(ws, pdf).figure(id, what, said, range);
        // Coarse leaves keep pdf from gaining; that it gains more than said has another reason.
        to.figures.push(if figure.value < range.low {
            figure.if_out(|| why(cores, 1))
        } else {
            figure
        });
    }
    if !divides {
        return;
    }
    let [ws, pdf] = [Ws, Pdf].map(|scheduler| of(many, scheduler));
    to.figures.extend([
        miss_change(ws, pdf).figure(
            format!("misses/{name}/16"),
            format!("misses of {name} under pdf on 16 cores, against ws"),
            "fewer",
            Range::at_most(0.0),
        ),
        miss_change(ws, of(half, Pdf))
            .figure(
                format!("misses/{name}/half-the-cache"),
                format!(
                    "misses of {name} under pdf with half the cache, against ws with all of it"
                ),
                "cache can be traded for cores: no more",
                Range::at_most(0.0),
            )
            .if_out(|| why(16, 2)),
        miss_change(of(alone, Pdf), pdf)
            .figure(
                format!("misses/{name}/one-core"),
                format!("misses of {name} under pdf on 16 cores, against one"),
                "the working set is not much larger than one thread's: at most 10 % more",
                Range::at_most(10.0),
            )
            .if_out(|| why(16, 1)),
    ]);
}

fn notes(seeds: NonZeroU32) -> Vec<String> {
    vec![
        format!(
            "the cores and the memory are those of xeon-7560, as many under one shared L2 as the \
             paper projects, with {} KiB, or half of it; L1 caches of {} KiB are private; {seeds} \
             seeds",
            l2(1),
            L1 / SHRINK
        ),
        format!(
            "caches, and the cut-offs of the kernels, are {SHRINK} times smaller than those of a \
             chip; merge-sort's leaves are as they are"
        ),
        format!(
            "merge-sort and quicksort go over eight times as many data as the L2 holds; matmul of \
             order {ORDER} stands in the place of LU, whose blocks are small against the cache; \
             the paper's hash join has no counterpart"
        ),
        "the claims are those of the paper's abstract; its grain sizes are not repeated".to_owned(),
        "cpdf (Blelloch et al. 2008) stands beside them; merge-sort declares no sizes, without \
         which cpdf is pdf"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chips_have_the_cores_and_the_shared_cache_that_the_study_names() {
        for cores in CORES {
            let chip = chip(cores, 2).unwrap();
            assert_eq!(chip.workers().len() as u32, cores);
            let shared = chip.cluster(chip.last_level(befit_machine::WorkerId(0)));
            assert_eq!((shared.size().0, shared.worker_count()), (512 << 10, cores));
        }
    }
}
