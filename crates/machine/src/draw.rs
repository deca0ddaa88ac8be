//! Draws a machine as text, for `befit topo`.
//!
//! ```
//! let drawing = befit_machine::preset("xeon-7560").unwrap().draw();
//! assert!(drawing.contains("4 × L3"));
//! ```

use std::{collections::HashMap, fmt::Write};

use crate::{Cache, ClusterId, Inclusion, Machine, Placement, Replacement, WorkerId};

/// One line: its part of the tree, then columns.
struct Line {
    tree: String,
    columns: [String; 3],
    rest: String,
}

impl Machine {
    /// The tree of caches with equal neighbours drawn once (`4 × L3`), one line a level.
    /// O(clusters).
    ///
    /// ```text
    /// xeon-7560: 32 workers on 32 cores, 2266 MHz
    /// memory                         363 cycles  4 controllers of 8 bytes/cycle
    /// └─ 4 × L3       24 MiB  24-way   63 cycles  inclusive
    ///    └─ 8 × L2   256 KiB   8-way    9 cycles
    ///       └─ L1     32 KiB   8-way    4 cycles
    ///          └─ worker
    /// ```
    pub fn draw(&self) -> String {
        let shapes = Shapes::new(self);
        let mut lines = vec![self.memory_line()];
        self.draw_under(ClusterId::ROOT, "", Some(&shapes), &mut lines);
        self.print(&lines)
    }

    /// The same with each cache and worker on a line of its own, and the number that the operating
    /// system gives the worker.
    pub fn draw_full(&self) -> String {
        let mut lines = vec![self.memory_line()];
        self.draw_under(ClusterId::ROOT, "", None, &mut lines);
        self.print(&lines)
    }

    fn draw_under(
        &self,
        cluster: ClusterId,
        indent: &str,
        collapse: Option<&Shapes>,
        lines: &mut Vec<Line>,
    ) {
        let items = items(self, cluster, collapse);
        for (at, (count, item)) in items.iter().enumerate() {
            let last = at + 1 == items.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let times = if *count > 1 { format!("{count} × ") } else { String::new() };
            match *item {
                Item::Cluster(id) => {
                    let cluster = self.cluster(id);
                    // Only the root has none, and it is nobody's child.
                    let Some(cache) = &cluster.cache else { continue };
                    lines
                        .push(cache_line(format!("{indent}{branch}{times}{}", cache.level), cache));
                    self.draw_under(id, &format!("{indent}{below}"), collapse, lines);
                }
                Item::Worker(id) => {
                    let name = if collapse.is_some() {
                        format!("{times}worker")
                    } else {
                        self.worker_name(id)
                    };
                    let speed = match self.workers()[id.index()].speed {
                        100 => String::new(),
                        percent => format!(" at {percent} % speed"),
                    };
                    lines.push(Line::new(format!("{indent}{branch}{name}{speed}")));
                }
            }
        }
    }

    fn worker_name(&self, id: WorkerId) -> String {
        let worker = &self.workers()[id.index()];
        let cpu = worker.os_index.map_or(String::new(), |n| format!(" = cpu {n}"));
        format!("worker {}{cpu}, core {}", id.0, worker.core)
    }

    fn memory_line(&self) -> Line {
        let memory = &self.memory;
        let mut line = Line::new("memory".to_owned());
        line.columns[2] = format!("{} cycles", memory.latency.0);
        let s = if memory.controllers == 1 { "" } else { "s" };
        line.rest =
            format!("{} controller{s} of {} bytes/cycle", memory.controllers, memory.bandwidth);
        match memory.placement {
            Placement::Interleaved => {}
            Placement::FirstTouch => line.rest.push_str(", first touch"),
            Placement::Bound(k) => {
                write!(line.rest, ", pages on {k} of them").expect("writing to a String")
            }
        }
        line
    }

