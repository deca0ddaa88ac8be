//! Numbers in as few bytes as the largest of them needs.

/// A list of numbers of 32 bits that has one, two or four bytes for each.
#[derive(Clone, Debug)]
pub(crate) enum Narrow {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
}

impl Default for Narrow {
    fn default() -> Self {
        Self::One(Vec::new())
    }
}

impl Narrow {
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u32 {
        match self {
            Self::One(list) => list[index].into(),
            Self::Two(list) => list[index].into(),
            Self::Four(list) => list[index],
        }
    }

    /// Constant time, but for the first two numbers that need more bytes than all before.
    #[inline]
    pub(crate) fn push(&mut self, number: u32) {
        match self {
            Self::One(list) if number <= u8::MAX.into() => list.push(number as u8),
            Self::Two(list) if number <= u16::MAX.into() => list.push(number as u16),
            Self::Four(list) => list.push(number),
            _ => {
                self.widen();
                self.push(number);
            }
        }
    }

    #[cold]
    fn widen(&mut self) {
        *self = match self {
            Self::One(list) => Self::Two(list.iter().map(|n| (*n).into()).collect()),
            Self::Two(list) => Self::Four(list.iter().map(|n| (*n).into()).collect()),
            Self::Four(list) => Self::Four(std::mem::take(list)),
        };
    }
}

impl FromIterator<u32> for Narrow {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut list = Self::default();
        numbers.into_iter().for_each(|number| list.push(number));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_as_they_become_wider() {
        let numbers = [0, 7, 255, 3, 256, 65_535, 1, 65_536, u32::MAX, 0];
        for count in 0..=numbers.len() {
            let list: Narrow = numbers[..count].iter().copied().collect();
            let kept: Vec<u32> = (0..count).map(|i| list.get(i)).collect();
            assert_eq!(kept, numbers[..count]);
            let bytes = match list {
                Narrow::One(_) => 1,
                Narrow::Two(_) => 2,
                Narrow::Four(_) => 4,
            };
            let needed = [1, 1, 1, 1, 1, 2, 2, 2, 4, 4, 4][count];
            assert_eq!(bytes, needed, "{count} numbers");
        }
    }
}
