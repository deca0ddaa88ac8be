//! Reads hwloc's synthetic strings: `pack:4 l3:1(size=24MiB) core:8 l2:1(size=256KiB)
//! l1:1(size=32KiB) pu:1`.
//!
//! From the outside in, each word says how many objects of a type stand under one of the type
//! before. The grammar is that of hwloc ("Synthetic topologies" in its manual), with more
//! attributes, since hwloc's describe no speeds:
//!
//! | object | attributes |
//! |---|---|
//! | cache (`l1` … `l9`, `l1d`, `L3Cache`, …) | `size=` `line=` `ways=` (or `full`) `latency=` `transfer=` `stream=` (cycles) `link=` `link-write=` (bytes per cycle, of a last-level cache) `inclusion=` (`inclusive`, `noninclusive`, `exclusive`) `replacement=` (`lru`, `plru`, `random`) |
//! | `core` | `speed=` (percent) |
//! | the machine, as a leading `( … )` | `mhz=` `latency=` `remote=` `far=` (cycles) `clean=` (`memory` or `cache`) `controllers=` `bandwidth=` (bytes per cycle of one controller) `fabric=` `package-link=` (bytes per cycle) `parallelism=` `streams=` `window=` (operations) `runs=` [`tlb=`](crate::Pages) (pages) `walk=` (cycles) `walks=` `tables=` `frames=` (`random` or `sidebyside`) `placement=` (`interleaved`, `firsttouch`, or the number of controllers that pages are bound to) `operation=` (cycles), or `instructions=` (an operation) and `issue=` (instructions a cycle); the [prices](crate::Prices) `inlined=` `pending=` `region=` `published=` `stolen=` `spawn=` `job=` `call=` `lock=` `steal=` `far-steal=` `poll=` `wake=` `fault=` (cycles) |
//!
//! hwloc's own `memory=`, `indexes=` and the like are read and ignored; instruction caches leave no
//! trace; the memory controllers are as many as NUMA nodes (`numa:2`, or attached in brackets),
//! else as packages, else one. All else is as in [`crate::assumed`]: an assumed bandwidth is a
//! package's, which its controllers share.

mod attribute;
mod level;
#[cfg(test)]
mod tests;
mod write;

use std::str::FromStr;

use crate::{Machine, MachineError, MachineSpec};

impl FromStr for Machine {
    type Err = MachineError;

    /// A machine from a synthetic string; its name is the string. O(objects).
    ///
    /// # Errors
    /// [`MachineError::Synthetic`] with the place where the string cannot be read;
    /// [`MachineError::Object`] where what it describes cannot be a machine.
    fn from_str(text: &str) -> Result<Self, MachineError> {
        let name: Vec<&str> = text.split_whitespace().collect();
        read(text, name.join(" "))?.build()
    }
}

/// Reads `text` into a description named `name`.
pub(crate) fn read(text: &str, name: String) -> Result<MachineSpec, MachineError> {
    let mut spec = MachineSpec::new(name, Vec::new());
    let mut scan = Scan { text, at: 0 };
    let mut attributes = scan.attributes()?;
    // The clock first: it decides what is assumed, which all others replace.
    attributes.sort_by_key(|attribute| attribute.key != "mhz");
    for attribute in &attributes {
        attribute::machine(attribute, &mut spec)?;
    }
    let told = |key| attributes.iter().any(|attribute| attribute.key == key);
    if !told("far") {
        spec.memory.far_latency = spec.memory.remote_latency;
    }
    let (levels, nodes) = level::read(&mut scan)?;
    if !told("controllers") {
        spec.memory.controllers = nodes;
    }
    spec.parts = level::parts(&levels);
    if !told("bandwidth") {
        spec.share_bandwidth();
    }
    Ok(spec)
}

/// Whether `text` looks as if it was meant to be a synthetic string: it has a `type:count`, or
/// begins with a number.
pub(crate) fn is_likely(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['(', '['])
        || text.contains(':')
        || text.starts_with(|c: char| c.is_ascii_digit())
}

/// A piece of the string and where it starts.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    at: usize,
    text: &'a str,
}

impl Token<'_> {
    /// An error at this token.
    fn error(&self, what: impl Into<String>) -> MachineError {
        let token: String =
            if self.text.is_empty() { "end" } else { self.text }.chars().take(32).collect();
        MachineError::Synthetic { at: self.at, token, what: what.into() }
    }
}

/// `key=value`.
#[derive(Clone, Copy, Debug)]
struct Attribute<'a> {
    key: &'a str,
    value: &'a str,
    token: Token<'a>,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// The next character that is no white space, not taken.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// The next word, up to white space or a bracket; empty at the end and at a bracket.
    fn word(&mut self) -> Token<'a> {
        self.peek();
        let (at, rest) = (self.at, &self.text[self.at..]);
        let length =
            rest.find(|c: char| c.is_whitespace() || "()[]".contains(c)).unwrap_or(rest.len());
        self.at += length;
        Token { at, text: &rest[..length] }
    }

    /// The attributes in parentheses that come next, if any.
    fn attributes(&mut self) -> Result<Vec<Attribute<'a>>, MachineError> {
        let Some(inside) = self.inside('(', ')')? else { return Ok(Vec::new()) };
        let mut scan = Scan { text: &self.text[..inside.at + inside.text.len()], at: inside.at };
        let mut found = Vec::new();
        while scan.peek().is_some() {
            let token = scan.word();
            if token.text.is_empty() {
                return Err(inside.error("attributes are key=value, separated by spaces"));
            }
            let (key, value) = token.text.split_once('=').unwrap_or((token.text, ""));
            found.push(Attribute { key, value, token });
        }
        Ok(found)
    }

    /// The text between `open` and `close`, if `open` comes next. Takes nested parentheses as
    /// part of it.
    fn inside(&mut self, open: char, close: char) -> Result<Option<Token<'a>>, MachineError> {
        if self.peek() != Some(open) {
            return Ok(None);
        }
        let start = self.at + open.len_utf8();
        let Some(length) = self.text[start..].find(close) else {
            return Err(Token { at: self.at, text: &self.text[self.at..] }
                .error(format!("no `{close}` closes this")));
        };
        self.at = start + length + close.len_utf8();
        Ok(Some(Token { at: start, text: &self.text[start..start + length] }))
    }
}
