use std::{
    fmt::{self, Write as _},
    io::Write as _,
};

use befit_machine::Bytes;
use proptest::{collection::vec, option, prelude::*};

use super::*;

const WORKED: &str = "befit.sizes/2
# a comment
recorded merge-sort --n 1000
picoseconds 412.5

site 00000000000000ff sort::merge_sort::{{closure}}
source src/main.rs:12
tasks 31
size 64 + 16 w1 + 0.5 w0 (w3-w2)^0.5
strand 4096
work by depth
error 0.01 0.05
depth 0 tasks 1 size 16000 spread 0 strand 64 work 90000
depth 1 tasks 2 size 8000 spread 0.125 strand 64 work 42000

end 1
";

fn read(text: &str) -> SizeTable {
    text.parse().unwrap()
}

/// What `table` tells of the tasks of its first site.
fn predict(table: &SizeTable, depth: u32, words: &[u64]) -> Predicted {
    of(table, &Words { depth, ..Words::own(words) })
}

fn of(table: &SizeTable, task: &Words) -> Predicted {
    table.predict(table.site(SiteKey(255)).unwrap(), task).unwrap()
}

#[test]
fn a_table_knows_what_it_was_learned_from() {
    let table = read(&WORKED.replace("picoseconds", "recorded merge-sort --n 7\npicoseconds"));
    assert_eq!(table.recorded(), ["merge-sort --n 1000", "merge-sort --n 7"]);
    assert_eq!(table.picoseconds(), Some(412.5));
}

#[test]
fn what_lies_out_of_bounds_is_not_known_and_all_else_stays() {
    let before = read(WORKED);
    for (picoseconds, known) in [(Some(250.0), true), (None, false), (Some(-1.0), false)] {
        let table = before.clone().with_picoseconds(picoseconds);
        assert_eq!(table.picoseconds, picoseconds.filter(|_| known));
        assert_eq!(table.with_picoseconds(Some(412.5)), before);
    }
    for memory in [None, Some(Bytes(Law::MOST)), Some(Bytes(Law::MOST + 1))] {
        let table = before.clone().with_memory(memory);
        assert_eq!(table.memory, memory.filter(|bytes| bytes.0 <= Law::MOST));
        assert_eq!(table.with_memory(None), before);
    }
}

#[test]
fn a_task_s_size_follows_its_captured_words() {
    let table = read(WORKED);
    let found = predict(&table, 1, &[2, 1000, 7, 16, 0, 0, 0, 0]);
    assert_eq!(found.size, Bytes(64 + 16_000 + 3));
    assert_eq!((found.strand, found.basis), (Bytes(4096), Basis::Words));
    // What is absent is 0, and so is a difference below 0; the largest strand is no larger than
    // the task.
    let found = predict(&table, 9, &[2, 0, 16, 7, 0, 0, 0, 0]);
    assert_eq!((found.size, found.strand), (Bytes(64), Bytes(64)));
    assert_eq!(table.site(SiteKey(254)), None);
    assert_eq!(table.predict(SiteIndex(1), &Words::default()), None);
}

#[test]
fn a_strand_without_a_law_is_that_of_the_tasks_with_the_nearest_size() {
    let table =
        read(&WORKED.replace("strand 4096", "strand by depth").replace("64 work 42", "7 work 42"));
    let strand = |length| predict(&table, 0, &[0, length]).strand;
    assert_eq!([100, 700, 800, 9999].map(strand), [7, 7, 64, 64].map(Bytes));
}

#[test]
fn where_no_words_tell_the_depth_does() {
    let table = read(&WORKED.replace("size 64 + 16 w1 + 0.5 w0 (w3-w2)^0.5", "size by depth"));
    let size = |depth| predict(&table, depth, &[]);
    assert_eq!([0, 1, 50].map(|depth| size(depth).size), [16_000, 8000, 8000].map(Bytes));
    assert_eq!(size(0).basis, Basis::Depth);
}

