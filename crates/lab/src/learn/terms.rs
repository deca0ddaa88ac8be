//! The terms that a law may have: powers, differences and products of captured words.

use std::collections::HashMap;

use befit_sched::sizes::{Factor, Term, WORDS};

use super::samples::Sample;

/// Exponents of a single word, in quarters, and how unlikely each is: data are lines, areas and
/// volumes more often than anything else.
const EXPONENTS: [(u8, f64); 8] =
    [(4, 0.0), (8, 0.002), (12, 0.004), (6, 0.006), (5, 0.006), (2, 0.006), (3, 0.008), (1, 0.008)];
/// How unlikely a difference is, and a product.
const DIFFERENCE: f64 = 0.001;
const PRODUCT: f64 = 0.002;
/// A difference is one if it is not negative in so many rows.
const ORDERED: f64 = 0.95;
/// Terms whose values differ by a factor alone, to so many parts, are one column.
const PARTS: f64 = 1e7;

/// A term without its coefficient.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) factors: [Option<Factor>; Term::MOST_FACTORS],
    /// How unlikely it is, on the scale of errors.
    pub(crate) cost: f64,
    /// Its largest value; its column's is 1.
    pub(crate) largest: f64,
}

/// Terms that no row tells apart: they differ by a factor alone.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The value in each row; the largest is 1.
    pub(crate) values: Vec<f64>,
    /// What they may stand for.
    pub(crate) forms: Vec<Form>,
}

/// All terms that rows of a site may follow. The constant's column is the first.
pub(crate) fn columns(rows: &[&Sample]) -> Vec<Column> {
    let mut columns = Columns { rows, columns: Vec::new(), known: HashMap::new() };
    columns.add([None, None], 0.0);
    let used = used(rows);
    for &place in &used {
        for (quarters, cost) in EXPONENTS {
            columns.add([Some(word(place, quarters)), None], cost);
        }
    }
    let mut linear: Vec<_> = used.iter().map(|place| (word(*place, 4), 0.0)).collect();
    linear.extend(differences(rows, &used).into_iter().map(|factor| (factor, DIFFERENCE)));
    for (number, (first, cost)) in linear.iter().enumerate() {
        if first.minus.is_some() {
            columns.add([Some(*first), None], *cost);
        }
        for (second, more) in &linear[..number] {
            columns.add([Some(*second), Some(*first)], cost + more + PRODUCT);
        }
    }
    columns.columns
}

fn word(word: usize, quarters: u8) -> Factor {
    Factor { word: word as u8, minus: None, quarters }
}

/// The words that are ever more than 1, each different one once.
fn used(rows: &[&Sample]) -> Vec<usize> {
    let mut used: Vec<usize> = Vec::new();
    for place in 0..WORDS {
        let is_number = rows.iter().any(|row| row.words[place] > 1);
        let same = |other: &usize| rows.iter().all(|row| row.words[place] == row.words[*other]);
        if is_number && !used.iter().any(same) {
            used.push(place);
        }
    }
    used
}

/// The differences of two words that both vary.
fn differences(rows: &[&Sample], used: &[usize]) -> Vec<Factor> {
    let varies = |place: usize| rows.iter().any(|row| row.words[place] != rows[0].words[place]);
    let varying: Vec<usize> = used.iter().copied().filter(|place| varies(*place)).collect();
    let mut differences = Vec::new();
    for &a in &varying {
        for &b in varying.iter().filter(|b| **b != a) {
            let ordered = rows.iter().filter(|row| row.words[a] >= row.words[b]).count();
            if ordered as f64 >= ORDERED * rows.len() as f64 {
                differences.push(Factor { minus: Some(b as u8), ..word(a, 4) });
            }
        }
    }
    differences
}

/// Columns, with the numbers of those that are known by their values.
struct Columns<'a> {
    rows: &'a [&'a Sample],
    columns: Vec<Column>,
    known: HashMap<Vec<u32>, usize>,
}

impl Columns<'_> {
    fn add(&mut self, factors: [Option<Factor>; Term::MOST_FACTORS], cost: f64) {
        let term = Term { coefficient: 1.0, factors };
        let mut values: Vec<f64> = self.rows.iter().map(|row| term.of(&row.words)).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return;
        }
        values.iter_mut().for_each(|value| *value /= largest);
        let parts = values.iter().map(|value| (value * PARTS).round() as u32).collect();
        let next = self.columns.len();
        let number = *self.known.entry(parts).or_insert(next);
        if number == next {
            self.columns.push(Column { values, forms: Vec::new() });
        }
        self.columns[number].forms.push(Form { factors, cost, largest });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_that_no_row_tells_apart_are_one_column() {
        let sample = |length: u64| Sample {
            words: [length, 3 * length, 256, 0, 0, 0, 0, 0],
            depth: 0,
            recording: 0,
            figures: [0.0; 3],
        };
        let samples: Vec<_> = (1..20).map(sample).collect();
        let rows: Vec<_> = samples.iter().collect();
        let columns = columns(&rows);
        let constant = columns[0].forms.iter().map(|form| form.factors);
        assert!(constant.clone().any(|factors| factors == [None, None]));
        assert!(constant.clone().any(|factors| factors == [Some(word(2, 8)), None]));
        let linear = columns.iter().find(|column| {
            column.forms.iter().any(|form| form.factors == [Some(word(0, 4)), None])
        });
        let linear: Vec<_> = linear.unwrap().forms.iter().map(|form| form.factors).collect();
        let difference = Factor { minus: Some(0), ..word(1, 4) };
        for form in [
            [Some(word(1, 4)), None],
            [Some(difference), None],
            [Some(word(0, 4)), Some(word(2, 4))],
            [Some(word(2, 4)), Some(difference)],
        ] {
            assert!(linear.contains(&form), "{form:?} is not in {linear:?}");
        }
    }
}
