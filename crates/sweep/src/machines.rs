//! The machines of a sweep: what their names stand for, which may be another machine elsewhere.

use std::collections::BTreeMap;

use befit_machine::{Machine, MachineError};

use crate::Configuration;

/// The machines of all of `configurations`, by the names that these have for them.
///
/// # Errors
/// A machine is unknown.
pub(crate) fn find(
    configurations: &[Configuration],
) -> Result<BTreeMap<String, Machine>, MachineError> {
    let mut found = BTreeMap::new();
    for one in configurations {
        if !found.contains_key(&one.machine) {
            found.insert(one.machine.clone(), Machine::find(&one.machine)?);
        }
    }
    Ok(found)
}

/// A hash of all that is known of `machine`.
pub(crate) fn hash(machine: &Machine) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(format!("{machine:?}").as_bytes()))
}

/// The machine that `name` stands for here, which has the hash that it has at the sweep's client.
///
/// # Errors
/// In one line: it is unknown here, or is another one.
pub(crate) fn known(name: &str, expected: &str) -> Result<Machine, String> {
    let machine = Machine::find(name).map_err(|error| error.to_string())?;
    if hash(&machine) != expected {
        return Err(format!(
            "the machine {name} is another one for this worker than it was for the sweep; name a \
             preset, or a file that is the same for both"
        ));
    }
    Ok(machine)
}
