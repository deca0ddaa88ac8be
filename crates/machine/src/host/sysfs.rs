//! Linux's description of one CPU:
//! `/sys/devices/system/cpu/cpuN/{topology,cache,cpufreq,cpu_capacity}` (Linux's
//! Documentation/ABI/testing/sysfs-devices-system-cpu).

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
};

use crate::{Bytes, Cache, Level, MOST_OBJECTS, MachineError, assumed};

/// The files under one root.
pub(super) struct Files<'a> {
    pub(super) root: &'a Path,
}

impl Files<'_> {
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
        self.text(path).map(|text| self.parse_list(path, &text)).transpose()
    }

    /// A list in the line `key:` of what the system says of this thread, or of its process.
    pub(super) fn list_in_status(&self, key: &str) -> Result<Option<Vec<u32>>, MachineError> {
        let paths = ["proc/thread-self/status", "proc/self/status"];
        let found = paths.iter().find_map(|path| Some((path, self.text(path)?)));
        let Some((path, status)) = found else { return Ok(None) };
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.map(|text| self.parse_list(path, text)).transpose()
    }

    /// The first of these groups of CPUs that the system tells: as a list (`NAME_list`), else as a
    /// mask (`NAME`), which is all that gVisor has. None where there is none.
    fn group(&self, directory: &str, names: &[&str]) -> Result<Option<Vec<u32>>, MachineError> {
        for name in names {
            if let Some(list) = self.list(&format!("{directory}/{name}_list"))? {
                return Ok(Some(list));
            }
        }
        for name in names {
            let path = format!("{directory}/{name}");
            if let Some(text) = self.text(&path) {
                let wrong = || self.error(&path, &text, "a mask such as f,0000000f");
                return parse_mask(&text).ok_or_else(wrong).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether the CPU's own file says that it is online. The first CPU often has none.
    pub(super) fn is_online(&self, cpu: u32) -> bool {
        let text = self.text(&format!("sys/devices/system/cpu/cpu{cpu}/online"));
        text.as_deref() == Some("1")
    }

    fn parse_list(&self, path: &str, text: &str) -> Result<Vec<u32>, MachineError> {
        parse_list(text).ok_or_else(|| self.error(path, text, "a list such as 0-3,8"))
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
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("index")).collect();
        names.sort();
        names
    }

    fn error(&self, path: &str, text: &str, expected: &str) -> MachineError {
        let text: String = text.chars().take(40).collect();
        let path = self.root.join(path);
        MachineError::object(path.display().to_string(), format!("`{text}` is not {expected}"))
    }
}

/// The text of a file that the kernel makes up as it is read. Such a file has no length to ask for,
/// as the standard library does first: half of the calls, and a machine has thousands of files.
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
    /// Linux does not tell its size.
    pub(super) size_assumed: bool,
}

/// One CPU.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    pub(super) number: u32,
    pub(super) caches: Vec<Seen>,
    /// The used CPUs of its core, ascending.
    pub(super) core: Vec<u32>,
    /// The first used CPU of its package and of its die: neighbours agree on both. 0 where nothing
    /// tells: all CPUs are of one then.
    pub(super) place: [u32; 2],
    /// Its speed in units that only compare: `cpu_capacity`, else its highest clock in kHz.
    pub(super) speed: Option<u64>,
}

