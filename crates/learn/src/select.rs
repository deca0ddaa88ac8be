//! Which law the tasks of a site follow.

use befit_sched::sizes::{Law, Term};

use super::{
    fit::{EXACT, TERMS, TRIED, Target},
    samples::Sample,
    terms::{Column, Form, columns},
};

/// A term more must make the held-out error smaller by this.
const TERM: f64 = 0.01;
/// Sums below this error are good enough: no further terms are tried.
const GOOD: f64 = 0.02;
/// How many of the best sums of each length are tried with one term more.
const BEAM: usize = 6;
/// Rows of which the figure is more than this share of the largest are held out together: a law is
/// to hold for inputs four times as large.
const FAR: f64 = 0.25;
/// How unlikely a coefficient is, on the scale of errors, by binary digits that it is off the
/// usual: so much a digit, and for digits beyond [`DIGITS`] so much more. Words that count elements
/// have coefficients of some bytes; a word that only goes along with them (a number of splits)
/// needs a large one.
const DIGIT: f64 = 0.0003;
const FAR_DIGIT: f64 = 0.002;
const DIGITS: f64 = 3.0;
/// The same for a constant, which stands for any number of elements.
const DIGITS_OF_CONSTANT: f64 = 10.0;
/// Of so many columns, those that alone come nearest, sums are made.
const ADDED: usize = 80;

/// A law with how far it is off.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) law: Law,
    /// The held-out relative error, with what counts against the law for its form.
    pub(crate) score: f64,
}

/// A fold: the weights of the rows to fit to, and of those that are held out.
struct Fold {
    fitted: Vec<f64>,
    held_out: Vec<f64>,
}

/// One choice to be made.
struct Choice<'a> {
    target: Target,
    weights: Vec<f64>,
    folds: Vec<Fold>,
    columns: &'a [Column],
    /// The likeliest coefficient, as a binary logarithm.
    usual: f64,
}

/// A sum of columns, by number, with its score.
type Sum = (f64, Vec<usize>);

/// The best law of captured words for figure number `figure` of `rows`, each with its weight; none
/// where none can be fitted.
pub(crate) fn of_words(
    rows: &[&Sample],
    weights: &[f64],
    figure: usize,
    floor: f64,
    usual: f64,
) -> Option<Found> {
    let measured: Vec<f64> = rows.iter().map(|row| row.figures[figure]).collect();
    let columns = columns(rows, &measured);
    let target = Target { measured, floor };
    let folds = folds(rows, weights, &target.measured);
    let weights = weights.to_vec();
    Choice { target, weights, folds, columns: &columns, usual }.best()
}

/// The number of the constant's column.
const CONSTANT: usize = 0;

