//! Puts the tables of all shards together.

use std::{collections::BTreeSet, path::Path, str::FromStr};

use befit_lab::LabError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    Shard,
    column::{self, Value},
    configuration::key,
    manifest::Manifest,
    table::{self, Row},
};

/// Files that may be open beside the parts, and those that must.
const OTHER_FILES: u64 = 256;
const LEAST_OTHER_FILES: u64 = 32;

/// A table that was put together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// How many rows it has.
    pub rows: usize,
    /// Those of them that have a reason in place of figures: their simulations failed.
    pub failed: usize,
    /// The first of these by its number from 0, and the reason.
    pub first_failed: Option<(usize, String)>,
}

/// Writes all rows of `parts`, which are the shards of one sweep, into `output`: the same bytes as
/// of the sweep in one go. Holds a group of rows of each part in memory, and has all parts open,
/// for which it raises the process's soft limit. Rows whose simulations failed are no error.
///
/// # Errors
/// [`LabError::Usage`]: a part is no table of a sweep, is of another sweep, befit or recording than
/// the first, or shards are missing or there twice; or so many files cannot be open.
/// [`LabError::Failed`]: a part lacks rows. What was in `output` is then still there.
pub fn merge(parts: &[impl AsRef<Path>], output: &Path) -> Result<Merged, LabError> {
    let usage = |what: String| Err(LabError::Usage(what));
    let limit = getrlimit(Resource::Nofile);
    if let Some(soft) = raised(&limit, parts.len() as u64)? {
        setrlimit(Resource::Nofile, Rlimit { current: Some(soft), ..limit })
            .map_err(|error| LabError::Usage(too_many(parts.len() as u64, soft, &error)))?;
    }
    let mut tables = Vec::new();
    for part in parts {
        tables.push((part.as_ref(), table::open(part.as_ref())?));
    }
    let Some((first_path, first)) = tables.first() else {
        return usage("there are no parts to merge".to_owned());
    };
    let whole = Manifest { shard: None, ..first.manifest.clone() };
    let (mut seen, mut of) = (BTreeSet::new(), 0);
    for (path, table) in &tables {
        let (manifest, path) = (&table.manifest, path.display());
        let conflict = whole
            .conflict(manifest)
            .or_else(|| (whole.grid != manifest.grid).then(|| "it is of another grid".to_owned()));
        if let Some(why) = conflict {
            let first = first_path.display();
            return usage(format!("{path} does not belong to {first}: {why}"));
        }
        let shard = manifest.shard.as_deref().map(Shard::from_str);
        let Some(Ok(shard)) = shard else {
            return usage(format!("{path} is no shard, but a whole sweep"));
        };
        if of != 0 && shard.of() != of {
            return usage(format!("{path} is shard {shard}, and others are of {of}"));
        }
        of = shard.of();
        if !seen.insert(shard.number()) {
            return usage(format!("shard {shard} is there twice, the second time as {path}"));
        }
    }
    let missing: Vec<_> = (1..=of).filter(|number| !seen.contains(number)).collect();
    if !missing.is_empty() {
        let missing: Vec<_> = missing.iter().map(usize::to_string).collect();
        return usage(format!("of {of} shards these are missing: {}", missing.join(", ")));
    }
    let parts = tables.into_iter().map(|(_, table)| table.rows());
    let mut rows = Rows::of(parts, whole.configurations)?;
    table::write(output, &whole, &mut rows)?;
    Ok(rows.so_far)
}

/// The soft limit of open files that so many parts need, if it has to be raised and can be.
///
/// # Errors
/// [`LabError::Usage`]: the hard limit is far below it.
fn raised(limit: &Rlimit, parts: u64) -> Result<Option<u64>, LabError> {
    let [soft, hard] = [limit.current, limit.maximum].map(|limit| limit.unwrap_or(u64::MAX));
    let needed = parts + OTHER_FILES;
    let most = needed.min(hard);
    if most < parts + LEAST_OTHER_FILES {
        let why = format!("the system's hard limit is {hard}");
        return Err(LabError::Usage(too_many(parts, needed, &why)));
    }
    Ok((most > soft).then_some(most))
}

fn too_many(parts: u64, needed: u64, why: &dyn std::fmt::Display) -> String {
    format!(
        "{parts} parts are open at a time, for which `ulimit -n {needed}` is needed ({why}): have \
         the limit raised, or sweep in fewer shards"
    )
}

/// The rows of several sorted tables in order, and an error at the end if there are not as many as
/// `expected`.
struct Rows<I> {
    /// Each with its next row.
    heads: Vec<(Row, I)>,
    so_far: Merged,
    expected: usize,
    last: Option<u128>,
}

impl<I: Iterator<Item = Result<Row, LabError>>> Rows<I> {
    fn of(tables: impl Iterator<Item = I>, expected: usize) -> Result<Self, LabError> {
        let mut heads = Vec::new();
        for mut table in tables {
            if let Some(row) = table.next() {
                heads.push((row?, table));
            }
        }
        Ok(Self { heads, so_far: Merged::default(), expected, last: None })
    }
}

impl<I: Iterator<Item = Result<Row, LabError>>> Iterator for Rows<I> {
    type Item = Result<Row, LabError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.heads.iter().enumerate();
        let first = rows.min_by(|(_, (a, _)), (_, (b, _))| column::order(a, b));
        let Some((at, _)) = first else {
            let (number, expected) = (self.so_far.rows, self.expected);
            let why =
                || format!("the parts have {number} rows, and the sweep {expected} configurations");
            return (number != expected).then(|| Err(LabError::Failed(why())));
        };
        let row = match self.heads[at].1.next() {
            Some(Ok(next)) => std::mem::replace(&mut self.heads[at].0, next),
            Some(Err(error)) => return Some(Err(error)),
            None => self.heads.swap_remove(at).0,
        };
        let key = key(&row);
        if self.last.replace(key) == Some(key) {
            return Some(Err(LabError::Failed("two parts have the same simulation".to_owned())));
        }
        // The last column is the error.
        if let Some(Some(Value::Text(why))) = row.last() {
            self.so_far.failed += 1;
            self.so_far.first_failed.get_or_insert_with(|| (self.so_far.rows, why.clone()));
        }
        self.so_far.rows += 1;
        Some(Ok(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_the_soft_limit_of_open_files_is_raised_for_many_parts() {
        let raised = |current, maximum, parts| raised(&Rlimit { current, maximum }, parts);
        assert_eq!(raised(Some(1024), Some(4096), 700).unwrap(), None);
        assert_eq!(raised(None, None, 1 << 20).unwrap(), None);
        assert_eq!(raised(Some(1024), Some(4096), 1000).unwrap(), Some(1256));
        assert_eq!(raised(Some(1024), None, 1000).unwrap(), Some(1256));
        assert_eq!(raised(Some(1024), Some(1100), 1000).unwrap(), Some(1100));
        assert_eq!(raised(Some(100), Some(100), 3).unwrap(), None);
        let error = raised(Some(1024), Some(1024), 1000).unwrap_err().to_string();
        assert!(error.contains("`ulimit -n 1256`"), "{error}");
    }
}
