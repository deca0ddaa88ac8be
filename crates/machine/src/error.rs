//! Mistakes in the name or the description of a machine.

use std::{
    error::Error,
    fmt::{self, Write},
    io,
    path::PathBuf,
};

/// Why there is no machine. Each message is one line that says where and what: what it quotes has
/// its control characters escaped.
#[derive(Debug)]
#[non_exhaustive]
pub enum MachineError {
    /// The text is neither a preset's name, nor a file, nor a synthetic string.
    Unknown {
        /// The name asked for.
        name: String,
        /// The presets' names, comma-separated.
        known: String,
    },
    /// An object of the tree cannot be, or its description cannot be read.
    Object {
        /// Which object, in the words of its source (`L2 #3`, `cpu7`), or where in its description.
        object: String,
        /// The mistake in it.
        what: String,
    },
    /// A synthetic string cannot be read.
    Synthetic {
        /// Where in it.
        at: usize,
        /// What stands there.
        token: String,
        /// The mistake.
        what: String,
    },
    /// A calibration file holds no machine.
    Calibration {
        /// The file.
        path: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// The mistake.
        what: String,
    },
    /// A file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This build cannot read files of lstopo.
    NoXml(PathBuf),
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = &mut OneLine(f);
        match self {
            Self::Unknown { name, known } => write!(
                f,
                "unknown machine `{name}`; known are {known}, any file that `lstopo machine.xml` \
                 or `befit calibrate` wrote, and hwloc synthetic strings such as `pack:2 l3:1 \
                 core:4 pu:1`"
            ),
            Self::Object { object, what } => write!(f, "{object}: {what}"),
            Self::Synthetic { at, token, what } => {
                write!(f, "synthetic string, at byte {at} (`{token}`): {what}")
            }
            Self::Calibration { path, line, what } => {
                write!(f, "calibration file {}, line {line}: {what}", path.display())
            }
            Self::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Self::NoXml(path) => write!(
                f,
                "reading {} needs befit-machine's feature `xml`, which this build lacks",
                path.display()
            ),
        }
    }
}

/// Writes control characters as Rust does: a name or a file may hold any, and a terminal would obey
/// them.
struct OneLine<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| self.write_char(c))
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        if c.is_control() { write!(self.0, "{}", c.escape_default()) } else { self.0.write_char(c) }
    }
}

impl Error for MachineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if let Self::Read { source, .. } = self { Some(source) } else { None }
    }
}

impl MachineError {
    /// An error about one object of the tree, or one place in its description.
    pub(crate) fn object(object: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Object { object: object.into(), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use crate::Machine;

    #[test]
    fn a_message_is_one_line_whatever_the_name_holds() {
        let message = Machine::find("my\nbox\u{1b}[2Jé").unwrap_err().to_string();
        assert!(
            message.starts_with(r"unknown machine `my\nbox\u{1b}[2Jé`; known are"),
            "{message}"
        );
        let message = Machine::find("no\nsuch.xml").unwrap_err().to_string();
        assert!(message.contains(r" no\nsuch.xml"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
    }
}
