//! Draws a machine as text, for `befit topo`.
//!
//! ```
//! let drawing = befit_machine::preset("xeon-7560").unwrap().draw();
//! assert!(drawing.contains("4 × L3"));
//! ```

use crate::{Cache, ClusterId, Inclusion, Machine, Placement, Replacement, WorkerId};

/// One line: its part of the tree, then columns.
#[derive(PartialEq)]
struct Line {
    tree: String,
    columns: [String; 3],
    rest: String,
}

impl Machine {
    /// The tree of caches with equal neighbours drawn once (`4 × L3`), one line a level.
    /// O(clusters × depth).
    ///
    /// ```text
    /// xeon-7560: 32 workers on 32 cores, 2266 MHz
    /// memory                         363 cycles  4 controllers of 8 bytes/cycle, package links of 15
    /// └─ 4 × L3       24 MiB  24-way   63 cycles  inclusive
    ///    └─ 8 × L2   256 KiB   8-way    9 cycles
    ///       └─ L1     32 KiB   8-way    4 cycles
    ///          └─ worker
    /// ```
    pub fn draw(&self) -> String {
        let mut lines = vec![self.memory_line()];
        lines.extend(self.draw_under(ClusterId::ROOT));
        self.print(&lines)
    }

    /// The drawing of everything under a cluster, from left to right.
    fn draw_under(&self, cluster: ClusterId) -> Vec<Line> {
        let cluster = self.cluster(cluster);
        let mut runs: Vec<(usize, Vec<Line>)> = Vec::new();
        let mut add = |drawing: Vec<Line>| match runs.last_mut() {
            Some((count, last)) if *last == drawing => *count += 1,
            _ => runs.push((1, drawing)),
        };
        let mut next = cluster.workers.start;
        for child in &cluster.children {
            let child_at = self.cluster(*child);
            // Workers between the children stand directly here.
            (next..child_at.workers.start).for_each(|w| add(vec![self.worker_line(WorkerId(w))]));
            let cache = child_at.cache.iter().map(cache_line);
            add(cache.chain(self.draw_under(*child)).collect());
            next = child_at.workers.end;
        }
        (next..cluster.workers.end).for_each(|w| add(vec![self.worker_line(WorkerId(w))]));
        let last = runs.len();
        let mut lines = Vec::new();
        for ((count, drawing), nth) in runs.into_iter().zip(1..) {
            let times = if count > 1 { format!("{count} × ") } else { String::new() };
            let (branch, below) =
                if nth == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let mut start = format!("{branch}{times}");
            for line in drawing {
                lines.push(Line { tree: start + &line.tree, ..line });
                start = below.to_owned();
            }
        }
        lines
    }

    fn worker_line(&self, id: WorkerId) -> Line {
        Line::new(match self.workers()[id.index()].speed {
            100 => "worker".to_owned(),
            percent => format!("worker at {percent} % speed"),
        })
    }

    fn memory_line(&self) -> Line {
        let memory = &self.memory;
        let mut line = Line::new("memory".to_owned());
        line.columns[2] = format!("{} cycles", memory.latency.0);
        let s = if memory.controllers == 1 { "" } else { "s" };
        line.rest =
            format!("{} controller{s} of {} bytes/cycle", memory.controllers, memory.bandwidth);
        let wires = [("fabric", memory.fabric), ("package links", memory.package_link)];
        for (name, width) in wires {
            if let Some(width) = width {
                line.rest += &format!(", {name} of {width}");
            }
        }
        if let Some(pages) = memory.pages {
            line.rest += &format!(", TLBs of {} pages", pages.tlb);
        }
        match memory.placement {
            Placement::Interleaved => {}
            Placement::FirstTouch => line.rest += ", first touch",
            Placement::Bound(k) => line.rest += &format!(", pages on {k} of them"),
        }
        line
    }

    fn print(&self, lines: &[Line]) -> String {
        let cores = self.workers().iter().map(|w| w.core + 1).max().unwrap_or(0);
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let workers = count(self.workers().len(), "worker");
        let cores = count(cores as usize, "core");
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

fn cache_line(cache: &Cache) -> Line {
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
    let line = (cache.line != crate::assumed::LINE).then(|| format!("lines of {}", cache.line));
    let link = cache.link.map(|l| format!("link of {} in, {} out bytes/cycle", l.read, l.write));
    let rest: Vec<&str> =
        [inclusion, replacement, line.as_deref(), link.as_deref()].into_iter().flatten().collect();
    let columns = [cache.size.to_string(), ways, format!("{} cycles", cache.latency.0)];
    Line { tree: cache.level.to_string(), columns, rest: rest.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, MachineSpec, Part, preset};

    #[test]
    fn equal_neighbours_are_drawn_once() {
        let expected = "\
xeon-7560-ht: 64 workers on 32 cores, 2266 MHz
memory                         363 cycles  4 controllers of 8 bytes/cycle, package links of 15
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
        let fast = [[0, 1], [2, 3]].map(|cpus| l2(vec![core(100, &cpus)]));
        let slow = l2((4..8).map(|n| core(70, &[n])).collect());
        let l3 = Part::cache(3, Bytes::mib(12), 12, fast.into_iter().chain([slow]).collect());
        let m = MachineSpec::new("hybrid", vec![l3]).build().unwrap();
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
    fn whatever_is_unusual_is_written_out() {
        let text = "(placement=firsttouch fabric=9)
                l2:1(link=7 link-write=3.5 size=1MiB line=128 ways=full replacement=plru inclusion=exclusive)
                    l1:1(size=32KiB ways=1 replacement=random) pu:1";
        let drawing = text.parse::<Machine>().unwrap().draw();
        let cache = "exclusive, tree-PLRU, lines of 128 B";
        let random = "random replacement";
        let wires = ["fabric of 9", "link of 7 in, 3.5 out bytes/cycle"];
        let others = ["full", "direct", cache, random, "first touch", "1 worker on 1 core"];
        for what in others.into_iter().chain(wires) {
            assert!(drawing.contains(what), "{what} in {drawing}");
        }
        let bound: Machine = "(controllers=4 placement=2) pu:1".parse().unwrap();
        assert!(bound.draw().contains("pages on 2 of them"));
    }
}
