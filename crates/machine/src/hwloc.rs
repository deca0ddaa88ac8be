//! The machine as libhwloc sees it, through the `hwlocality` crate (feature `hwloc`).
//!
//! For machines whose sysfs is not enough (other systems than Linux, odd firmware that hwloc knows
//! how to correct), and to hold [`crate::Host`] against an independent reading. The clock and
//! speeds of cores are not read, and a cgroup's quota is not applied.

use hwlocality::Topology;
use hwlocality::cpu::binding::CpuBindingFlags;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{CacheAssociativity, ObjectAttributes};
use hwlocality::object::types::{CacheType, ObjectType};

use crate::build::largest_cache;
use crate::{Bytes, Inclusion, Level, Machine, MachineError, MachineSpec, Part, assumed};

/// The machine that this runs on, as libhwloc detects it: its online CPUs that this thread may run
/// on.
///
/// # Errors
/// [`MachineError::Object`] where libhwloc fails, or describes what cannot be a machine.
pub fn detect_through_hwloc() -> Result<Machine, MachineError> {
    let topology = Topology::new().map_err(|e| MachineError::object("libhwloc", e.to_string()))?;
    // Where the system does not tell, the thread may run on all.
    let binding = topology.cpu_binding(CpuBindingFlags::THREAD).ok();
    let mut reading = Reading { binding, size_assumed: false };
    let parts = reading.parts(topology.root_object())?;
    let name = if reading.size_assumed { "host (caches assumed)" } else { "host" };
    let mut spec = MachineSpec::new(name, parts);
    spec.memory.controllers = reading.controllers(topology.root_object()).max(1);
    spec.share_bandwidth();
    spec.build()
}

struct Reading {
    /// This thread's CPUs.
    binding: Option<CpuSet>,
    /// hwloc did not tell the size of some cache.
    size_assumed: bool,
}

impl Reading {
    /// Whether it has a CPU that this thread may run on.
    fn uses(&self, object: &TopologyObject) -> bool {
        match (&self.binding, object.cpuset()) {
            (Some(binding), Some(cpus)) => binding.intersects(cpus),
            _ => true,
        }
    }

    /// The memory controllers in `object`. A node beside CPUs that others are nearer to is a
    /// further tier of memory (HBM, CXL), and so is each but one of several beside the same CPUs.
    fn controllers(&self, object: &TopologyObject) -> u32 {
        if !self.uses(object) {
            return 0;
        }
        let is_node = |child: &TopologyObject| child.object_type() == ObjectType::NUMANode;
        let has_node = object.memory_children().any(is_node);
        // Caches on memory's side.
        let others = object.memory_children().filter(|child| !is_node(child));
        let inside = object.normal_children().chain(others).map(|child| self.controllers(child));
        inside.sum::<u32>().max(u32::from(has_node))
    }

    /// The parts under `object`.
    fn parts(&mut self, object: &TopologyObject) -> Result<Vec<Part>, MachineError> {
        let mut parts = Vec::new();
        for child in object.normal_children() {
            if let Some(part) = self.part(child)? {
                parts.push(part);
            }
        }
        Ok(parts)
    }

    fn part(&mut self, object: &TopologyObject) -> Result<Option<Part>, MachineError> {
        let label = format!("{object:#}");
        let index = || object.os_index().and_then(|n| u32::try_from(n).ok());
        let kind = object.object_type();
        if kind == ObjectType::PU {
            return Ok(self.uses(object).then(|| Part::worker(index())));
        }
        let parts = self.parts(object)?;
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
                let (mut cache, size_assumed) = assumed::completed(level, size, line, ways);
                if size_assumed {
                    cache = assumed::holding(cache, largest_cache(&parts));
                    self.size_assumed = true;
                }
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
}
