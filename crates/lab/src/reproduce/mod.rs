//! The experiments of the papers, repeated: what each reported, what is measured here, and a
//! verdict.
//!
//! ```text
//! Request ──study's module: records kernels, simulates──► Reproduction ──► report
//!                                                 figures with verdicts, tables, plots
//! ```
//!
//! A [`Figure`] is one claim of a paper as a range, and the one number that is measured against it.
//! Its verdict is computed, so no study can hand one out. A figure that is out of range gives a
//! reason calculated from the run that made it, or says that it is not explained. No parameter is
//! set per program to bring a figure into range. Each study has its folder or file here; to add
//! one, write that and name it in [`Study`].

mod adws;
mod cats;
mod figure;
mod footprint;
mod identity;
mod measure;
mod pdf;
mod space_bounded;

use std::{fmt, num::NonZeroU32, str::FromStr};

use befit_machine::Machine;
use befit_page::{Axis, Plot, PlotKind, Point, Series};
use befit_program::Program;
use serde::Serialize;

pub use self::figure::{Figure, Range, Table};
use crate::{LabError, Progress, Source, record, record_uncalibrated, summary::text};

/// A paper whose experiments can be repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Study {
    /// Simhadri, Blelloch, Fineman, Gibbons, Kyrola: Experimental analysis of space-bounded
    /// schedulers (SPAA 2014, TOPC 2016).
    SpaceBounded,
    /// Chen, Guo, Huang: CATS: cache aware task-stealing based on online profiling (ICS 2012).
    Cats,
    /// The study of footprint-based scheduling: arrays and a tree on a simulated SPARC core.
    Footprint,
    /// Chen et al.: Scheduling threads for constructive cache sharing on CMPs (SPAA 2007).
    Pdf,
    /// Shiina, Taura: Almost deterministic work stealing (SC 2019).
    Adws,
}

impl Study {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::SpaceBounded, Self::Cats, Self::Footprint, Self::Pdf, Self::Adws];

    /// As users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SpaceBounded => "space-bounded",
            Self::Cats => "cats",
            Self::Footprint => "footprint",
            Self::Pdf => "pdf",
            Self::Adws => "adws",
        }
    }

    /// A line about it.
    pub fn about(self) -> &'static str {
        match self {
            Self::SpaceBounded => {
                "the experimental analysis of space-bounded schedulers (Simhadri et al.)"
            }
            Self::Cats => "cache aware task-stealing based on online profiling (Chen et al.)",
            Self::Footprint => {
                "footprint-based scheduling: arrays, a tree, and the algorithm left as future work"
            }
            Self::Pdf => "parallel depth-first for constructive cache sharing (Chen et al.)",
            Self::Adws => "almost deterministic work stealing (Shiina & Taura)",
        }
    }
}

impl fmt::Display for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Study {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|study| study.name() == name).ok_or_else(|| {
            format!("unknown study '{name}'; known: {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// The study to repeat, and the extent of it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The paper.
    pub study: Study,
    /// The short form, which takes minutes instead of up to an hour: smaller inputs on machines
    /// with caches scaled down by as much, and fewer seeds.
    pub quick: bool,
    /// The machine, if not the paper's own.
    pub machine: Option<Machine>,
    /// The number of seeds, if not the study's own choice.
    pub seeds: Option<NonZeroU32>,
    /// Whether operations take what they do in a plain run here ([`crate::record`]), or what the
    /// machine says.
    pub work: bool,
}

impl Request {
    /// The recording of a kernel of the study.
    fn record(&self, source: &Source, progress: &dyn Progress) -> Result<Program, LabError> {
        if self.work {
            return record(source, false, progress);
        }
        record_uncalibrated(source, false, progress)
    }

    /// Repeats the study.
    ///
    /// # Errors
    /// When a kernel cannot be built, recorded or simulated. A figure that is out of range is no
    /// error.
    pub fn run(&self, progress: &dyn Progress) -> Result<Reproduction, LabError> {
        match self.study {
            Study::SpaceBounded => space_bounded::run(self, progress),
            Study::Cats => cats::run(self, progress),
            Study::Footprint => footprint::run(self, progress),
            Study::Pdf => pdf::run(self, progress),
            Study::Adws => adws::run(self, progress),
        }
    }

    /// The machine that was asked for, or the preset `usual`.
    fn machine_or(&self, usual: &str) -> Result<Machine, LabError> {
        Ok(self.machine.clone().map_or_else(|| Machine::find(usual), Ok)?)
    }

    /// The number of seeds that was asked for, or the number for the `quick` or the `long` form.
    fn seeds_or(&self, quick: u32, long: u32) -> NonZeroU32 {
        let usual = NonZeroU32::new(if self.quick { quick } else { long });
        self.seeds.or(usual).unwrap_or(NonZeroU32::MIN)
    }

    /// A reproduction that has no figures yet.
    fn reproduction(&self, machine: String, notes: Vec<String>) -> Reproduction {
        Reproduction {
            study: self.study,
            machine,
            quick: self.quick,
            notes,
            figures: Vec::new(),
            tables: Vec::new(),
            plots: Vec::new(),
        }
    }
}

/// A repeated study; serialised, the document `befit.reproduce/1` (docs/json.md) without its
/// version.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reproduction {
    /// The paper.
    #[serde(serialize_with = "text")]
    pub study: Study,
    /// The machine's name; with what was changed about it, if something was.
    pub machine: String,
    /// True for the short form.
    pub quick: bool,
    /// Remarks that readers need to judge the figures: sizes, seeds, readings of points that the
    /// paper leaves open.
    pub notes: Vec<String>,
    /// The paper's claims.
    pub figures: Vec<Figure>,
    /// All measured values.
    pub tables: Vec<Table>,
    /// The same to look at.
    #[serde(skip)]
    pub plots: Vec<Plot>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studies_are_found_by_name_and_others_give_the_list() {
        for study in Study::ALL {
            assert_eq!(study.name().parse(), Ok(study));
        }
        let error = "cilk".parse::<Study>().unwrap_err();
        assert!(error.starts_with("unknown study 'cilk'; known: space-bounded"), "{error}");
    }

    #[test]
    fn a_machine_without_the_caches_whose_misses_are_counted_is_refused() {
        for (machine, has) in [
            ("core:8 pu:1", "has no caches"),
            ("pack:2 l2:1(size=1MiB) core:4 l1:1(size=32KiB) pu:1", "has caches of 2 levels"),
        ] {
            let machine = Some(machine.parse().unwrap());
            let request =
                Request { study: Study::Cats, quick: true, machine, seeds: None, work: false };
            let error = request.run(&crate::Silent).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(has), "{error}");
        }
    }
}
