//! Reads the XML that `lstopo machine.xml` writes (hwloc 2 and 3; of 1 the same objects under their
//! old names).
//!
//! The file is not trusted: its size, depth and number of objects are bounded, and every mistake is
//! an error with its place.
//!
//! hwloc describes no speeds: latencies and bandwidth are as in [`crate::assumed`]. A cache of size
//! 0 (unknown to hwloc) gets an assumed size, and the machine's name then says so. PUs that were
//! offline or not allowed at the time of the export are not in the file, or marked as such, and are
//! left out; a cache or core that has no other goes with them.

mod object;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::{Machine, MachineError};
use object::{Attributes, Reading};

/// No lstopo file is near: a thousand PUs take about 1 MB.
const LARGEST_FILE: u64 = 64 << 20;
/// Elements inside one another; hwloc's own trees have at most some 20.
const DEEPEST: usize = 256;

impl Machine {
    /// A machine from the text of a file that `lstopo machine.xml` wrote.
    ///
    /// # Errors
    /// [`MachineError::Object`] with the place where it cannot be read, or where what it describes
    /// cannot be a machine.
    pub fn from_xml(name: &str, text: &str) -> Result<Self, MachineError> {
        read(name, "XML", text)
    }
}

/// Reads the file at `path`; the machine is named after it.
pub(crate) fn read_file(path: &Path) -> Result<Machine, MachineError> {
    let wrong = |source| MachineError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(wrong)?;
    file.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(wrong)?;
    let place = path.display().to_string();
    if text.len() as u64 > LARGEST_FILE {
        let what = format!("larger than the {} MiB that are read", LARGEST_FILE >> 20);
        return Err(wrong_at(&place, LARGEST_FILE, what));
    }
    let name =
        path.file_stem().map_or_else(|| place.clone(), |stem| stem.to_string_lossy().into_owned());
    read(&name, &place, &text)
}

/// An error at byte `at` of `place`: the file's path, or `XML` where it came as text.
fn wrong_at(place: &str, at: u64, what: String) -> MachineError {
    MachineError::object(format!("{place}, at byte {at}"), what)
}

fn read(name: &str, place: &str, text: &str) -> Result<Machine, MachineError> {
    let mut reader = Reader::from_str(text);
    let mut reading = Reading::new(name);
    let mut depth = 0usize;
    loop {
        let event = reader.read_event();
        let at = reader.buffer_position();
        let step = match event {
            Ok(Event::Start(_)) if depth == DEEPEST => {
                Err(format!("elements nest deeper than {DEEPEST}"))
            }
            Ok(Event::Start(start)) => {
                depth += 1;
                attributes(&start).and_then(|a| reading.open(start.name().as_ref(), &a))
            }
            Ok(Event::Empty(start)) => attributes(&start)
                .and_then(|a| reading.open(start.name().as_ref(), &a))
                .map(|()| reading.close()),
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                reading.close();
                Ok(())
            }
            Ok(Event::Eof) if depth > 0 => Err("ends inside of an element".to_owned()),
            Ok(Event::Eof) => break,
            Ok(_) => Ok(()),
            Err(error) => return Err(wrong_at(place, reader.error_position(), error.to_string())),
        };
        step.map_err(|what| wrong_at(place, at, what))?;
    }
    reading.finish().map_err(|what| wrong_at(place, text.len() as u64, what))?.build()
}

fn attributes(start: &BytesStart) -> Result<Attributes, String> {
    let mut found = Vec::new();
    // Without the check for duplicates, whose cost grows with the square of their number.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|e| e.to_string())?;
        let value =
            attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| e.to_string())?;
        found.push((attribute.key.as_ref().to_owned(), value.into_owned()));
    }
    Ok(Attributes(found))
}

/// One of hwloc's sets of CPUs: `0x0000000f,0xffffffff`, words of 32 bits, the highest first.
/// `0xf...f` in front stands for all CPUs above.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Bitmap {
    /// Lowest first.
    words: Vec<u32>,
    /// All CPUs above `words` belong to it.
    above: bool,
}

impl Bitmap {
    /// None where `text` is malformed.
    fn parse(text: &str) -> Option<Self> {
        let mut set = Self { words: Vec::new(), above: false };
        for (at, word) in text.split(',').enumerate() {
            if word == "0xf...f" && at == 0 {
                set.above = true;
            } else if word.is_empty() {
                set.words.push(0);
            } else {
                set.words.push(u32::from_str_radix(word.strip_prefix("0x")?, 16).ok()?);
            }
        }
        set.words.reverse();
        Some(set)
    }

    fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 32).map_or(self.above, |word| word >> (cpu % 32) & 1 == 1)
    }

    fn is_empty(&self) -> bool {
        !self.above && self.words.iter().all(|word| *word == 0)
    }
}
