//! `befit record`: record a program into a file, and say what is in it.

use crate::{
    args::RecordArgs,
    fail::Failure,
    output::{Destination, print},
    progress::Display,
};

pub(super) fn run(args: RecordArgs) -> Result<(), Failure> {
    let source = args.source.source(args.shrink);
    source.check()?;
    // says now, and not after the recording, that the file cannot be written
    drop(Destination::open(Some(&args.output))?);
    let display = Display::new();
    let program = befit_lab::record(&source, args.source.fresh, &display)?;
    drop(display);
    program
        .save(&args.output)
        .map_err(|e| Failure::other(format!("cannot write {}: {e}", args.output.display())))?;
    let bytes = args.output.metadata().map_err(Failure::other)?.len();
    print(&befit_report::recording(&program, bytes))
}
