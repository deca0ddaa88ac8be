//! Learned sizes beside what the tasks of a recording touch.

use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Program, SiteId, TaskId};
use befit_sched::{Thresholds, sizes::SizeTable};
use serde::Serialize;

use super::{SiteSizes, by_site::by_site, largest_caches};
use crate::{Progress, kept};

/// How far the learned sizes of some tasks are off.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Errors {
    /// How many tasks there are.
    pub tasks: u64,
    /// The median of the difference between learned and measured size, as a share of the measured
    /// one (at least a cache line).
    pub median: f64,
    /// The 90th percentile of the same.
    pub tail: f64,
    /// The share of the tasks that befit the same cache by either size.
    pub same_cache: f64,
}

/// The tasks of one site.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LearnedSite {
    /// The type of the tasks' closures.
    pub name: String,
    /// The line of the source that forks them; none where that was not recorded.
    pub source: Option<String>,
    /// Whether the table knows the site.
    pub known: bool,
    /// The size of the largest task, measured.
    pub largest: Bytes,
    /// How far learned sizes are off; of a site that is not known, zeros but for the tasks.
    pub errors: Errors,
}

/// The sizes that a table tells of a program's tasks beside what they touch; serialised, the
/// document `befit.learned-sizes/1` (docs/json.md) without its version.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LearnedSizes {
    /// The command that was recorded.
    pub command: String,
    /// The commands that the sizes were learned from.
    pub learned_from: Vec<String>,
    /// The machine that tasks are to befit.
    pub machine: String,
    /// Dilation σ.
    pub sigma: f64,
    /// All tasks that were forked at a site of the program's.
    pub tasks: u64,
    /// Those of sites that the table does not know.
    pub unknown: u64,
    /// All tasks of known sites.
    pub all: Errors,
    /// Those of them that do not befit the smallest caches of the machine.
    pub large: Errors,
    /// By site, those with the largest tasks first.
    pub sites: Vec<LearnedSite>,
    /// All tasks of known sites, by the line that forked them: for pages.
    #[serde(skip)]
    pub by_site: Vec<SiteSizes>,
}

/// One task.
#[derive(Clone, Copy)]
struct Row {
    error: f64,
    same_cache: bool,
    is_large: bool,
}

impl Errors {
    fn of(rows: &[Row]) -> Self {
        let mut errors: Vec<_> = rows.iter().map(|row| row.error).collect();
        errors.sort_by(f64::total_cmp);
        let Some(last) = errors.len().checked_sub(1) else { return Self::default() };
        let same = rows.iter().filter(|row| row.same_cache).count();
        Self {
            tasks: rows.len() as u64,
            median: errors[last / 2],
            tail: errors[last * 9 / 10],
            same_cache: same as f64 / rows.len() as f64,
        }
    }
}

impl LearnedSizes {
    /// Measures `program` and compares. Time O(touches · log depth + tasks · log tasks).
    pub fn of(
        program: &Program,
        table: &SizeTable,
        machine: &Machine,
        sigma: f64,
        progress: &dyn Progress,
    ) -> Self {
        let footprints = kept::footprints_alone(program, progress);
        let line = program.meta().line_size;
        let caches = largest_caches(machine).into_iter().map(|(_, size)| size);
        let thresholds = Thresholds::new(caches, sigma);
        let keys = befit_learn::keys(program);
        let mut predictor = befit_learn::Predictor::new(program, table);
        let mut rows: Vec<Vec<Row>> = vec![Vec::new(); keys.len()];
        let mut largest = vec![Bytes(0); keys.len()];
        let mut unknown = vec![0; keys.len()];
        let mut sizes = Vec::new();
        for task in (0..program.tasks()).map(TaskId) {
            let site = program.site(task).0 as usize;
            let found = predictor.predict(program, task, Declared::default());
            if keys[site].is_none() {
                continue;
            }
            let measured = Bytes(footprints[task.0 as usize].task.0 * line.0);
            largest[site] = largest[site].max(measured);
            let Some(found) = found else {
                unknown[site] += 1;
                continue;
            };
            sizes.push((site, found.size, measured));
            let befits = |size| thresholds.too_small_for(size);
            rows[site].push(Row {
                error: found.size.0.abs_diff(measured.0) as f64 / measured.max(line).0 as f64,
                same_cache: befits(found.size) == befits(measured),
                is_large: befits(measured) > 0,
            });
        }
        let name = |site: usize| program.place(program.sites()[site].place).to_owned();
        let source = |site| program.source(SiteId(site as u32)).map(befit_learn::line_of);
        let line = |site| source(site).unwrap_or_else(|| name(site));
        let sizes = sizes.into_iter().map(|(site, given, measured)| (line(site), given, measured));
        let by_site = by_site(sizes);
        let mut sites: Vec<_> = (0..keys.len())
            .filter(|site| unknown[*site] > 0 || !rows[*site].is_empty())
            .map(|site| LearnedSite {
                name: name(site),
                source: source(site),
                known: !rows[site].is_empty(),
                largest: largest[site],
                errors: match Errors::of(&rows[site]) {
                    none if none.tasks == 0 => Errors { tasks: unknown[site], ..none },
                    errors => errors,
                },
            })
            .collect();
        sites.sort_by_key(|site| std::cmp::Reverse(site.largest));
        let all = rows.concat();
        let large: Vec<_> = all.iter().copied().filter(|row| row.is_large).collect();
        let unknown = unknown.iter().sum();
        Self {
            command: program.meta().name.clone(),
            learned_from: table.recorded().to_vec(),
            machine: machine.name.clone(),
            sigma,
            tasks: all.len() as u64 + unknown,
            unknown,
            all: Errors::of(&all),
            large: Errors::of(&large),
            sites,
            by_site,
        }
    }
}
