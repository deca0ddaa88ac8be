//! Measured figures of the machine at hand.
//!
//! `befit calibrate` writes a file: comment lines that begin with `#`, then one synthetic string
//! ([`crate::synthetic`]). `host` detects the tree of caches, its workers within affinity mask and
//! quota, and the number of memory controllers beside them, as without the file. From the file it
//! takes the figures: clock, memory and its wires, prices, the cost of an operation, and for each
//! level latency and *effective* size, which may be less than what the system claims, is never
//! more, and never less than a cache below has. A comment names the processor's model. A file of
//! another model, or of other or larger caches, is not used.

#[cfg(test)]
mod tests;

use std::{
    env,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
};

use crate::{Bytes, Cache, ClusterId, Level, Machine, MachineError, Memory, WorkerId, synthetic};

/// Bytes of a file that are read at most: it has a line of some hundred, and comments.
const LARGEST_FILE: u64 = 1 << 20;

/// Appended to the name of a host whose calibration file describes other caches.
const OF_ANOTHER: &str = " (its calibration file is of other caches, and not used)";

/// Appended to the name of a host whose calibration file is of another model of processor.
const OF_ANOTHER_PROCESSOR: &str = " (its calibration file is of another processor, and not used)";

/// Begins the comment of a calibration file that names the processor's model.
const PROCESSOR: &str = "# processor: ";

/// Where the calibration file of this machine lies, whether there is one or not:
/// `$BEFIT_CALIBRATION`, else `befit/host.machine` in `$XDG_CONFIG_HOME`, else in `~/.config`.
/// `None` where none of them is set, or `BEFIT_CALIBRATION` is empty.
pub fn calibration_file() -> Option<PathBuf> {
    file(|name| env::var_os(name).map(PathBuf::from))
}

fn file(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(path) = variable("BEFIT_CALIBRATION") {
        return (!path.as_os_str().is_empty()).then_some(path);
    }
    // Relative ones are to be ignored (XDG Base Directory Specification).
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("befit/host.machine"))
}

/// The comment line of a calibration file by which [`Machine::find`] sees that the file is of
/// another processor than the one here: its model, where the system tells it.
pub fn processor() -> Option<String> {
    Some(format!("{PROCESSOR}{}", model()?))
}

