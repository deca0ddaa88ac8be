//! What was found as text: a table, and the calibration file.

use std::{collections::BTreeSet, fmt::Write as _};

use befit_machine::{Cluster, ClusterId, Machine};

use crate::{CalibrateError, Calibration, Figure};

/// Names the time of a simple operation.
const OPERATION: &str = "simple operation";

impl Calibration {
    /// All figures with their names.
    pub(crate) fn figures(&self) -> Vec<(String, Figure)> {
        let mut all = vec![
            ("clock, one core".to_owned(), self.mhz),
            ("clock, all cores".to_owned(), self.mhz_all),
        ];
        for level in &self.levels {
            all.push((format!("L{} latency", level.level), level.latency));
            all.push((format!("L{} capacity", level.level), level.capacity));
            all.push((format!("L{} stream, a line read", level.level), level.read));
            all.push((format!("L{} stream, a line copied", level.level), level.copy));
        }
        all.extend([
            ("memory latency".to_owned(), self.memory),
            ("memory latency, without walks".to_owned(), self.memory_latency()),
            ("memory latency, huge pages".to_owned(), self.memory_huge),
            ("stream, a line read".to_owned(), self.read),
            ("stream, a line updated".to_owned(), self.update),
            ("stream, a line copied".to_owned(), self.copy),
            ("gather, a load".to_owned(), self.gather),
            ("window".to_owned(), self.window),
            ("a line written, anywhere".to_owned(), self.scattered),
        ]);
        all.extend(self.runs.iter().map(|(n, f)| (format!("a line written, {n} runs"), *f)));
        all.extend(self.bandwidth.iter().map(|(n, f)| (format!("bandwidth, {n} threads"), *f)));
        all.extend([
            ("bandwidth, all, updated".to_owned(), self.bandwidth_update),
            (OPERATION.to_owned(), self.operation),
            ("inlined fork".to_owned(), self.inlined),
            ("pending fork".to_owned(), self.pending),
            ("fork at which a region begins".to_owned(), self.region),
            ("published fork that comes back".to_owned(), self.published),
            ("spawned task".to_owned(), self.spawn),
            ("spawned task, first memory".to_owned(), self.job),
            ("call of the policy".to_owned(), self.call),
            ("free lock".to_owned(), self.lock),
            ("first touch of a page".to_owned(), self.fault),
        ]);
        let optional = [
            ("fork that a near core runs", self.stolen),
            ("line handed over, near core", self.steal),
            ("line handed over, far core", self.far_steal),
            ("bandwidth, one cache's, updated", self.link_update),
            ("load of a near core's written line", self.near_modified),
            ("load of a near core's clean line", self.near_clean),
            ("load of a far core's written line", self.far_modified),
            ("load of a far core's clean line", self.far_clean),
            ("waking a thread", self.wake),
            ("pages that the TLB finds", self.tlb),
            ("walk to a page", self.walk),
            ("walk to a page, in a gather", self.walk_gather),
        ];
        all.extend(optional.into_iter().filter_map(|(n, f)| Some((n.to_owned(), f?))));
        all
    }

    /// # Errors
    /// [`CalibrateError::NoNumber`] with the first figure that is not a number, or infinite: in
    /// JSON it would become null, which readers refuse.
    pub fn check(&self) -> Result<(), CalibrateError> {
        let is_finite = |figure: &Figure| {
            let Figure { value, median, quartiles, halves } = figure;
            let all = [*value, *median, quartiles.0, quartiles.1, halves.0, halves.1];
            all.iter().all(|number| number.is_finite())
        };
        match self.figures().into_iter().find(|(_, figure)| !is_finite(figure)) {
            Some((name, _)) => Err(CalibrateError::NoNumber(name)),
            None => Ok(()),
        }
    }

    /// A table for reading: each figure, its quartiles, what each half of the rounds gave, and what
    /// the system claims.
    pub fn table(&self, claimed: &Machine) -> String {
        let mut text =
            format!("{:<34} {:>11} {:>21} {:>21}\n", "", "figure", "quartiles", "halves");
        for (name, figure) in self.figures() {
            let (unit, scale, digits) = match name.as_str() {
                n if n.starts_with("clock") => ("MHz", 1.0, 0),
                n if n.ends_with("capacity") => ("KiB", 1.0 / 1024.0, 0),
                n if n.starts_with("bandwidth") => ("GB/s", 1.0, 1),
                "window" => ("instructions", 1.0, 0),
                n if n.starts_with("pages") => ("pages", 1.0, 0),
                OPERATION => ("ns", 1.0, 4),
                _ => ("ns", 1.0, 2),
            };
            let f = figure.map(|f| f * scale);
            let both = |(a, b): (f64, f64)| format!("{a:>10.digits$} {b:>10.digits$}");
            let mark = if figure.is_noisy() { " noisy" } else { "" };
            let claim = self.claim(&name, claimed);
            let value = format!("{:.digits$}", f.value);
            let (quartiles, halves) = (both(f.quartiles), both(f.halves));
            let _ =
                writeln!(text, "{name:<34} {value:>11} {quartiles} {halves}  {unit}{mark}{claim}");
        }
        text
    }

