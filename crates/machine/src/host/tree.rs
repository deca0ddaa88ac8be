//! From the caches that each CPU sees to a tree of them.
//!
//! A cache contains another where its CPUs do, so each CPU's caches and core, the most widely
//! shared first, are a path from the root; paths with a common beginning are merged.

use super::sysfs::{Cpu, print_list};
use crate::build::largest_cache;
use crate::{Cache, Level, MachineError, Part, assumed};

/// A node's identity. Two CPUs mean the same node if they agree on all of it.
#[derive(Clone, PartialEq, Default)]
struct Key {
    /// None for a core.
    cache: Option<Cache>,
    size_assumed: bool,
    cpus: Vec<u32>,
}

#[derive(Default)]
struct Node {
    key: Key,
    children: Vec<Node>,
    /// Those found under it; must come out as `key.cpus`.
    found: Vec<u32>,
    /// Those of them that have nothing further in.
    own: Vec<u32>,
    speed: u32,
}

/// The parts under memory, in the order of their first CPU, those of one package together. (Many
/// machines number the CPUs of their packages in turns, and where no cache is shared by a whole
/// package nothing else keeps it together.)
pub(super) fn parts(mut cpus: Vec<Cpu>) -> Result<Vec<Part>, MachineError> {
    let none = cpus.iter().all(|cpu| cpu.caches.is_empty());
    let fastest = cpus.iter().filter_map(|cpu| cpu.speed).max().unwrap_or(0);
    cpus.sort_by_key(|cpu| (cpu.place, cpu.number));
    let mut roots: Vec<Node> = Vec::new();
    for cpu in &cpus {
        // One that tells no speed among others that do counts as full speed.
        let percent =
            cpu.speed.filter(|s| *s > 0).map_or(100.0, |s| s as f64 * 100.0 / fastest as f64);
        insert(&mut roots, &path(cpu), cpu.number, assumed::speed(percent));
    }
    let package = |node: &Node| {
        let cpu = cpus.iter().find(|cpu| node.found.first() == Some(&cpu.number));
        cpu.map(|cpu| cpu.place[0])
    };
    let mut packages: Vec<(Option<u32>, Vec<Part>)> = Vec::new();
    for node in roots {
        let of = package(&node);
        let part = part(node, none)?;
        match packages.last_mut() {
            Some((last, parts)) if *last == of => parts.push(part),
            _ => packages.push((of, vec![part])),
        }
    }
    Ok(packages.into_iter().map(|(_, parts)| Part::Package(parts)).collect())
}

/// From the outermost cache to the core.
fn path(cpu: &Cpu) -> Vec<Key> {
    let core = Key { cpus: cpu.core.clone(), ..Key::default() };
    let caches = cpu.caches.iter().map(|seen| Key {
        cache: Some(seen.cache),
        size_assumed: seen.size_assumed,
        cpus: seen.shared.clone(),
    });
    let mut path: Vec<Key> = caches.chain([core]).collect();
    let level = |key: &Key| key.cache.map_or(Level(0), |c| c.level);
    path.sort_by(|a, b| b.cpus.len().cmp(&a.cpus.len()).then(level(b).cmp(&level(a))));
    path
}

fn insert(nodes: &mut Vec<Node>, path: &[Key], cpu: u32, speed: u32) {
    let Some((key, rest)) = path.split_first() else { return };
    let at = nodes.iter().position(|node| node.key == *key).unwrap_or_else(|| {
        nodes.push(Node { key: key.clone(), ..Node::default() });
        nodes.len() - 1
    });
    let node = &mut nodes[at];
    node.found.push(cpu);
    node.speed = node.speed.max(speed);
    if rest.is_empty() {
        node.own.push(cpu);
    }
    insert(&mut node.children, rest, cpu, speed);
}

fn part(node: Node, assume: bool) -> Result<Part, MachineError> {
    let Node { key, children, mut found, own, speed } = node;
    let what = key.cache.map_or("core".to_owned(), |c| c.level.to_string());
    let label = format!("{what} of cpu{}", print_list(&key.cpus));
    found.sort_unstable();
    if found != key.cpus {
        let only = print_list(&found);
        let what = format!(
            "only cpu{only} agree that they share it and what is above it; name a machine instead \
             of `host`"
        );
        return Err(MachineError::object(label, what));
    }
    let mut parts =
        children.into_iter().map(|child| part(child, assume)).collect::<Result<Vec<_>, _>>()?;
    parts.extend(own.into_iter().map(|cpu| Part::worker(Some(cpu))));
    Ok(match key.cache {
        Some(cache) if key.size_assumed => {
            let cache = assumed::holding(cache, largest_cache(&parts));
            Part::Cache { label, cache, parts }
        }
        Some(cache) => Part::Cache { label, cache, parts },
        None if assume => assumed_core(speed, parts),
        None => Part::Core { label, speed, parts },
    })
}

/// A core with an L1 and an L2 of its own.
pub(super) fn assumed_core(speed: u32, parts: Vec<Part>) -> Part {
    let cache = |level, parts| {
        let level = Level(level);
        let cache = assumed::cache(level, assumed::untold_size(level), None, None);
        Part::Cache { label: String::new(), cache, parts }
    };
    Part::core(speed, vec![cache(2, vec![cache(1, parts)])])
}
