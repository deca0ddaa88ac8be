//! `befit calibrate`: measure this machine, print what was found, and write it where `host` looks.

use std::path::PathBuf;

use befit_calibrate::{CalibrateError, Calibration, Effort};
use befit_lab::Measuring;
use befit_machine::{Host, calibration_file};
use clap::{Args, ValueEnum};

use crate::{
    fail::Failure,
    output::{Destination, complain, print},
    progress::Display,
};

const EXAMPLES: &str = "\
Examples:
  befit calibrate                    measures for most of a minute; `--machine host` then uses it
  befit calibrate -o server.machine  writes the figures elsewhere; BEFIT_CALIBRATION names that file

Measure while nothing else runs. The page docs/calibrate.md says how each figure is measured.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// The calibration file [default: $BEFIT_CALIBRATION, else befit/host.machine in
    /// $XDG_CONFIG_HOME or ~/.config, where `--machine host` looks]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How the figures are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Measures a few seconds only: a first look
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// For reading
    #[default]
    Table,
    /// For programs: the schema befit.calibrate/1
    Json,
}

impl CalibrateArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let usual = self.output.is_none();
        let path = self.output.or_else(calibration_file).ok_or_else(|| {
            Failure::usage("no HOME to write the calibration to; name a file with -o")
        })?;
        if usual && let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|e| Failure::other(format!("cannot make {}: {e}", folder.display())))?;
        }
        let destination = Destination::open(Some(&path))?;
        let effort = if self.quick { Effort::Quick } else { Effort::Full };
        let display = Display::new();
        let claimed = Host::here().detect().map_err(Failure::other)?;
        let found = Measuring::find(&display)?.calibrate(effort, &display)?;
        drop(display);
        print(&match self.format {
            Format::Table => found.table(&claimed),
            Format::Json => found.json(&claimed).map_err(failure)?,
        })?;
        warn(&found);
        destination.write(&found.file(&claimed).map_err(failure)?)?;
        complain(&format!("wrote {}", path.display()));
        Ok(())
    }
}

/// Says which figures are not to be trusted.
fn warn(found: &Calibration) {
    let noisy = found.noisy();
    if !noisy.is_empty() {
        complain(&format!(
            "too noisy, measure again while the machine is quiet: {}",
            noisy.join("; ")
        ));
    }
}

fn failure(error: CalibrateError) -> Failure {
    match error {
        CalibrateError::Irregular => Failure::usage(error),
        error => Failure::other(error),
    }
}
