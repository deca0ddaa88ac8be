//! The conditions that a machine must satisfy; each check names the object that fails it.

use std::collections::HashSet;

use super::MachineSpec;
use crate::{
    Bytes, Cache, Cycles, MOST_OBJECTS, MOST_PAGES, MOST_RUNS, MOST_TABLES, MachineError,
    Placement, Worker,
};

/// Nesting beyond this is refused before it can exhaust the stack. Levels fall from at most 255, so
/// only groups without meaning can nest deeper.
const DEEPEST: usize = 512;

/// More cycles than any walk takes.
const LONGEST_WALK: f64 = 1e6;

/// More cycles than anything else takes: a third of a second. The simulator's clock holds many of
/// them.
const LONGEST: f64 = 1e9;

/// More bytes than any line has.
const LONGEST_LINE: Bytes = Bytes::kib(64);

pub(super) fn depth(depth: usize) -> Result<(), MachineError> {
    if depth > DEEPEST {
        return Err(MachineError::object("machine", format!("parts nest deeper than {DEEPEST}")));
    }
    Ok(())
}

/// `count` workers or caches are there already.
pub(super) fn room(count: usize, what: &str) -> Result<(), MachineError> {
    if count == MOST_OBJECTS {
        return Err(MachineError::object("machine", format!("more than {MOST_OBJECTS} {what}")));
    }
    Ok(())
}

pub(super) fn memory(spec: &MachineSpec) -> Result<(), MachineError> {
    let m = &spec.memory;
    let at_least = |least: f64, n: f64| n.is_finite() && n >= least;
    let positive = |n: f64| n.is_finite() && n > 0.0;
    let bound = match m.placement {
        Placement::Bound(k) => k > 0 && k <= m.controllers,
        _ => true,
    };
    let issue = spec.issue.is_none_or(|i| positive(i.width) && at_least(0.0, i.instructions));
    let operation = spec.issue.map_or(spec.cycles_per_operation, |i| i.cycles_per_operation());
    let checks = [
        (spec.mhz > 0, "machine", "mhz must be above 0"),
        (m.controllers > 0, "memory", "controllers must be above 0"),
        (bound, "memory", "pages must be bound to at least 1 and at most all controllers"),
        (
            [m.latency, m.remote_latency, m.far_latency].into_iter().all(is_short),
            "memory",
            "latency, remote and far must be 0 to 1000000000 cycles",
        ),
        (positive(m.bandwidth), "memory", "bandwidth must be above 0 bytes per cycle, and finite"),
        (at_least(1.0, m.parallelism), "memory", "parallelism must be at least 1, and finite"),
        (
            m.streams.is_none_or(|n| at_least(1.0, n)),
            "memory",
            "streams must be at least 1, and finite",
        ),
        (
            m.fabric.is_none_or(positive),
            "memory",
            "fabric must be above 0 bytes per cycle, and finite",
        ),
        (
            m.package_link.is_none_or(positive),
            "memory",
            "package-link must be above 0 bytes per cycle, and finite",
        ),
        (m.runs <= MOST_RUNS, "memory", "runs must be 0 to 16384"),
        (
            m.pages.is_none_or(|pages| (1..=MOST_PAGES).contains(&pages.tlb)),
            "memory",
            "tlb must be 1 to 1048576 pages",
        ),
        (
            m.pages.is_none_or(|pages| at_least(0.0, pages.walk) && pages.walk <= LONGEST_WALK),
            "memory",
            "walk must be 0 to 1000000 cycles",
        ),
        (
            m.pages.is_none_or(|pages| at_least(1.0, pages.walks)),
            "memory",
            "walks must be 1 or more, and finite",
        ),
        (
            m.pages.is_none_or(|pages| pages.tables <= MOST_TABLES),
            "memory",
            "tables must be 0 to 8 lines a walk",
        ),
        (
            issue,
            "machine",
            "instructions per operation must be 0 or more, the issue width above 0, both finite",
        ),
        (
            (0.0..=LONGEST).contains(&operation),
            "machine",
            "cycles per operation must be 0 to 1000000000",
        ),
    ];
    if let Some((_, object, what)) = checks.into_iter().find(|(holds, ..)| !holds) {
        return Err(MachineError::object(object, what));
    }
    match spec.prices.table().into_iter().find(|(_, price)| !(0.0..=LONGEST).contains(price)) {
        Some((name, _)) => {
            let what = format!("the price `{name}` must be 0 to {LONGEST} cycles");
            Err(MachineError::object("machine", what))
        }
        None => Ok(()),
    }
}

/// Whether it is a time that something may take.
fn is_short(Cycles(cycles): Cycles) -> bool {
    cycles <= LONGEST as u64
}

pub(super) fn core(
    name: impl Fn() -> String,
    speed: u32,
    inside: bool,
) -> Result<(), MachineError> {
    let what = match speed {
        _ if inside => "stands inside another core".to_owned(),
        1..=100 => return Ok(()),
        _ => format!("speed {speed} % is not within 1 to 100"),
    };
    Err(MachineError::object(name(), what))
}

/// Whether `cache` can stand under `above`; the error is its fault.
pub(super) fn cache(cache: &Cache, above: Option<&Cache>) -> Result<(), String> {
    let Cache { level, size, line, ways, .. } = *cache;
    let ways = ways.max(1);
    let positive = |n: f64| n.is_finite() && n > 0.0;
    let whole_sets = |set| size.0 > 0 && size.0.is_multiple_of(set);
    Err(if level.0 == 0 {
        "levels count from 1".into()
    } else if !line.0.is_power_of_two() {
        format!("its line of {} bytes is no power of two", line.0)
    } else if !line.0.checked_mul(u64::from(ways)).is_some_and(whole_sets) {
        let set = format!("{ways} ways of {} bytes", line.0);
        format!("its size of {} bytes is no multiple of {set}", size.0)
    } else if line > LONGEST_LINE {
        format!("its line of {} bytes is longer than {LONGEST_LINE}", line.0)
    } else if !is_short(cache.latency) || !cache.transfer.is_none_or(is_short) {
        "latency and transfer must be 0 to 1000000000 cycles".into()
    } else if above.is_some() && cache.link.is_some() {
        "only a last-level cache has a link".into()
    } else if cache.link.is_some_and(|link| !positive(link.read) || !positive(link.write)) {
        "link and link-write must be above 0 bytes per cycle, and finite".into()
    } else if cache.stream.is_some_and(|stream| !positive(stream) || stream > LONGEST) {
        "stream must be above 0 cycles, and at most 1000000000".into()
    } else if let Some(above) = above.filter(|above| level >= above.level) {
        format!("stands under {}: levels must fall towards the cores", above.level)
    } else if let Some(above) = above.filter(|above| size > above.size) {
        format!("its {size} are more than the {} of the {} above it", above.size, above.level)
    } else {
        return Ok(());
    })
}

pub(super) fn workers(workers: &[Worker]) -> Result<(), MachineError> {
    if workers.is_empty() {
        return Err(MachineError::object("machine", "has no worker"));
    }
    let mut seen = HashSet::new();
    match workers.iter().filter_map(|w| w.os_index).find(|index| !seen.insert(*index)) {
        Some(index) => Err(MachineError::object(format!("cpu{index}"), "is listed twice")),
        None => Ok(()),
    }
}
