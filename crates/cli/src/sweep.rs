//! `befit sweep` and `befit merge`: run the program `befit-sweep`, which is built when it is first
//! needed: a Parquet library is half of what a newcomer would wait for.

use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

use clap::Args;

use crate::{fail::Failure, progress::Display};

/// Passed on as they are, `--help` with them.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct SweepArgs {
    /// See `befit sweep --help`, `befit merge --help`
    #[arg(value_name = "ARGS", num_args = 0.., allow_hyphen_values = true)]
    #[arg(trailing_var_arg = true)]
    arguments: Vec<OsString>,
}

impl SweepArgs {
    /// Becomes `befit-sweep`, with its exit code.
    pub(crate) fn run(self, command: &str) -> Result<(), Failure> {
        let display = Display::new();
        let program = befit_lab::sweep_program(&display)?;
        drop(display);
        let failed = Command::new(&program).arg(command).args(self.arguments).exec();
        Err(Failure::other(format!("cannot run {}: {failed}", program.display())))
    }
}
