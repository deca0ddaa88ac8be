//! What is measured here and now.

use befit_machine::Host;

use crate::{CalibrateError, Calibration, Effort, core, is_near, pin, prices, rounds::Rounds};

/// Measures this machine. `progress` is told the share that is done.
///
/// # Errors
/// Where the machine cannot be read, or memory or threads cannot be had.
pub fn calibrate(
    effort: Effort,
    progress: &mut dyn FnMut(f64),
) -> Result<Calibration, CalibrateError> {
    let machine = Host::here().detect()?;
    let before = pin::affinity();
    let found = Rounds::new(machine).and_then(|rounds| rounds.measure(effort, progress));
    pin::restore(&before);
    found
}

/// Nanoseconds of a load on the CPU `here` of a line that `there` has just written: a moment's
/// look.
///
/// The host of a virtual machine may move its processors at any time. Two that had a core each may
/// then share one, or have no cache in common.
pub fn written(here: u32, there: u32) -> f64 {
    let before = pin::affinity();
    let found = prices::written(here, there);
    pin::restore(&before);
    found
}

/// Has two CPUs wake one another in turn until a load of the other's line takes `usual`
/// nanoseconds, within [`crate::TOLERANCE`], for a second at most; returns whether it does.
///
/// A host that runs a virtual processor where there is room prefers, when another one has woken it,
/// a place near that one.
pub fn bring_near(here: u32, there: u32, usual: f64) -> bool {
    const TURNS: u32 = 50;
    (0..TURNS).any(|_| {
        is_near(written(here, there), usual) || {
            let before = pin::affinity();
            prices::wake(here, there);
            pin::restore(&before);
            false
        }
    })
}

/// Nanoseconds a simple operation on each of `cpus` at the moment, one after the other.
///
/// Where the host of a virtual machine runs another guest on a core's second thread, the two share
/// its width, so that this grows. A chain of dependent operations takes as long as before.
pub fn pace(cpus: &[u32]) -> Vec<f64> {
    const LOOKS: usize = 3;
    let before = pin::affinity();
    let least = |cpu: &u32| {
        pin::pin(*cpu);
        (0..LOOKS).map(|_| core::operation()).fold(f64::INFINITY, f64::min)
    };
    let found = cpus.iter().map(least).collect();
    pin::restore(&before);
    found
}
