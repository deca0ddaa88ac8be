//! `befit calibrate`: measure this machine, print what was found, and write it where `host` looks.

use std::path::PathBuf;

use befit_calibrate::{CalibrateError, Calibration, Effort, NOISY, is_regular};
use befit_lab::Measuring;
use befit_machine::{Host, calibration_file};
use clap::{Args, ValueEnum};

use crate::{
    fail::{Failure, first_of},
    output::{Destination, complain, print},
    progress::Display,
};

const EXAMPLES: &str = "\
Examples:
  befit calibrate                    measures for most of a minute; `--machine host` then uses it
  befit calibrate -o server.machine  writes the figures elsewhere, for --machine server.machine

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
        let claimed = Host::here().detect().map_err(Failure::other)?;
        if !is_regular(&claimed) {
            return Err(failure(CalibrateError::Irregular));
        }
        let effort = if self.quick { Effort::Quick } else { Effort::Full };
        let display = Display::new();
        let found = Measuring::find(&display)?.calibrate(effort, &display)?;
        drop(display);
        // The file first: nobody may read the figures, or only later.
        let content = found.file(&claimed).map_err(failure);
        let written = content.and_then(|content| destination.write(&content));
        let text = match self.format {
            Format::Table => Ok(found.table(&claimed)),
            Format::Json => found.json(&claimed).map_err(failure),
        };
        let printed = text.and_then(|text| print(&text));
        warn(&found);
        if written.is_ok() {
            complain(&format!("wrote {}", path.display()));
        }
        first_of([written, printed])
    }
}

/// Says which figures are not to be trusted, and where the processors were.
fn warn(found: &Calibration) {
    let noisy = found.noisy();
    if !noisy.is_empty() {
        let each = noisy.iter().map(|(name, share)| match share {
            ..=1.0 => format!("{name} {:.0} %", 100.0 * share),
            _ => format!("{name} more than 100 %"),
        });
        complain(&format!(
            "noisy: the two halves of the rounds differ by more than {:.0} % in {}; measure again \
             while the machine is quiet",
            100.0 * NOISY,
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    if found.as_described < 1.0 {
        complain(&format!(
            "in {:.0} % of the rounds the first two cores were not two under one cache: the host \
             moves its virtual processors{}",
            100.0 * (1.0 - found.as_described),
            if found.as_described > 0.0 { "; only the others count between cores" } else { "" }
        ));
    }
}

fn failure(error: CalibrateError) -> Failure {
    match error {
        CalibrateError::Irregular => Failure::usage(error),
        error => Failure::other(error),
    }
}
