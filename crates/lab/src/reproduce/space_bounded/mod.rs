//! The space-bounded study: Simhadri, Blelloch, Fineman, Gibbons, Kyrola, *Experimental analysis of
//! space-bounded schedulers* (SPAA 2014, TOPC 2016), section 5, on its machine or another.
//!
//! | module | the study's comparison |
//! |---|---|
//! | [`programs`] | time, overheads and misses of its seven programs under its four schedulers |
//! | [`bandwidth`] | the *bandwidth gap*: the same on 100, 75, 50, 25 % of the memory bandwidth |
//! | [`options`] | the dilation σ, the share μ, and how strands are counted |
//! | [`cores`] | 1 to 8 cores a socket, two hardware threads a core; 1 to 4 sockets |
//!
//! # A model of a large run
//! The study's inputs are of 160 MB to 3.2 GB; simulating each of them some hundred times would
//! take days. So n, the kernels' serial cut-offs, the caches and the costs of scheduling are all
//! divided by one number ([`SHRINK`]), the same for all programs: the task tree is the large run's,
//! each task befits the cache that it befits there, and misses are as many times fewer. Latencies,
//! bandwidths and lines are not scaled, so lines are larger against tasks than they are; under sb,
//! `rrm` shrunk by 64 has 37 % fewer L3 misses than under ws, and 38 to 39 % fewer in its full
//! size.

mod bandwidth;
mod cores;
mod measure;
mod options;
mod programs;
mod reasons;

use std::{cell::RefCell, num::NonZeroU32};

use befit_machine::Machine;
use befit_program::Program;
use befit_sched::{Options, SchedulerKind};
use befit_sim::Costs;

use super::{Figure, Plot, Reproduction, Request, Table};
use crate::{LabError, Plan, Progress, Source, Summary, record};

/// The study's machine (section 5.1), and the same with two hardware threads a core.
const MACHINE: &str = "xeon-7560";
const THREADED: &str = "xeon-7560-ht";

/// The study's schedulers, what all is compared with first.
const SCHEDULERS: [SchedulerKind; 4] =
    [SchedulerKind::Ws, SchedulerKind::Pws, SchedulerKind::Sb, SchedulerKind::SbD];

/// The study's programs.
const PROGRAMS: [&str; 7] =
    ["rrm", "rgm", "quicksort", "samplesort", "aware-samplesort", "quadtree", "matmul"];

/// By how much n, cut-offs, caches and the costs of scheduling are divided.
const SHRINK: u32 = 64;

/// Line touches above which the quick form simulates a program with one seed.
const LONG: u64 = 10_000_000;

