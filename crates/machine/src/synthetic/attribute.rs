//! The meaning of each attribute of a synthetic string.

use super::Attribute;
use crate::{
    Bytes, Cache, CleanSource, Cycles, Frames, Inclusion, Issue, Link, MachineError, MachineSpec,
    Memory, Pages, Placement, Replacement, assumed,
};

/// hwloc's own attributes that say nothing about caches.
const IGNORED: [&str; 3] = ["memory", "indexes", "memorysidecachesize"];

/// The attributes of a machine.
const MACHINE: &str = "mhz, latency, remote, far, clean, controllers, bandwidth, fabric, \
                       package-link, parallelism, streams, window, runs, placement, tlb, walk, \
                       walks, tables, frames, operation, instructions, issue, inlined, pending, \
                       region, published, stolen, spawn, job, call, lock, steal, far-steal, poll, \
                       wake, fault";

/// The attributes of a cache.
const CACHE: &str =
    "size, line, ways, latency, transfer, stream, link, link-write, inclusion, replacement";

/// Applies an attribute of the machine.
pub(super) fn machine(a: &Attribute, spec: &mut MachineSpec) -> Result<(), MachineError> {
    let memory = &mut spec.memory;
    match a.key {
        "mhz" => spec.set_mhz(number(a)?),
        "far" => memory.far_latency = Cycles(number(a)?),
        "fabric" => memory.fabric = Some(number(a)?),
        "package-link" => memory.package_link = Some(number(a)?),
        "frames" => {
            pages(memory).frames = match a.value {
                "random" => Frames::Random,
                "sidebyside" => Frames::SideBySide,
                _ => return Err(a.token.error("frames is random or sidebyside")),
            }
        }
        "clean" => {
            memory.clean = match a.value {
                "memory" => CleanSource::Memory,
                "cache" => CleanSource::Cache,
                _ => return Err(a.token.error("clean is memory or cache")),
            }
        }
        "latency" => memory.latency = Cycles(number(a)?),
        "remote" => memory.remote_latency = Cycles(number(a)?),
        "controllers" => memory.controllers = number(a)?,
        "bandwidth" => memory.bandwidth = number(a)?,
        "parallelism" => memory.parallelism = number(a)?,
        "streams" => memory.streams = Some(number(a)?),
        "window" => memory.window = number(a)?,
        "runs" => memory.runs = number(a)?,
        "tlb" => pages(memory).tlb = number(a)?,
        "walk" => pages(memory).walk = number(a)?,
        "walks" => pages(memory).walks = number(a)?,
        "tables" => pages(memory).tables = number(a)?,
        "operation" => spec.cycles_per_operation = number(a)?,
        "instructions" => issue(spec).instructions = number(a)?,
        "issue" => issue(spec).width = number(a)?,
        "placement" => {
            memory.placement = match a.value {
                "interleaved" => Placement::Interleaved,
                "firsttouch" => Placement::FirstTouch,
                _ => Placement::Bound(number(a)?),
            }
        }
        _ => {
            let mut prices = spec.prices.named().into_iter();
            match prices.find(|(name, _)| *name == a.key) {
                Some((_, price)) => *price = number(a)?,
                None => return other(a, MACHINE),
            }
        }
    }
    Ok(())
}

/// Figures that are not told are 1: an instruction an operation, an instruction a cycle.
fn issue(spec: &mut MachineSpec) -> &mut Issue {
    spec.issue.get_or_insert(Issue { instructions: 1.0, width: 1.0 })
}

fn pages(memory: &mut Memory) -> &mut Pages {
    memory.pages.get_or_insert(assumed::PAGES)
}

/// Applies an attribute of a cache.
pub(super) fn cache(a: &Attribute, cache: &mut Cache) -> Result<(), MachineError> {
    match a.key {
        "size" => cache.size = bytes(a)?,
        "line" => cache.line = bytes(a)?,
        "ways" if a.value == "full" => cache.ways = 0,
        "ways" => cache.ways = number(a)?,
        "latency" => cache.latency = Cycles(number(a)?),
        "transfer" => cache.transfer = Some(Cycles(number(a)?)),
        "stream" => cache.stream = Some(number(a)?),
        "inclusion" => {
            cache.inclusion = match a.value {
                "inclusive" => Inclusion::Inclusive,
                "noninclusive" => Inclusion::NonInclusive,
                "exclusive" => Inclusion::Exclusive,
                _ => {
                    return Err(a.token.error("inclusion is inclusive, noninclusive or exclusive"));
                }
            }
        }
        "replacement" => {
            cache.replacement = match a.value {
                "lru" => Replacement::Lru,
                "plru" => Replacement::TreePlru,
                "random" => Replacement::Random,
                _ => return Err(a.token.error("replacement is lru, plru or random")),
            }
        }
        "link" => {
            let read = number(a)?;
            cache.link = Some(Link { read, write: cache.link.map_or(read, |link| link.write) });
        }
        "link-write" => {
            let write = number(a)?;
            cache.link = Some(Link { write, read: cache.link.map_or(write, |link| link.read) });
        }
        _ => {
            return other(a, CACHE);
        }
    }
    Ok(())
}

/// An attribute that belongs to no object of ours: ignored if hwloc has it.
pub(super) fn other(a: &Attribute, known: &str) -> Result<(), MachineError> {
    if IGNORED.contains(&a.key) || (a.key == "size" && !known.starts_with("size")) {
        return Ok(());
    }
    let known = if known.is_empty() { String::new() } else { format!("; known here are {known}") };
    Err(a.token.error(format!("unknown attribute `{}`{known}", a.key)))
}

pub(super) fn number<N: std::str::FromStr>(a: &Attribute) -> Result<N, MachineError> {
    a.value.parse().map_err(|_| a.token.error(format!("`{}` needs a number in range", a.key)))
}

/// A size as hwloc reads it: a number, decimal or `0x…`, and a unit: MB is a million, MiB 2²⁰
/// bytes, none a byte.
fn bytes(a: &Attribute) -> Result<Bytes, MachineError> {
    let wrong = || a.token.error(format!("`{}` needs a size such as 32768, 32KiB or 24MiB", a.key));
    let (digits, base) = match a.value.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (a.value, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    let (digits, unit) = digits.split_at(end);
    let n = u64::from_str_radix(digits, base).map_err(|_| wrong())?;
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    n.checked_mul(scale).map(Bytes).ok_or_else(wrong)
}
