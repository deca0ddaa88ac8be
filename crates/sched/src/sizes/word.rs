//! The words that sizes follow: those that a closure captures, and those behind its references.

use std::fmt;

/// A word that a closure captures, or one that stands where a captured word points to, or where
/// such a word points to in turn: the length of a vector that is captured by reference, say.
///
/// `w3` is the closure's fourth word, `w3.1` the second word of what that points to, `w3.1.0` the
/// first word of what that points to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Word(u16);

impl Word {
    /// So many words of a closure count, and as many of what a word points to.
    pub const WIDTH: u16 = 16;
    /// How many there are, all those behind references included.
    pub const COUNT: u16 = Self::WIDTH * (1 + Self::WIDTH * (1 + Self::WIDTH));
    /// All of them that stand in front of the last references.
    const FOLLOWED: u16 = Self::WIDTH * (1 + Self::WIDTH);

    /// A closure's first word.
    pub const FIRST: Self = Self(0);

    /// The closure's word number `place`, from 0.
    pub const fn own(place: u16) -> Option<Self> {
        if place < Self::WIDTH { Some(Self(place)) } else { None }
    }

    /// Word number `place` of what this one points to. Two references are followed.
    pub const fn behind(self, place: u16) -> Option<Self> {
        if self.0 < Self::FOLLOWED && place < Self::WIDTH {
            Some(Self(Self::WIDTH * (1 + self.0) + place))
        } else {
            None
        }
    }

    /// The word that points to where this one stands; none of the closure's own.
    pub const fn reference(self) -> Option<Self> {
        if self.0 < Self::WIDTH { None } else { Some(Self(self.0 / Self::WIDTH - 1)) }
    }

    /// Its place in the closure, or in what is pointed to.
    pub const fn place(self) -> u16 {
        self.0 % Self::WIDTH
    }

    /// How many references lead to it.
    pub const fn references(self) -> u16 {
        match self.reference() {
            Some(reference) => 1 + reference.references(),
            None => 0,
        }
    }

    /// What recordings call it.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The inverse of [`Self::number`].
    pub const fn of_number(number: u16) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number)) } else { None }
    }

    /// The word that [`Display`](fmt::Display) writes like this.
    pub fn parse(text: &str) -> Option<Self> {
        let place = |text: &str| {
            let digits = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|_| digits)
        };
        let mut places = text.strip_prefix('w')?.split('.').map(place);
        let own = Self::own(places.next()??)?;
        places.try_fold(own, |word, place| word.behind(place?))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reference() {
            Some(reference) => write!(f, "{reference}.{}", self.place()),
            None => write!(f, "w{}", self.place()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_a_number_a_name_and_what_points_to_it() {
        let mut names = std::collections::HashSet::new();
        for number in 0..Word::COUNT {
            let word = Word::of_number(number).unwrap();
            assert_eq!((word.number(), Word::parse(&word.to_string())), (number, Some(word)));
            assert!(names.insert(word.to_string()));
            match word.reference() {
                Some(reference) => assert_eq!(reference.behind(word.place()), Some(word)),
                None => assert_eq!(Word::own(word.place()), Some(word)),
            }
        }
        assert_eq!(Word::of_number(Word::COUNT), None);
        let word = Word::own(3).and_then(|word| word.behind(15)).and_then(|word| word.behind(0));
        assert_eq!(word.unwrap().to_string(), "w3.15.0");
        assert_eq!((word.unwrap().references(), word.unwrap().behind(0)), (2, None));
        for wrong in ["w16", "w", "w3.", "w3.16", "w1.1.1.1", "w+1", "w001", "3"] {
            assert_eq!(Word::parse(wrong), None, "{wrong}");
        }
    }
}
