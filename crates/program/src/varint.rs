//! Variable-length integers (LEB128: seven bits a byte, lowest first), and a reader that never
//! reads past its end.

/// Appends `value`.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The integer at `at`, which moves behind it, of bytes that [`put`] alone has written.
#[inline]
pub(crate) fn get(bytes: &[u8], at: &mut u32) -> u64 {
    let first = bytes[*at as usize];
    *at += 1;
    let (mut value, mut shift) = (u64::from(first & 0x7f), 7);
    let mut last = first;
    while last >= 0x80 {
        last = bytes[*at as usize];
        *at += 1;
        value |= u64::from(last & 0x7f) << shift;
        shift += 7;
    }
    value
}

/// Signed to unsigned with small magnitudes staying small: 0, -1, 1, -2, …
#[inline]
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads bytes and integers off a slice.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next `N` bytes as a little-endian integer.
    #[inline]
    pub(crate) fn little<const N: usize>(&mut self) -> Option<u64> {
        let bytes: &[u8; N] = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += N;
        // One load or two; a copy into a longer array would be a call.
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The next variable-length integer; none when it is cut off or does not fit 64 bits.
    #[inline]
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Most bytes that [`put`] writes.
    const LONGEST: usize = 10;

    proptest! {
        #[test]
        fn integers_round_trip(value: u64, signed: i64) {
            let mut out = Vec::new();
            put(&mut out, value);
            prop_assert!(out.len() <= LONGEST);
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.varint(), Some(value));
            prop_assert!(cursor.is_empty());
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn bytes_are_read_the_lowest_first_and_nothing_is_read_of_what_is_cut_off() {
        let mut cursor = Cursor::new(&[1, 2, 3, 4, 5]);
        assert_eq!(cursor.little::<3>(), Some(0x03_0201));
        assert_eq!((cursor.little::<3>(), cursor.take(3), cursor.at()), (None, None, 3));
        assert_eq!(cursor.take(usize::MAX), None, "no overflow");
        assert_eq!((cursor.take(1), cursor.little::<1>()), (Some(&[4][..]), Some(5)));
        assert_eq!((cursor.is_empty(), cursor.byte(), cursor.at()), (true, None, 5));
    }

    #[test]
    fn an_integer_that_is_cut_off_or_too_wide_is_refused() {
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
        assert_eq!(Cursor::new(&[0xff; 10]).varint(), None);
        let largest = [&[0xff; 9][..], &[1]].concat();
        assert_eq!(Cursor::new(&largest).varint(), Some(u64::MAX));
    }
}