#[test]
fn sizes_by_depth_grow_with_the_memory_of_the_program() {
    let text = WORKED.replace("size 64 + 16 w1 + 0.5 w0 (w3-w2)^0.5", "size by depth");
    let at = |recorded: &str, now| {
        let table = read(&text.replace("picoseconds", &format!("memory {recorded}\npicoseconds")));
        let found = of(&table, &Words { memory: now, ..Words::default() });
        (found.size.0, found.strand.0)
    };
    assert_eq!(at("2097152", Some(Bytes(8 << 20))), (64_000, 4096));
    assert_eq!(at("2097152", Some(Bytes(u64::MAX))).0, 140_737_488_355_328_000);
    assert_eq!(at("2097152", None).0, 16_000);
    // A recording of a small program says nothing.
    assert_eq!(at("20971", Some(Bytes(8 << 20))).0, 16_000);
}

#[test]
fn a_size_may_be_a_share_of_the_parent_s() {
    let law = "size 0.25 of the parent";
    let table = read(&WORKED.replace("size 64 + 16 w1 + 0.5 w0 (w3-w2)^0.5", law));
    let within = |depth, parent| of(&table, &Words { depth, parent, ..Words::default() });
    let found = within(3, Some((Bytes(40_000), 2)));
    assert_eq!((found.size, found.basis), (Bytes(10_000), Basis::Parent));
    // Two forks further down, and spawned by it.
    assert_eq!(within(4, Some((Bytes(40_000), 2))).size, Bytes(2500));
    assert_eq!(within(0, Some((Bytes(40_000), 2))).size, Bytes(10_000));
    // No less than a cache line.
    assert_eq!(within(40, Some((Bytes(40_000), 2))).size, Bytes(64));
    let found = within(1, None);
    assert_eq!((found.size, found.basis), (Bytes(8000), Basis::Depth));
}

#[test]
fn huge_words_make_the_largest_size_and_no_overflow() {
    let table = read(&WORKED.replace("16 w1", "1000000000000000000 w1^4 w1^4"));
    let found = predict(&table, 0, &[u64::MAX; 16]);
    assert_eq!(found.size, Bytes(Law::MOST));
}

#[test]
fn a_product_may_be_divided_by_a_word() {
    let table = read(&WORKED.replace("0.5 w0 (w3-w2)^0.5", "8 w0 w3 / w2^2"));
    let size = |words: &[u64]| predict(&table, 0, words).size;
    assert_eq!(size(&[200, 0, 10, 50]), Bytes(64 + 800));
    // What is absent divides as 1 does.
    assert_eq!(size(&[200, 0, 0, 50]), Bytes(64 + 80_000));
}

#[test]
fn a_declared_size_goes_before_a_learned_one() {
    let learned = || Some(predict(&read(WORKED), 0, &[]));
    let bytes = |n| Some(Bytes(n));
    assert_eq!(known(bytes(5), None, || unreachable!()), (bytes(5), None));
    assert_eq!(known(None, None, learned), (bytes(64), bytes(64)));
    assert_eq!(known(None, bytes(7), learned), (bytes(64), bytes(7)));
    assert_eq!(known(None, bytes(7), || None), (None, bytes(7)));
}