    /// The figures as JSON, of the schema `befit.calibrate/1`.
    ///
    /// # Errors
    /// [`CalibrateError::NoNumber`] where a figure is not a number.
    pub fn json(&self, claimed: &Machine) -> Result<String, CalibrateError> {
        #[derive(serde::Serialize)]
        struct Document<'a> {
            schema: &'a str,
            machine: Option<String>,
            claimed_mhz: u32,
            noisy: Vec<String>,
            #[serde(flatten)]
            found: &'a Calibration,
        }
        self.check()?;
        let document = Document {
            schema: "befit.calibrate/1",
            machine: self.synthetic(claimed).ok(),
            claimed_mhz: claimed.mhz,
            noisy: self.noisy().into_iter().map(|(name, _)| name).collect(),
            found: self,
        };
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    fn claim(&self, name: &str, claimed: &Machine) -> String {
        if name.starts_with("clock") {
            return format!("  (claimed: {})", claimed.mhz);
        }
        let level = self.levels.iter().find(|l| name == format!("L{} capacity", l.level));
        level.map_or(String::new(), |l| format!("  (claimed: {})", l.claimed / 1024))
    }

    /// The calibration file: comments, of which one names the model of the processor here, then the
    /// machine as a synthetic string.
    ///
    /// # Errors
    /// [`CalibrateError::Irregular`] where the machine's parts are not all equal.
    pub fn file(&self, claimed: &Machine) -> Result<String, CalibrateError> {
        let machine = self.synthetic(claimed)?;
        let mut text = String::from("# Measured by `befit calibrate`; read as `--machine host`.\n");
        // By it another machine's file is refused.
        text.extend(befit_machine::processor().map(|line| line + "\n"));
        for (name, f) in self.figures() {
            let mark = if f.is_noisy() { " noisy" } else { "" };
            let (low, high) = f.quartiles;
            let _ = writeln!(text, "# {name}: {:.4} ({low:.4} to {high:.4}){mark}", f.value);
        }
        let _ = writeln!(text, "{machine}");
        Ok(text)
    }

    /// The machine as a synthetic string.
    fn synthetic(&self, claimed: &Machine) -> Result<String, CalibrateError> {
        let tree = self.tree(claimed).ok_or(CalibrateError::Irregular)?;
        Ok(format!("({}) {tree}", self.attributes(claimed).join(" ")))
    }

    /// The attributes of the whole machine. Prices are in cycles.
    fn attributes(&self, claimed: &Machine) -> Vec<String> {
        let mhz = self.mhz_all.value;
        let cycles = |ns: f64| self.cycles(ns);
        let controllers = f64::from(claimed.memory.controllers.max(1));
        let mut words = vec![
            format!("mhz={mhz:.0}"),
            format!("latency={:.0}", cycles(self.memory_latency().value)),
            format!("controllers={controllers:.0}"),
            format!("bandwidth={:.2}", self.bandwidth_of_all().value / mhz * 1e3 / controllers),
            format!("parallelism={:.1}", self.parallelism()),
            format!("streams={:.1}", self.streams()),
            format!("window={:.0}", self.window.value / 2.0),
            format!("operation={:.3}", self.cycles_per_operation()),
        ];
        let runs = self.followed_runs();
        if runs > 0 {
            words.push(format!("runs={runs}"));
        }
        if let (Some(tlb), Some(walk), Some(walks)) = (self.tlb, self.least_walk(), self.walks()) {
            words.push(format!("tlb={:.0}", tlb.value));
            words.push(format!("walk={:.1}", cycles(walk)));
            words.push(format!("walks={walks:.1}"));
            words.push(format!("tables={}", self.tables));
            let frames = if self.random_frames { "random" } else { "sidebyside" };
            words.push(format!("frames={frames}"));
        }
        if let Some(modified) = self.far_modified {
            words.push(format!("remote={:.0}", cycles(modified.value)));
        }
        if let (Some(modified), Some(clean)) = (self.far_modified, self.far_clean) {
            let memory = self.memory_latency().value;
            // From where a clean line comes: what its time is closer to.
            let middle = (modified.value + memory) / 2.0;
            let cached = (clean.value < middle) == (modified.value < memory);
            words.push(format!("clean={}", if cached { "cache" } else { "memory" }));
        }
        let mut price = |name: &str, figure: Option<Figure>| {
            if let Some(f) = figure {
                words.push(format!("{name}={:.1}", cycles(f.value).max(0.1)));
            }
        };
        price("inlined", Some(self.inlined));
        price("pending", Some(self.pending));
        price("region", Some(self.region));
        price("published", Some(self.published));
        price("stolen", self.stolen);
        price("spawn", Some(self.spawn));
        price("job", Some(self.job));
        price("call", Some(self.call));
        price("lock", Some(self.lock));
        price("steal", self.steal);
        price("far-steal", self.far_steal);
        price("wake", self.wake);
        price("fault", Some(self.fault));
        words
    }

