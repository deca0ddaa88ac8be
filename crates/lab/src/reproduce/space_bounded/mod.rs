//! The space-bounded study: Simhadri, Blelloch, Fineman, Gibbons, Kyrola, *Experimental analysis of
//! space-bounded schedulers* (SPAA 2014, TOPC 2016), section 5, on its machine or another.
//!
//! | module or function | the study's comparison |
//! |---|---|
//! | [`programs`] | time, overheads and misses of its seven programs under its four schedulers |
//! | [`machines::bandwidth`] | the *bandwidth gap*: the same programs on 100, 75, 50, 25 % of the memory bandwidth |
//! | [`options`] | the dilation σ, the share μ, and how strands are counted |
//! | [`machines::cores`] | 1 to 8 cores a socket, two hardware threads a core; 1 to 4 sockets |
//!
//! # A model of a large run
//! The study's inputs have 160 MB to 3.2 GB, and simulating each of them some hundred times would
//! take days. So n, the kernels' serial cut-offs, the caches and the costs of scheduling are all
//! divided by one number ([`SHRINK`]), the same for all programs. The task tree is the large run's,
//! each task befits the cache that it befits there, and misses are as many times fewer. Latencies,
//! bandwidths and lines are not scaled, so a line is larger against a task than in the large run.

mod machines;
mod options;
mod programs;
mod reasons;

use std::num::NonZeroU32;

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{Options, SchedulerKind};

use super::{Reproduction, Request, measure};
use crate::{KernelSource, LabError, Progress, Sampling, Seeds, SimulationPlan, Source, Summary};

/// The study's machine (section 5.1), and the same with two hardware threads a core.
const MACHINE: &str = "xeon-7560";
const THREADED: &str = "xeon-7560-ht";

/// The study's schedulers, the one that the others are compared with first.
const SCHEDULERS: [SchedulerKind; 4] =
    [SchedulerKind::Ws, SchedulerKind::Pws, SchedulerKind::Sb, SchedulerKind::SbD];

/// The study's programs.
const PROGRAMS: [&str; 7] =
    ["rrm", "rgm", "quicksort", "samplesort", "aware-samplesort", "quadtree", "matmul"];

/// By how much n, cut-offs, caches and the costs of scheduling are divided.
const SHRINK: u32 = 64;

/// Line touches above which the quick form simulates a program with one seed.
const LONG: u64 = 10_000_000;

/// The parts that all comparisons share.
struct Lab<'a> {
    request: &'a Request,
    /// The machine in its full size.
    machine: Machine,
    /// The same with two hardware threads a core, if there is such a preset.
    threaded: Option<Machine>,
    seeds: NonZeroU32,
    programs: Vec<(&'static str, Program)>,
    /// The programs' results on the machine itself under all of the study's schedulers with the
    /// options' defaults: several comparisons begin from there.
    plain: Vec<Vec<Summary>>,
    progress: &'a dyn Progress,
}