#[test]
fn a_mistake_is_told_with_its_line() {
    for (from, to, line, message) in [
        ("befit.sizes/2", "befit.sizes/3", 1, "should be `befit.sizes/2`, is `befit.sizes/3`; "),
        ("befit.sizes/2", "\u{7f}ELF", 1, "should be `befit.sizes/2`, is something else; "),
        ("recorded", "recordet", 3, "`recordet` is no word of this format"),
        ("recorded", "recorded a\tb", 3, "a name has no control characters"),
        (
            "picoseconds 412.5",
            "memory 1.5",
            4,
            "`1.5` is no whole number up to 1152921504606846976",
        ),
        ("sort::merge_sort", "sort::\tmerge_sort", 6, "a name has no control characters"),
        ("source src", "source \u{7f}src", 7, "a name has no control characters"),
        ("source src", &format!("source {}", "x".repeat(1025)), 7, "a name has at most 1024 bytes"),
        ("tasks 31", "tasks 3e1", 8, "`3e1` is no whole number up to 18446744073709551615"),
        ("strand 4096", "strand", 10, "`` is no number from 0 to 1000000000000000000"),
        ("work by depth", "worth 5", 11, "`worth` is no word of a site"),
        ("error 0.01 0.05", "error 0.01", 12, "an error is two figures"),
        ("error 0.01 0.05", "error x 0.05", 12, "`x` is no number from 0 to 1000000000"),
        ("error 0.01 0.05", "error 0.01 -5", 12, "`-5` is no number from 0 to 1000000000"),
        ("depth 0", "depth zero", 13, "`zero` is no whole number"),
        ("depth 0 tasks 1", "depth 0", 13, "a depth has `tasks` with a figure"),
        ("tasks 1 size", "tasks one size", 13, "`one` is no whole number"),
        ("spread 0 ", "spread none ", 13, "`none` is no number from 0 to 1000000000"),
        ("strand 64", "strand -", 13, "`-` is no whole number"),
        ("work 90000", "work", 13, "a depth has `work` with a figure"),
        ("work 90000", "work 9e4", 13, "`9e4` is no whole number"),
        ("end 1", "end one", 16, "`one` is no whole number"),
        ("(w3-w2)", "(w3-x2)", 9, "`(w3-x2)^0.5` is no captured word"),
        ("(w3-w2)", "(x3-w2)", 9, "`(x3-w2)^0.5` is no captured word"),
        ("0.5 w0 (w3-w2)^0.5", "0.5 / x", 9, "`x` is no captured word"),
        ("412.5", "-1", 4, "`-1` is no number from 0.001 to 1000000000"),
        ("412.5", "inf", 4, "`inf` is no number"),
        ("00000000000000ff", "+0000000000000ff", 6, "a site is named by 16 hexadecimal digits"),
        ("0.5 w0", "0.5 w16", 9, "`w16` is no captured word `w0` to `w15`, nor"),
        ("0.5 w0", "0.5 w0.16", 9, "`w0.16` is no captured word"),
        ("0.5 w0", "0.5 of the parent", 9, "`of` is no captured word"),
        ("work by depth", "work 0.5 of the parent", 6, "only a size is a share"),
        ("work by depth", "work 2 of the parent", 11, "`2` is no number from 0 to 1"),
        ("0.5 w0", "0.5 w0 w1", 9, "a term has at most 2 factors"),
        ("0.5 w0", "0.5 / w0", 9, "`(w3-w2)^0.5` stands behind a term's divisor"),
        ("0.5 w0 (w3-w2)^0.5", "0.5 w0 /", 9, "`` is no captured word"),
        ("^0.5", "^0.3", 9, "an exponent is a multiple of 0.25 up to 4, not `0.3`"),
        ("^0.5", "^5", 9, "an exponent is"),
        ("64 +", "1e3 +", 9, "`1e3` is no number"),
        ("64 +", "64 + 1 + 1 +", 6, "a sum has 1 to 4 terms"),
        ("depth 1", "depth 2", 14, "depths are listed from 0, none left out: 1 is next"),
        ("42000", "42000 9", 14, "`9` stands behind a depth's figures"),
        ("spread 0.125 ", "", 14, "a depth has `spread` with a figure"),
        ("size 8000", "size 99999999999999999999", 14, "`99999999999999999999` is no whole number"),
        ("end 1", "end 2", 16, "the file should have 2 sites, and has 1"),
        ("end 1", "end 1\nend 1", 17, "stands behind the end"),
        (
            "end 1",
            "site 00000000000000ff\nsize 5\nstrand 5\nwork 5\nend 2",
            16,
            "site 00000000000000ff stands",
        ),
        (
            "end 1",
            "site 0000000000000001\nsize 5\nend 2",
            16,
            "a law is by depth, but there are no",
        ),
        ("\nend 1", "", 15, "the file is cut off: it has no line `end`"),
    ] {
        let text = WORKED.replacen(from, to, 1);
        let error = text.parse::<SizeTable>().unwrap_err();
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.what.starts_with(message), "{to}: {error}");
    }
}

