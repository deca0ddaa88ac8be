//! The machines of the matrix, and the models of them that are simulated.

use befit_machine::{Bytes, Machine};

use super::programs::last_level;
use crate::LabError;

/// The machines of the matrix: the studies' two, three with many last-level caches, one with
/// clusters of unequal cores, and one with a single last-level cache.
pub const MACHINES: [&str; 7] = [
    "xeon-7560",
    "opteron-8380",
    "epyc-7742",
    "epyc-9654",
    "epyc-9654-2p",
    "ryzen-hx-370",
    "xeon-7560-1s",
];

/// Those of the short matrix.
pub const QUICK_MACHINES: [&str; 4] = ["xeon-7560", "epyc-9654", "ryzen-hx-370", "xeon-7560-1s"];

/// What the last-level caches of a model hold together, at most.
const MODEL: Bytes = Bytes::mib(16);
/// The same in the short matrix.
const QUICK_MODEL: Bytes = Bytes::mib(4);

/// By which power of two the caches of `machine` are divided in its model: the least that makes
/// them small enough, but no more than its smallest cache allows.
pub(super) fn shrink(machine: &Machine, quick: bool) -> u32 {
    let most = if quick { QUICK_MODEL } else { MODEL };
    let mut shrink = 1;
    while last_level(machine).0 / u64::from(shrink) > most.0 {
        if machine.clone().shrunk(2 * shrink).is_err() {
            break;
        }
        shrink *= 2;
    }
    shrink
}

/// The machines of the matrix by name.
pub(super) fn usual(quick: bool) -> Result<Vec<Machine>, LabError> {
    let names = if quick { &QUICK_MACHINES[..] } else { &MACHINES[..] };
    names.iter().map(|name| Ok(Machine::find(name)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_small_enough_or_as_small_as_can_be() {
        let shrinks = |quick| -> Vec<u32> {
            usual(quick).unwrap().iter().map(|machine| shrink(machine, quick)).collect()
        };
        assert_eq!(shrinks(false), [8, 2, 16, 32, 64, 2, 2]);
        assert_eq!(shrinks(true), [32, 64, 8, 8]);
        for machine in usual(false).unwrap() {
            assert!(machine.clone().shrunk(shrink(&machine, true)).is_ok(), "{}", machine.name);
        }
    }
}
