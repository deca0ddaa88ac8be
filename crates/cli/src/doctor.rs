//! `befit doctor`: looks whether all is there that befit needs.

use befit_lab::{State, doctor};
use clap::Args;

use crate::{
    fail::{Failure, first_of},
    manner::manner,
    output::print,
};

const AFTER: &str = "\
Examples:
  befit doctor

The exit code is 1 if something is missing without which befit cannot record programs.";

#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct DoctorArgs {}

impl DoctorArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let findings = doctor();
        let verdict = match findings.iter().filter(|f| f.state == State::Missing).count() {
            0 => Ok(()),
            missing => Err(Failure::other(format!("{missing} of these are missing"))),
        };
        let printed = print(&befit_report::findings(&findings, manner().width()));
        first_of([verdict, printed])
    }
}
