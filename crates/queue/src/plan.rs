//! The size of windows and how finely they are sorted, from the sizes of caches and data.

use std::mem;

use befit_machine::{Machine, WorkerId};

/// Windows hold at most so many tasks: numbers of tasks are kept in half a word with the sorted
/// bits in the other.
const LARGEST: usize = 1 << 24;

/// Windows hold at least so many tasks: fewer end before they have filled a cache.
pub(crate) const SMALLEST: usize = 1 << 12;

/// The most leading bits of a key that are sorted by: two passes of a byte each.
pub(crate) const MOST_BITS: u32 = 16;

/// Share of a cache that a window or a bucket may take: the default dilation σ of space-bounded
/// scheduling.
const SHARE: f64 = 0.5;

/// The caches that matter here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Caches {
    /// The innermost one.
    first: usize,
    /// The largest that a worker has for itself.
    private: usize,
    /// The last one before memory.
    last: usize,
}

impl Caches {
    /// Those above the machine's first worker. A machine that describes none is taken to have small
    /// ones.
    pub(crate) fn of(machine: &Machine) -> Self {
        let worker = WorkerId(0);
        let sizes = |private: bool| {
            let clusters = machine.path(worker).map(|id| machine.cluster(id));
            let caches = clusters.filter(move |c| !private || c.worker_count() == 1);
            caches.filter_map(|c| c.cache).map(|c| usize::try_from(c.size.0).unwrap_or(usize::MAX))
        };
        let first = sizes(false).next().unwrap_or(32 << 10);
        let private = sizes(true).last().unwrap_or(first);
        Self { first, private, last: sizes(false).last().unwrap_or(1 << 20).max(private) }
    }

    /// True if all data stays in a worker's own cache anyway, so that no order gains anything.
    pub(crate) fn holds(&self, data: usize) -> bool {
        data as f64 <= SHARE * self.private as f64
    }
}

/// The most tasks of a window: their records, descriptions and results befit the last cache, or
/// sorting would miss more than it saves. Each doubling of the window lets neighbours in a balanced
/// tree share one more level, so the window is as large as that allows.
pub(crate) fn window<T, R>(caches: &Caches) -> usize {
    let task = mem::size_of::<u64>() + mem::size_of::<T>() + mem::size_of::<R>();
    let most = (SHARE * caches.last as f64) as usize / task;
    1 << most.clamp(SMALLEST, LARGEST).ilog2()
}

/// The number of leading bits of the keys to sort by: the data of one bucket befits the innermost
/// cache, where order gains little more. A pass sorts by eight bits as fast as by fewer, so the
/// number is rounded up to whole bytes, but not to more buckets than tasks.
pub(crate) fn bits(caches: &Caches, data: Option<usize>, tasks: usize) -> u32 {
    let buckets = match data {
        Some(data) => (data as f64 / (SHARE * caches.first as f64)).max(1.0),
        None => f64::INFINITY,
    };
    let by_data = buckets.log2().ceil().min(f64::from(MOST_BITS)) as u32;
    by_data.next_multiple_of(8).min(tasks.max(2).ilog2()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(machine: &str) -> Caches {
        Caches::of(&machine.parse().unwrap())
    }

    const SERVER: &str = "pack:1 l3:1(size=32MiB) core:4 l2:1(size=1MiB) l1:1(size=32KiB) pu:1";

    #[test]
    fn the_caches_that_matter_are_found_on_any_machine() {
        assert_eq!(caches(SERVER), Caches { first: 32 << 10, private: 1 << 20, last: 32 << 20 });
        let shared = caches("pack:2 l2:1(size=4MiB) core:4 pu:2");
        assert_eq!(shared, Caches { first: 4 << 20, private: 4 << 20, last: 4 << 20 });
        assert_eq!(caches("pu:4"), Caches { first: 32 << 10, private: 32 << 10, last: 1 << 20 });
    }

    #[test]
    fn a_windows_records_befit_the_last_cache() {
        // 8 bytes each of record, task and result: 16 MiB / 24.
        assert_eq!(window::<u64, u64>(&caches(SERVER)), 1 << 19);
        assert_eq!(window::<u64, ()>(&caches(SERVER)), 1 << 20);
        assert_eq!(window::<[u64; 1000], u64>(&caches("pu:4")), SMALLEST);
        assert_eq!(window::<(), ()>(&caches("l3:1(size=64GiB) pu:1")), LARGEST);
    }

    #[test]
    fn a_window_is_as_large_as_may_be_where_more_tasks_would_befit_the_last_cache() {
        for size in ["257MiB", "300MiB", "384MiB", "65GiB"] {
            let caches = caches(&format!("l3:1(size={size}) pu:1"));
            assert_eq!(window::<(), ()>(&caches), LARGEST, "{size}");
        }
    }

    #[test]
    fn a_buckets_data_befits_the_innermost_cache() {
        let caches = caches(SERVER);
        assert_eq!(
            bits(&caches, Some(256 << 20), 1 << 20),
            16,
            "14 for 16 KiB each, in whole bytes"
        );
        assert_eq!(bits(&caches, Some(4 << 20), 1 << 20), 8);
        assert_eq!(bits(&caches, Some(256 << 20), 1000), 9, "not more buckets than tasks");
        assert_eq!(bits(&caches, None, 1 << 20), MOST_BITS);
        assert_eq!(bits(&caches, None, 0), 1);
        assert!(caches.holds(512 << 10) && !caches.holds(513 << 10));
    }
}