impl Lab<'_> {
    fn program(&self, name: &str) -> &Program {
        let found = self.programs.iter().find(|(program, _)| *program == name);
        &found.expect("one of PROGRAMS").1
    }

    /// Simulates a program on a variation of the machine, shrunk.
    fn simulate(
        &self,
        name: &str,
        machine: &Machine,
        schedulers: &[SchedulerKind],
        options: Options,
    ) -> Result<Vec<Summary>, LabError> {
        if *machine == self.machine && options == Options::default() {
            let plain = self.plain(name).iter().filter(|s| schedulers.contains(&s.scheduler));
            return Ok(plain.cloned().collect());
        }
        self.simulate_anew(name, machine, schedulers, options)
    }

    /// The results of a program on the machine itself.
    fn plain(&self, name: &str) -> &[Summary] {
        let at = PROGRAMS.iter().position(|program| *program == name);
        &self.plain[at.expect("one of PROGRAMS")]
    }

    fn simulate_anew(
        &self,
        name: &str,
        machine: &Machine,
        schedulers: &[SchedulerKind],
        options: Options,
    ) -> Result<Vec<Summary>, LabError> {
        let program = self.program(name);
        let plan = SimulationPlan {
            machines: vec![machine.clone().shrunk(SHRINK)?],
            schedulers: schedulers.to_vec(),
            seeds: Seeds::Fixed(self.seeds_of(program)),
            options,
            shrink: SHRINK,
            sampling: Sampling::Off,
        };
        plan.simulate_unaccounted(program, self.progress)
    }

    /// The quick form simulates long programs once only: their spread is small.
    fn seeds_of(&self, program: &Program) -> NonZeroU32 {
        let Request { quick, seeds, .. } = self.request;
        let once = *quick && seeds.is_none() && program.stats().work.touches > LONG;
        if once { NonZeroU32::MIN } else { self.seeds }
    }

    fn seeds_in_words(&self) -> String {
        let long = self.programs.iter().filter(|(_, program)| self.seeds_of(program) < self.seeds);
        let long: Vec<_> = long.map(|(name, _)| *name).collect();
        let but =
            if long.is_empty() { String::new() } else { format!(" (one of {})", long.join(", ")) };
        format!("{} seeds{but}", self.seeds)
    }

    /// Simulates a program on a variation of the machine under ws and sb; under all of the study's
    /// schedulers where there is time.
    fn compare(&self, name: &str, machine: &Machine) -> Result<Vec<Summary>, LabError> {
        let essential = &[SchedulerKind::Ws, SchedulerKind::Sb];
        let schedulers = if self.request.quick { &essential[..] } else { &SCHEDULERS };
        self.simulate(name, machine, schedulers, Options::default())
    }
}

/// Repeats the study.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    let machine = request.machine_or(MACHINE)?;
    let threaded = if machine.name == MACHINE { Some(Machine::find(THREADED)?) } else { None };
    let mut programs = Vec::new();
    for name in PROGRAMS {
        let source = Source::Kernel(KernelSource { shrink: SHRINK, ..KernelSource::new(name) });
        programs.push((name, request.record(&source, progress)?));
    }
    let mut lab = Lab {
        request,
        machine,
        threaded,
        seeds: request.seeds_or(3, 10),
        programs,
        plain: Vec::new(),
        progress,
    };
    for name in PROGRAMS {
        lab.plain.push(lab.simulate_anew(name, &lab.machine, &SCHEDULERS, Options::default())?);
    }
    let machine = format!("{}, a model {SHRINK} times smaller", lab.machine.name);
    let mut all = request.reproduction(machine, notes(&lab));
    programs::run(&lab, &mut all);
    machines::bandwidth(&lab, &mut all)?;
    options::run(&lab, &mut all)?;
    machines::cores(&lab, &mut all)?;
    Ok(all)
}

fn notes(lab: &Lab<'_>) -> Vec<String> {
    let commands: Vec<_> =
        lab.programs.iter().map(|(_, program)| program.meta().name.clone()).collect();
    vec![
        format!(
            "a model {SHRINK} times smaller than the study's runs: n, serial cut-offs, caches and \
             the costs of scheduling are divided by {SHRINK} for all programs alike"
        ),
        format!("programs: {}", commands.join("; ")),
        format!(
            "{}; counts and times are medians, changes means over the seeds, each of which both \
             run with; ± and brackets are 95 % intervals",
            lab.seeds_in_words()
        ),
        "L3 misses are lines from memory or from another L3".to_owned(),
        "overhead: what workers spend in the scheduler or without work under sb, less the same \
         under ws, in percent of the running time under ws"
            .to_owned(),
        "rgm gathers from anywhere in its task's range, as the study's text has it (its code \
         gathers within the leaf: rgm-leaf)"
            .to_owned(),
        "no parameter is set per program; sigma 0.5 and mu 0.2 unless said otherwise".to_owned(),
    ]
}
