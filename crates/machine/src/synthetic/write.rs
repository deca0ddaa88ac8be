//! Writes a machine as a synthetic string.

use std::fmt::Write;

use crate::{
    Cache, CleanSource, ClusterId, Frames, Inclusion, Machine, Pages, Placement, Replacement,
    Worker, WorkerId,
};

impl Machine {
    /// The machine as a synthetic string with all of its figures, which reads back as the same
    /// machine (but for its name and the system's numbers of its workers). Where its parts are
    /// unequal, which no such string can say, all are described as the first are.
    ///
    /// ```
    /// use befit_machine::Machine;
    ///
    /// let machine = Machine::find("xeon-7560").unwrap();
    /// let again: Machine = machine.synthetic().parse().unwrap();
    /// assert_eq!((again.workers(), again.memory), (machine.workers(), machine.memory));
    /// ```
    pub fn synthetic(&self) -> String {
        let mut text = self.figures();
        let mut cluster = ClusterId::ROOT;
        let packages = self.workers().last().map_or(1, |w| w.package + 1);
        let mut groups = 1;
        if packages > 1 {
            let _ = write!(text, " pack:{packages}");
            groups = packages;
        }
        // Whether the core that all further parts belong to has been named.
        let mut in_core = false;
        loop {
            let at = self.cluster(cluster);
            let workers = &self.workers()[at.workers.start as usize..at.workers.end as usize];
            let child = at.children.first().copied();
            let of_child = child.map_or(1, |c| cores(self, c));
            if !in_core && of_child == 1 {
                let cores = cores(self, cluster) / groups;
                let speed = workers.first().map_or(100, |w| w.speed);
                let _ = write!(text, " core:{}", cores.max(1));
                if speed != 100 {
                    let _ = write!(text, "(speed={speed})");
                }
                groups *= cores.max(1);
                in_core = true;
            }
            let Some(child) = child else {
                let _ = write!(text, " pu:{}", (workers.len() as u32 / groups).max(1));
                return text;
            };
            let count = (at.children.len() as u32 / groups).max(1);
            if let Some(cache) = &self.cluster(child).cache {
                let _ = write!(text, " l{}:{count}({})", cache.level.0, attributes(cache));
            }
            (cluster, groups) = (child, 1);
        }
    }

    /// The attributes of the machine itself.
    fn figures(&self) -> String {
        let m = &self.memory;
        let mut text = format!(
            "(mhz={} latency={} remote={} far={} clean={} controllers={} bandwidth={}",
            self.mhz,
            m.latency.0,
            m.remote_latency.0,
            m.far_latency.0,
            match m.clean {
                CleanSource::Memory => "memory",
                CleanSource::Cache => "cache",
            },
            m.controllers,
            m.bandwidth
        );
        let optional =
            [("fabric", m.fabric), ("package-link", m.package_link), ("streams", m.streams)];
        for (name, figure) in optional {
            if let Some(figure) = figure {
                let _ = write!(text, " {name}={figure}");
            }
        }
        let _ = write!(text, " parallelism={} window={}", m.parallelism, m.window);
        if m.runs > 0 {
            let _ = write!(text, " runs={}", m.runs);
        }
        if let Some(Pages { tlb, walk, walks, tables, frames }) = m.pages {
            let _ = write!(text, " tlb={tlb} walk={walk} walks={walks} tables={tables}");
            text += match frames {
                Frames::SideBySide => " frames=sidebyside",
                Frames::Random => " frames=random",
            };
        }
        match m.placement {
            Placement::Interleaved => text += " placement=interleaved",
            Placement::FirstTouch => text += " placement=firsttouch",
            Placement::Bound(k) => {
                let _ = write!(text, " placement={k}");
            }
        }
        let _ = match self.issue {
            Some(issue) => {
                write!(text, " instructions={} issue={}", issue.instructions, issue.width)
            }
            None => write!(text, " operation={}", self.cycles_per_operation),
        };
        for (name, price) in self.prices.table() {
            let _ = write!(text, " {name}={price}");
        }
        text + ")"
    }
}

/// How many cores stand under a cluster.
fn cores(machine: &Machine, cluster: ClusterId) -> u32 {
    let workers = machine.cluster(cluster).workers.clone();
    let core = |w: u32| machine.workers().get(WorkerId(w).index()).map_or(0, |w: &Worker| w.core);
    core(workers.end.saturating_sub(1)) - core(workers.start) + 1
}

fn attributes(cache: &Cache) -> String {
    let mut text = format!("size={} line={} ways=", cache.size.0, cache.line.0);
    let _ = match cache.ways {
        0 => write!(text, "full"),
        ways => write!(text, "{ways}"),
    };
    let _ = write!(text, " latency={}", cache.latency.0);
    if let Some(transfer) = cache.transfer {
        let _ = write!(text, " transfer={}", transfer.0);
    }
    if let Some(stream) = cache.stream {
        let _ = write!(text, " stream={stream}");
    }
    if let Some(link) = cache.link {
        let _ = write!(text, " link={} link-write={}", link.read, link.write);
    }
    text += match cache.inclusion {
        Inclusion::Inclusive => " inclusion=inclusive",
        Inclusion::NonInclusive => " inclusion=noninclusive",
        Inclusion::Exclusive => " inclusion=exclusive",
    };
    text += match cache.replacement {
        Replacement::Lru => " replacement=lru",
        Replacement::TreePlru => " replacement=plru",
        Replacement::Random => " replacement=random",
    };
    text
}