#[test]
fn texts_without_bounds_are_refused() {
    let long = format!("{WORKED}#{}", " ".repeat(1 << 20));
    let error = long.parse::<SizeTable>().unwrap_err();
    assert_eq!(error.to_string(), "longer than 1048576 bytes");
    let site = |number: usize| format!("site {number:016x}\nsize 1\nstrand 1\nwork 1\n");
    let sites: String = (0..=SizeTable::MOST_SITES).map(site).collect();
    let error = format!("befit.sizes/2\n{sites}end 4097\n").parse::<SizeTable>().unwrap_err();
    assert_eq!(error.what, "more than 4096 sites");
    let depths: String = (0..=Site::MOST_DEPTHS)
        .map(|n| format!("depth {n} tasks 1 size 1 spread 0 strand 1 work 1\n"))
        .collect();
    let begin = &WORKED[..WORKED.find("depth 0").unwrap()];
    let error = format!("{begin}{depths}end 1").parse::<SizeTable>();
    assert_eq!(error.unwrap_err().to_string(), "line 6: more than 64 depths");
}

#[test]
fn a_file_that_is_no_text_or_has_no_end_is_refused() {
    let load = |path: &str| SizeTable::load(path.as_ref()).unwrap_err().to_string();
    assert!(load("/nonexistent").starts_with("cannot be read: "));
    let this = std::env::current_exe().unwrap();
    assert_eq!(SizeTable::load(&this).unwrap_err().what, "longer than 1048576 bytes");
    if cfg!(target_os = "linux") {
        assert_eq!(load("/dev/zero"), "longer than 1048576 bytes");
    }
}

#[test]
fn a_site_s_key_is_made_of_name_size_and_index() {
    // A key stands in files: it must not change.
    assert_eq!(SiteKey::of("a::b::{{closure}}", 24, 1), SiteKey(0xb336_1aa2_43fc_bc86));
    let keys = [("a", 1, 0), ("a", 1, 1), ("a", 2, 0), ("b", 1, 0)];
    let mut keys = keys.map(|(name, size, index)| SiteKey::of(name, size, index));
    keys.sort();
    assert!(keys.is_sorted_by(|a, b| a < b), "all different");
    // A recording has a longer name than so many bytes as its beginning, whole characters only, and
    // its hash.
    let long = format!("{}äz{}", "x".repeat(1007), "y".repeat(90));
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = long.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    let cut = format!("{}{hash:016x}", "x".repeat(1007));
    assert_eq!(SiteKey::of(&cut, 8, 0), SiteKey::of(&long, 8, 0));
}

/// A task of which one word cannot be read.
struct Unreadable(Words, Word);

impl TaskView for Unreadable {
    fn word(&self, word: Word) -> Option<u64> {
        (word != self.1).then(|| self.0.get(word))
    }
    fn depth(&self) -> u32 {
        self.0.depth
    }
    fn parent(&self) -> Option<(Bytes, u32)> {
        self.0.parent
    }
    fn memory(&self) -> Option<Bytes> {
        self.0.memory
    }
}

fn word(place: u16) -> Word {
    Word::own(place).unwrap()
}

fn factor(place: u16, minus: Option<u16>, quarters: u8) -> Factor {
    Factor { word: word(place), minus: minus.map(word), quarters }
}

#[test]
fn a_factor_is_a_power_in_quarters_of_a_word_or_of_a_difference() {
    let of = |factor: Factor, words: &[u64]| factor.of(&Words::own(words)).unwrap();
    for quarters in 1..=Factor::MOST_QUARTERS {
        let power = f64::from(quarters).exp2(); // of 16 = 2^4
        assert_eq!(of(factor(0, None, quarters), &[16]), power);
        assert_eq!(of(factor(1, Some(0), quarters), &[5, 21]), power);
        assert_eq!(of(factor(0, Some(1), quarters), &[5, 21]), 0.0);
    }
}

