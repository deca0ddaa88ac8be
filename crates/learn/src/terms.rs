//! The terms that a law may have: powers, differences, products and quotients of captured words.

use std::collections::{HashMap, HashSet};

use befit_sched::sizes::{Factor, Term, Word};

use super::samples::Sample;

/// Exponents of a single word, in quarters, and how unlikely each is: data are lines, areas and
/// volumes more often than anything else.
const EXPONENTS: [(u8, f64); 8] =
    [(4, 0.0), (8, 0.002), (12, 0.004), (6, 0.006), (5, 0.006), (2, 0.006), (3, 0.008), (1, 0.008)];
/// How unlikely a difference is, and a product.
const DIFFERENCE: f64 = 0.001;
const PRODUCT: f64 = 0.002;
/// How unlikely it is that a product is divided. That of the lengths of two parts of a matrix is:
/// by the length of a row, or its square.
const QUOTIENT: f64 = 0.002;
/// Exponents of what products are divided by, in quarters.
const DIVIDED: [u8; 2] = [4, 8];
/// So many words are tried as divisors: the first that are the same for all tasks of a recording.
const DIVISORS: usize = 4;
/// How unlikely each reference makes a word.
const FOLLOWED: f64 = 0.0005;
/// A difference is one if it is not negative in so many rows.
const ORDERED: f64 = 0.95;
/// Terms whose values differ by a factor alone, to so many parts, are one column.
const PARTS: f64 = 1e7;

/// A term without its coefficient.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) factors: [Option<Factor>; Term::MOST_FACTORS],
    pub(crate) divisor: Option<Factor>,
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

impl Column {
    /// Whether it stands for a word, a difference, or a product or quotient of such, without roots.
    pub(crate) fn is_plain(&self) -> bool {
        let factors = |form: &Form| form.factors.into_iter().flatten();
        self.forms.iter().any(|form| factors(form).all(|factor| factor.quarters % 4 == 0))
    }
}

/// So many words are tried that stand behind references and vary, and so many that do not: those
/// that go along with the figure best, and those with the fewest references. Words of the closure
/// itself are all tried.
const VARYING: usize = 12;
const FIXED: usize = 10;
/// A word behind a reference is data, not a length, if it is 0 in more of the rows.
const ABSENT: f64 = 0.5;
/// Most differences that are multiplied.
const MULTIPLIED: usize = 24;

/// A word that is tried, with its values.
struct Tried {
    word: Word,
    values: Vec<u64>,
    varies: bool,
}

/// All terms that rows of a site may follow, of which `measured` is the figure. The constant's
/// column is the first.
pub(crate) fn columns(rows: &[&Sample], measured: &[f64]) -> Vec<Column> {
    let tried = tried(rows, measured);
    let mut columns = Columns { rows, columns: Vec::new(), known: HashMap::new() };
    columns.add([None, None], None, 0.0);
    for tried in &tried {
        for (quarters, cost) in EXPONENTS {
            columns.add([Some(word(tried.word, quarters)), None], None, cost + far(tried.word));
        }
    }
    let differences = differences(&tried);
    for (factor, cost) in &differences {
        columns.add([Some(*factor), None], None, *cost);
    }
    let linear = tried.iter().map(|it| (word(it.word, 4), far(it.word)));
    let linear: Vec<_> = linear.chain(differences.into_iter().take(MULTIPLIED)).collect();
    let divisors = divisors(rows, &tried);
    let is_divisor = |factor: &Factor| divisors.iter().any(|it| it.0.word == factor.word);
    for (number, (first, cost)) in linear.iter().enumerate() {
        for (second, more) in &linear[..number] {
            let (factors, cost) = ([Some(*second), Some(*first)], cost + more + PRODUCT);
            columns.add(factors, None, cost);
            if is_divisor(first) || is_divisor(second) {
                continue;
            }
            for (divisor, more) in &divisors {
                columns.add(factors, Some(*divisor), cost + more);
            }
        }
    }
    columns.columns
}

/// What products may be divided by: words that are the same for all tasks of a recording.
fn divisors(rows: &[&Sample], tried: &[Tried]) -> Vec<(Factor, f64)> {
    let mut of_recording = HashMap::new();
    let mut is_fixed = |tried: &&Tried| {
        let mut values = rows.iter().zip(&tried.values);
        of_recording.clear();
        values.all(|(row, value)| {
            *value > 1 && *of_recording.entry(row.recording).or_insert(*value) == *value
        })
    };
    let fixed = tried.iter().filter(|tried| is_fixed(tried)).take(DIVISORS);
    let to_powers = |tried: &Tried| {
        let (word, cost) = (tried.word, QUOTIENT + far(tried.word));
        DIVIDED.map(|quarters| (self::word(word, quarters), cost))
    };
    fixed.flat_map(to_powers).collect()
}