    /// The tree in words, if all its parts are equal.
    fn tree(&self, machine: &Machine) -> Option<String> {
        if !is_regular(machine) {
            return None;
        }
        let (mut words, mut at) = (Vec::new(), ClusterId::ROOT);
        let mut packages = packages(machine);
        if packages > 1 {
            words.push(format!("pack:{packages}"));
        }
        loop {
            let cluster = machine.cluster(at);
            let Some(child) = cluster.children.first() else {
                let workers = &machine.workers()[cluster.workers.start as usize..]
                    [..cluster.worker_count() as usize];
                let cores = workers.iter().map(|w| w.core).collect::<BTreeSet<_>>();
                words.push(format!("core:{} pu:{}", cores.len(), workers.len() / cores.len()));
                return Some(words.join(" "));
            };
            let cache = machine.cluster(*child).cache?;
            let found = self.levels.iter().find(|l| l.level == cache.level.0)?;
            let set = (cache.line.0 * u64::from(cache.ways.max(1))).max(1);
            let size = ((found.capacity.value as u64) / set).max(1) * set;
            let mut more = String::new();
            // Hits in the innermost cache cost nothing beside the operations.
            if !machine.cluster(*child).children.is_empty() {
                more += &format!(" stream={:.2}", self.cycles(found.copy.value).max(0.01));
            }
            if at == ClusterId::ROOT {
                more += &self.transfer();
                more += &self.link(machine, *child);
            }
            words.push(format!(
                "l{}:{}(size={size} line={} ways={} latency={:.0}{more})",
                cache.level.0,
                cluster.children.len() / packages,
                cache.line.0,
                if cache.ways == 0 { "full".to_owned() } else { cache.ways.to_string() },
                // Less than nothing where the clock was taken for too slow.
                self.cycles(found.latency.value).max(0.0),
            ));
            (at, packages) = (*child, 1);
        }
    }

    /// How long a line takes from another core under the same last-level cache.
    fn transfer(&self) -> String {
        let attribute = |f: Figure| format!(" transfer={:.0}", self.cycles(f.value));
        self.near_modified.map_or_else(String::new, attribute)
    }

    /// So many nanoseconds in cycles of the clock with all cores busy.
    fn cycles(&self, ns: f64) -> f64 {
        ns * self.mhz_all.value / 1e3
    }

    /// The attributes of the link of the last-level cache at `cluster`: what all threads under it
    /// read; and what they write back while they read as much. None where there is one such cache:
    /// its link is then memory's bandwidth.
    fn link(&self, claimed: &Machine, cluster: ClusterId) -> String {
        let threads = claimed.cluster(cluster).worker_count() as usize;
        let read = self.bandwidth.iter().find(|(n, _)| *n == threads).map(|(_, f)| f.value);
        let a_cycle = |a_nanosecond: f64| a_nanosecond / self.mhz_all.value * 1e3;
        read.zip(self.link_update).map_or_else(String::new, |(read, updated)| {
            let (read, write) = (read.max(updated.value / 2.0), updated.value / 2.0);
            format!(" link={:.2} link-write={:.2}", a_cycle(read), a_cycle(write))
        })
    }
}

/// Whether all parts of a machine's level are equal, and all workers: only then can a calibration
/// file describe it.
pub fn is_regular(machine: &Machine) -> bool {
    let shape = |c: &Cluster| {
        let cache = c.cache.map(|cache| (cache.level, cache.size, cache.line, cache.ways));
        (c.depth, c.children.len(), c.worker_count(), cache)
    };
    let shapes: BTreeSet<_> = machine.clusters().iter().map(shape).collect();
    let depths: BTreeSet<_> = shapes.iter().map(|(depth, ..)| depth).collect();
    let speeds: BTreeSet<_> = machine.workers().iter().map(|w| w.speed).collect();
    shapes.len() == depths.len() && speeds.len() <= 1
}

