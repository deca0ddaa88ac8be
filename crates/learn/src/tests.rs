//! Programs of which the sizes are known.

use befit_machine::Bytes;
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId, Site as Place, SiteId};
use befit_sched::sizes::{Basis, Depth, Site, SiteKey, SizeTable, Words};

use super::{learn, samples::Sample, share, with_sites};

/// The words that tasks of a test capture.
type Captured = [u64; 8];

/// Two tasks are forked at each of these sites, one for each half.
const NAME: &str = "sort::{{closure}}";

struct Recorder {
    builder: ProgramBuilder,
    sites: [SiteId; 2],
    scopes: u32,
    captured: fn(u64, u64) -> Captured,
}

impl Recorder {
    fn new(captured: fn(u64, u64) -> Captured) -> Self {
        let meta = Meta { name: "sort".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        let place = builder.place(NAME).unwrap();
        let sites = [0, 1].map(|index| builder.site(Place { place, bytes: 24, index }).unwrap());
        Self { builder, sites, scopes: 0, captured }
    }

    /// Halves `lines` lines down to `leaf`; leaves touch theirs, and `table` lines that all have in
    /// common.
    fn halve(&mut self, first: u64, lines: u64, leaf: u64, table: u64) {
        if lines <= leaf {
            (first..first + lines).for_each(|line| self.builder.touch(1 << 20 | line, true, false));
            (0..table).for_each(|line| self.builder.touch(line, false, false));
            return self.builder.work(8 * lines, 0, lines);
        }
        self.scopes += 1;
        let scope = ScopeId(self.scopes);
        let half = lines / 2;
        for (site, first, lines) in
            [(self.sites[0], first, half), (self.sites[1], first + half, lines - half)]
        {
            let words = (self.captured)(first, lines);
            self.builder.fork_from(scope, Declared::default(), site, (0..).zip(words)).unwrap();
            self.halve(first, lines, leaf, table);
            self.builder.end().unwrap();
        }
        self.builder.sync(scope).unwrap();
    }

    /// Halves `lines` lines down to `leaf`, and touches all of them before that down to `idle`.
    fn halve_idly(&mut self, lines: u64, idle: u64, leaf: u64) {
        if lines >= idle {
            (0..lines).for_each(|line| self.builder.touch(1 << 20 | line, true, false));
        }
        self.builder.work(lines, 0, 1);
        if lines <= leaf {
            return;
        }
        self.scopes += 1;
        let scope = ScopeId(self.scopes);
        for site in self.sites {
            let words = (self.captured)(0, lines / 2);
            self.builder.fork_from(scope, Declared::default(), site, (0..).zip(words)).unwrap();
            self.halve_idly(lines / 2, idle, leaf);
            self.builder.end().unwrap();
        }
        self.builder.sync(scope).unwrap();
    }

    /// The product of parts of two matrices whose rows have `n` numbers, 8 a line: so many rows of
    /// the one and columns of the other. Each task writes a part of its own.
    fn product(&mut self, n: u64, counts: [u64; 2]) {
        let lines = [counts[0] * n / 8, counts[1] * n / 8, counts[0] * counts[1] / 8];
        for (matrix, lines) in (1..).zip(lines) {
            (0..lines).for_each(|line| self.builder.touch(matrix << 32 | line, true, false));
        }
        self.builder.work(counts[0] * counts[1], 0, 1);
        let longer = usize::from(counts[1] > counts[0]);
        let mut half = counts;
        half[longer] /= 2;
        if half[longer] < 4 {
            return;
        }
        self.scopes += 1;
        let scope = ScopeId(self.scopes);
        for site in self.sites {
            let words = [half[0] * n, half[1] * n, n];
            self.builder.fork_from(scope, Declared::default(), site, (0..).zip(words)).unwrap();
            self.product(n, half);
            self.builder.end().unwrap();
        }
        self.builder.sync(scope).unwrap();
    }

    fn finish(self) -> Program {
        self.builder.finish().unwrap()
    }
}

fn program(lines: u64, table: u64, captured: fn(u64, u64) -> Captured) -> Program {
    let mut recorder = Recorder::new(captured);
    recorder.halve(0, lines, 10, table);
    recorder.finish()
}

/// What `table` tells of a task of the second site.
fn size(table: &SizeTable, depth: u32, words: Captured) -> (u64, Basis) {
    let mut task = Words::own(&words);
    task.depth = depth;
    of(table, &task)
}

fn of(table: &SizeTable, task: &Words) -> (u64, Basis) {
    let site = table.site(SiteKey::of(NAME, 24, 1)).unwrap();
    let found = table.predict(site, task).unwrap();
    (found.size.0, found.basis)
}

fn is_near(found: (u64, Basis), expected: u64) -> bool {
    found.1 == Basis::Words && found.0.abs_diff(expected) <= expected / 50
}

#[test]
fn a_slice_s_length_predicts_larger_inputs_and_the_words_that_go_along_with_it_do_not() {
    // Behind an address a count of splits, which is halved as well, and the length.
    let captured = |_, lines: u64| [0, lines.next_power_of_two() / 8, 8 * lines, 7, 0, 0, 0, 0];
    let program = program(1000, 0, captured);
    let table = learn(&[&program], &|_| {});
    let found = size(&table, 1, [0, 1, 8 * 4000, 7, 0, 0, 0, 0]);
    assert!(is_near(found, 64 * 4000), "{found:?} {table}");
    let text = table.to_string();
    assert!(text.contains("size 8 w2\n"), "{text}");
    assert_eq!(text.parse::<SizeTable>().unwrap(), table);
}

#[test]
fn a_range_s_bounds_predict_by_their_difference() {
    let program = program(1000, 0, |first, lines| [first + lines, first, 0, 0, 0, 0, 0, 0]);
    let table = learn(&[&program], &|_| {});
    let found = size(&table, 1, [9000, 5000, 0, 0, 0, 0, 0, 0]);
    assert!(is_near(found, 64 * 4000), "{found:?} {table}");
}

#[test]
fn what_all_tasks_share_is_a_constant() {
    let program = program(1000, 100, |_, lines| [lines; 8]);
    let table = learn(&[&program], &|_| {});
    let found = size(&table, 1, [4000; 8]);
    assert!(is_near(found, 64 * 4100), "{found:?} {table}");
}

#[test]
fn tasks_that_touch_nothing_do_not_hide_how_the_others_grow() {
    // The recursion goes three levels further down than its tasks touch anything.
    let mut recorder = Recorder::new(|_, lines| [lines; 8]);
    recorder.halve_idly(1024, 128, 16);
    let table = learn(&[&recorder.finish()], &|_| {});
    let found = size(&table, 1, [4096; 8]);
    assert!(is_near(found, 64 * 4096), "{found:?} {table}");
}

#[test]
fn two_recordings_show_what_one_cannot() {
    // The table grows with the input, whose size each task captures.
    let small = program(500, 50, |_, lines| [lines, 500, 0, 0, 0, 0, 0, 0]);
    let large = program(1000, 100, |_, lines| [lines, 1000, 0, 0, 0, 0, 0, 0]);
    let table = learn(&[&small, &large], &|_| {});
    let found = size(&table, 1, [2000, 4000, 0, 0, 0, 0, 0, 0]);
    assert!(is_near(found, 64 * 2400), "{found:?} {table}");
}

#[test]
fn a_product_of_lengths_is_divided_by_that_of_a_row() {
    let mut recorder = Recorder::new(|_, _| [0; 8]);
    recorder.product(128, [64, 512]);
    let table = learn(&[&recorder.finish()], &|_| {});
    let found = size(&table, 1, [500 * 1000, 400 * 1000, 1000, 0, 0, 0, 0, 0]);
    assert!(is_near(found, 8 * (500 * 1000 + 400 * 1000 + 500 * 400)), "{found:?} {table}");
}

#[test]
fn without_words_a_share_of_the_parent_s_size_tells() {
    let program = program(1024, 0, |_, _| [0; 8]);
    let table = learn(&[&program], &|_| {});
    let mut task = Words::default();
    (task.depth, task.parent) = (3, Some((Bytes(80_000), 2)));
    assert_eq!(of(&table, &task), (40_000, Basis::Parent));
    // Where no parent's size is known, the depth tells.
    let found = [1, 2, 3].map(|depth| size(&table, depth, [0; 8]));
    assert_eq!(found, [512, 256, 128].map(|lines| (64 * lines, Basis::Depth)));
}

#[test]
fn the_region_and_the_root_have_no_site() {
    let meta = Meta { name: "nothing".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    builder.fork(ScopeId(1), Declared::default()).unwrap();
    builder.touch(1, false, false);
    builder.end().unwrap();
    builder.sync(ScopeId(1)).unwrap();
    let table = learn(&[&builder.finish().unwrap()], &|_| {});
    assert!(table.sites().is_empty());
}

#[test]
fn a_task_that_stands_alone_has_no_size_until_two_recordings_show_how_it_grows() {
    // Halved once: one task of each site.
    let once = |lines: u64| {
        let mut recorder = Recorder::new(|_, lines| [lines; 8]);
        recorder.halve(0, lines, lines / 2, 0);
        recorder.finish()
    };
    assert!(learn(&[&once(1000)], &|_| {}).sites().is_empty());
    let table = learn(&[&once(4000), &once(1000)], &|_| {});
    let found = size(&table, 1, [8000; 8]);
    assert!(is_near(found, 64 * 8000), "{found:?} {table}");
}

#[test]
fn tasks_that_all_lie_deeper_than_a_table_goes_have_the_sizes_of_its_last_depth() {
    let meta = Meta { name: "deep".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    let [outer, place] = ["outer", NAME].map(|name| builder.place(name).unwrap());
    let outer = builder.site(Place { place: outer, bytes: 8, index: 0 }).unwrap();
    let site = builder.site(Place { place, bytes: 24, index: 1 }).unwrap();
    for scope in 1..=100 {
        let site = if scope < 80 { outer } else { site };
        // A join of nothing and of all that follows.
        builder.fork_from(ScopeId(scope), Declared::default(), outer, []).unwrap();
        builder.end().unwrap();
        builder.fork_from(ScopeId(scope), Declared::default(), site, []).unwrap();
        builder.touch(u64::from(scope), true, false);
    }
    for scope in (1..=100).rev() {
        builder.end().unwrap();
        builder.sync(ScopeId(scope)).unwrap();
    }
    let table = learn(&[&builder.finish().unwrap()], &|_| {});
    assert_eq!(table.sites().len(), 2);
    // 21 lines are touched from the first of them on, at depth 80.
    let deepest = table.site(SiteKey::of(NAME, 24, 1)).unwrap();
    let depths = &table.sites()[deepest.0 as usize].depths;
    assert_eq!(depths.last().map(|depth| depth.size), Some(Bytes(64 * 21)));
    assert_eq!(table.to_string().parse::<SizeTable>().unwrap(), table);
}

#[test]
fn a_small_share_of_the_parent_s_size_is_not_rounded_to_nothing() {
    let mut task = Words::default();
    task.parent = Some((Bytes(64 * 2500), 0));
    let sample = Sample { task, recording: 0, figures: [64.0, 0.0, 0.0] };
    assert_eq!(share(&[&sample], &[1.0]), Some(0.0004));
}

#[test]
fn a_table_gets_no_more_sites_than_a_text_that_can_be_read_may_have() {
    let depth = Depth { tasks: 1, size: Bytes(1 << 40), ..Depth::default() };
    let site = |number: u64| {
        let mut site = Site::new(SiteKey(number), &"x".repeat(150));
        site.depths = vec![depth; Site::MOST_DEPTHS];
        site
    };
    let table = with_sites(SizeTable::default(), (0..1000).map(site).collect());
    let text = table.to_string();
    let longest = SizeTable::LONGEST;
    assert!(text.len() <= longest && text.len() > longest - longest / 50, "{}", text.len());
    assert_eq!(text.parse::<SizeTable>().unwrap(), table);
    // Short sites leave room for as many as there may be.
    let site = |number: u64| Site { depths: vec![depth], ..Site::new(SiteKey(number), "") };
    let table = with_sites(SizeTable::default(), (0..5000).map(site).collect());
    assert_eq!(table.sites().len(), SizeTable::MOST_SITES);
}
