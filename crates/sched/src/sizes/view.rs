//! An engine's view of a task before it runs.

use befit_machine::Bytes;

use super::Word;

/// A task before it runs, as far as its size may follow from that. Each engine has its own, and
/// looks costly facts up only when they are needed.
pub trait TaskView {
    /// A captured word as a plain number: 0 where there is none, or it is an address or no small
    /// number. None where it may be one, but cannot be read.
    fn word(&self, word: Word) -> Option<u64>;

    /// Forks that enclose it, counted from the nearest spawned task or root.
    fn depth(&self) -> u32;

    /// The size of the nearest task around it of which the engine has one, and that task's depth;
    /// none where no size is known.
    fn parent(&self) -> Option<(Bytes, u32)>;

    /// How much memory the program has in use; none where that is not known.
    fn memory(&self) -> Option<Bytes>;
}

/// A task of which its captured words, and maybe its depth, are known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// Ascending; words that are not in it are 0.
    pub(super) words: Vec<(Word, u64)>,
    /// See [`TaskView::depth`].
    pub depth: u32,
    /// See [`TaskView::parent`].
    pub parent: Option<(Bytes, u32)>,
    /// See [`TaskView::memory`].
    pub memory: Option<Bytes>,
}

impl Words {
    /// The closure's own words, the first in front. Those beyond [`Word::WIDTH`] do not count.
    pub fn own(words: &[u64]) -> Self {
        let word = |(place, value): (u16, &u64)| Some((Word::own(place)?, *value));
        (0..).zip(words).filter_map(word).collect()
    }

    /// All that are known, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Word, u64)> + '_ {
        self.words.iter().copied()
    }

    /// The value of one; 0 where it is not known.
    pub fn get(&self, word: Word) -> u64 {
        let found = self.words.binary_search_by_key(&word, |(word, _)| *word);
        found.map_or(0, |at| self.words[at].1)
    }
}

impl FromIterator<(Word, u64)> for Words {
    fn from_iter<I: IntoIterator<Item = (Word, u64)>>(words: I) -> Self {
        let mut words: Vec<_> = words.into_iter().filter(|(_, value)| *value != 0).collect();
        words.sort_by_key(|(word, _)| *word);
        words.dedup_by_key(|(word, _)| *word);
        Self { words, ..Self::default() }
    }
}

impl TaskView for Words {
    fn word(&self, word: Word) -> Option<u64> {
        Some(self.get(word))
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn parent(&self) -> Option<(Bytes, u32)> {
        self.parent
    }

    fn memory(&self) -> Option<Bytes> {
        self.memory
    }
}