/// What all comparisons share.
struct Lab<'a> {
    /// Of its full size.
    machine: Machine,
    /// The same with two hardware threads a core, if there is such.
    threaded: Option<Machine>,
    quick: bool,
    seeds: NonZeroU32,
    /// The user said how many.
    seeds_asked: bool,
    programs: Vec<(&'static str, Program)>,
    /// What the programs gave on the machine itself with the options' defaults: several comparisons
    /// begin from there.
    plain: RefCell<Vec<(&'static str, Vec<Summary>)>>,
    progress: &'a dyn Progress,
}

impl Lab<'_> {
    /// Simulates a program on a variation of the machine, shrunk.
    fn simulate(
        &self,
        name: &str,
        machine: &Machine,
        schedulers: &[SchedulerKind],
        options: Options,
    ) -> Result<Vec<Summary>, LabError> {
        let plain = *machine == self.machine && options == Options::default();
        let asked_for = |all: &[Summary]| -> Vec<_> {
            all.iter().filter(|summary| schedulers.contains(&summary.scheduler)).cloned().collect()
        };
        if plain
            && let Some((_, before)) =
                self.plain.borrow().iter().find(|(program, _)| *program == name)
        {
            return Ok(asked_for(before));
        }
        let machines = vec![machine.clone().shrunk(SHRINK)?];
        let (name, program) =
            self.programs.iter().find(|(program, _)| *program == name).expect("one of PROGRAMS");
        // What is kept is kept for all of them.
        let simulated = if plain { &SCHEDULERS } else { schedulers };
        let plan = Plan {
            machines,
            schedulers: simulated.to_vec(),
            seeds: self.seeds_of(program),
            options,
        };
        let results = plan.simulate_at(Costs::default().shrunk(SHRINK), program, self.progress)?;
        let answer = asked_for(&results);
        if plain {
            self.plain.borrow_mut().push((name, results));
        }
        Ok(answer)
    }

    /// As [`Self::simulate`] on the machine itself, under all of the study's schedulers and with
    /// the options' defaults.
    fn simulate_plainly(&self, name: &str) -> Result<Vec<Summary>, LabError> {
        self.simulate(name, &self.machine, &SCHEDULERS, Options::default())
    }

    /// The quick form simulates long programs once only: their spread is small.
    fn seeds_of(&self, program: &Program) -> NonZeroU32 {
        let long = program.stats().work.touches > LONG;
        if self.quick && !self.seeds_asked && long { NonZeroU32::MIN } else { self.seeds }
    }

    fn seeds_in_words(&self) -> String {
        let long = self.programs.iter().filter(|(_, program)| self.seeds_of(program) < self.seeds);
        let long: Vec<_> = long.map(|(name, _)| *name).collect();
        let but =
            if long.is_empty() { String::new() } else { format!(" (one of {})", long.join(", ")) };
        format!("{} seeds{but}", self.seeds)
    }

    /// What a comparison that is about `essential` schedulers simulates: all of the study's where
    /// there is time.
    fn schedulers(&self, essential: &'static [SchedulerKind]) -> &'static [SchedulerKind] {
        if self.quick { essential } else { &SCHEDULERS }
    }
}

/// What one of the comparisons gave.
#[derive(Default)]
struct Part {
    figures: Vec<Figure>,
    tables: Vec<Table>,
    plots: Vec<Plot>,
}

/// Repeats it.
pub(super) fn run(request: &Request, progress: &dyn Progress) -> Result<Reproduction, LabError> {
    let machine = match &request.machine {
        Some(machine) => machine.clone(),
        None => Machine::find(MACHINE)?,
    };
    let threaded = if machine.name == MACHINE { Some(Machine::find(THREADED)?) } else { None };
    let seeds = request
        .seeds
        .unwrap_or(NonZeroU32::new(if request.quick { 3 } else { 10 }).unwrap_or(NonZeroU32::MIN));
    let mut programs = Vec::new();
    for name in PROGRAMS {
        let source = Source::Model { name: name.to_owned(), n: None, shrink: SHRINK };
        programs.push((name, record(&source, false, progress)?));
    }
    let lab = Lab {
        machine,
        threaded,
        quick: request.quick,
        seeds,
        seeds_asked: request.seeds.is_some(),
        programs,
        plain: RefCell::default(),
        progress,
    };
    let parts =
        [programs::run(&lab)?, bandwidth::run(&lab)?, options::run(&lab)?, cores::run(&lab)?];
    let mut all = Part::default();
    for part in parts {
        all.figures.extend(part.figures.into_iter().map(reasons::explain));
        all.tables.extend(part.tables);
        all.plots.extend(part.plots);
    }
    Ok(Reproduction {
        study: request.study,
        machine: format!("{}, a model {SHRINK} times smaller", lab.machine.name),
        quick: request.quick,
        notes: notes(&lab),
        figures: all.figures,
        tables: all.tables,
        plots: all.plots,
    })
}

fn notes(lab: &Lab<'_>) -> Vec<String> {
    let commands: Vec<_> =
        lab.programs.iter().map(|(_, program)| program.meta().name.clone()).collect();
    vec![
        format!(
            "a model {0} times smaller than the study's runs: n, serial cut-offs, caches and the costs of scheduling are divided by {0} for all programs alike",
            SHRINK
        ),
        format!("programs: {}", commands.join("; ")),
        format!("medians of {}; in brackets the smallest and the largest of a scheduler against the median of ws", lab.seeds_in_words()),
        "overhead: what workers spend in the scheduler or without work under sb, less the same under ws, in percent of the running time under ws".to_owned(),
        "rgm gathers from anywhere in its task's range, as the study's text has it (its code gathers within the leaf: rgm-leaf)".to_owned(),
        "no parameter is set per program; sigma 0.5 and mu 0.2 unless said otherwise".to_owned(),
    ]
}
