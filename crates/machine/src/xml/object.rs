//! The meaning of each element of the file.

use super::Bitmap;
use crate::build::largest_cache;
use crate::{Bytes, Cache, Inclusion, Level, MOST_OBJECTS, MachineSpec, Part, assumed};

pub(super) struct Attributes(pub(super) Vec<(String, String)>);

impl Attributes {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    fn number<N: std::str::FromStr>(&self, key: &str) -> Result<Option<N>, String> {
        let parse = |text: &str| {
            text.parse().map_err(|_| format!("{key}=\"{text}\" is no number in range"))
        };
        self.text(key).map(parse).transpose()
    }

    fn set(&self, key: &str) -> Option<Bitmap> {
        self.text(key).and_then(Bitmap::parse)
    }

    fn needed<N: std::str::FromStr>(&self, key: &str) -> Result<N, String> {
        self.number(key)?.ok_or_else(|| {
            format!("an object of type {} has no {key}", self.text("type").unwrap_or("?"))
        })
    }
}

/// Sets of the PUs that are online (hwloc 1), and that processes are allowed to use: hwloc leaves
/// the others in the tree where it is asked to.
const USABLE: [&str; 2] = ["online_cpuset", "allowed_cpuset"];

/// More kinds of CPUs than any machine has. Each core looks for its own among them.
const MOST_KINDS: usize = 64;

struct Open {
    kind: Kind,
    label: String,
    parts: Vec<Part>,
    /// A NUMA node was directly in it.
    has_node: bool,
    /// Memory controllers of the elements in it.
    controllers: u32,
}

impl Open {
    /// Memory controllers in it. A node beside CPUs that others are nearer to is a further tier of
    /// memory (HBM, CXL), and so is each but one of several beside the same CPUs: no controllers
    /// that share its pages evenly.
    fn controllers(&self) -> u32 {
        let is_node = matches!(self.kind, Kind::Node) && !self.parts.is_empty();
        self.controllers.max(u32::from(self.has_node || is_node))
    }
}

enum Kind {
    Topology,
    Group,
    Package,
    /// A NUMA node: hwloc 2 puts it beside the caches of its CPUs, hwloc 1 around them.
    Node,
    Cache {
        cache: Cache,
        size_assumed: bool,
    },
    Core,
    Worker(u32),
    /// CPUs of one kind (performance, efficiency).
    SameSpeed,
    /// Neither it nor its contents matter.
    Ignored,
}

/// CPUs of one kind, as far as told.
struct CpuKind {
    cpus: Bitmap,
    capacity: Option<u64>,
    highest_mhz: Option<u64>,
    base_mhz: Option<u64>,
}

pub(super) struct Reading {
    spec: MachineSpec,
    open: Vec<Open>,
    kinds: Vec<CpuKind>,
    model_mhz: Option<u32>,
    controllers: u32,
    objects: usize,
    seen_topology: bool,
    seen_machine: bool,
    /// The first machine's PUs that may be used: those of each of these sets.
    usable: Vec<Bitmap>,
    /// The NUMA nodes whose memory may be used, where told.
    usable_nodes: Option<Bitmap>,
}

impl Reading {
    pub(super) fn new(name: &str) -> Self {
        Self {
            spec: MachineSpec::new(name, Vec::new()),
            open: Vec::new(),
            kinds: Vec::new(),
            model_mhz: None,
            controllers: 0,
            objects: 0,
            seen_topology: false,
            seen_machine: false,
            usable: Vec::new(),
            usable_nodes: None,
        }
    }

    /// An element begins.
    pub(super) fn open(&mut self, name: &str, attributes: &Attributes) -> Result<(), String> {
        let kind = match (name, self.open.last().map(|open| &open.kind)) {
            (_, Some(Kind::Ignored)) => Kind::Ignored,
            ("topology", None) if !self.seen_topology => {
                self.seen_topology = true;
                let version = attributes.text("version").unwrap_or("1");
                match version.split('.').next() {
                    Some("1" | "2" | "3") => Kind::Topology,
                    _ => {
                        return Err(format!(
                            "version {version} of hwloc's XML is not known; known are 1 to 3"
                        ));
                    }
                }
            }
            (_, None) => {
                return Err(format!(
                    "<{name}> where <topology> should stand: not a file that lstopo wrote"
                ));
            }
            ("object", _) => self.object(attributes)?,
            ("cpukind", Some(Kind::Topology)) => self.cpu_kind(attributes)?,
            ("info", Some(_)) => {
                self.info(attributes);
                Kind::Ignored
            }
            _ => Kind::Ignored,
        };
        let what = attributes.text("type").unwrap_or(name);
        let label = match (attributes.text("os_index"), attributes.text("gp_index")) {
            (Some(os), _) => format!("{what} P#{os}"),
            (None, Some(gp)) => format!("{what} with gp_index {gp}"),
            (None, None) => what.to_owned(),
        };
        let label = label.chars().take(80).collect();
        self.open.push(Open { kind, label, parts: Vec::new(), has_node: false, controllers: 0 });
        Ok(())
    }