/// Nanoseconds of a simple operation, which a comment of the calibration file tells.
pub(crate) fn operation(file: &str) -> Option<f64> {
    let after = |line: &str| -> Option<f64> {
        let rest = line.strip_prefix("# ")?.strip_prefix(OPERATION)?.strip_prefix(':')?;
        rest.split_whitespace().next()?.parse().ok()
    };
    file.lines().find_map(after).filter(|ns: &f64| ns.is_normal() && *ns > 0.0)
}

/// How many packages a machine has, where each has as many of the outermost caches; else 1.
fn packages(machine: &Machine) -> usize {
    let of_caches = machine.packages();
    let packages: BTreeSet<u32> = of_caches.iter().copied().collect();
    let caches = |package: u32| of_caches.iter().filter(|of| **of == package).count();
    let is_equal = |package: &u32| caches(*package) * packages.len() == of_caches.len();
    if packages.iter().all(is_equal) { packages.len().max(1) } else { 1 }
}

#[cfg(test)]
mod tests {
    use befit_machine::{Bytes, MachineSpec, Part};

    use super::*;
    use crate::claims::tests::found;

    #[test]
    fn the_file_s_line_has_as_many_packages_as_the_machine() {
        for tree in ["pack:2 l3:2", "pack:1 l3:2", "pack:4 l3:1"] {
            let tree = format!("{tree}(size=8MiB) core:2 l1:1(size=32KiB) pu:2");
            let claimed: Machine = tree.parse().unwrap();
            let file = found().file(&claimed).unwrap();
            let again: Machine = file.lines().last().unwrap().parse().unwrap();
            assert_eq!(again.packages(), claimed.packages(), "{file}");
            assert_eq!(again.workers(), claimed.workers(), "{file}");
        }
    }

    #[test]
    fn regression_a_latency_below_nothing_is_none_in_the_file() {
        for latency in [-0.05, -5.0] {
            let mut found = found();
            found.levels[0].latency.value = latency;
            let file = found.file(&"l3:1 core:2 l1:1 pu:1".parse().unwrap()).unwrap();
            assert!(file.contains(" latency=0)"), "{file}");
            Machine::find(file.lines().last().unwrap()).unwrap();
        }
    }

    #[test]
    fn regression_the_file_names_the_processor_where_the_system_does() {
        let file = found().file(&"l3:1 core:2 l1:1 pu:1".parse().unwrap()).unwrap();
        let named = file.lines().find(|line| line.starts_with("# processor: "));
        assert_eq!(named.map(str::to_owned), befit_machine::processor());
    }

    #[test]
    fn the_time_of_an_operation_is_read_as_it_was_measured_on_one_core() {
        let mut found = found();
        (found.mhz.value, found.mhz_all.value) = (4136.0, 3583.0);
        found.operation.value = 0.0625;
        let file = found.file(&"l3:1 core:2 l1:1 pu:1".parse().unwrap()).unwrap();
        assert_eq!(operation(&file), Some(0.0625));
        for other in
            ["(operation=1) core:2 pu:1", "# simple operation: much", "# simple operation:"]
        {
            assert_eq!(operation(other), None);
        }
    }

    #[test]
    fn a_figure_that_is_not_a_number_is_named_and_not_written() {
        let machine = "l3:1 core:2 l1:1 pu:1".parse().unwrap();
        assert!(found().json(&machine).is_ok());
        for number in [f64::NAN, f64::INFINITY] {
            let mut found = found();
            found.levels[1].latency.halves.1 = number;
            let error = found.json(&machine).unwrap_err().to_string();
            assert_eq!(error, "L3 latency could not be measured: its figure is not a number");
        }
    }

    #[test]
    fn cores_or_caches_of_two_kinds_are_not_regular() {
        let level_1 = |kib: u64| Part::cache(1, Bytes(kib << 10), 8, vec![Part::worker(None)]);
        let core = |speed, kib| Part::core(speed, vec![level_1(kib)]);
        let is_regular = |parts| is_regular(&MachineSpec::new("two", parts).build().unwrap());
        assert!(is_regular(vec![core(100, 32), core(100, 32)]));
        assert!(!is_regular(vec![core(100, 32), core(100, 48)]));
        assert!(!is_regular(vec![core(100, 32), core(70, 32)]));
    }
}
