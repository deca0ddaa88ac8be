//! How a core finds the page of a line: in its TLB, or by a walk through the page tables.
//!
//! A walk takes the time that the machine tells ([`befit_machine::Pages`]), and reads lines of the
//! lowest level of the tables, one after the other. A line of these holds eight entries and goes
//! through the caches as any other does. So a walk is short where few pages are in use, and takes
//! longer the more of the tables lie farther away. T. W. Barr, A. L. Cox and S. Rixner,
//! "Translation caching: skip, don't walk (the page table)", ISCA 2010, section 2: the upper levels
//! of x86's tables are found in caches of the walker's own.
//!
//! Left out: the first-level TLB, whose misses the calibrated latencies have in them; huge pages;
//! and the walks of streams, which calibrated streams have in them. A line in the innermost cache
//! was touched lately, and so was its page: the TLB is not asked.

use befit_cache::Found;
use befit_machine::{ClusterId, MOST_TABLES, Machine, Pages, WorkerId};

use crate::{
    clock::Ticks,
    hardware::{Hardware, PAGE_LINES},
};

/// Entries of a set; each set is in the order of use. As many as in large TLBs of 2010 to 2024 (4
/// to 16).
const WAYS: usize = 8;
/// No page has this number.
const EMPTY: u32 = u32::MAX;
/// Entries of a line of page tables: 64 bytes, 8 each.
const ENTRIES: u32 = 8;

/// The TLBs of all cores, and where the page tables lie.
#[derive(Debug)]
pub(crate) struct Tlbs {
    /// Per core, set after set: pages, the one used last first.
    entries: Vec<Vec<u32>>,
    sets: u64,
    /// Lines of a page, as a power of two.
    page_shift: u32,
    /// Pages of a line of page tables, as a power of two.
    table_shift: u32,
    /// The first line of each table.
    tables: Vec<u32>,
    /// What a walk takes beside the lines that it reads.
    base: Ticks,
}

/// A walk through the page tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    /// How long it takes, but for the wires.
    pub(crate) time: Ticks,
    /// Lines of it that come from memory.
    pub(crate) from_memory: u32,
    /// The other last-level caches that lines of it come from.
    pub(crate) suppliers: [Option<ClusterId>; MOST_TABLES as usize],
    /// Dirty lines that go to memory because of it.
    pub(crate) written_back: u32,
}

impl Tlbs {
    /// `None` on machines that do not tell of pages. For a program with so many lines, each
    /// `1 << coarser` recorded ones long, of which one stands for `each`
    /// ([`crate::sampled`]): pages and tables are then as many times larger, as sets are fewer.
    /// Returns the lines of the tables, too, which lie behind the program's.
    pub(crate) fn new(
        machine: &Machine,
        cores: usize,
        lines: u32,
        coarser: u32,
        each: u64,
    ) -> Option<(Self, u32)> {
        let Pages { tlb, walk, tables, .. } = machine.memory.pages?;
        let page_shift = PAGE_LINES.trailing_zeros().saturating_sub(coarser);
        let table_shift = ENTRIES.trailing_zeros() + coarser;
        let table = (lines >> page_shift >> table_shift) + 1;
        let pages = (u64::from(tlb) / each).max(1);
        let ways = WAYS.min(pages as usize) as u64;
        let sets = pages.div_ceil(ways);
        let tlbs = Self {
            entries: vec![vec![EMPTY; (sets * ways) as usize]; cores],
            sets,
            page_shift,
            table_shift,
            tables: (0..tables).map(|number| lines + number * table).collect(),
            base: Ticks::fractional(walk * each as f64),
        };
        Some((tlbs, tables * table))
    }

    /// Looks for the page of `line` on `core`. Where it is not there, it is from now on.
    #[inline]
    fn has(&mut self, core: u32, line: u32) -> bool {
        let page = line >> self.page_shift;
        // Pages side by side are in different sets, and so are those at any constant distance.
        let spread = u64::from(page.wrapping_mul(0x9e37_79b1));
        let set = ((spread * self.sets) >> 32) as usize;
        let entries = &mut self.entries[core as usize];
        let ways = entries.len() / self.sets as usize;
        let set = &mut entries[set * ways..][..ways];
        let found = set.iter().position(|entry| *entry == page);
        set[..=found.unwrap_or(ways - 1)].rotate_right(1);
        set[0] = page;
        found.is_some()
    }

    /// The lines of tables that have the entries for `line`'s page.
    fn table_lines(&self, line: u32) -> impl Iterator<Item = u32> + use<> {
        let at = line >> self.page_shift >> self.table_shift;
        let tables: [Option<u32>; MOST_TABLES as usize] =
            std::array::from_fn(|number| self.tables.get(number).map(|first| first + at));
        tables.into_iter().flatten()
    }
}

impl Hardware {
    /// The walk that a touch of `line` by `worker` takes; `None` where the TLB has the page.
    #[inline]
    pub(crate) fn walk(&mut self, worker: WorkerId, line: u32) -> Option<Walk> {
        let tlbs = self.tlbs.as_mut()?;
        if tlbs.has(self.cores[worker.index()].0, line) {
            return None;
        }
        Some(self.walked(worker, line))
    }