/// Those of `list` that are used, ascending, and `number`, which is one of them.
fn among(list: Vec<u32>, number: u32, used: &[u32]) -> Vec<u32> {
    let mut cpus = list;
    cpus.retain(|cpu| used.binary_search(cpu).is_ok());
    cpus.push(number);
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// The used CPUs of the core of CPU `number`, ascending; `used` are all CPUs that count, ascending.
pub(super) fn core(files: &Files, number: u32, used: &[u32]) -> Result<Vec<u32>, MachineError> {
    let directory = format!("sys/devices/system/cpu/cpu{number}/topology");
    // Under the newer name, else under the older.
    let core = files.group(&directory, &["core_cpus", "thread_siblings"])?;
    Ok(among(core.unwrap_or_default(), number, used))
}

impl Cpu {
    /// Reads CPU `number`; `used` are all CPUs that count, ascending.
    pub(super) fn read(files: &Files, number: u32, used: &[u32]) -> Result<Self, MachineError> {
        let dir = format!("sys/devices/system/cpu/cpu{number}");
        let first = |names: &[&str]| {
            let group = files.group(&format!("{dir}/topology"), names)?;
            Ok::<_, MachineError>(group.map_or(0, |list| among(list, number, used)[0]))
        };
        let package = first(&["package_cpus", "core_siblings"])?;
        let die = first(&["die_cpus", "core_siblings"])?;
        let speed = match files.number(&format!("{dir}/cpu_capacity"))? {
            Some(capacity) => Some(capacity),
            None => files.number(&format!("{dir}/cpufreq/cpuinfo_max_freq"))?,
        };
        let mut cpu = Self {
            number,
            caches: Vec::new(),
            core: core(files, number, used)?,
            place: [package, die],
            speed,
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
            let shared = files.list(&format!("{dir}/shared_cpu_list"))?.unwrap_or_default();
            let shared = among(shared, number, used);
            let (cache, size_assumed) = assumed::completed(Level(level), size, line, ways);
            cpu.caches.push(Seen { cache, shared, size_assumed });
        }
        Ok(cpu)
    }
}

/// `32K`, `24M`: Linux counts in KiB.
fn size(files: &Files, path: &str) -> Result<Option<Bytes>, MachineError> {
    let Some(text) = files.text(path) else { return Ok(None) };
    let units = [('K', 10), ('M', 20)];
    let scaled = units.into_iter().find_map(|(unit, by)| Some((text.strip_suffix(unit)?, by)));
    let (digits, shift) = scaled.unwrap_or((&text, 0));
    let n = digits.parse::<u64>().ok().filter(|n| *n < 1 << 40);
    let n = n.ok_or_else(|| files.error(path, &text, "a size such as 32K"))?;
    Ok((n > 0).then_some(Bytes(n << shift)))
}

/// All numbers of a list such as `0-3,8,10-11`, in its order. None where it is malformed, or longer
/// than any machine is large.
pub(super) fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for piece in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let length = last.checked_sub(first)? as usize + 1;
        if numbers.len() + length > MOST_OBJECTS {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The numbers of a mask such as `f,0000000f`: words of 32 bits, the highest first. None where it
/// is malformed, or longer than any machine is large.
fn parse_mask(text: &str) -> Option<Vec<u32>> {
    if text.len() > MOST_OBJECTS / 4 {
        return None;
    }
    let mut numbers = Vec::new();
    for (word, first) in text.rsplit(',').zip((0..).step_by(32)) {
        for (digit, first) in word.chars().rev().zip((first..).step_by(4)) {
            let digit = digit.to_digit(16)?;
            numbers.extend((0..4).filter(|bit| digit >> bit & 1 == 1).map(|bit| first + bit));
        }
    }
    Some(numbers)
}

/// `numbers`, ascending, as such a list.
pub(super) fn print_list(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *n => *last = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let text = runs.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    text.collect::<Vec<_>>().join(",")
}

/// In MHz: the base clock where the driver tells it, else the firmware's nominal one, else the
/// highest, else the model's in /proc/cpuinfo, else the present one (to the nearest 100, so that it
/// is the same from run to run).
pub(super) fn mhz(files: &Files, cpus: &[Cpu]) -> Option<u32> {
    let clocks = [
        ("cpufreq/base_frequency", 1000),
        // 0 where the firmware does not tell.
        ("acpi_cppc/nominal_freq", 1),
        ("cpufreq/cpuinfo_max_freq", 1000),
    ];
    for (file, in_a_mhz) in clocks {
        let path = |cpu: &Cpu| format!("sys/devices/system/cpu/cpu{}/{file}", cpu.number);
        let clock = cpus.iter().filter_map(|cpu| files.number(&path(cpu)).ok()?).max();
        let mhz = clock.and_then(|clock| u32::try_from(clock / in_a_mhz).ok());
        if let Some(mhz) = mhz.filter(|mhz| *mhz > 0) {
            return Some(mhz);
        }
    }
    let info = files.text("proc/cpuinfo")?;
    let fields = || info.lines().filter_map(|line| line.split_once(':'));
    let values = |key| fields().filter(move |(k, _)| k.trim() == key).map(|(_, value)| value);
    let model = values("model name").find_map(in_model_name);
    let now = || values("cpu MHz").filter_map(|v| v.trim().parse::<f64>().ok()).fold(0.0, f64::max);
    model.or_else(|| Some((now() / 100.0).round() as u32 * 100).filter(|mhz| *mhz > 0))
}

/// The clock in `Intel(R) Xeon(R) CPU X7560 @ 2.27GHz`, in MHz.
pub(crate) fn in_model_name(name: &str) -> Option<u32> {
    let ghz: f64 = name.rsplit_once('@')?.1.trim().strip_suffix("GHz")?.trim().parse().ok()?;
    Some((ghz * 1000.0).round() as u32).filter(|mhz| (1..100_000).contains(mhz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_printed() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list(""), Some(vec![]));
        assert_eq!(print_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    #[test]
    fn a_malformed_or_huge_list_is_refused() {
        for bad in ["a", "3-1", "0-", "1--2", "0-4294967295", "4294967296"] {
            assert_eq!(parse_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_mask_is_read_word_by_word_from_the_last() {
        assert_eq!(parse_mask("f"), Some(vec![0, 1, 2, 3]));
        assert_eq!(parse_mask("3,00000000,80000010"), Some(vec![4, 31, 64, 65]));
        for bad in ["0x1", "g", "1 2"] {
            assert_eq!(parse_mask(bad), None, "{bad}");
        }
        assert_eq!(parse_mask(&"f".repeat(MOST_OBJECTS)), None);
    }

    #[test]
    fn a_model_name_tells_its_clock() {
        assert_eq!(in_model_name("Intel(R) Xeon(R) CPU           X7560  @ 2.27GHz"), Some(2270));
        assert_eq!(in_model_name("AMD EPYC 7742 64-Core Processor"), None);
        assert_eq!(in_model_name("odd @ 1e300GHz"), None);
    }
}
