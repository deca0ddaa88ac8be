//! `befit report`: show what came back of a machine that was measured without a checkout.

use std::{fs, path::PathBuf};

use befit_report::{Measured, Width, measured_page, render_measured};
use clap::Args;

use crate::{
    fail::{Failure, first_of},
    manner::manner,
    output::{Destination, PageArgs},
    progress::Display,
};

const EXAMPLES: &str = "\
Examples:
  befit report measured.json
  befit report measured.json --html measured.html

The file is what measure.sh leaves: docs/machines-measured.md says how to make the folder that it \
is in, and what the file has.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The file, of the schema befit.machine-measured/1
    file: PathBuf,
    /// A file to write the tables to, instead of stdout; it appears whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
}

impl ReportArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let name = self.file.display();
        let text = fs::read_to_string(&self.file)
            .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
        let measured = Measured::read(&text).map_err(|error| {
            Failure::usage(format!("{name} is not a measured machine: {error}"))
        })?;
        let destination = Destination::open(self.output.as_deref())?;
        let display = Display::new();
        let page = self.page.open(&display)?;
        drop(display);
        // A file is as wide as it likes.
        let width = if self.output.is_some() { Width::ANY } else { manner().width() };
        first_of([
            destination.write(&render_measured(&measured, width)),
            page.map_or(Ok(()), |page| page.write(&measured_page(&measured))),
        ])
    }
}
