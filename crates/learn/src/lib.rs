//! Learns the sizes of a program's tasks from recordings of it.
//!
//! Each task of a recording tells where it was forked (its site), what its closure captured, and
//! how much it touched. [`learn`] looks for the law by which the sizes of a site's tasks follow the
//! captured words: a sum of powers and products of words with coefficients that are not negative.
//! Of all such sums it chooses the one that predicts best what it was not fitted to: every second
//! task, the largest tasks from the others, and the largest recording from the others. Where no
//! sum does better, a task's size is a share of its parent's, or the table holds the sizes by depth
//! of the recursion.
//!
//! One recording shows what varies within it. What is the same for all of its tasks (the length of
//! a row, say) can only be guessed; two recordings of inputs of different sizes show that too.

mod ancestors;
mod fit;
mod samples;
mod select;
mod terms;
#[cfg(test)]
mod tests;

use befit_machine::Bytes;
use befit_program::{Program, SiteId, Source, StrandId};
use befit_sched::sizes::{Depth, Law, Site, SiteKey, SizeTable};

pub use self::samples::{Predictor, keys};
use self::samples::{Sample, Samples, SiteSamples};

/// What is learned of a task: which of a sample's figures it is, from where on errors are relative,
/// and the binary logarithm of a usual coefficient.
#[derive(Clone, Copy)]
struct Quantity {
    figure: usize,
    floor: f64,
    usual: f64,
}

const SIZE: Quantity = Quantity { figure: 0, floor: 512.0, usual: 3.0 };
const STRAND: Quantity = Quantity { figure: 1, floor: 512.0, usual: 3.0 };
const WORK: Quantity = Quantity { figure: 2, floor: 64.0, usual: 4.0 };

/// Of so many tasks of a site laws are chosen.
const CHOSEN_FROM: usize = 256;
/// How much better a law by depth must predict: it does not hold for other inputs.
const BY_DEPTH: f64 = 0.5;
/// The same of a share of the parent's size, than a law of words, and by depth, than a share.
const SHARE: f64 = 0.15;
/// Most characters of a type's name in a table.
const SHOWN: usize = 160;
/// Tasks below it are not listed by depth.
const SMALL: u64 = 1024;

/// The sizes of the tasks of `programs`, recordings of one program, in any order. Sites beyond
/// [`SizeTable::MOST_SITES`] or [`SizeTable::LONGEST`], those with the smallest tasks, are left
/// out. `looked_at` hears of so many more line touches, of [`Program::total_touches`] of each. Time
/// O(touches · log depth), and a fraction of a second a site.
pub fn learn(programs: &[&Program], looked_at: &dyn Fn(u64)) -> SizeTable {
    let mut programs = programs.to_vec();
    programs.sort_by_key(|program| program.total_touches());
    let mut samples = Samples::new();
    for (number, program) in (0..).zip(&programs) {
        samples::add(&mut samples, number, program, looked_at);
    }
    samples.retain(|_, samples| samples.tells());
    let mut sites: Vec<_> = samples.iter().map(|(key, samples)| site(*key, samples)).collect();
    programs.iter().for_each(|program| name(&mut sites, program));
    let largest = |site: &Site| site.depths.iter().map(|depth| depth.size).max();
    sites.sort_by_key(|site| std::cmp::Reverse(largest(site)));
    let table = SizeTable::new(programs.iter().map(|program| program.meta().name.clone()));
    let memory = programs.last().map(|program| samples::memory(program));
    let table = table.with_picoseconds(picoseconds(&programs)).with_memory(memory);
    with_sites(table, sites)
}

/// `table` with the first of `sites`, as many as leave a text that can be read again.
fn with_sites(mut table: SizeTable, sites: Vec<Site>) -> SizeTable {
    // The last line counts the sites, in four digits at most.
    let mut length = table.to_string().len() + 3;
    for site in sites {
        // With the empty line before it.
        let added = site.to_string().len() + 1;
        if table.sites().len() == SizeTable::MOST_SITES || length + added > SizeTable::LONGEST {
            break;
        }
        // One that is refused leaves its room to those behind it.
        if table.push(site).is_ok() {
            length += added;
        }
    }
    table
}

