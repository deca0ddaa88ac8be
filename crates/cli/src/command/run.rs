//! `befit run`: run natively under each scheduler, print.

use befit_lab::Interrupt;
use befit_report::render_native;

use crate::{args::RunArgs, fail::Failure, output::Destination, progress::Display};

pub(super) fn run(args: RunArgs) -> Result<(), Failure> {
    let source = args.source();
    source.check()?;
    let output = args.output.output.as_deref();
    // says now, and not after the runs, that the file cannot be written; nothing is left on Ctrl-C
    drop(Destination::open(output)?);
    let interrupt = Interrupt::default();
    let raise = interrupt.clone();
    ctrlc::set_handler(move || raise.raise())
        .map_err(|e| Failure::other(format!("cannot handle signals: {e}")))?;
    let display = Display::new();
    let results = args.plan().run(&source, &interrupt, &display)?;
    drop(display);
    let text =
        render_native(&results, super::format(args.output.format)).map_err(Failure::other)?;
    Destination::open(output)?.write(&text)
}
