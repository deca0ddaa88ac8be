//! The name of a recording: a hash of all that it depends on.

use std::{fmt, fs::File, io, path::Path};

use xxhash_rust::xxh3::Xxh3;

/// A 128-bit hash of all that a recording depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key(u128);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Collects what a recording depends on.
pub(crate) struct KeyBuilder(Xxh3);

impl KeyBuilder {
    pub(crate) fn new() -> Self {
        Self(Xxh3::new())
    }

    /// Depends on these bytes. Their length goes in too, so that `ab`, `c` and `a`, `bc` differ.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Depends on a file's content.
    pub(crate) fn file(mut self, path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        self.0.update(&file.metadata()?.len().to_le_bytes());
        io::copy(&mut file, &mut Sink(&mut self.0))?;
        Ok(self)
    }

    pub(crate) fn finish(self) -> Key {
        Key(self.0.digest128())
    }
}

struct Sink<'a>(&'a mut Xxh3);

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> Key {
        parts.iter().fold(KeyBuilder::new(), |k, p| k.bytes(p.as_bytes())).finish()
    }

    #[test]
    fn a_key_depends_on_every_part_and_on_where_parts_end() {
        assert_eq!(key(&["rrm", "--n"]), key(&["rrm", "--n"]));
        assert_ne!(key(&["rrm", "--n"]), key(&["rrm", "--m"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["a"]), key(&["a", ""]));
    }

    #[test]
    fn a_file_counts_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binary");
        let of = |content: &str| {
            std::fs::write(&path, content).unwrap();
            KeyBuilder::new().file(&path).unwrap().finish()
        };
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("two"));
        assert_eq!(of("one"), key(&["one"]));
    }

    #[test]
    fn a_key_is_written_as_32_digits() {
        assert_eq!(Key(1).to_string(), "00000000000000000000000000000001");
    }
}
