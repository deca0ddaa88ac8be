//! hwloc's sets of CPUs: `0x0000000f,0xffffffff`, words of 32 bits, the highest first; `0xf...f` in
//! front stands for all CPUs above.

/// A set of CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bitmap {
    /// Lowest first.
    words: Vec<u32>,
    /// All CPUs above `words` belong to it.
    above: bool,
}

impl Bitmap {
    /// None where `text` is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
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

    pub(super) fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 32).map_or(self.above, |word| word >> (cpu % 32) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.above && self.words.iter().all(|word| *word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Bitmap;

    #[test]
    fn words_are_read_highest_first() {
        let set = Bitmap::parse("0x00000001,,0x80000002").unwrap();
        let members: Vec<u32> = (0..128).filter(|cpu| set.contains(*cpu)).collect();
        assert_eq!(members, [1, 31, 64]);
        assert!(Bitmap::parse("0xf...f,0x0").unwrap().contains(u32::MAX));
        assert!(Bitmap::parse("0x0").unwrap().is_empty());
        assert!(Bitmap::parse("12").is_none() && Bitmap::parse("0x1ffffffff").is_none());
    }
}
