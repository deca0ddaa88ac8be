//! Predicted beside measured times. The structs serialise themselves as the document
//! `befit.verify/1` (docs/json.md) without its version.

use std::{fmt, num::NonZeroU32};

use befit_calibrate::Contradiction;
use befit_machine::Machine;
use befit_sched::SchedulerKind;
use serde::Serialize;

use super::Suspect;
use crate::{Spread, summary::text};

/// Milliseconds.
pub type Millis = f64;

/// All results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verified {
    /// What was simulated.
    pub machine: VerifyMachine,
    /// The version of befit.
    pub befit: &'static str,
    /// By program, then by number of threads, then by scheduler.
    pub results: Vec<VerifyResult>,
    /// How many of `results` are within 0.8 to 1.25.
    pub within: usize,
    /// How many are outside of 0.67 to 1.5.
    pub far: usize,
    /// Why programs have no results, those that failed.
    pub failed: Vec<String>,
    /// The figures of the machine that a look at this one contradicts; `None` if there was none.
    pub contradicted: Option<Vec<Contradiction>>,
    /// The figure of the machine that may be wrong, where one explains what is out of range.
    pub suspect: Option<Suspect>,
    /// A suspect was looked for, to the end.
    pub searched: bool,
}

/// The machine that stood for this one.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VerifyMachine {
    /// Its name.
    pub name: String,
    /// As the user named it: `host`, or a synthetic string.
    pub asked: String,
    /// Where its latencies and bandwidths come from.
    pub figures: String,
    /// Its tree of caches with all figures, as `befit topo` draws it.
    pub tree: String,
}

/// How near a prediction is to what was measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within 0.8 to 1.25.
    Good,
    /// Within 0.67 to 1.5.
    Fair,
    /// Further off.
    Far,
}

/// One program with one number of threads under one scheduler.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VerifyResult {
    /// The first word of the command.
    pub program: String,
    /// The command, for people.
    pub command: String,
    /// Threads of its pool, and workers that were simulated.
    pub threads: u32,
    /// The policy.
    #[serde(serialize_with = "text")]
    pub scheduler: SchedulerKind,
    /// The simulated time: the median of the seeds.
    #[serde(rename = "predicted_ms")]
    pub predicted: Millis,
    /// The simulated times of all seeds.
    #[serde(rename = "predicted_spread_ms")]
    pub predicted_spread: Spread<Millis>,
    /// The native times of the runs that count.
    #[serde(rename = "measured_ms")]
    pub measured: Spread<Millis>,
    /// How many that are.
    pub runs: usize,
    /// Before and after them cores were as fast, and as near one another, as the machine's figures
    /// say.
    pub as_described: bool,
    /// The predicted time by the median of the measured ones.
    pub ratio: f64,
    /// How near that is to 1.
    pub verdict: Verdict,
    /// How many times as fast as with the first number of threads, predicted.
    pub predicted_speed_up: f64,
    /// The same, measured.
    pub measured_speed_up: f64,
    /// Where the work of the strands comes from.
    pub work: LearntWork,
}

/// Where the work of the strands of a program comes from.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LearntWork {
    /// The command of the run that was timed, for people.
    pub from: String,
    /// The share of the verified program's operations that the timed run has the like of.
    pub share: f64,
    /// No work was measured: the operations take what the machine's figures say.
    pub assumed: bool,
    /// The timed run has the arguments of the verified one.
    pub same: bool,
}

impl VerifyMachine {
    pub(super) fn of(machine: &Machine, asked: &str) -> Self {
        let figures = match machine.calibration() {
            Some(file) => format!("measured by befit calibrate, {}", file.display()),
            None if asked == "host" => {
                "the system, and assumed ones; befit calibrate measures it".into()
            }
            None => "as given".to_owned(),
        };
        Self { name: machine.name.clone(), asked: asked.to_owned(), figures, tree: machine.draw() }
    }
}

