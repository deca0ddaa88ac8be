//! Where tasks were forked: their sites, and what their closures had captured.
//!
//! A *site* is the type name of a task's closure, the closure's size and its index within the fork,
//! because `join(a, b)` in one function gives both closures the same name. All three are the same
//! in an instrumented build and in a plain one. The *captured words* are words of the closure, and
//! behind its references, as plain numbers: the length of a slice, the bounds of a range. Together
//! they tell how large a task is before it runs.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::{
    PlaceId,
    varint::{self, Cursor},
};

/// Names a site: an index into [`Program::sites`](crate::Program::sites). 0 is the unknown one: of
/// the root task, and of all tasks in a program that was recorded without sites.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SiteId(pub u32);

/// Where tasks were forked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Site {
    /// The type of their closures.
    pub place: PlaceId,
    /// The size of one, in bytes.
    pub bytes: u32,
    /// Which closure of the fork: 0 or 1 of a `join`, 0 of all else.
    pub index: u8,
}

/// A line of the program's source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    /// The file, from its package's folder on: `src/main.rs`. At most [`Source::LIMIT`] bytes.
    pub file: Box<str>,
    /// The line, from 1.
    pub line: u32,
    /// The function's own name, without its modules. At most [`Source::LIMIT`] bytes.
    pub function: Box<str>,
}

impl Source {
    /// Most bytes of either name.
    pub const LIMIT: usize = 512;

    /// With names that are cut to what a file can hold.
    pub(crate) fn cut(mut self) -> Self {
        for name in [&mut self.file, &mut self.function] {
            if name.len() > Self::LIMIT {
                *name = name[..name.floor_char_boundary(Self::LIMIT)].into();
            }
        }
        self
    }
}

/// The captured words of a task with their numbers, ascending; those that are absent are 0. What a
/// number stands for is the recorder's.
pub(crate) type Words = Vec<(u16, u64)>;

/// What is known of tasks where they are forked, each different combination once: what they
/// declare, their site, and their captured words. 16 bytes each, and the words that are not 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    rows: Vec<Row>,
    /// The words of all rows, one after another, as [`pack`] writes them; nothing where there are
    /// none.
    words: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The end of its words in [`Origins::words`].
    end: u64,
    /// An index into the table of declared sizes.
    declared: u32,
    site: SiteId,
}

/// What is known of a task where it is forked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    /// An index into the table of declared sizes.
    pub(crate) declared: u32,
    pub(crate) site: SiteId,
    pub(crate) words: Words,
}

impl Origins {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn declared(&self, origin: u32) -> u32 {
        self.rows[origin as usize].declared
    }

    pub(crate) fn site(&self, origin: u32) -> SiteId {
        self.rows[origin as usize].site
    }

    pub(crate) fn words(&self, origin: u32) -> Words {
        let begin = origin.checked_sub(1).map_or(0, |before| self.rows[before as usize].end);
        let packed = &self.words[begin as usize..self.rows[origin as usize].end as usize];
        // They were packed by `push`.
        if packed.is_empty() {
            Words::new()
        } else {
            unpack(&mut Cursor::new(packed)).unwrap_or_default()
        }
    }

    pub(crate) fn push(&mut self, Origin { declared, site, words }: &Origin) {
        if !words.is_empty() {
            pack(&mut self.words, words);
        }
        self.rows.push(Row { end: self.words.len() as u64, declared: *declared, site: *site });
    }

    pub(crate) fn get(&self, origin: u32) -> Origin {
        let Row { declared, site, .. } = self.rows[origin as usize];
        Origin { declared, site, words: self.words(origin) }
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Origin> + '_ {
        (0..self.rows.len() as u32).map(|origin| self.get(origin))
    }
}

/// How many there are; then for each how far its number is from the one before, less 1 (its number
/// for the first), and the word. All as varints.
pub(crate) fn pack(out: &mut Vec<u8>, words: &[(u16, u64)]) {
    varint::put(out, words.len() as u64);
    let mut next = 0;
    for &(number, word) in words {
        varint::put(out, u64::from(number) - next);
        varint::put(out, word);
        next = u64::from(number) + 1;
    }
}

/// The inverse of [`pack`]; none where it is cut off, a word is 0, or a number is too large.
pub(crate) fn unpack(cursor: &mut Cursor) -> Option<Words> {
    let count = cursor.varint()?;
    let mut words = Words::new();
    let mut next = 0u64;
    for _ in 0..count {
        let number = u16::try_from(next.checked_add(cursor.varint()?)?).ok()?;
        words.push((number, cursor.varint().filter(|&word| word != 0)?));
        next = u64::from(number) + 1;
    }
    Some(words)
}

