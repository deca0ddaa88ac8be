//! What Linux tells of one CPU:
//! `/sys/devices/system/cpu/cpuN/{topology,cache,cpufreq,cpu_capacity}` (Linux's
//! Documentation/ABI/testing/sysfs-devices-system-cpu).

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use super::list;
use crate::{Bytes, Cache, Level, MachineError, assumed};

/// The files under one root.
pub(super) struct Files<'a> {
    root: &'a Path,
}

impl<'a> Files<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root }
    }

    /// A file's text without white space (or zero bytes, which some copies of sysfs have) around
    /// it; None where it cannot be read or is empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = whole(&self.root.join(path))?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A number; None where there is none.
    pub(super) fn number(&self, path: &str) -> Result<Option<u64>, MachineError> {
        let parse = |text: String| text.parse().map_err(|_| self.error(path, &text, "a number"));
        self.text(path).map(parse).transpose()
    }

    /// A list of numbers; None where there is none.
    pub(super) fn list(&self, path: &str) -> Result<Option<Vec<u32>>, MachineError> {
        let parse = |text: String| {
            list::parse(&text).ok_or_else(|| self.error(path, &text, "a list such as 0-3,8"))
        };
        self.text(path).map(parse).transpose()
    }

    /// A list in the line `key:` of /proc/self/status.
    pub(super) fn list_in_status(&self, key: &str) -> Result<Option<Vec<u32>>, MachineError> {
        let path = "proc/self/status";
        let Some(status) = self.text(path) else { return Ok(None) };
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let parse = |text: &str| {
            list::parse(text).ok_or_else(|| self.error(path, text, "a list such as 0-3,8"))
        };
        line.map(parse).transpose()
    }

    /// NUMA nodes with memory beside CPUs that are used; at least 1.
    pub(super) fn controllers(&self, cpus: &[Cpu]) -> Result<u32, MachineError> {
        let node = "sys/devices/system/node";
        let nodes = match self.list(&format!("{node}/has_memory"))? {
            Some(nodes) => nodes,
            None => self.list(&format!("{node}/online"))?.unwrap_or_default(),
        };
        let mut count = 0;
        for n in nodes {
            let near = self.list(&format!("{node}/node{n}/cpulist"))?.unwrap_or_default();
            count += u32::from(cpus.iter().any(|cpu| near.contains(&cpu.number)));
        }
        Ok(count.max(1))
    }

    fn indices(&self, directory: &str) -> Vec<String> {
        let entries: Vec<PathBuf> = fs::read_dir(self.root.join(directory))
            .map(|entries| entries.filter_map(|e| Some(e.ok()?.path())).collect())
            .unwrap_or_default();
        let names = entries.iter().filter_map(|e| e.file_name()?.to_str());
        let mut names: Vec<String> =
            names.filter(|n| n.starts_with("index")).map(str::to_owned).collect();
        names.sort();
        names
    }

    fn error(&self, path: &str, text: &str, expected: &str) -> MachineError {
        let text: String = text.chars().take(40).collect();
        MachineError::object(
            self.root.join(path).display().to_string(),
            format!("`{text}` is not {expected}"),
        )
    }
}

/// The text of a file that the kernel makes up as it is read. It tells no length, so what the
/// standard library asks first is of no use: that would be half of the calls, and a machine has
/// thousands of such files.
fn whole(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut text = Vec::new();
    let mut page = [0; 4096];
    loop {
        match file.read(&mut page) {
            Ok(0) => return String::from_utf8(text).ok(),
            Ok(length) => text.extend_from_slice(&page[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// A data or unified cache as one CPU sees it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Seen {
    pub(super) cache: Cache,
    /// The used CPUs that share it, ascending.
    pub(super) shared: Vec<u32>,
}

/// One CPU.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    pub(super) number: u32,
    pub(super) caches: Vec<Seen>,
    /// The used CPUs of its core, ascending.
    pub(super) core: Vec<u32>,
    /// The first used CPU of its package and of its die: neighbours agree on both.
    pub(super) place: [u32; 2],
    /// Its speed in units that only compare: `cpu_capacity`, else its highest clock in kHz.
    pub(super) speed: Option<u64>,
    /// A cache was there, but its size was not.
    pub(super) size_assumed: bool,
}

impl Cpu {
    /// Reads CPU `number`; `used` are all CPUs that count, ascending.
    pub(super) fn read(files: &Files, number: u32, used: &[u32]) -> Result<Self, MachineError> {
        let dir = format!("sys/devices/system/cpu/cpu{number}");
        let among = |list: Option<Vec<u32>>| {
            let mut cpus: Vec<u32> = list
                .unwrap_or_default()
                .into_iter()
                .filter(|c| used.binary_search(c).is_ok())
                .collect();
            cpus.push(number);
            cpus.sort_unstable();
            cpus.dedup();
            cpus
        };
        // Under the newer name, else under the older.
        let group = |new: &str, old: &str| {
            let list = files.list(&format!("{dir}/topology/{new}"))?;
            Ok::<_, MachineError>(among(match list {
                Some(list) => Some(list),
                None => files.list(&format!("{dir}/topology/{old}"))?,
            }))
        };
        let core = group("core_cpus_list", "thread_siblings_list")?;
        let package = group("package_cpus_list", "core_siblings_list")?;
        let die = group("die_cpus_list", "core_siblings_list")?;
        let speed = match files.number(&format!("{dir}/cpu_capacity"))? {
            Some(capacity) => Some(capacity),
            None => files.number(&format!("{dir}/cpufreq/cpuinfo_max_freq"))?,
        };
        let mut cpu = Self {
            number,
            caches: Vec::new(),
            core,
            place: [package[0], die[0]],
            speed,
            size_assumed: false,
        };
        for index in files.indices(&format!("{dir}/cache")) {
            let dir = format!("{dir}/cache/{index}");
            if files.text(&format!("{dir}/type")).as_deref() == Some("Instruction") {
                continue;
            }
            let level = files.number(&format!("{dir}/level"))?;
            let level = level.and_then(|l| u8::try_from(l).ok()).filter(|l| *l > 0);
            let level =
                level.ok_or_else(|| files.error(&format!("{dir}/level"), "", "a cache level"))?;
            let size = size(files, &format!("{dir}/size"))?;
            // Linux leaves both out, or 0, where it does not know.
            let line =
                files.number(&format!("{dir}/coherency_line_size"))?.filter(|l| *l > 0).map(Bytes);
            let ways = files.number(&format!("{dir}/ways_of_associativity"))?.filter(|w| *w > 0);
            let ways = ways.and_then(|w| u32::try_from(w).ok());
            let shared = among(files.list(&format!("{dir}/shared_cpu_list"))?);
            let (cache, size_assumed) = assumed::completed(Level(level), size, line, ways);
            cpu.size_assumed |= size_assumed;
            cpu.caches.push(Seen { cache, shared });
        }
        Ok(cpu)
    }
}

/// `32K`, `24M`: Linux counts in KiB.
fn size(files: &Files, path: &str) -> Result<Option<Bytes>, MachineError> {
    let Some(text) = files.text(path) else { return Ok(None) };
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        _ => (&text[..], 0),
    };
    let n = digits.parse::<u64>().ok().filter(|n| *n < 1 << 40);
    let n = n.ok_or_else(|| files.error(path, &text, "a size such as 32K"))?;
    Ok((n > 0).then_some(Bytes(n << shift)))
}