#[test]
fn a_term_is_a_product_and_a_law_the_rounded_sum_of_such() {
    let term = |coefficient, factors, divisor| Term { coefficient, factors, divisor };
    let of = |term: Term| term.of(&Words::own(&[4, 5, 2])).unwrap();
    let [first, second] = [0, 1].map(|place| Some(factor(place, None, 4)));
    assert_eq!(of(term(3.0, [None; 2], None)), 3.0);
    assert_eq!(of(term(3.0, [first, None], None)), 12.0);
    assert_eq!(of(term(3.0, [first, second], None)), 60.0);
    assert_eq!(of(term(3.0, [first, second], Some(factor(2, None, 4)))), 30.0);
    assert_eq!(of(term(3.0, [first, second], Some(factor(9, None, 4)))), 60.0);
    let sum = |values: &[f64]| {
        let terms = values.iter().copied().map(Term::constant);
        Law::Words(terms.collect()).of(&Words::default())
    };
    assert_eq!([sum(&[1.0, 1.25]), sum(&[1.0, 1.5]), sum(&[])], [Some(2), Some(3), Some(0)]);
    assert_eq!([sum(&[1e30]), sum(&[f64::INFINITY])], [Some(Law::MOST); 2]);
    assert_eq!(sum(&[f64::NAN]), Some(0));
    assert_eq!(Law::constant(7.0).of(&Words::default()), Some(7));
    assert_eq!([Law::ByDepth, Law::Share(0.5)].map(|law| law.of(&Words::default())), [None; 2]);
}

#[test]
fn where_a_word_cannot_be_read_what_follows_it_is_not_known() {
    let task = |place| Unreadable(Words::own(&[2, 1000, 7, 16]), word(place));
    let divided = Term { divisor: Some(factor(2, None, 4)), ..Term::constant(1.0) };
    assert_eq!((divided.of(&task(2)), divided.of(&task(1))), (None, Some(1.0 / 7.0)));
    // Of `64 + 16 w1 + 0.5 w0 (w3-w2)^0.5`.
    let site = read(WORKED).sites()[0].clone();
    for place in 0..4 {
        assert_eq!(site.predict(&task(place), None), None, "w{place}");
    }
    assert_eq!(site.predict(&task(4), None), site.predict(&task(4).0, None));
    // A strand is then that of the depth with the nearest size, as if it had no law.
    let text = WORKED.replace("strand 4096", "strand 8 w5").replace("64 work 42", "7 work 42");
    let site = read(&text).sites()[0].clone();
    assert_eq!(site.predict(&task(5), None).unwrap().strand, Bytes(64));
    assert_eq!(site.predict(&task(6), None).unwrap().strand, Bytes(0));
}

#[test]
fn a_site_of_which_nothing_is_known_tells_nothing() {
    let mut site = Site::new(SiteKey(1), "a");
    assert_eq!(site.predict(&Words::default(), None), None);
    site.size = Law::constant(100.0);
    let found = site.predict(&Words::default(), None).unwrap();
    assert_eq!((found.size, found.strand), (Bytes(100), Bytes(100)), "no strand but the whole");
}

#[test]
fn the_words_of_a_closure_are_its_first_16_and_those_that_are_0_do_not_count() {
    let given: Vec<u64> = (0..20).map(|place| place % 3).collect();
    let words = Words::own(&given);
    let found: Vec<_> = words.iter().map(|(word, value)| (word.number(), value)).collect();
    let expected: Vec<_> = (0..16).map(|place| (place, u64::from(place % 3))).collect();
    let expected: Vec<_> = expected.into_iter().filter(|(_, value)| *value > 0).collect();
    assert_eq!(found, expected);
    assert_eq!([0, 1, 2, 14].map(|place| words.get(word(place))), [0, 1, 2, 2]);
    assert_eq!(words.get(word(1).behind(1).unwrap()), 0);
}