/// The processor's model, where the system tells it.
fn model() -> Option<String> {
    model_in(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

/// The model of the first processor that `/proc/cpuinfo` has, with single spaces.
fn model_in(cpuinfo: &str) -> Option<String> {
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, name) = lines.find(|(key, _)| key.trim() == "model name")?;
    let words: Vec<&str> = name.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The host with the figures of its calibration file, where there is one.
pub(crate) fn apply(host: Machine) -> Result<Machine, MachineError> {
    match calibration_file() {
        Some(path) => from_file(host, &path, model),
        None => Ok(host),
    }
}

/// `host`, whose processor is this `model`, with the figures of the file at `path`, where there is
/// one.
fn from_file(
    mut host: Machine,
    path: &Path,
    model: impl FnOnce() -> Option<String>,
) -> Result<Machine, MachineError> {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(host),
        Err(source) => return Err(MachineError::Read { path: path.to_owned(), source }),
    };
    let measured = read(path, &text, "host".to_owned())?;
    if shape(&host) != shape(&measured) || has_more(&measured, &host) {
        host.name += OF_ANOTHER;
        return Ok(host);
    }
    // Files of earlier versions do not name it.
    let of = text.lines().find_map(|line| line.strip_prefix(PROCESSOR));
    if of.is_some_and(|of| model().is_some_and(|model| of.trim() != model)) {
        host.name += OF_ANOTHER_PROCESSOR;
        return Ok(host);
    }
    take(&mut host, &measured);
    host.calibration = Some(path.to_owned());
    Ok(host)
}

/// The machine whose figures the file at `path` holds, named after the file: on whatever machine
/// this runs.
pub(crate) fn read_file(path: &Path) -> Result<Machine, MachineError> {
    let text =
        text_of(path).map_err(|source| MachineError::Read { path: path.to_owned(), source })?;
    let name = path.file_stem().unwrap_or(path.as_os_str());
    read(path, &text, name.to_string_lossy().into_owned())
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    let fits = text.len() as u64 <= LARGEST_FILE;
    fits.then_some(text).ok_or_else(|| ErrorKind::FileTooLarge.into())
}

/// The machine that the file's text describes.
fn read(path: &Path, text: &str, name: String) -> Result<Machine, MachineError> {
    // Comments become spaces, so that places stay.
    let blank = |line: &str| {
        let comment = line.trim_start().starts_with('#');
        let keep = |c: char| !comment || c == '\n';
        let char = |c: char| if keep(c) { c.to_string() } else { " ".repeat(c.len_utf8()) };
        line.chars().map(char).collect::<String>()
    };
    let plain: String = text.split_inclusive('\n').map(blank).collect();
    let begin = plain.len() - plain.trim_start().len();
    let wrong = |at: usize, what: String| {
        let line = plain.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        MachineError::Calibration { path: path.to_owned(), line, what }
    };
    if begin == plain.len() {
        return Err(wrong(begin, "holds no synthetic string".to_owned()));
    }
    let machine = synthetic::read(&plain, name).and_then(|spec| spec.build());
    machine.map_err(|error| match error {
        MachineError::Synthetic { at, token, what } => wrong(at, format!("`{token}`: {what}")),
        error => wrong(begin, error.to_string()),
    })
}

/// The levels of the caches above the first worker, and their lines.
fn shape(machine: &Machine) -> Vec<(Level, u64)> {
    first_path(machine).into_iter().map(|cache| (cache.level, cache.line.0)).collect()
}

/// Whether a cache above the first worker was found to be larger than the host says: of what the
/// host has, random accesses find a part.
fn has_more(measured: &Machine, host: &Machine) -> bool {
    let (found, claimed) = (first_path(measured), first_path(host));
    found.iter().zip(&claimed).any(|(found, claimed)| found.size > claimed.size)
}

fn first_path(machine: &Machine) -> Vec<Cache> {
    machine.path(WorkerId(0)).filter_map(|c| machine.cluster(c).cache).collect()
}

fn take(host: &mut Machine, measured: &Machine) {
    host.mhz = measured.mhz;
    // The file is of all CPUs; those that are used now may be beside fewer controllers.
    host.memory = Memory { controllers: host.memory.controllers, ..measured.memory };
    host.memory.placement = host.memory.placement.within(host.memory.controllers);
    host.prices = measured.prices;
    (host.cycles_per_operation, host.issue) = (measured.cycles_per_operation, measured.issue);
    let (claimed, found) = (first_path(host), first_path(measured));
    // From the cores outwards, as no cache may become smaller than one below it.
    for at in (0..host.clusters.len()).rev() {
        let is_last_level = host.clusters[at].parent == Some(ClusterId::ROOT);
        let below = host.clusters[at].children.iter().map(|child| host.cluster(*child).size());
        let least = below.max().unwrap_or(Bytes(0));
        let Some(cache) = &mut host.clusters[at].cache else { continue };
        let of_level = claimed.iter().zip(&found).find(|(claimed, _)| claimed.level == cache.level);
        let Some((claimed, found)) = of_level else { continue };
        cache.latency = found.latency;
        (cache.transfer, cache.stream) = (found.transfer, found.stream);
        if is_last_level {
            cache.link = found.link;
        }
        // What was measured holds for caches like the first of their level.
        let set = cache.line.0 * u64::from(found.ways.max(1));
        let size = Bytes(found.size.max(least).0.next_multiple_of(set));
        if (cache.size, cache.ways) == (claimed.size, claimed.ways) && size <= cache.size {
            (cache.size, cache.ways) = (size, found.ways);
        }
    }
}