impl Choice<'_> {
    fn best(&self) -> Option<Found> {
        // Roots come near to so many sums of plain terms that they would leave those no room.
        let mut best = self.search(&self.added(Column::is_plain));
        if best.0 > GOOD {
            best = least(best, self.search(&self.added(|_| true)));
        }
        let (score, mut sum) = best;
        sum.sort_unstable(); // so that a constant is printed first
        let coefficients = self.fit(&sum, &self.weights, EXACT).filter(|_| score.is_finite())?;
        let terms = sum.iter().zip(coefficients).map(|(number, coefficient)| {
            let (form, _) = self.form(*number, coefficient);
            let coefficient = rounded(coefficient / form.largest);
            Term { coefficient, factors: form.factors, divisor: form.divisor }
        });
        Some(Found { law: Law::Words(terms.collect()), score })
    }

    /// The best sum that is built term by term of the columns `added` and the constant.
    fn search(&self, added: &[usize]) -> Sum {
        let mut beam = vec![(f64::INFINITY, Vec::new())];
        let mut best: Sum = (self.score(&[CONSTANT]), vec![CONSTANT]);
        while best.0 > GOOD && beam.first().is_some_and(|(_, sum)| sum.len() + 1 < TERMS) {
            let mut next: Vec<Sum> = Vec::new();
            for (_, sum) in &beam {
                for &more in added {
                    if sum.contains(&more) {
                        continue;
                    }
                    let longer: Vec<_> = sum.iter().copied().chain([more]).collect();
                    let with: Vec<_> = longer.iter().copied().chain([CONSTANT]).collect();
                    best = least(best, (self.score(&with), with));
                    next.push((self.score(&longer), longer));
                }
            }
            next.retain(|(score, _)| score.is_finite());
            next.sort_by(|a, b| a.0.total_cmp(&b.0));
            next.truncate(BEAM);
            best = next.first().cloned().map_or(best.clone(), |first| least(best, first));
            beam = next;
        }
        best
    }

    /// The columns that sums are made of.
    fn added(&self, is_tried: impl Fn(&Column) -> bool) -> Vec<usize> {
        let tried = |column: &usize| *column != CONSTANT && is_tried(&self.columns[*column]);
        let all = (0..self.columns.len()).filter(tried);
        if all.clone().count() <= ADDED {
            return all.collect();
        }
        let alone = |column: usize| {
            [vec![column], vec![column, CONSTANT]].into_iter().fold(f64::INFINITY, |least, sum| {
                let found = self.fit(&sum, &self.weights, TRIED);
                found.map_or(least, |c| least.min(self.error(&sum, &c, &self.weights)))
            })
        };
        let mut all: Vec<(f64, usize)> = all.map(|column| (alone(column), column)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.into_iter().take(ADDED).map(|(_, column)| column).collect()
    }

    fn fit(&self, sum: &[usize], weights: &[f64], rounds: usize) -> Option<[f64; TERMS]> {
        let mut columns: [&[f64]; TERMS] = [&[]; TERMS];
        for (column, number) in columns.iter_mut().zip(sum) {
            *column = &self.columns[*number].values;
        }
        self.target.fit(&columns[..sum.len()], weights, rounds)
    }

    /// The held-out error of a sum, and what counts against its form.
    fn score(&self, sum: &[usize]) -> f64 {
        let Some(whole) = self.fit(sum, &self.weights, TRIED) else { return f64::INFINITY };
        let errors = self.folds.iter().map(|fold| match self.fit(sum, &fold.fitted, TRIED) {
            Some(coefficients) => self.error(sum, &coefficients, &fold.held_out),
            None => 1.0,
        });
        let error = errors.sum::<f64>() / self.folds.len() as f64;
        let forms = sum.iter().zip(whole).map(|(number, c)| self.form(*number, c).1);
        error + forms.sum::<f64>() + TERM * (sum.len() - 1) as f64
    }

    /// What a column with this coefficient most likely stands for, and what counts against it.
    fn form(&self, number: usize, coefficient: f64) -> (Form, f64) {
        let cost = |form: &Form| {
            let coefficient = coefficient / form.largest;
            let digits = (coefficient.log2() - self.usual).abs().min(64.0);
            let is_constant = form.factors[0].is_none();
            let free = if is_constant { DIGITS_OF_CONSTANT } else { DIGITS };
            form.cost + DIGIT * digits + FAR_DIGIT * (digits - free).max(0.0)
        };
        let forms = self.columns[number].forms.iter().map(|form| (*form, cost(form)));
        let least = forms.min_by(|a, b| a.1.total_cmp(&b.1));
        least.expect("a column stands for a form")
    }

    fn error(&self, sum: &[usize], coefficients: &[f64; TERMS], weights: &[f64]) -> f64 {
        let mut total = (0.0, 0.0);
        for (row, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let terms = sum.iter().zip(coefficients);
            let predicted = terms.map(|(number, c)| c * self.columns[*number].values[row]).sum();
            total.0 += weight * self.target.error(row, predicted);
            total.1 += weight;
        }
        if total.1 > 0.0 { total.0 / total.1 } else { 0.0 }
    }
}

fn least(a: Sum, b: Sum) -> Sum {
    if b.0 < a.0 { b } else { a }
}

/// Every second row; the largest; the largest recording. Of few rows all are fitted and held out.
fn folds(rows: &[&Sample], weights: &[f64], measured: &[f64]) -> Vec<Fold> {
    let fold = |is_held_out: &dyn Fn(usize) -> bool| {
        let part = |held_out: bool| {
            let weight = |(row, weight): (usize, &f64)| {
                if is_held_out(row) == held_out { *weight } else { 0.0 }
            };
            weights.iter().enumerate().map(weight).collect::<Vec<_>>()
        };
        Fold { fitted: part(false), held_out: part(true) }
    };
    let is_fold = |fold: &Fold| {
        let count = |weights: &[f64]| weights.iter().filter(|weight| **weight > 0.0).count();
        count(&fold.fitted) >= 4 && count(&fold.held_out) > 0
    };
    let most = measured.iter().copied().fold(0.0, f64::max);
    let last = rows.iter().map(|row| row.recording).max().unwrap_or(0);
    let mut folds = vec![
        fold(&|row| row % 2 == 1),
        fold(&|row| measured[row] > FAR * most),
        fold(&|row| last > 0 && rows[row].recording == last),
    ];
    folds.retain(is_fold);
    if folds.is_empty() {
        folds.push(Fold { fitted: weights.to_vec(), held_out: weights.to_vec() });
    }
    folds
}

/// To four digits.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
