//! Tables in which equal values, and equal blobs, stand once.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

/// Gives equal values the same index, in the order in which they were first seen.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    /// The values by their index.
    pub(crate) table: Vec<T>,
    index: HashMap<T, u32>,
    last: Option<(T, u32)>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { table: Vec::new(), index: HashMap::new(), last: None }
    }
}

impl<T: Copy + Eq + Hash> Interner<T> {
    /// The index of `value`; none when 2^32 different values are in. Expected constant time.
    pub(crate) fn intern(&mut self, value: T) -> Option<u32> {
        if let Some((last, index)) = self.last
            && last == value
        {
            return Some(index);
        }
        let next = u32::try_from(self.table.len()).ok()?;
        let index = *self.index.entry(value).or_insert_with(|| {
            self.table.push(value);
            next
        });
        self.last = Some((value, index));
        Some(index)
    }
}

/// Blobs one after another, with their ends and numbers of touches.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    pub(crate) bytes: Vec<u8>,
    /// The end of each in `bytes`, and its number of touches.
    pub(crate) table: Vec<Blob>,
    /// The spots of their touches, and the end of each blob's; empty where no touch has one.
    pub(crate) spots: Vec<u8>,
    pub(crate) spot_ends: Vec<u64>,
}

/// One row of [`Blobs`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blob {
    pub(crate) end: u64,
    pub(crate) touches: u64,
}

impl Blobs {
    /// The bytes of blob `index`, and how many touches they hold.
    pub(crate) fn get(&self, index: u32) -> (&[u8], u64) {
        (&self.bytes[place(&self.table, index)], self.table[index as usize].touches)
    }

    /// The spots of its touches, encoded.
    pub(crate) fn spots_of(&self, index: u32) -> &[u8] {
        let end = |index: usize| self.spot_ends.get(index).map_or(0, |end| *end as usize);
        &self.spots[(index as usize).checked_sub(1).map_or(0, end)..end(index as usize)]
    }
}

/// Where blob `index` lies among the bytes.
fn place(table: &[Blob], index: u32) -> Range<usize> {
    let before = (index as usize).checked_sub(1);
    before.map_or(0, |before| table[before].end as usize)..table[index as usize].end as usize
}

/// Finds equal blobs while a program is built.
#[derive(Debug, Default)]
pub(crate) struct BlobTable {
    pub(crate) table: Vec<Blob>,
    /// By content hash; of blobs with equal hashes but different content, the first.
    index: HashMap<u64, u32>,
    /// The end of each one's spots.
    pub(crate) spot_ends: Vec<u64>,
}

impl BlobTable {
    pub(crate) fn end(&self) -> usize {
        self.table.last().map_or(0, |blob| blob.end as usize)
    }

    pub(crate) fn spots_end(&self) -> usize {
        self.spot_ends.last().map_or(0, |end| *end as usize)
    }

    /// The index of the blob that makes up `bytes` from [`Self::end`] on, with the spots that make
    /// up `spots` from [`Self::spots_end`] on, and whether it is new; if not, the caller takes its
    /// bytes back. None when 2^32 blobs are in. Time for the length of the blob.
    pub(crate) fn intern(
        &mut self,
        bytes: &[u8],
        touches: u64,
        spots: &[u8],
    ) -> Option<(u32, bool)> {
        let (blob, its_spots) = (&bytes[self.end()..], &spots[self.spots_end()..]);
        let next = u32::try_from(self.table.len()).ok()?;
        let mut hash = xxh3_64(blob);
        if !its_spots.is_empty() {
            hash ^= xxh3_64(its_spots).rotate_left(32);
        }
        let known = *self.index.entry(hash).or_insert(next);
        // Equal bytes are equal touches, so their number need not be compared.
        if known < next
            && bytes[place(&self.table, known)] == *blob
            && spots[self.spots_place(known)] == *its_spots
        {
            return Some((known, false));
        }
        self.table.push(Blob { end: bytes.len() as u64, touches });
        self.spot_ends.push(spots.len() as u64);
        Some((next, true))
    }

    fn spots_place(&self, index: u32) -> Range<usize> {
        let end = |index: usize| self.spot_ends[index] as usize;
        (index as usize).checked_sub(1).map_or(0, end)..end(index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_in_the_order_first_seen() {
        let mut numbers = Interner::default();
        let given = [0, 7, 0, u32::MAX, 7, 3_000_000, 9, u32::MAX, 3_000_000, 1];
        let dense: Vec<u32> = given.iter().map(|&n| numbers.intern(n).unwrap()).collect();
        assert_eq!(dense, [0, 1, 0, 2, 1, 3, 4, 2, 3, 5]);
        (100..10_000).for_each(|n| assert_eq!(numbers.intern(n), Some(n - 94)));
        assert_eq!(numbers.intern(u32::MAX), Some(2));
    }

    #[test]
    fn a_blob_is_known_by_its_bytes_and_its_spots() {
        let mut blobs = BlobTable::default();
        let (mut bytes, mut spots) = (Vec::new(), Vec::new());
        let mut intern = |blob: &[u8], its_spots: &[u8]| {
            bytes.extend(blob);
            spots.extend(its_spots);
            let (index, new) = blobs.intern(&bytes, 1, &spots).unwrap();
            if !new {
                bytes.truncate(blobs.end());
                spots.truncate(blobs.spots_end());
            }
            index
        };
        // Of equal bytes those with each of the spots are found again, not only the first.
        let given = [("a", "x"), ("a", "y"), ("b", "x"), ("a", "y"), ("a", "x"), ("b", "x")];
        let found = given.map(|(blob, spots)| intern(blob.as_bytes(), spots.as_bytes()));
        assert_eq!(found, [0, 1, 2, 1, 0, 2]);
    }
}
