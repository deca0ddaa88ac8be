//! `befit topo`: draw a machine.

use crate::{args::TopoArgs, fail::Failure, output::print};

pub(super) fn run(args: TopoArgs) -> Result<(), Failure> {
    print(&args.machine.draw())
}