#[test]
fn what_cannot_be_pushed_is_refused_and_names_become_one_line() {
    let mut table = SizeTable::new(["a\nb ".to_owned()]);
    let site = |key| {
        let law = || Law::constant(1.0);
        let new = Site::new(SiteKey(key), " x\ty\n");
        Site { source: "é".repeat(513), size: law(), strand: law(), work: law(), ..new }
    };
    table.push(site(1)).unwrap();
    let [error, unknown] = [site(1), Site::new(SiteKey(2), "")].map(|site| {
        let error = table.push(site).unwrap_err();
        (error.line, error.to_string())
    });
    assert_eq!(error, (0, "site 0000000000000001 stands twice".to_owned()));
    assert_eq!(unknown, (0, "a law is by depth, but there are no lines `depth`".to_owned()));
    let [only] = table.sites() else { panic!("{table:?}") };
    assert_eq!((&only.name[..], &only.source[..]), ("x y", &"é".repeat(512)[..]));
    assert_eq!(
        (table.recorded(), table.site(SiteKey(1))),
        (&["a b".to_owned()][..], Some(SiteIndex(0)))
    );
}

#[test]
fn figures_that_the_reader_refuses_cannot_be_pushed() {
    let with = |change: &dyn Fn(&mut Site)| {
        let law = || Law::constant(1.0);
        let new = Site::new(SiteKey(1), "x");
        let mut site = Site { size: law(), strand: law(), work: law(), ..new };
        site.depths = vec![Depth { tasks: 1, ..Depth::default() }];
        change(&mut site);
        let mut table = SizeTable::default();
        let pushed = table.push(site.clone()).map_err(|error| error.what);
        // The text of a table that has it all the same.
        table.sites = vec![site];
        let read = table.to_string().parse::<SizeTable>();
        assert_eq!(pushed.is_ok(), read.is_ok(), "{pushed:?} {read:?}");
        pushed
    };
    assert_eq!(with(&|_| {}), Ok(()));
    for wrong in [-1.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        assert!(with(&|site| site.size = Law::constant(wrong)).is_err(), "{wrong}");
        assert!(with(&|site| site.work = Law::constant(wrong)).is_err(), "{wrong}");
        assert!(with(&|site| site.size = Law::Share(wrong)).is_err(), "{wrong}");
        assert!(with(&|site| site.error = Some([0.5, wrong])).is_err(), "{wrong}");
        assert!(with(&|site| site.depths[0].spread = wrong).is_err(), "{wrong}");
    }
    let most = Law::MOST;
    assert_eq!(with(&|site| site.depths[0].size = Bytes(most)), Ok(()));
    assert!(with(&|site| site.depths[0].size = Bytes(most + 1)).is_err());
    assert!(with(&|site| site.depths[0].strand = Bytes(u64::MAX)).is_err());
    assert!(with(&|site| site.depths[0].work = u64::MAX).is_err());
    for (quarters, is_read) in [(0, false), (1, true), (16, true), (17, false)] {
        let factor = Factor { word: word(1), minus: None, quarters };
        let (one, two) = (Term::constant(1.0), Term::constant(2.0));
        let times = Term { factors: [Some(factor), None], ..one };
        let by = Term { divisor: Some(factor), ..two };
        for term in [times, by] {
            let pushed = with(&|site| site.strand = Law::Words(vec![one, term]));
            assert_eq!(pushed.is_ok(), is_read, "{quarters}");
        }
    }
    let wrong = with(&|site| site.size = Law::constant(-1.0)).unwrap_err();
    assert_eq!(wrong, "`-1` is no number from 0 to 1000000000000000000");
}

#[test]
fn a_file_that_is_no_utf_8_is_refused_at_the_line() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(WORKED.as_bytes()).unwrap();
    assert_eq!(SizeTable::load(file.path()), Ok(read(WORKED)));
    file.write_all(b"\nab\xff\n").unwrap();
    let error = SizeTable::load(file.path()).unwrap_err();
    // 16 lines, the one that ends them, and an empty one.
    assert_eq!(error.to_string(), "line 18: is no UTF-8 text");
}

/// Counts down the calls, and fails in the one that finds 0 left.
struct Fails(usize);

impl fmt::Write for Fails {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(usize::MAX);
        left.map(drop).ok_or(fmt::Error)
    }
}