/// As [`unpack`], of a file that has words 0 to 7 only: a byte with a bit for each that is not 0,
/// the lowest for the first; then these as varints.
pub(crate) fn unpack_eight(cursor: &mut Cursor) -> Option<Words> {
    let set = cursor.byte()?;
    let mut words = Words::new();
    for bit in (0..8).filter(|bit| set >> bit & 1 != 0) {
        words.push((bit, cursor.varint().filter(|&word| word != 0)?));
    }
    Some(words)
}

/// Finds equal origins while a program is built.
#[derive(Debug, Default)]
pub(crate) struct OriginTable {
    pub(crate) origins: Origins,
    /// By hash; of different origins with equal hashes, the first.
    index: HashMap<u64, u32>,
    last: Option<(Origin, u32)>,
}

impl OriginTable {
    /// The index of `origin`; none when 2^32 are in. Expected constant time.
    pub(crate) fn intern(&mut self, origin: &Origin) -> Option<u32> {
        if let Some((last, index)) = &self.last
            && last == origin
        {
            return Some(*index);
        }
        let next = u32::try_from(self.origins.len()).ok()?;
        let known = *self.index.entry(hash(origin)).or_insert(next);
        let index = if known < next && self.origins.get(known) == *origin {
            known
        } else {
            self.origins.push(origin);
            next
        };
        self.last = Some((origin.clone(), index));
        Some(index)
    }
}

fn hash(Origin { declared, site, words }: &Origin) -> u64 {
    let mut bytes = Vec::with_capacity(8 + 10 * words.len());
    bytes.extend((u64::from(*declared) << 32 | u64::from(site.0)).to_le_bytes());
    for (number, word) in words {
        bytes.extend(number.to_le_bytes());
        bytes.extend(word.to_le_bytes());
    }
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_the_source_are_cut_to_512_bytes_and_to_whole_characters() {
        let cut = |file: &str, function: &str| {
            let source = Source { file: file.into(), line: 7, function: function.into() };
            let Source { file, line, function } = source.cut();
            assert_eq!(line, 7);
            [file, function].map(String::from)
        };
        let x = |count| "x".repeat(count);
        assert_eq!(cut(&x(512), &x(513)), [x(512), x(512)]);
        let [too_long, fits] = [511, 510].map(|before| x(before) + "ä");
        assert_eq!(cut(&too_long, &fits), [x(511), fits.clone()]);
    }

    #[test]
    fn captured_words_are_unpacked_as_they_were_packed_and_not_before_their_last_byte() {
        type Unpack = fn(&mut Cursor) -> Option<Words>;
        let unpacked = |unpack: Unpack, packed: &[u8]| unpack(&mut Cursor::new(packed));
        let (all, eight): (Unpack, Unpack) = (unpack, unpack_eight);
        for (unpack, packed, words) in [
            (all, &[0][..], vec![]),
            (all, &[2, 3, 5, 0, 0x80, 1], vec![(3, 5), (4, 128)]),
            (all, &[1, 0xff, 0xff, 3, 1], vec![(0xffff, 1)]),
            (eight, &[0b1000_0010, 9, 0x80, 2], vec![(1, 9), (7, 256)]),
            (eight, &[0], vec![]),
        ] {
            assert_eq!(unpacked(unpack, packed), Some(words), "{packed:?}");
            let cut = (0..packed.len()).map(|len| unpacked(unpack, &packed[..len]));
            assert!(cut.into_iter().all(|words| words.is_none()), "{packed:?}");
        }
        // A word that is 0 is left out, not written; and there is no number 65536.
        for (unpack, packed) in [
            (all, &[1, 3, 0][..]),
            (all, &[2, 0xff, 0xff, 3, 1, 0, 1]),
            (all, &[1, 0x80, 0x80, 4, 1]),
            (eight, &[1, 0]),
        ] {
            assert_eq!(unpacked(unpack, packed), None, "{packed:?}");
        }
    }

    fn origins() -> impl Strategy<Value = Origin> {
        let number = prop_oneof![0..4u16, any::<u16>()];
        let word = prop_oneof![1..4u64, 1..=u64::MAX];
        let words = prop::collection::btree_map(number, word, 0..9);
        (0..3u32, 0..3u32, words).prop_map(|(declared, site, words)| Origin {
            declared,
            site: SiteId(site),
            words: words.into_iter().collect(),
        })
    }

    proptest! {
        #[test]
        fn equal_origins_stand_once_and_come_back(given in prop::collection::vec(origins(), 0..40)) {
            let mut table = OriginTable::default();
            let indices: Vec<u32> = given.iter().map(|it| table.intern(it).unwrap()).collect();
            for (origin, &index) in given.iter().zip(&indices) {
                prop_assert_eq!(&table.origins.get(index), origin);
                let first = given.iter().position(|other| other == origin).unwrap();
                prop_assert_eq!(indices[first], index);
            }
            prop_assert!(table.origins.len() <= given.len());
        }
    }
}
