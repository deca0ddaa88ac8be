//! The levels of a synthetic string, and the parts that they unfold into.

use super::{Scan, Token, attribute};
use crate::build::MOST_OBJECTS;
use crate::{Cache, Level, MachineError, Part, assumed};

/// The kind of object at one level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// A number without a type.
    Untold,
    Package,
    Group,
    Node,
    Cache(Cache),
    InstructionCache,
    Core(u32),
    Worker,
}

impl Kind {
    /// Whether it is a package or lies in one, so that no package can lie in it.
    fn is_inside_a_package(self) -> bool {
        matches!(
            self,
            Self::Package | Self::Cache(_) | Self::InstructionCache | Self::Core(_) | Self::Worker
        )
    }
}

/// One `type:count`.
pub(super) struct Layer {
    kind: Kind,
    count: usize,
}

/// The most levels; hwloc allows 128.
const DEEPEST: usize = 128;

/// Reads all levels. Also gives the number of memory controllers: NUMA nodes, else packages, else
/// 1.
pub(super) fn read(scan: &mut Scan) -> Result<(Vec<Layer>, u32), MachineError> {
    let mut layers: Vec<Layer> = Vec::new();
    let (mut width, mut total, mut nodes, mut packages) = (1usize, 0usize, 0usize, 1usize);
    while let Some(next) = scan.peek() {
        if next == '[' {
            // Memory attached to each object of the level above.
            scan.inside('[', ']')?;
            nodes += width;
            continue;
        }
        let word = scan.word();
        if word.text.is_empty() {
            return Err(Token { at: word.at, text: next.encode_utf8(&mut [0; 4]) }
                .error("expected type:count"));
        }
        let (mut kind, count) = type_and_count(&word)?;
        if layers.last().is_some_and(|l| l.kind == Kind::Worker) {
            return Err(word.error("nothing can stand under a pu"));
        }
        if kind == Kind::Package && layers.iter().any(|l| l.kind.is_inside_a_package()) {
            return Err(word.error("a package can stand under no cache, core or package"));
        }
        for a in scan.attributes()? {
            match &mut kind {
                Kind::Cache(cache) => attribute::cache(&a, cache)?,
                Kind::Core(speed) if a.key == "speed" => *speed = attribute::number(&a)?,
                Kind::Core(_) => attribute::other(&a, "speed")?,
                _ => attribute::other(&a, "")?,
            }
        }
        if let Kind::Cache(cache) = &mut kind
            && cache.ways == UNTOLD
        {
            cache.ways = assumed::ways(cache.level, cache.size, cache.line);
        }
        width = width.saturating_mul(count);
        total = total.saturating_add(width);
        if total > 4 * MOST_OBJECTS || layers.len() == DEEPEST {
            let most = 4 * MOST_OBJECTS;
            return Err(word.error(format!("more than {most} objects or {DEEPEST} levels")));
        }
        match kind {
            Kind::Node => nodes += width,
            Kind::Package => packages = width,
            _ => {}
        }
        layers.push(Layer { kind, count });
    }
    finish(&mut layers, scan)?;
    let controllers = if nodes > 0 { nodes } else { packages };
    Ok((layers, controllers.min(MOST_OBJECTS) as u32))
}

/// There must be a level, and the last must be the hardware thread, as hwloc demands. Levels
/// without a type (`2 4`) are groups, and the last of them the hardware thread.
fn finish(layers: &mut [Layer], scan: &mut Scan) -> Result<(), MachineError> {
    let end = scan.word();
    match layers.last_mut() {
        None => Err(end.error("no level; write for example `pack:2 l3:1 core:4 pu:1`")),
        Some(last) if last.kind == Kind::Untold => {
            last.kind = Kind::Worker;
            Ok(())
        }
        Some(last) if last.kind == Kind::Worker => Ok(()),
        Some(_) => Err(end.error("the last level must be pu, as in `core:4 pu:1`")),
    }
}

/// Stands for associativity that the string has not told (yet).
const UNTOLD: u32 = u32::MAX;

fn type_and_count(word: &Token) -> Result<(Kind, usize), MachineError> {
    let (name, count) = match word.text.split_once(':') {
        Some(typed) => typed,
        None if word.text.chars().all(|c| c.is_ascii_digit()) => ("", word.text),
        None => return Err(word.error("expected type:count, as in `core:4`")),
    };
    let count: usize = count.parse().map_err(|_| word.error("the count is no number"))?;
    if count == 0 {
        return Err(word.error("the count must be above 0"));
    }
    match kind(&name.to_ascii_lowercase()) {
        Some(kind) => Ok((kind, count)),
        None => {
            let known = "known are pack, die, group, numa, l1 to l9, core, pu";
            Err(word.error(format!("unknown type `{name}`; {known}")))
        }
    }
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "" => Kind::Untold,
        "pu" => Kind::Worker,
        "core" => Kind::Core(100),
        "numa" | "numanode" | "node" => Kind::Node,
        "pack" | "package" | "socket" => Kind::Package,
        "die" | "tile" | "module" | "cluster" => Kind::Group,
        _ if name.starts_with("group") => Kind::Group,
        _ => return cache(name),
    })
}

/// `l2`, `l2cache`, `l1d`, `l1dcache`, `l2u`, `l1i`.
fn cache(name: &str) -> Option<Kind> {
    let rest = name.strip_prefix('l')?;
    let rest = rest.strip_suffix("cache").unwrap_or(rest);
    let digit = rest.chars().next()?.to_digit(10).filter(|d| *d > 0)?;
    let level = Level(digit as u8);
    match &rest[1..] {
        "i" => Some(Kind::InstructionCache),
        "" | "d" | "u" => {
            Some(Kind::Cache(assumed::cache(level, assumed::size(level), None, Some(UNTOLD))))
        }
        _ => None,
    }
}

/// Unfolds the levels: each object of one level holds `count` of the next.
pub(super) fn parts(layers: &[Layer]) -> Vec<Part> {
    let Some((layer, inner)) = layers.split_first() else { return Vec::new() };
    let inside = parts(inner);
    let part = match layer.kind {
        Kind::Worker => Part::worker(None),
        Kind::Core(speed) => Part::core(speed, inside),
        Kind::Cache(cache) => Part::Cache { label: String::new(), cache, parts: inside },
        Kind::Untold | Kind::Group | Kind::Node | Kind::InstructionCache => Part::Group(inside),
        Kind::Package => Part::Package(inside),
    };
    vec![part; layer.count]
}