/// How unlikely a word is for the references that lead to it.
fn far(word: Word) -> f64 {
    FOLLOWED * f64::from(word.references())
}

fn word(word: Word, quarters: u8) -> Factor {
    Factor { word, minus: None, quarters }
}

/// The words that are ever more than 1, each different one once, and not too many.
fn tried(rows: &[&Sample], measured: &[f64]) -> Vec<Tried> {
    let mut words: Vec<Word> = rows.iter().flat_map(|row| row.task.iter()).map(|it| it.0).collect();
    words.sort_unstable();
    words.dedup();
    let mut known = HashSet::new();
    let tried = words.into_iter().filter_map(|word| {
        let values: Vec<u64> = rows.iter().map(|row| row.task.get(word)).collect();
        let absent = values.iter().filter(|value| **value == 0).count();
        let is_data = word.references() > 0 && absent as f64 > ABSENT * rows.len() as f64;
        if is_data || values.iter().all(|value| *value <= 1) || !known.insert(values.clone()) {
            return None;
        }
        let varies = values.iter().any(|value| *value != values[0]);
        Some(Tried { word, values, varies })
    });
    let (mut own, behind): (Vec<_>, Vec<_>) = tried.partition(|it| it.word.references() == 0);
    let (mut varying, mut fixed): (Vec<_>, Vec<_>) = behind.into_iter().partition(|it| it.varies);
    varying.sort_by_cached_key(|it| {
        let along = along(&it.values, measured) - far(it.word);
        std::cmp::Reverse((along * 1e9) as i64)
    });
    varying.truncate(VARYING);
    fixed.truncate(FIXED);
    own.extend(varying);
    own.extend(fixed);
    own
}

/// How well the values go along with the figures: the square of their correlation, of ranks that
/// logarithms stand for.
fn along(values: &[u64], measured: &[f64]) -> f64 {
    let points = || {
        let x = values.iter().map(|value| (*value as f64 + 1.0).ln());
        x.zip(measured.iter().map(|figure| (figure + 1.0).ln()))
    };
    let n = values.len() as f64;
    let (x, y) = points().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x / n, sum.1 + y / n));
    let (xx, xy, yy) = points().fold((0.0, 0.0, 0.0), |sum, (a, b)| {
        let (a, b) = (a - x, b - y);
        (sum.0 + a * a, sum.1 + a * b, sum.2 + b * b)
    });
    if xx * yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 }
}

/// The differences of two words that both vary and stand side by side: in the closure, or behind
/// one reference.
fn differences(tried: &[Tried]) -> Vec<(Factor, f64)> {
    let mut differences = Vec::new();
    let varying = || tried.iter().filter(|it| it.varies);
    for a in varying() {
        let beside = |b: &&Tried| b.word != a.word && b.word.reference() == a.word.reference();
        for b in varying().filter(beside) {
            let ordered = a.values.iter().zip(&b.values).filter(|(a, b)| a >= b).count();
            if ordered as f64 >= ORDERED * a.values.len() as f64 {
                let factor = Factor { minus: Some(b.word), ..word(a.word, 4) };
                differences.push((factor, DIFFERENCE + far(a.word)));
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
    fn add(
        &mut self,
        factors: [Option<Factor>; Term::MOST_FACTORS],
        divisor: Option<Factor>,
        cost: f64,
    ) {
        let term = Term { coefficient: 1.0, factors, divisor };
        let mut values: Vec<f64> = self.rows.iter().filter_map(|row| term.of(&row.task)).collect();
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
        self.columns[number].forms.push(Form { factors, divisor, cost, largest });
    }
}

#[cfg(test)]
mod tests {
    use befit_sched::sizes::Words;

    use super::*;

    #[test]
    fn terms_that_no_row_tells_apart_are_one_column() {
        let sample = |length: u64| Sample {
            task: Words::own(&[length, 3 * length, 256]),
            recording: 0,
            figures: [0.0; 3],
        };
        let samples: Vec<_> = (1..20).map(sample).collect();
        let rows: Vec<_> = samples.iter().collect();
        let columns = columns(&rows, &[0.0; 19]);
        let word = |place, quarters| word(Word::own(place).unwrap(), quarters);
        let constant = columns[0].forms.iter().map(|form| form.factors);
        assert!(constant.clone().any(|factors| factors == [None, None]));
        assert!(constant.clone().any(|factors| factors == [Some(word(2, 8)), None]));
        let linear = columns.iter().find(|column| {
            column.forms.iter().any(|form| form.factors == [Some(word(0, 4)), None])
        });
        let linear: Vec<_> = linear.unwrap().forms.iter().map(|form| form.factors).collect();
        let difference = Factor { minus: Word::own(0), ..word(1, 4) };
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
