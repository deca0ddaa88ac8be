//! The meaning of each attribute of a synthetic string.

use super::Attribute;
use crate::{
    Bytes, Cache, Cycles, Inclusion, Issue, MachineError, MachineSpec, Placement, Replacement,
};

/// hwloc's own attributes that say nothing about caches.
const IGNORED: [&str; 3] = ["memory", "indexes", "memorysidecachesize"];

/// Applies an attribute of the machine.
pub(super) fn machine(a: &Attribute, spec: &mut MachineSpec) -> Result<(), MachineError> {
    let memory = &mut spec.memory;
    match a.key {
        "mhz" => spec.mhz = number(a)?,
        "latency" => memory.latency = Cycles(number(a)?),
        "remote" => memory.remote_latency = Cycles(number(a)?),
        "controllers" => memory.controllers = number(a)?,
        "bandwidth" => memory.bandwidth = number(a)?,
        "parallelism" => memory.parallelism = number(a)?,
        "streams" => memory.streams = Some(number(a)?),
        "window" => memory.window = number(a)?,
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
            return other(
                a,
                "mhz, latency, remote, controllers, bandwidth, parallelism, streams, window, \
                 placement, operation, instructions, issue",
            );
        }
    }
    Ok(())
}

/// Figures that are not told are 1: an instruction an operation, an instruction a cycle.
fn issue(spec: &mut MachineSpec) -> &mut Issue {
    spec.issue.get_or_insert(Issue { instructions: 1.0, width: 1.0 })
}

/// Applies an attribute of a cache.
pub(super) fn cache(a: &Attribute, cache: &mut Cache) -> Result<(), MachineError> {
    match a.key {
        "size" => cache.size = bytes(a)?,
        "line" => cache.line = bytes(a)?,
        "ways" if a.value == "full" => cache.ways = 0,
        "ways" => cache.ways = number(a)?,
        "latency" => cache.latency = Cycles(number(a)?),
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
        _ => return other(a, "size, line, ways, latency, inclusion, replacement"),
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