    fn object(&mut self, attributes: &Attributes) -> Result<Kind, String> {
        self.objects += 1;
        if self.objects > 8 * MOST_OBJECTS {
            return Err(format!("more than {} objects", 8 * MOST_OBJECTS));
        }
        let kind = attributes.text("type").ok_or("an object has no type")?;
        Ok(match kind {
            "PU" => {
                let number = attributes.needed("os_index")?;
                // Of hwloc 1 each PU tells it, too.
                let own = USABLE.iter().filter_map(|key| attributes.set(key));
                let told = own.into_iter().all(|set| !set.is_empty());
                let usable = told && self.usable.iter().all(|set| set.contains(number));
                if usable { Kind::Worker(number) } else { Kind::Ignored }
            }
            "Machine" => {
                if !self.seen_machine {
                    self.usable = USABLE.iter().filter_map(|key| attributes.set(key)).collect();
                    self.usable_nodes = attributes.set("allowed_nodeset");
                }
                self.seen_machine = true;
                Kind::Group
            }
            "Core" => Kind::Core,
            "Package" | "Socket" => Kind::Package,
            "NUMANode" | "Node" => {
                let number = attributes.number("os_index")?;
                let usable = self.usable_nodes.as_ref().zip(number);
                match usable.is_none_or(|(nodes, number)| nodes.contains(number)) {
                    true => Kind::Node,
                    false => Kind::Group,
                }
            }
            "Bridge" | "PCIDev" | "OSDev" | "Misc" => Kind::Ignored,
            // 1.x has one type for all caches.
            _ if kind == "Cache" || is_cache(kind) => self.cache(attributes)?,
            _ => Kind::Group,
        })
    }

    fn cache(&mut self, attributes: &Attributes) -> Result<Kind, String> {
        if attributes.number::<i64>("cache_type")? == Some(2) {
            return Ok(Kind::Group); // instructions
        }
        let level = Level(attributes.needed("depth")?);
        let size = Some(Bytes(attributes.needed("cache_size")?)).filter(|size| size.0 > 0);
        let line = attributes.number("cache_linesize")?.filter(|l| *l > 0).map(Bytes);
        // -1 is full, 0 unknown.
        let ways = match attributes.number::<i64>("cache_associativity")? {
            None | Some(0) => None,
            Some(-1) => Some(0),
            Some(n) => match u32::try_from(n) {
                Ok(ways) => Some(ways),
                Err(_) => return Err(format!("cache_associativity={n} is out of range")),
            },
        };
        let (cache, size_assumed) = assumed::completed(level, size, line, ways);
        if size_assumed && !self.spec.name.ends_with(ASSUMED) {
            self.spec.name.push_str(ASSUMED);
        }
        Ok(Kind::Cache { cache, size_assumed })
    }

    fn cpu_kind(&mut self, attributes: &Attributes) -> Result<Kind, String> {
        if self.kinds.len() == MOST_KINDS {
            return Err(format!("more than {MOST_KINDS} kinds of CPUs"));
        }
        let cpus = attributes.text("cpuset").and_then(Bitmap::parse);
        let cpus = cpus.ok_or("a cpukind has no readable cpuset")?;
        self.kinds.push(CpuKind { cpus, capacity: None, highest_mhz: None, base_mhz: None });
        Ok(Kind::SameSpeed)
    }

    /// `<info name="…" value="…"/>` of the open element. Values that cannot be read are not told.
    fn info(&mut self, attributes: &Attributes) {
        let (Some(name), Some(value)) = (attributes.text("name"), attributes.text("value")) else {
            return;
        };
        let number = || value.parse().ok().filter(|n| *n > 0);
        match (self.open.last_mut().map(|open| &mut open.kind), name) {
            // Of level 1 there is nothing below to include.
            (Some(Kind::Cache { cache, .. }), "Inclusive")
                if value == "1" && cache.level > Level(1) =>
            {
                cache.inclusion = Inclusion::Inclusive;
            }
            (Some(Kind::SameSpeed), _) => {
                let Some(kind) = self.kinds.last_mut() else { return };
                match name {
                    "LinuxCapacity" => kind.capacity = number(),
                    "FrequencyMaxMHz" => kind.highest_mhz = number(),
                    "FrequencyBaseMHz" => kind.base_mhz = number(),
                    _ => {}
                }
            }
            (Some(Kind::Group | Kind::Package), "CPUModel") => {
                self.model_mhz = crate::host::in_model_name(value).or(self.model_mhz)
            }
            _ => {}
        }
    }

