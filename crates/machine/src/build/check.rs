//! What a machine must satisfy; each check names the object that fails it.

use std::collections::HashSet;

use super::MachineSpec;
use crate::{Cache, MachineError, Worker};

/// Nesting beyond this is refused before it can exhaust the stack. Levels fall from at most 255, so
/// only groups without meaning can nest deeper.
const DEEPEST: usize = 512;

pub(super) fn depth(depth: usize) -> Result<(), MachineError> {
    if depth > DEEPEST {
        return Err(MachineError::object("machine", format!("parts nest deeper than {DEEPEST}")));
    }
    Ok(())
}

pub(super) fn memory(spec: &MachineSpec) -> Result<(), MachineError> {
    let m = &spec.memory;
    let wrong = |what: &str| Err(MachineError::object("memory", what));
    if spec.mhz == 0 {
        return Err(MachineError::object("machine", "mhz must be above 0"));
    }
    if m.controllers == 0 {
        return wrong("controllers must be above 0");
    }
    if let crate::Placement::Bound(k) = m.placement
        && (k == 0 || k > m.controllers)
    {
        return wrong("pages must be bound to at least 1 and at most all controllers");
    }
    if !(m.bandwidth.is_finite() && m.bandwidth > 0.0) {
        return wrong("bandwidth must be above 0 bytes per cycle");
    }
    if !(m.parallelism.is_finite() && m.parallelism >= 1.0) {
        return wrong("parallelism must be at least 1");
    }
    if spec.issue.is_some_and(|i| {
        !(i.width.is_finite()
            && i.width > 0.0
            && i.instructions.is_finite()
            && i.instructions >= 0.0)
    }) {
        return Err(MachineError::object(
            "machine",
            "instructions per operation must be 0 or more, and the issue width above 0",
        ));
    }
    if !(spec.cycles_per_operation.is_finite() && spec.cycles_per_operation >= 0.0) {
        return Err(MachineError::object("machine", "cycles per operation must not be negative"));
    }
    Ok(())
}

pub(super) fn core(
    name: impl Fn() -> String,
    speed: u32,
    inside: bool,
) -> Result<(), MachineError> {
    if inside {
        return Err(MachineError::object(name(), "stands inside another core"));
    }
    if !(1..=100).contains(&speed) {
        return Err(MachineError::object(
            name(),
            format!("speed {speed} % is not within 1 to 100"),
        ));
    }
    Ok(())
}

/// What is wrong with `cache`, which stands under `above`.
pub(super) fn cache(cache: &Cache, above: Option<&Cache>) -> Result<(), String> {
    let Cache { level, size, line, ways, .. } = *cache;
    if level.0 == 0 {
        return Err("levels count from 1".into());
    }
    if !line.0.is_power_of_two() {
        return Err(format!("its line of {} bytes is no power of two", line.0));
    }
    let set = line.0.checked_mul(u64::from(ways.max(1)));
    if size.0 == 0 || set.is_none_or(|set| !size.0.is_multiple_of(set)) {
        return Err(format!(
            "its size of {} bytes is no multiple of {} ways of {} bytes",
            size.0,
            ways.max(1),
            line.0
        ));
    }
    if let Some(above) = above {
        if level >= above.level {
            return Err(format!(
                "stands under {}: levels must fall towards the cores",
                above.level
            ));
        }
        if size > above.size {
            return Err(format!(
                "its {size} are more than the {} of the {} above it",
                above.size, above.level
            ));
        }
    }
    Ok(())
}

pub(super) fn workers(workers: &[Worker]) -> Result<(), MachineError> {
    if workers.is_empty() {
        return Err(MachineError::object("machine", "has no worker"));
    }
    let mut seen = HashSet::new();
    for index in workers.iter().filter_map(|w| w.os_index) {
        if !seen.insert(index) {
            return Err(MachineError::object(format!("cpu{index}"), "is listed twice"));
        }
    }
    Ok(())
}
