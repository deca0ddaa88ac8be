//! `befit list`: what can be named.

use crate::{fail::Failure, output::print};

pub(super) fn run() -> Result<(), Failure> {
    print(&befit_report::names())
}