    #[cold]
    fn walked(&mut self, worker: WorkerId, line: u32) -> Walk {
        let Some(tlbs) = &self.tlbs else { return Walk::default() };
        let mut walk = Walk { time: tlbs.base, ..Walk::default() };
        for (number, table) in tlbs.table_lines(line).enumerate() {
            let access = self.caches.access(worker, table, false);
            walk.written_back += u32::from(access.written_back);
            walk.time += match access.found {
                Found::Own(cluster) => self.level(cluster).latency,
                Found::Sibling(cluster) => self.level(cluster).transfer,
                Found::Remote { .. } | Found::Memory => {
                    let (supplier, level) = self.source_of(worker, access.found, self.each);
                    walk.suppliers[number] = supplier;
                    walk.from_memory += u32::from(supplier.is_none());
                    level.latency
                }
            };
        }
        walk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::program;

    fn tlbs(pages: u32, lines: u32) -> Tlbs {
        let machine: Machine = format!("(tlb={pages}) pu:1").parse().unwrap();
        Tlbs::new(&machine, 1, lines, 0, 1).unwrap().0
    }

    /// The share of the touches, at random over so many pages, that find theirs.
    fn found(tlb: &mut Tlbs, pages: u32) -> f64 {
        let mut random = fastrand::Rng::with_seed(3);
        let mut touch = || tlb.has(0, random.u32(..pages) * PAGE_LINES);
        (0..100_000).for_each(|_| {
            touch();
        });
        (0..100_000).filter(|_| touch()).count() as f64 / 1e5
    }

    #[test]
    fn of_touches_at_random_as_many_find_their_page_as_the_tlb_holds() {
        for (pages, share) in [(600, 1.0), (2400, 0.5), (12_000, 0.1)] {
            let found = found(&mut tlbs(1200, 1 << 20), pages);
            assert!((found - share).abs() < 0.03, "{pages}: {found}");
        }
    }

    #[test]
    fn lines_of_one_page_share_an_entry_and_pages_side_by_side_a_line_of_each_table() {
        let machine: Machine = "(tlb=64 tables=2) pu:1".parse().unwrap();
        let (mut tlbs, lines) = Tlbs::new(&machine, 1, 64 * 8 * 3, 0, 1).unwrap();
        assert!(!tlbs.has(0, 64) && tlbs.has(0, 127) && !tlbs.has(0, 128));
        let of = |line| tlbs.table_lines(line).collect::<Vec<_>>();
        assert_eq!((of(0), of(511)), (vec![1536, 1540], vec![1536, 1540]));
        assert_eq!((of(512), lines), (vec![1537, 1541], 8));
    }

    #[test]
    fn a_walk_reads_a_line_of_each_table_and_tells_which_come_from_memory() {
        let program = program(|b| (0..64 * 16).for_each(|line| b.touch(line, false, false)));
        let figures = "tlb=64 walk=100.5 tables=2 latency=500";
        let caches = "l2:1(size=64KiB latency=24) l1:1(size=1KiB latency=4)";
        let machine = format!("({figures}) {caches} pu:1").parse().unwrap();
        let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
        let walk = |hardware: &mut Hardware, page: u32| {
            let walk = hardware.walk(WorkerId(0), page * 64)?;
            Some((walk.time.0 as f64 / 256.0, walk.from_memory))
        };
        assert_eq!(walk(&mut hardware, 0), Some((100.5 + 2.0 * 496.0, 2)));
        assert_eq!(walk(&mut hardware, 0), None);
        // The same lines of the tables, in the L1; then others.
        assert_eq!(walk(&mut hardware, 7), Some((100.5, 0)));
        assert_eq!(walk(&mut hardware, 8), Some((100.5 + 2.0 * 496.0, 2)));
        // Sixteen lines push them out of the L1.
        for line in 0..16 {
            let _ = hardware.caches.access(WorkerId(0), line, false);
        }
        assert_eq!(walk(&mut hardware, 1), Some((100.5 + 2.0 * 20.0, 0)));
    }

    /// What a walk to the first page takes each of `workers`, by turns; and the lines that came
    /// from memory, from other last-level caches, and from those of another package.
    fn walks(machine: &str, workers: &[u32]) -> (Vec<u64>, [u64; 3]) {
        let program = program(|b| b.touch(0, false, false));
        let machine = machine.parse().unwrap();
        let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
        let mut walk = |w: &u32| hardware.walk(WorkerId(*w), 0).unwrap().time.whole().0;
        let times = workers.iter().map(&mut walk).collect();
        let lines = [hardware.memory_reads(), hardware.remote_hits(), hardware.far_hits()];
        (times, lines.map(|lines| lines.0))
    }

    #[test]
    fn lines_of_tables_come_from_other_last_level_caches_where_clean_lines_do() {
        let walks = |clean: &str| {
            let figures = format!("tlb=64 walk=100 latency=500 remote=304 far=404 clean={clean}");
            let caches = "l2:1(size=64KiB latency=24) core:2 l1:1(size=1KiB latency=4)";
            walks(&format!("({figures}) pack:2 group:2 {caches} pu:1"), &[0, 2, 4])
        };
        assert_eq!(walks("cache"), (vec![596, 400, 500], [1, 2, 1]));
        assert_eq!(walks("memory"), (vec![596; 3], [3, 0, 0]));
    }

    #[test]
    fn lines_of_tables_that_another_cache_hands_over_take_as_long_as_any_other() {
        let caches = "l2:1(size=64KiB latency=24 transfer=64 inclusion=exclusive) \
                      core:2 l1:1(size=1KiB latency=4)";
        let machine = format!("(tlb=64 walk=100 latency=500) {caches} pu:1");
        assert_eq!(walks(&machine, &[0, 1]), (vec![596, 160], [1, 0, 0]));
    }
}
