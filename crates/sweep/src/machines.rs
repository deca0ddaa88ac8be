//! The machines of a sweep: what their names stand for, which may be another machine elsewhere.

use std::collections::{BTreeMap, HashSet, btree_map::Entry};

use befit_machine::{Machine, MachineError};

use crate::Configuration;

/// The hashes of the machines of all of `configurations`, by the names that these have for them.
/// Each machine is found once, with `find`, and changed once in each way.
///
/// # Errors
/// A machine is unknown, or cannot be changed as a configuration says.
pub(crate) fn hashes(
    configurations: &[Configuration],
    find: impl Fn(&str) -> Result<Machine, MachineError>,
) -> Result<BTreeMap<String, String>, MachineError> {
    let mut found = BTreeMap::new();
    let mut varied = HashSet::new();
    for one in configurations {
        let machine = match found.entry(one.machine.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(find(&one.machine)?),
        };
        if varied.insert((&one.machine, one.sockets, one.cores, one.bandwidth, one.shrink)) {
            one.varied(machine.clone())?;
        }
    }
    Ok(found.into_iter().map(|(name, machine)| (name, hash(&machine))).collect())
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Grid;

    #[test]
    fn each_machine_of_a_grid_is_found_once() {
        let grid = |sockets| {
            let grid = "program = 'a.befit'\nscheduler = ['ws', 'sb']\nseed = '1..50'\n";
            let grid =
                format!("{grid}machine = ['xeon-7560', 'opteron-8380']\nsockets = {sockets}");
            Grid::from_toml(&grid).unwrap()
        };
        let times = Cell::new(0);
        let find = |name: &str| {
            times.set(times.get() + 1);
            Machine::find(name)
        };
        let hashes = |sockets| hashes(grid(sockets).configurations(), find);
        assert_eq!((hashes("[1, 2]").unwrap().len(), times.get()), (2, 2));
        let error = hashes("[1, 9]").unwrap_err().to_string();
        assert!(error.contains("1 to 4 sockets"), "{error}");
    }
}
