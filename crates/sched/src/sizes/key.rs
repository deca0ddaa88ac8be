//! The key of the place where a task was forked.

/// Names the site of a task: where in the program's source it was forked. The same in each build of
/// the same source by the same compiler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteKey(pub u64);

impl SiteKey {
    /// Most bytes of a type's name that are kept. Of a longer one the last
    /// [`Self::HASH_DIGITS`] bytes of so many are the hash of the whole, in hexadecimal digits.
    pub const NAME_LIMIT: usize = 1024;
    /// Digits of the hash at the end of a name that was cut.
    pub const HASH_DIGITS: usize = 16;

    /// The site of the closures of type `name` (`std::any::type_name`, whole or cut as recordings
    /// cut it) of `size` bytes that are the `index`-th of their fork: `join(a, b)` in one function
    /// gives both closures the same name.
    ///
    /// FNV-1a of 64 bits over the name, the size and the index (Fowler, Noll & Vo, 1991). Time for
    /// the length of the name.
    pub const fn of(name: &str, size: usize, index: u32) -> Self {
        let bytes = name.as_bytes();
        let hash = if bytes.len() <= Self::NAME_LIMIT {
            with_bytes(START, bytes, bytes.len())
        } else {
            let kept = name.floor_char_boundary(Self::NAME_LIMIT - Self::HASH_DIGITS);
            let whole = with_bytes(START, bytes, bytes.len());
            let mut hash = with_bytes(START, bytes, kept);
            let mut shift = u64::BITS;
            while shift > 0 {
                shift -= 4;
                hash = with_byte(hash, b"0123456789abcdef"[(whole >> shift & 15) as usize]);
            }
            hash
        };
        Self(with_word(with_word(hash, size as u64), index as u64))
    }
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

const fn with_bytes(mut hash: u64, bytes: &[u8], length: usize) -> u64 {
    let mut at = 0;
    while at < length {
        hash = with_byte(hash, bytes[at]);
        at += 1;
    }
    hash
}

const fn with_word(mut hash: u64, word: u64) -> u64 {
    let mut shift = 0;
    while shift < u64::BITS {
        hash = with_byte(hash, (word >> shift) as u8);
        shift += 8;
    }
    hash
}

const fn with_byte(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3)
}