/// How long an operation took, in the mean over the recordings that were timed.
fn picoseconds(programs: &[&Program]) -> Option<f64> {
    let mut total = (0.0, 0.0);
    for program in programs {
        let Some(work_run) = program.work_run() else { continue };
        for strand in (0..program.strands()).map(StrandId) {
            let Some(class) = work_run.classes[program.class(strand).0 as usize] else { continue };
            let operations = program.work(strand).operations() as f64;
            total = (total.0 + operations * class.ps_per_operation, total.1 + operations);
        }
    }
    (total.1 > 0.0).then(|| (total.0 / total.1 * 10.0).round() / 10.0)
}

/// Adds what people know sites by.
fn name(sites: &mut [Site], program: &Program) {
    for (id, (key, of)) in (0..).zip(keys(program).into_iter().zip(program.sites())) {
        let Some(site) = sites.iter_mut().find(|site| Some(site.key) == key) else { continue };
        site.name = short(program.place(of.place));
        site.source = program.source(SiteId(id)).map_or(String::new(), line_of);
    }
}

/// A type's name, of which people see enough.
fn short(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A line of the source, as people write it.
pub fn line_of(source: &Source) -> String {
    format!("{}:{}", source.file, source.line)
}

fn site(key: SiteKey, samples: &SiteSamples) -> Site {
    let depths = by_depth(samples);
    let (rows, weights) = rows(samples);
    let law = |quantity| law(&rows, &weights, &depths, quantity);
    let mut site = Site::new(key, "");
    site.tasks = samples.tasks;
    (site.size, site.strand, site.work) = (law(SIZE), law(STRAND), law(WORK));
    site.error = Some(errors(&site, &depths, samples));
    site.depths = depths;
    site.depths.truncate(shown(&site));
    site
}

/// Some tasks of each recording and depth, and their weights: each recording and depth counts the
/// same. Tasks that touch nothing (the ends of a recursion, say) tell nothing of how the others
/// grow: they are left out, unless there are no others.
fn rows(samples: &SiteSamples) -> (Vec<&Sample>, Vec<f64>) {
    let each = (CHOSEN_FROM / samples.strata().count().max(1)).max(4);
    let mut rows = Vec::new();
    let mut weights = Vec::new();
    let touches = |sample: &&Sample| sample.figures[SIZE.figure] > 0.0;
    let all_touch_nothing =
        !samples.strata().any(|(.., stratum)| stratum.iter().any(|s| touches(&s)));
    for (_, _, _, stratum) in samples.strata() {
        let stratum: Vec<_> =
            stratum.iter().filter(|sample| all_touch_nothing || touches(sample)).collect();
        let taken = stratum.len().min(each);
        rows.extend((0..taken).map(|number| stratum[number * stratum.len() / taken]));
        weights.extend((0..taken).map(|_| 1.0 / taken as f64));
    }
    (rows, weights)
}

/// The tasks of the largest recording that has any, by depth; a depth without tasks has the figures
/// of the next one. If there are some deeper than a table goes, the least deep of them stand for
/// its last depth, unless that has tasks.
fn by_depth(samples: &SiteSamples) -> Vec<Depth> {
    let last = samples.strata().map(|(recording, ..)| recording).max();
    let mut depths: Vec<Depth> = Vec::new();
    for (recording, depth, tasks, stratum) in samples.strata() {
        let place = (depth as usize).min(Site::MOST_DEPTHS - 1);
        if Some(recording) != last || depths.len() > place {
            continue;
        }
        let quartiles = |quantity: Quantity| quartiles(stratum, quantity.figure);
        let [low, size, high] = quartiles(SIZE);
        let spread = if size > 0.0 { (high - low) / size } else { 0.0 };
        let found = Depth {
            tasks,
            size: Bytes(size as u64),
            spread: (spread * 1e3).round() / 1e3,
            strand: Bytes(quartiles(STRAND)[1] as u64),
            work: quartiles(WORK)[1] as u64,
        };
        depths.resize(place, Depth { tasks: 0, ..found });
        depths.push(found);
    }
    depths
}

fn quartiles(stratum: &[Sample], figure: usize) -> [f64; 3] {
    let mut values: Vec<_> = stratum.iter().map(|sample| sample.figures[figure]).collect();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values.get((values.len() - 1) * quarter / 4).copied().unwrap_or(0.0))
}

