//! Formulas of captured words.

use super::{TaskView, Word};

/// A captured word, or the difference of two, to some power.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Factor {
    /// The word.
    pub word: Word,
    /// The word that is taken off it, if any; never below 0.
    pub minus: Option<Word>,
    /// The exponent, in quarters; 1 to [`Factor::MOST_QUARTERS`].
    pub quarters: u8,
}

impl Factor {
    /// The largest exponent, in quarters.
    pub const MOST_QUARTERS: u8 = 16;

    /// Its value; none where a word cannot be read. The same on all machines: square roots and
    /// products are exactly rounded.
    pub fn of(self, task: &impl TaskView) -> Option<f64> {
        let minus = self.minus.map_or(Some(0), |word| task.word(word))?;
        let value = task.word(self.word)?.saturating_sub(minus) as f64;
        let whole = (0..self.quarters / 4).fold(1.0, |product, _| product * value);
        Some(match self.quarters % 4 {
            0 => whole,
            1 => whole * value.sqrt().sqrt(),
            2 => whole * value.sqrt(),
            _ => whole * value.sqrt() * value.sqrt().sqrt(),
        })
    }
}

/// A coefficient times up to [`Term::MOST_FACTORS`] factors, divided by another; without any it is
/// a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Term {
    /// At least 0 and at most [`Term::LARGEST`].
    pub coefficient: f64,
    /// The factors, the present ones first.
    pub factors: [Option<Factor>; Self::MOST_FACTORS],
    /// What the product is divided by, if anything. 0 divides as 1 does.
    pub divisor: Option<Factor>,
}

impl Term {
    /// Most factors of a term.
    pub const MOST_FACTORS: usize = 2;
    /// The largest coefficient.
    pub const LARGEST: f64 = 1e18;

    /// A term without factors.
    pub const fn constant(value: f64) -> Self {
        Self { coefficient: value, factors: [None; Self::MOST_FACTORS], divisor: None }
    }

    /// Its value; none where a word cannot be read.
    pub fn of(&self, task: &impl TaskView) -> Option<f64> {
        let mut factors = self.factors.iter().flatten();
        let product = factors
            .try_fold(self.coefficient, |product, factor| Some(product * factor.of(task)?))?;
        Some(match self.divisor {
            Some(divisor) => product / divisor.of(task)?.max(1.0),
            None => product,
        })
    }
}

/// What a quantity of a site's tasks (size, strand, work) follows.
#[derive(Clone, PartialEq, Debug)]
pub enum Law {
    /// The sum of up to [`Law::MOST_TERMS`] terms.
    Words(Vec<Term>),
    /// This share of the size of the task that forks it. Of a size only. Where the parent's size is
    /// not known it is by depth.
    Share(f64),
    /// The median of the recorded tasks at the same depth: [`Depth`](super::Depth).
    ByDepth,
}

impl Law {
    /// Most terms of a sum.
    pub const MOST_TERMS: usize = 4;
    /// Sums beyond it are cut to it: more than any memory holds, and far from overflow.
    pub const MOST: u64 = 1 << 60;

    /// The law of a quantity that is the same for all tasks of its site.
    pub fn constant(value: f64) -> Self {
        Self::Words(vec![Term::constant(value)])
    }

    /// What a sum of terms says, rounded; none for other laws, and where a word cannot be read. No
    /// allocation, O(terms).
    pub fn of(&self, task: &impl TaskView) -> Option<u64> {
        let Self::Words(terms) = self else { return None };
        let sum = terms.iter().try_fold(0.0, |sum, term| Some(sum + term.of(task)?))?;
        Some(Self::whole(sum))
    }

    /// A quantity as a whole number: what is infinite or no number saturates, or gives 0.
    pub(super) fn whole(value: f64) -> u64 {
        (value.round() as u64).min(Self::MOST)
    }
}
