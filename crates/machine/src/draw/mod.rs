//! Draws a machine as text, for `befit topo`.
//!
//! ```
//! let drawing = befit_machine::preset("xeon-7560").unwrap().draw();
//! assert!(drawing.contains("4 × L3"));
//! ```

mod shape;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::{Cache, ClusterId, Inclusion, Machine, Placement, Replacement, WorkerId};
use shape::{Item, Shapes};

/// One line: what the tree shows, then columns.
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
        let items = shape::items(self, cluster, collapse);
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
    let mut rest = Vec::new();
    match cache.inclusion {
        Inclusion::NonInclusive => {}
        Inclusion::Inclusive => rest.push("inclusive".to_owned()),
        Inclusion::Exclusive => rest.push("exclusive".to_owned()),
    }
    match cache.replacement {
        Replacement::Lru => {}
        Replacement::TreePlru => rest.push("tree-PLRU".to_owned()),
        Replacement::Random => rest.push("random replacement".to_owned()),
    }
    if cache.line != crate::assumed::LINE {
        rest.push(format!("lines of {}", cache.line));
    }
    let columns = [cache.size.to_string(), ways, format!("{} cycles", cache.latency.0)];
    Line { tree, columns, rest: rest.join(", ") }
}
