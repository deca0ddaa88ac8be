//! Given sizes, declared or learned, beside measured ones, by the line that forked the tasks, few
//! enough to be drawn.

use std::{cmp::Reverse, collections::BTreeMap};

use befit_machine::Bytes;

use crate::Spread;

/// Given sizes between two powers of two are of so many groups.
const STEPS: f64 = 4.0;

/// The tasks that one line of the source forks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteSizes {
    /// The line, or the type of the tasks' closures where it is not known.
    pub site: String,
    /// By size.
    pub groups: Vec<SizeGroup>,
}

/// Tasks of a site whose given sizes are close to one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeGroup {
    /// The sizes that they declare, or that were learned.
    pub given: Spread<Bytes>,
    /// The sizes that they have.
    pub measured: Spread<Bytes>,
    /// How many tasks there are.
    pub tasks: u64,
}

/// Puts tasks, each with its site, its given and its measured size, into groups; sites with the
/// largest tasks come first.
pub(super) fn by_site(tasks: impl Iterator<Item = (String, Bytes, Bytes)>) -> Vec<SiteSizes> {
    let mut groups: BTreeMap<String, BTreeMap<i64, Vec<(Bytes, Bytes)>>> = BTreeMap::new();
    for (site, given, measured) in tasks {
        let step = (STEPS * (given.0.max(1) as f64).log2()).round() as i64;
        groups.entry(site).or_default().entry(step).or_default().push((given, measured));
    }
    let group = |tasks: Vec<(Bytes, Bytes)>| {
        let given = Spread::of(tasks.iter().map(|(given, _)| *given))?;
        let measured = Spread::of(tasks.iter().map(|(_, measured)| *measured))?;
        Some(SizeGroup { given, measured, tasks: tasks.len() as u64 })
    };
    let site = |(site, groups): (String, BTreeMap<_, _>)| SiteSizes {
        site,
        groups: groups.into_values().filter_map(group).collect(),
    };
    let mut sites: Vec<_> = groups.into_iter().map(site).collect();
    let largest = |site: &SiteSizes| site.groups.iter().map(|group| group.measured.max).max();
    sites.sort_by_key(|site| Reverse(largest(site)));
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_one_line_and_about_one_size_are_one_group() {
        let tasks = [("a", 1000, 900), ("a", 1010, 1100), ("a", 4000, 10), ("b", 1000, 5000)];
        let tasks = tasks.map(|(site, given, found)| (site.to_owned(), Bytes(given), Bytes(found)));
        let sites = by_site(tasks.into_iter());
        let names = sites.iter().map(|site| (&*site.site, site.groups.len()));
        assert_eq!(names.collect::<Vec<_>>(), [("b", 1), ("a", 2)]);
        let group = sites[1].groups[0];
        assert_eq!((group.tasks, group.given.max, group.given.min), (2, Bytes(1010), Bytes(1000)));
        assert_eq!((group.measured.min, group.measured.max), (Bytes(900), Bytes(1100)));
    }
}
