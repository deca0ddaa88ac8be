//! Has this machine measured, by the program `befit-calibrate`.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use befit_calibrate::{Calibration, Effort, neighbours};
use befit_machine::Machine;
use befit_record::end_with_us;

use crate::{LabError, Progress, companion};

/// What measures this machine.
#[derive(Clone, Debug)]
pub struct Measuring {
    program: PathBuf,
}

impl Measuring {
    /// The program, which is built if it has to be: that takes most of a minute.
    ///
    /// # Errors
    /// When it is not there and cannot be built.
    pub fn find(progress: &dyn Progress) -> Result<Self, LabError> {
        Ok(Self { program: companion::calibrate_program(progress)? })
    }

    /// The program, if that is there already.
    pub(crate) fn if_there() -> Option<Self> {
        Some(Self { program: companion::calibrate_program_if_there()? })
    }

    /// Measures this machine, for a few seconds or most of a minute.
    ///
    /// # Errors
    /// Where the machine cannot be read, or memory or threads cannot be had.
    pub fn calibrate(
        &self,
        effort: Effort,
        progress: &dyn Progress,
    ) -> Result<Calibration, LabError> {
        progress.measuring();
        let effort = if effort == Effort::Quick { "quick" } else { "full" };
        let printed = self.run(&[effort], &|share| progress.measured(share))?;
        progress.finished();
        serde_json::from_str(&printed).map_err(|error| self.failed(error))
    }

    /// Nanoseconds of a load on the first core of `machine` of a line that the nearest other one
    /// under its last-level cache has just written: a moment's look. None where there is no such
    /// core.
    pub(crate) fn written(&self, machine: &Machine) -> Option<f64> {
        let (here, there) = neighbours(machine)?;
        let printed = self.run(&["written", &here.to_string(), &there.to_string()], &|_| {});
        printed.ok()?.trim().parse().ok()
    }

    /// Nanoseconds a simple operation on each of `cpus` at the moment.
    pub(crate) fn paces(&self, cpus: &[u32]) -> Option<Vec<f64>> {
        let mut words = vec!["pace".to_owned()];
        words.extend(cpus.iter().map(u32::to_string));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = self.run(&words, &|_| {}).ok()?;
        printed.lines().map(|line| line.trim().parse().ok()).collect()
    }

    /// Has the two cores of [`Self::written`] come near one another, if the host can be brought to
    /// that; returns whether such a load takes `usual` nanoseconds now. True where there are no two
    /// such cores.
    pub(crate) fn bring_near(&self, machine: &Machine, usual: f64) -> bool {
        let Some((here, there)) = neighbours(machine) else { return true };
        let words = ["bring-near", &here.to_string(), &there.to_string(), &usual.to_string()];
        self.run(&words, &|_| {}).is_ok_and(|printed| printed.trim() == "true")
    }

    /// What the program prints. `share` is told what is done so far.
    fn run(&self, words: &[&str], share: &dyn Fn(f64)) -> Result<String, LabError> {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = end_with_us(&mut command).spawn().map_err(|error| self.failed(error))?;
        let mut said = String::new();
        let lines = child.stderr.take().map(|stderr| BufReader::new(stderr).lines());
        // What it prints is short, and comes last.
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            match line.parse() {
                Ok(done) => share(done),
                Err(_) => said = line,
            }
        }
        let output = child.wait_with_output().map_err(|error| self.failed(error))?;
        if !output.status.success() {
            let why = if said.is_empty() { output.status.to_string() } else { said };
            return Err(LabError::Failed(format!("cannot measure this machine: {why}")));
        }
        String::from_utf8(output.stdout).map_err(|error| self.failed(error))
    }

    fn failed(&self, why: impl std::fmt::Display) -> LabError {
        LabError::Failed(format!("{}: {why}", self.program.display()))
    }
}