impl Verdict {
    /// The range in which a ratio is [`Verdict::Good`].
    pub const GOOD: (f64, f64) = (0.8, 1.25);
    /// The range in which it is no worse than [`Verdict::Fair`].
    pub const FAIR: (f64, f64) = (0.67, 1.5);

    /// That of a ratio.
    pub fn of(ratio: f64) -> Self {
        let within = |(low, high)| (low..=high).contains(&ratio);
        match () {
            () if within(Self::GOOD) => Self::Good,
            () if within(Self::FAIR) => Self::Fair,
            () => Self::Far,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Far => "far off",
        })
    }
}

impl VerifyResult {
    pub(super) fn new(
        program: String,
        command: String,
        threads: NonZeroU32,
        scheduler: SchedulerKind,
        predicted: Spread<Millis>,
        measured: Spread<Millis>,
        work: LearntWork,
    ) -> Self {
        // JSON has no infinity: nothing is compared with no time.
        let ratio = if measured.median > 0.0 { predicted.median / measured.median } else { 0.0 };
        Self {
            program,
            command,
            threads: threads.get(),
            scheduler,
            predicted: predicted.median,
            predicted_spread: predicted,
            measured,
            runs: 1,
            as_described: true,
            ratio,
            verdict: Verdict::of(ratio),
            predicted_speed_up: 1.0,
            measured_speed_up: 1.0,
            work,
        }
    }

    /// The result in a line, for people.
    pub(super) fn line(&self) -> String {
        let Self { command, threads, scheduler, predicted, measured, ratio, .. } = self;
        let measured = measured.median;
        format!(
            "{command}, threads: {threads}, {scheduler}: predicted {predicted:.4} ms, measured \
             {measured:.4} ms, ratio {ratio:.2}"
        )
    }

    /// True if the speed-up is predicted to within 15 %.
    pub fn speed_up_holds(&self) -> bool {
        let ratio = self.predicted_speed_up / self.measured_speed_up;
        (1.0 / 1.15..=1.15).contains(&ratio)
    }
}

/// Fills in the speed-ups of one program's results over those with the first number of threads.
pub(super) fn speed_up(results: &mut [VerifyResult]) {
    let Some(threads) = results.first().map(|first| first.threads) else { return };
    let base = results.iter().filter(|result| result.threads == threads);
    let base: Vec<_> =
        base.map(|result| (result.scheduler, result.predicted, result.measured.median)).collect();
    for result in results {
        let of = base.iter().find(|(scheduler, ..)| *scheduler == result.scheduler);
        let of = of.filter(|_| result.predicted > 0.0 && result.measured.median > 0.0);
        if let Some((_, predicted, measured)) = of {
            result.predicted_speed_up = predicted / result.predicted;
            result.measured_speed_up = measured / result.measured.median;
        }
    }
}

impl Verified {
    pub(super) fn new(machine: VerifyMachine, results: Vec<VerifyResult>) -> Self {
        let count = |verdict| results.iter().filter(|result| result.verdict == verdict).count();
        let (within, far) = (count(Verdict::Good), count(Verdict::Far));
        let befit = env!("CARGO_PKG_VERSION");
        let failed = Vec::new();
        let (contradicted, suspect, searched) = (None, None, false);
        Self { machine, befit, results, within, far, failed, contradicted, suspect, searched }
    }

    /// True if nine tenths of the predictions are within 0.8 to 1.25, and none is outside of 0.67
    /// to 1.5.
    pub fn holds(&self) -> bool {
        self.far == 0 && self.within * 10 >= self.results.len() * 9
    }

    /// The result that is furthest off.
    pub fn worst(&self) -> Option<&VerifyResult> {
        let off = |result: &VerifyResult| result.ratio.max(f64::MIN_POSITIVE).ln().abs();
        self.results.iter().max_by(|a, b| off(a).total_cmp(&off(b)))
    }
}