fn law(rows: &[&Sample], weights: &[f64], depths: &[Depth], quantity: Quantity) -> Law {
    let Quantity { figure, floor, usual } = quantity;
    let error = |predict: &dyn Fn(&Sample) -> f64| {
        let errors = rows.iter().zip(weights).map(|(row, weight)| {
            let (measured, predicted) = (row.figures[figure], predict(row));
            weight * (predicted - measured).abs() / measured.max(predicted).max(floor)
        });
        errors.sum::<f64>() / weights.iter().sum::<f64>()
    };
    let of_depths = error(&|row| {
        let depth = depths[(row.task.depth as usize).min(depths.len() - 1)];
        [depth.size.0, depth.strand.0, depth.work][figure] as f64
    });
    let share = if figure == SIZE.figure { share(rows, weights) } else { None };
    let of_share = share.map_or(f64::INFINITY, |share| error(&|row| share * parent(row)));
    match (select::of_words(rows, weights, figure, floor, usual), share) {
        (Some(found), _)
            if found.score <= of_depths + BY_DEPTH && found.score <= of_share + SHARE =>
        {
            found.law
        }
        (_, Some(share)) if of_share <= of_depths + SHARE => Law::Share(share),
        _ => Law::ByDepth,
    }
}

/// The size of the task that forks this one.
fn parent(row: &Sample) -> f64 {
    row.task.parent.map_or(0.0, |(size, _)| size.0 as f64)
}

/// The median share of their parents' sizes that tasks have; none if too few have a parent.
fn share(rows: &[&Sample], weights: &[f64]) -> Option<f64> {
    let mut shares = Vec::new();
    for (row, weight) in rows.iter().zip(weights).filter(|(row, _)| parent(row) > 0.0) {
        shares.push(((row.figures[SIZE.figure] / parent(row)).min(1.0), *weight));
    }
    if 2 * shares.len() < rows.len() {
        return None;
    }
    let [median] = quantiles(shares, [0.5])?;
    Some(select::rounded(median))
}

/// Where these shares of the weight are reached, of values with their weights; none of no values.
fn quantiles<const N: usize>(mut values: Vec<(f64, f64)>, shares: [f64; N]) -> Option<[f64; N]> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let last = values.last()?.0;
    Some(shares.map(|share| {
        let mut sum = 0.0;
        let at = values.iter().find(|(_, weight)| {
            sum += weight;
            sum >= share * total
        });
        at.map_or(last, |(value, _)| *value)
    }))
}

/// The median and the 90th percentile of the relative error of the size. Each recording and depth
/// counts the same.
fn errors(site: &Site, depths: &[Depth], samples: &SiteSamples) -> [f64; 2] {
    let site = Site { depths: depths.to_vec(), ..site.clone() };
    let mut errors = Vec::new();
    for (_, _, _, stratum) in samples.strata() {
        errors.extend(stratum.iter().map(|sample| {
            let found = site.predict(&sample.task, None);
            let predicted = found.map_or(0.0, |found| found.size.0 as f64);
            let measured = sample.figures[SIZE.figure];
            let error = (predicted - measured).abs() / measured.max(SIZE.floor);
            (error, 1.0 / stratum.len() as f64)
        }));
    }
    let errors = quantiles(errors, [0.5, 0.9]).unwrap_or_default();
    errors.map(|error| (error * 1e3).round() / 1e3)
}

/// How many depths are listed: those down to the first of small tasks.
fn shown(site: &Site) -> usize {
    let small = site.depths.iter().position(|depth| depth.tasks > 0 && depth.size.0 < SMALL);
    small.map_or(site.depths.len(), |small| small + 1)
}