    fn print(&self, lines: &[Line]) -> String {
        let cores = self.workers().iter().map(|w| w.core + 1).max().unwrap_or(0);
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (workers, cores) =
            (count(self.workers().len(), "worker"), count(cores as usize, "core"));
        let mut text = format!("{}: {workers} on {cores}, {} MHz\n", self.name, self.mhz);
        let widest = |width: &dyn Fn(&Line) -> usize| lines.iter().map(width).max().unwrap_or(0);
        // Lines without columns do not push the columns of the others to the right.
        let with_columns = |l: &Line| !l.columns.iter().all(String::is_empty) || !l.rest.is_empty();
        let tree = widest(&|l| if with_columns(l) { l.tree.chars().count() } else { 0 });
        let [a, b, c] = [0, 1, 2].map(|i| widest(&|l| l.columns[i].chars().count()));
        for Line { tree: name, columns: [x, y, z], rest } in lines {
            let line = format!("{name:tree$}  {x:>a$}  {y:>b$}  {z:>c$}  {rest}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl Line {
    fn new(tree: String) -> Self {
        Self { tree, columns: Default::default(), rest: String::new() }
    }
}

fn cache_line(tree: String, cache: &Cache) -> Line {
    let ways = match cache.ways {
        0 => "full".to_owned(),
        1 => "direct".to_owned(),
        n => format!("{n}-way"),
    };
    let inclusion = match cache.inclusion {
        Inclusion::NonInclusive => None,
        Inclusion::Inclusive => Some("inclusive"),
        Inclusion::Exclusive => Some("exclusive"),
    };
    let replacement = match cache.replacement {
        Replacement::Lru => None,
        Replacement::TreePlru => Some("tree-PLRU"),
        Replacement::Random => Some("random replacement"),
    };
    let mut rest: Vec<String> =
        [inclusion, replacement].into_iter().flatten().map(str::to_owned).collect();
    if cache.line != crate::assumed::LINE {
        rest.push(format!("lines of {}", cache.line));
    }
    let columns = [cache.size.to_string(), ways, format!("{} cycles", cache.latency.0)];
    Line { tree, columns, rest: rest.join(", ") }
}

/// A cluster or worker directly under a cluster.
#[derive(Clone, Copy)]
enum Item {
    Cluster(ClusterId),
    Worker(WorkerId),
}

/// Per cluster, a number that equal subtrees share.
struct Shapes(Vec<usize>);

/// The looks of a subtree. (Bandwidths and the like belong to the machine.)
#[derive(PartialEq, Eq, Hash)]
struct Look {
    cache: Option<Cache>,
    items: Vec<(usize, Seen)>,
}

/// How an item looks, from outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Seen {
    Cluster(usize),
    Worker { speed: u32 },
}

impl Shapes {
    /// Numbers all subtrees, from the leaves up. O(clusters + workers).
    fn new(machine: &Machine) -> Self {
        let mut known: HashMap<Look, usize> = HashMap::new();
        let mut shapes = Self(vec![0; machine.clusters().len()]);
        // Parents stand before their children, so backwards every child is known before its parent.
        for at in (0..machine.clusters().len()).rev() {
            let id = ClusterId(at as u32);
            let items = items(machine, id, Some(&shapes)).into_iter();
            let items = items.map(|(count, item)| (count, shapes.seen(machine, item))).collect();
            let look = Look { cache: machine.cluster(id).cache, items };
            let next = known.len();
            shapes.0[at] = *known.entry(look).or_insert(next);
        }
        shapes
    }

    fn seen(&self, machine: &Machine, item: Item) -> Seen {
        match item {
            Item::Cluster(id) => Seen::Cluster(self.0[id.index()]),
            Item::Worker(id) => Seen::Worker { speed: machine.workers()[id.index()].speed },
        }
    }
}

/// The items directly under `cluster`, from left to right; with `shapes`, runs of equal items are
/// one, counted.
fn items(machine: &Machine, cluster: ClusterId, shapes: Option<&Shapes>) -> Vec<(usize, Item)> {
    let cluster_at = machine.cluster(cluster);
    let mut all = Vec::new();
    let mut next = cluster_at.workers.start;
    for child in &cluster_at.children {
        let range = machine.cluster(*child).workers.clone();
        // Workers between the children stand directly here.
        all.extend((next..range.start).map(|w| Item::Worker(WorkerId(w))));
        all.push(Item::Cluster(*child));
        next = range.end;
    }
    all.extend((next..cluster_at.workers.end).map(|w| Item::Worker(WorkerId(w))));
    let mut runs: Vec<(usize, Item)> = Vec::new();
    for item in all {
        match (runs.last_mut(), shapes) {
            (Some((count, first)), Some(shapes))
                if shapes.seen(machine, *first) == shapes.seen(machine, item) =>
            {
                *count += 1;
            }
            _ => runs.push((1, item)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, MachineSpec, Part, preset};

    #[test]
    fn equal_neighbours_are_drawn_once() {
        let expected = "\
xeon-7560-ht: 64 workers on 32 cores, 2266 MHz
memory                         363 cycles  4 controllers of 8 bytes/cycle
└─ 4 × L3      24 MiB  24-way   63 cycles  inclusive
   └─ 8 × L2  256 KiB   8-way    9 cycles
      └─ L1    32 KiB   8-way    4 cycles
         └─ 2 × worker
";
        assert_eq!(preset("xeon-7560-ht").unwrap().draw(), expected);
    }

    #[test]
    fn unequal_neighbours_are_drawn_apart() {
        let l1 = |parts| Part::cache(1, Bytes::kib(32), 8, parts);
        let core = |speed, cpus: &[u32]| {
            Part::core(speed, vec![l1(cpus.iter().map(|n| Part::worker(Some(*n))).collect())])
        };
        let l2 = |parts| Part::cache(2, Bytes::mib(2), 16, parts);
        let parts = vec![
            l2(vec![core(100, &[0, 1])]),
            l2(vec![core(100, &[2, 3])]),
            l2((4..8).map(|n| core(70, &[n])).collect()),
        ];
        let m = MachineSpec::new("hybrid", vec![Part::cache(3, Bytes::mib(12), 12, parts)])
            .build()
            .unwrap();
        let expected = "\
hybrid: 8 workers on 6 cores, 2500 MHz
memory                           250 cycles  1 controller of 40 bytes/cycle
└─ L3            12 MiB  12-way   50 cycles
   ├─ 2 × L2      2 MiB  16-way   14 cycles
   │  └─ L1      32 KiB   8-way    4 cycles
   │     └─ 2 × worker
   └─ L2          2 MiB  16-way   14 cycles
      └─ 4 × L1  32 KiB   8-way    4 cycles
         └─ worker at 70 % speed
";
        assert_eq!(m.draw(), expected);
    }

    #[test]
    fn the_full_form_lists_every_worker() {
        let l1 = |n| Part::cache(1, Bytes::kib(48), 12, vec![Part::worker(Some(n))]);
        let m = MachineSpec::new("two", vec![l1(4), l1(7)]).build().unwrap();
        let expected = "\
two: 2 workers on 2 cores, 2500 MHz
memory                  250 cycles  1 controller of 40 bytes/cycle
├─ L1   48 KiB  12-way    4 cycles
│  └─ worker 0 = cpu 4, core 0
└─ L1   48 KiB  12-way    4 cycles
   └─ worker 1 = cpu 7, core 1
";
        assert_eq!(m.draw_full(), expected);
    }

    #[test]
    fn whatever_is_unusual_is_written_out() {
        let text = "(placement=firsttouch)
                l2:1(size=1MiB line=128 ways=full replacement=plru inclusion=exclusive)
                    l1:1(size=32KiB ways=1 replacement=random) pu:1";
        let drawing = text.parse::<Machine>().unwrap().draw();
        for what in [
            "full",
            "direct",
            "exclusive, tree-PLRU, lines of 128 B",
            "random replacement",
            "first touch",
            "1 worker on 1 core",
        ] {
            assert!(drawing.contains(what), "{what} in {drawing}");
        }
        let bound: Machine = "(controllers=4 placement=2) pu:1".parse().unwrap();
        assert!(bound.draw().contains("pages on 2 of them"));
    }
}
