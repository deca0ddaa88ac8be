//! What is measured here and now.

use befit_machine::Host;

use crate::{CalibrateError, Calibration, Effort, pin, prices, rounds::Rounds};

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
    let found = Rounds::new(machine)?.measure(effort, progress);
    pin::restore(&before);
    found
}

/// Nanoseconds until the CPU `here` has a line that `there` has just written: a moment's look.
///
/// The host of a virtual machine may move its processors at any time, and then two that shared a
/// cache do not.
pub fn hand_over(here: u32, there: u32) -> f64 {
    const LOOKS: usize = 5;
    let before = pin::affinity();
    let mut looks: Vec<f64> = (0..LOOKS).map(|_| prices::handed(here, there)).collect();
    pin::restore(&before);
    looks.sort_by(f64::total_cmp);
    looks[LOOKS / 2]
}

/// Has two CPUs wake one another in turn until a line takes at most `usual` nanoseconds between
/// them, for a second at most; returns whether it does.
///
/// A host that runs a virtual processor where there is room prefers, when another one has woken it,
/// a place near that one.
pub fn bring_near(here: u32, there: u32, usual: f64) -> bool {
    const TURNS: u32 = 50;
    (0..TURNS).any(|_| {
        hand_over(here, there) <= usual || {
            let before = pin::affinity();
            prices::wake(here, there);
            pin::restore(&before);
            false
        }
    })
}
