//! The machine as libhwloc sees it, through the `hwlocality` crate (feature `hwloc`).
//!
//! For machines whose sysfs is not enough (other systems than Linux, odd firmware that hwloc knows
//! how to correct), and to hold [`crate::Host`] against an independent reading. Speeds of cores are
//! not read, and a cgroup's quota is not applied.

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{CacheAssociativity, ObjectAttributes};
use hwlocality::object::types::{CacheType, ObjectType};

use crate::{Bytes, Inclusion, Level, Machine, MachineError, MachineSpec, Part, assumed};

/// The machine that this runs on, as libhwloc detects it: its online CPUs that this process may
/// use.
///
/// # Errors
/// [`MachineError::Object`] where libhwloc fails, or describes what cannot be a machine.
pub fn detect_through_hwloc() -> Result<Machine, MachineError> {
    let topology = Topology::new().map_err(|e| MachineError::object("libhwloc", e.to_string()))?;
    let mut spec = MachineSpec::new("host", parts(topology.root_object())?);
    let nodes = topology.objects_with_type(ObjectType::NUMANode).count();
    spec.memory.controllers = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
    spec.build()
}

/// The parts under `object`.
fn parts(object: &TopologyObject) -> Result<Vec<Part>, MachineError> {
    let mut parts = Vec::new();
    for child in object.normal_children() {
        if let Some(part) = part(child)? {
            parts.push(part);
        }
    }
    Ok(parts)
}

fn part(object: &TopologyObject) -> Result<Option<Part>, MachineError> {
    let label = format!("{object:#}");
    let index = || object.os_index().and_then(|n| u32::try_from(n).ok());
    let kind = object.object_type();
    if kind == ObjectType::PU {
        return Ok(Some(Part::worker(index())));
    }
    let parts = parts(object)?;
    if parts.is_empty() {
        return Ok(None);
    }
    Ok(Some(match object.attributes() {
        Some(ObjectAttributes::Cache(told)) if told.cache_type() != CacheType::Instruction => {
            let out_of_range = |what: &str| {
                MachineError::object(label.clone(), format!("its {what} is out of range"))
            };
            let level = Level(u8::try_from(told.depth()).map_err(|_| out_of_range("level"))?);
            let size = told.size().map(|size| Bytes(size.get()));
            let line = told.line_size().map(|line| Bytes(line.get() as u64));
            let ways = match told.associativity() {
                CacheAssociativity::Unknown => None,
                CacheAssociativity::Full => Some(0),
                CacheAssociativity::Ways(n) => {
                    Some(u32::try_from(n.get()).map_err(|_| out_of_range("associativity"))?)
                }
            };
            let (mut cache, _) = assumed::completed(level, size, line, ways);
            // Of level 1 there is nothing below to include.
            if level > Level(1)
                && object.info("Inclusive").is_some_and(|info| info.to_bytes() == b"1")
            {
                cache.inclusion = Inclusion::Inclusive;
            }
            Part::Cache { label, cache, parts }
        }
        _ if kind == ObjectType::Core => Part::Core { label, speed: 100, parts },
        _ if kind == ObjectType::Package => Part::Package(parts),
        _ => Part::Group(parts),
    }))
}