    /// The element opened last ends.
    pub(super) fn close(&mut self) {
        let Some(closed) = self.open.pop() else { return };
        let controllers = closed.controllers();
        match self.open.last_mut() {
            Some(parent) => {
                parent.controllers += controllers;
                parent.has_node |= matches!(closed.kind, Kind::Node) && closed.parts.is_empty();
            }
            None => self.controllers = controllers,
        }
        let Open { kind, label, parts, .. } = closed;
        let part = match kind {
            Kind::Topology => {
                self.spec.parts = parts;
                return;
            }
            Kind::Worker(os_index) => Part::worker(Some(os_index)),
            // Only offline PUs or devices were in it.
            _ if parts.is_empty() => return,
            Kind::Cache { cache, size_assumed: true } => {
                let cache = assumed::holding(cache, largest_cache(&parts));
                Part::Cache { label, cache, parts }
            }
            Kind::Cache { cache, .. } => Part::Cache { label, cache, parts },
            Kind::Core => Part::Core { label, speed: 100, parts },
            Kind::Group | Kind::Node => Part::Group(parts),
            Kind::Package => Part::Package(parts),
            Kind::SameSpeed | Kind::Ignored => return,
        };
        if let Some(parent) = self.open.last_mut() {
            parent.parts.push(part);
        }
    }

    /// The file ends.
    pub(super) fn finish(mut self) -> Result<MachineSpec, String> {
        if !self.seen_topology {
            return Err("no <topology>: not a file that lstopo wrote".to_owned());
        }
        self.spec.memory.controllers = self.controllers.max(1);
        let highest = |of: fn(&CpuKind) -> Option<u64>| self.kinds.iter().filter_map(of).max();
        let mhz = highest(|k| k.base_mhz).or(highest(|k| k.highest_mhz));
        if let Some(mhz) = mhz.and_then(|mhz| u32::try_from(mhz).ok()).or(self.model_mhz) {
            self.spec.set_mhz(mhz);
        }
        self.spec.share_bandwidth();
        // Capacities tell more than clocks: they count instructions per cycle, too.
        let all_tell = !self.kinds.is_empty() && self.kinds.iter().all(|k| k.capacity.is_some());
        let measure: fn(&CpuKind) -> Option<u64> =
            if all_tell { |k| k.capacity } else { |k| k.highest_mhz };
        if let Some(best) = highest(measure) {
            let speed = |cpu| {
                let own = self.kinds.iter().find(|k| k.cpus.contains(cpu)).and_then(measure);
                assumed::speed(own.map_or(100.0, |n| n as f64 * 100.0 / best as f64))
            };
            set_speeds(&mut self.spec.parts, &speed);
        }
        Ok(self.spec)
    }
}

/// Appended to the name of a machine whose file leaves out a cache's size.
const ASSUMED: &str = " (caches assumed)";

/// `L1Cache` to `L5Cache`, `L1iCache` to `L3iCache`; not `MemCache`, which stands on memory's side.
fn is_cache(kind: &str) -> bool {
    let level = kind.strip_suffix("Cache").and_then(|kind| kind.strip_prefix('L'));
    level.is_some_and(|level| level.starts_with(|c: char| c.is_ascii_digit()))
}

/// Gives each core the speed of its first hardware thread.
fn set_speeds(parts: &mut [Part], of: &dyn Fn(u32) -> u32) {
    for part in parts {
        match part {
            Part::Core { speed, parts, .. } => *speed = first_cpu(parts).map_or(100, of),
            Part::Cache { parts, .. } | Part::Group(parts) | Part::Package(parts) => {
                set_speeds(parts, of);
            }
            Part::Worker { .. } => {}
        }
    }
}

fn first_cpu(parts: &[Part]) -> Option<u32> {
    parts.iter().find_map(|part| match part {
        Part::Worker { os_index } => *os_index,
        Part::Cache { parts, .. }
        | Part::Core { parts, .. }
        | Part::Group(parts)
        | Part::Package(parts) => first_cpu(parts),
    })
}