#[test]
fn a_table_is_not_written_where_a_part_of_it_cannot_be() {
    let terms = "8 w0.1 (w3-w2)^0.5 / w1^2 + 2";
    let table = read(&WORKED.replace("strand 4096", &format!("strand {terms}")));
    let table = table.with_memory(Some(Bytes(1 << 30)));
    let calls = (0..).find(|calls| write!(Fails(*calls), "{table}").is_ok()).unwrap();
    // One at least for each word that stands for itself.
    assert!(calls > table.to_string().split_whitespace().count() / 2, "{calls}");
    assert!((calls..2 * calls).all(|call| write!(Fails(call), "{table}").is_ok()));
}

fn factors() -> impl Strategy<Value = Factor> {
    let place = (0..Word::COUNT).prop_map(|number| Word::of_number(number).unwrap());
    (place.clone(), option::of(place), 1..=Factor::MOST_QUARTERS)
        .prop_map(|(word, minus, quarters)| Factor { word, minus, quarters })
}

fn laws(has_depths: bool) -> impl Strategy<Value = Law> {
    let factors = prop_oneof![
        Just([None, None]),
        factors().prop_map(|first| [Some(first), None]),
        (factors(), factors()).prop_map(|(first, second)| [Some(first), Some(second)]),
    ];
    let terms = (0.0..=1e6, factors, option::of(self::factors()));
    let terms =
        terms.prop_map(|(coefficient, factors, divisor)| Term { coefficient, factors, divisor });
    let words = vec(terms, 1..=Law::MOST_TERMS).prop_map(Law::Words);
    if has_depths { prop_oneof![words, Just(Law::ByDepth)].boxed() } else { words.boxed() }
}

fn depths() -> impl Strategy<Value = Depth> {
    (any::<u64>(), 0..=Law::MOST, 0.0..10.0, 0..=Law::MOST, 0..=Law::MOST).prop_map(
        |(tasks, size, spread, strand, work)| Depth {
            tasks,
            size: Bytes(size),
            spread,
            strand: Bytes(strand),
            work,
        },
    )
}

fn sites() -> impl Strategy<Value = Site> {
    let law = || laws(true);
    let size = prop_oneof![3 => law(), 1 => (0.0..=1.0).prop_map(Law::Share)];
    (
        (any::<u64>(), ".*", ".*", any::<u64>()),
        (size, law(), law(), vec(depths(), 1..5)),
        option::of([0.0..9.0, 0.0..9.0]),
    )
        .prop_map(|((key, name, source, tasks), (size, strand, work, depths), error)| {
            let key = SiteKey(key);
            Site { key, name, source, tasks, size, strand, work, error, depths }
        })
}

proptest! {
    #[test]
    fn a_table_that_is_written_and_read_is_the_same(
        recorded in vec(".*", 0..3),
        picoseconds in option::of(0.001..1e9),
        memory in option::of(0..=Law::MOST),
        sites in vec(sites(), 0..6),
    ) {
        let table = SizeTable::new(recorded).with_picoseconds(picoseconds);
        let mut table = table.with_memory(memory.map(Bytes));
        for site in sites {
            let _ = table.push(site); // refused where its key is taken
        }
        let text = table.to_string();
        prop_assert_eq!(text.parse::<SizeTable>().unwrap(), table);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", line in 0_usize..20, at in 0_usize..60) {
        let _ = text.parse::<SizeTable>();
        // Something strange within what is right.
        let mut lines: Vec<_> = WORKED.lines().map(str::to_owned).collect();
        if let Some(line) = lines.get_mut(line) {
            let at = line.floor_char_boundary(at);
            line.insert_str(at, &text);
        }
        if let Ok(table) = lines.join("\n").parse::<SizeTable>() {
            let _ = table.predict(SiteIndex(0), &Words::own(&[u64::MAX; 16]));
        }
    }

    #[test]
    fn a_text_that_is_cut_off_is_refused(length in 0..WORKED.len() - 1) {
        prop_assert!(WORKED[..length].parse::<SizeTable>().is_err());
    }
}
