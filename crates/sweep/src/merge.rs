//! Puts the tables of all shards together.

use std::{collections::BTreeSet, path::Path, str::FromStr};

use befit_lab::LabError;

use crate::{
    Shard, column,
    configuration::key,
    manifest::Manifest,
    table::{self, Row},
};

/// Writes all rows of `parts`, which are the shards of one sweep, into `output`: the same bytes as
/// of the sweep in one go. Returns the number of rows. Holds a group of rows of each part in
/// memory.
///
/// # Errors
/// [`LabError::Usage`]: a part is no table of a sweep, is of another sweep, befit or recording than
/// the first, or shards are missing or there twice.
pub fn merge(parts: &[impl AsRef<Path>], output: &Path) -> Result<usize, LabError> {
    let usage = |what: String| Err(LabError::Usage(what));
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
    let mut rows = Rows::of(parts)?;
    table::write(output, &whole, &mut rows)?;
    if rows.number != whole.configurations {
        return Err(LabError::Failed(format!(
            "the parts have {} rows, and the sweep {} configurations",
            rows.number, whole.configurations
        )));
    }
    Ok(rows.number)
}

/// The rows of several sorted tables in order.
struct Rows<I> {
    /// Each with its next row.
    heads: Vec<(Row, I)>,
    number: usize,
    last: Option<u128>,
}

impl<I: Iterator<Item = Result<Row, LabError>>> Rows<I> {
    fn of(tables: impl Iterator<Item = I>) -> Result<Self, LabError> {
        let mut heads = Vec::new();
        for mut table in tables {
            if let Some(row) = table.next() {
                heads.push((row?, table));
            }
        }
        Ok(Self { heads, number: 0, last: None })
    }
}

impl<I: Iterator<Item = Result<Row, LabError>>> Iterator for Rows<I> {
    type Item = Result<Row, LabError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.heads.iter().enumerate();
        let (at, _) = rows.min_by(|(_, (a, _)), (_, (b, _))| column::order(a, b))?;
        let row = match self.heads[at].1.next() {
            Some(Ok(next)) => std::mem::replace(&mut self.heads[at].0, next),
            Some(Err(error)) => return Some(Err(error)),
            None => self.heads.swap_remove(at).0,
        };
        let key = key(&row);
        if self.last.replace(key) == Some(key) {
            return Some(Err(LabError::Failed("two parts have the same simulation".to_owned())));
        }
        self.number += 1;
        Some(Ok(row))
    }
}
