//! Reads hwloc's synthetic strings: `pack:4 l3:1(size=24MiB) core:8 l2:1(size=256KiB)
//! l1:1(size=32KiB) pu:1`.
//!
//! From the outside in, each word says how many objects of a type stand under one of the type
//! before. The grammar is that of hwloc ("Synthetic topologies" in its manual), with more
//! attributes, since hwloc's describe no speeds:
//!
//! | object | attributes |
//! |---|---|
//! | cache (`l1` … `l9`, `l1d`, `L3Cache`, …) | `size=` `line=` `ways=` (or `full`) `latency=` (cycles) `inclusion=` (`inclusive`, `noninclusive`, `exclusive`) `replacement=` (`lru`, `plru`, `random`) |
//! | `core` | `speed=` (percent) |
//! | the machine, as a leading `( … )` | `mhz=` `latency=` `remote=` (cycles) `controllers=` `bandwidth=` (bytes per cycle of one controller) `parallelism=` `window=` (operations) `placement=` (`interleaved`, `firsttouch`, or the number of controllers that pages are bound to) `operation=` (cycles), or `instructions=` (an operation) and `issue=` (instructions a cycle) |
//!
//! hwloc's own `memory=`, `indexes=` and the like are read and ignored; instruction caches leave no
//! trace; the memory controllers are as many as NUMA nodes (`numa:2`, or attached in brackets),
//! else as packages, else one. What is not said is as in [`crate::assumed`].

mod attribute;
mod level;
mod scan;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use crate::{Machine, MachineError, MachineSpec};

impl FromStr for Machine {
    type Err = MachineError;

    /// A machine from a synthetic string; its name is the string. O(objects).
    ///
    /// # Errors
    /// [`MachineError::Synthetic`] with the place where the string cannot be read;
    /// [`MachineError::Object`] where what it describes cannot be a machine.
    fn from_str(text: &str) -> Result<Self, MachineError> {
        let name: Vec<&str> = text.split_whitespace().collect();
        read(text, name.join(" "))?.build()
    }
}

/// Reads `text` into a description named `name`.
pub(crate) fn read(text: &str, name: String) -> Result<MachineSpec, MachineError> {
    let mut spec = MachineSpec::new(name, Vec::new());
    let mut scan = scan::Scan::new(text);
    let mut told = false;
    for attribute in scan.attributes()? {
        attribute::machine(&attribute, &mut spec)?;
        told |= attribute.key == "controllers";
    }
    let (levels, nodes) = level::read(&mut scan)?;
    if !told {
        spec.memory.controllers = nodes;
    }
    spec.parts = level::parts(&levels);
    Ok(spec)
}

/// Whether `text` looks as if it was meant to be a synthetic string: it has a `type:count`, or
/// begins with a number.
pub(crate) fn is_likely(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['(', '['])
        || text.contains(':')
        || text.starts_with(|c: char| c.is_ascii_digit())
}
