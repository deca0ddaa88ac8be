//! Records the small programs of `fixtures/probe`, and looks for what they must have left in their
//! recordings. Those in `processes` fork, or are disturbed; those in `times` are timed.

mod processes;
mod times;

use std::{
    fs,
    io::{BufRead, BufReader},
    ops::Add,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};

use befit_program::{Op, Program, SiteId, StrandId, TaskId, Touch, Work};
use befit_record::{
    Build, BuildError, RecordError, RecordOptions, Recording, StreamError, Target, read_stream,
    record,
};

/// The instrumented probe. Built in a copy, so that nothing is written beside the sources; with the
/// workspace's own versions of its dependencies.
static PROBE: LazyLock<PathBuf> = LazyLock::new(|| built("probe", false));

fn built(folder: &str, work: bool) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let from = here.join("tests/fixtures/probe");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(to.join("src")).unwrap();
    let read = |file: PathBuf| fs::read_to_string(file).unwrap();
    let runtime = here.parent().unwrap().join("runtime");
    let manifest =
        read(from.join("Cargo.toml")).replace("../../../../runtime", runtime.to_str().unwrap());
    put(&to.join("Cargo.toml"), &manifest);
    put(&to.join("src/main.rs"), &read(from.join("src/main.rs")));
    put(&to.join("Cargo.lock"), &read(here.join("../../Cargo.lock")));
    let manifest_path = Some(to.join("Cargo.toml"));
    let target = Target { manifest_path, ..Target::default() };
    let build = Build { target, work, ..Build::default() };
    build.run(&|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes the file, if it does not say that already. Whole, since a cargo that another run of this
/// test has started may be reading it.
fn put(file: &Path, text: &str) {
    if fs::read_to_string(file).ok().as_deref() != Some(text) {
        let part = tempfile::NamedTempFile::new_in(file.parent().unwrap()).unwrap();
        fs::write(&part, text).unwrap();
        part.persist(file).unwrap();
    }
}

fn options() -> RecordOptions {
    let mut options = RecordOptions::default();
    options.quiet = true;
    options
}

fn run(name: &str) -> Result<Recording, RecordError> {
    let mut command = Command::new(&*PROBE);
    command.arg(name);
    record(command, name, &options(), &|_| {})
}

fn program(name: &str) -> Program {
    let recording = run(name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(recording.skipped_regions, 0);
    recording.program
}

fn strands(program: &Program) -> impl Iterator<Item = StrandId> {
    (0..program.strands()).map(StrandId)
}

fn work(program: &Program) -> Work {
    strands(program).map(|s| program.work(s)).fold(Work::default(), Work::add)
}

/// The lines of the wanted touches, ascending.
fn lines(program: &Program, wanted: impl Fn(&Touch) -> bool) -> Vec<u32> {
    let touches = strands(program).flat_map(|s| program.touches(s));
    let mut lines: Vec<_> = touches.filter(|t| wanted(t)).map(|t| t.line).collect();
    lines.sort_unstable();
    lines
}

fn touches(program: &Program, wanted: impl Fn(&Touch) -> bool) -> usize {
    lines(program, wanted).len()
}

fn bytes(program: &Program) -> Vec<u8> {
    let mut bytes = Vec::new();
    program.write(&mut bytes).unwrap();
    bytes
}

/// A task's operations, strands left out: `f` for a fork, `s` for a sync.
fn shape(program: &Program, task: u32) -> String {
    let letter = |op: Op| match op {
        Op::Strand(_) => None,
        Op::Fork { .. } => Some('f'),
        Op::Sync(_) => Some('s'),
    };
    program.ops(TaskId(task)).filter_map(letter).collect()
}

#[test]
fn a_map_over_a_million_doubles_records_a_million_loads_and_stores() {
    let program = program("map");
    let Work { loads, stores, blocks, touches } = work(&program);
    let about_a_million = 999_000..=1_001_000;
    assert!(about_a_million.contains(&loads), "{loads} loads");
    assert!(about_a_million.contains(&stores), "{stores} stores");
    assert!(about_a_million.contains(&blocks), "{blocks} blocks");
    // 8 MB read, 8 MB written, in lines of 64 bytes.
    assert!((250_000..250_100).contains(&touches), "{touches} touches");
}

#[test]
fn two_recordings_of_a_program_are_equal_whatever_the_environment() {
    let record = |environment: &str| {
        let mut command = Command::new(&*PROBE);
        command.arg("mixed").env("BEFIT_TEST_PADDING", environment);
        record(command, "mixed", &options(), &|_| {}).unwrap().program
    };
    let first = record("");
    assert!(touches(&first, |t| t.stack) > 50 && touches(&first, |t| !t.stack) > 500);
    for length in [1, 16, 48, 1000, 5000] {
        let same = bytes(&record(&"x".repeat(length))) == bytes(&first);
        assert!(same, "{length} more bytes in the environment");
    }
}

#[test]
fn a_freed_address_is_never_handed_out_again() {
    // 100 blocks of 128 lines each.
    let mut written = lines(&program("freed"), |t| t.write && !t.stack);
    written.dedup();
    assert!((12_800..13_000).contains(&written.len()), "{} lines", written.len());
}

#[test]
fn a_copy_is_recorded_line_by_line() {
    let program = program("copy");
    assert!((1000..1010).contains(&touches(&program, |t| !t.write && !t.stack)));
    assert!((1000..1010).contains(&touches(&program, |t| t.write && !t.stack)));
    let Work { loads, stores, .. } = work(&program);
    // An access for every 16 bytes.
    assert!([loads, stores].iter().all(|n| (4000..4100).contains(n)), "{loads}, {stores}");
}

#[test]
fn a_fill_is_recorded_line_by_line() {
    let program = program("set");
    assert!((1000..1010).contains(&touches(&program, |t| t.write && !t.stack)));
    assert!(touches(&program, |t| !t.write && !t.stack) < 10);
}

/// The code generator makes plain moves of such copies; the coverage pass, which looks earlier,
/// sees neither.
#[test]
fn regression_copies_of_short_known_length_are_recorded() {
    let program = program("structs");
    for write in [false, true] {
        let lines = touches(&program, |t| t.write == write && !t.stack);
        assert!((750..770).contains(&lines), "48,000 bytes are 750 lines, not {lines}");
    }
    let Work { loads, stores, .. } = work(&program);
    assert!([loads, stores].iter().all(|n| (3000..5100).contains(n)), "{loads}, {stores}");
}

#[test]
fn atomic_read_modify_writes_are_recorded() {
    let program = program("atomics");
    assert_eq!(program.atomics().len(), 1000);
    let written = lines(&program, |t| t.write && !t.stack);
    assert!((1300..1310).contains(&written.len()), "{} touches", written.len());
}

#[test]
fn a_counter_on_the_stack_is_shared_as_long_as_it_lives() {
    let program = program("counters");
    // One line for each, or for several whose frame did not return in between.
    let lines = program.atomics().len();
    assert!((1..=300).contains(&lines), "{lines} lines");
    let written = touches(&program, |t| t.write && program.atomics().contains(&t.line) && !t.stack);
    assert!((5000..12_000).contains(&written), "{written} changes");
    assert!(touches(&program, |t| t.stack) > 1000);
}

#[test]
fn no_access_to_a_line_of_atomics_is_left_out() {
    let program = program("atomics");
    let first = program.atomics()[0];
    let of_first = |write| touches(&program, |t| t.line == first && !t.stack && t.write == write);
    assert_eq!((of_first(false), of_first(true)), (500, 301));
}

#[test]
fn loads_whose_address_came_out_of_the_line_before_are_marked() {
    // The first few loads by index are needed to find the rule.
    for (name, marked) in [("pointers", 4900..=5000), ("indices", 3800..=4000)] {
        let found = touches(&program(name), |t| t.dependent);
        assert!(marked.contains(&found), "{name}: {found}");
    }
    // The first element of a line of places, or of pointers, waits for that line; and of one that
    // the filter has lost meanwhile, which is at most once more.
    for (name, most) in [("gather", 2 * 5000 / 16), ("boxes", 2 * 5000 / 8)] {
        let found = touches(&program(name), |t| t.dependent);
        assert!(found <= most + 5, "{name}: {found}");
    }
    // The upper halves of these numbers rise by one a line.
    assert_eq!(touches(&program("floats"), |t| t.dependent), 0);
}

#[test]
fn what_lies_on_the_stack_is_marked_and_counted_from_its_top() {
    let program = program("stack");
    let on_stack = touches(&program, |t| t.stack && t.write);
    assert!((128..1000).contains(&on_stack), "{on_stack} touches of an array of 128 lines");
    assert!((128..1000).contains(&program.stack_lines()), "{} stack lines", program.stack_lines());
    assert!(touches(&program, |t| !t.stack) < 10);
}

#[test]
fn data_in_frames_older_than_the_pool_is_shared() {
    let program = program("callers");
    assert!((128..140).contains(&touches(&program, |t| !t.stack && t.write)));
    assert!(touches(&program, |t| t.stack) < 20);
}

#[test]
fn a_straddling_load_touches_both_lines() {
    let lines = lines(&program("straddle"), |t| !t.write && !t.stack);
    assert!(lines.windows(2).any(|pair| pair[1] == pair[0] + 1), "{lines:?}");
}

#[test]
fn regression_a_fill_that_begins_on_a_shared_line_of_the_stack_leaves_other_shared_lines_alone() {
    let program = program("beside");
    let &[first, second] = program.atomics() else { panic!("{:?}", program.atomics()) };
    let of = |line| touches(&program, |t| t.line == line && !t.stack && t.write);
    assert_eq!((of(first), of(second)), (2, 1));
}

#[test]
fn regression_an_access_over_two_pages_past_malloc_touches_both() {
    // Pages are not numbered as they lie. 50 are written to at the first line and at the last, and
    // as many at the first.
    let mut written = lines(&program("pages"), |t| t.write && !t.stack);
    written.dedup();
    assert!((150..155).contains(&written.len()), "{} lines", written.len());
}

#[test]
fn a_join_is_two_forks_and_a_sync_with_no_strand_between() {
    let program = program("join");
    assert_eq!(shape(&program, 0), "fs", "the region is a child of the root");
    let ops: Vec<Op> = program.ops(TaskId(1)).collect();
    let fork = ops.iter().position(|op| matches!(op, Op::Fork { .. })).unwrap();
    let [Op::Fork { scope: a, .. }, Op::Fork { scope: b, .. }, Op::Sync(c), ..] = ops[fork..]
    else {
        panic!("{ops:?}")
    };
    assert!(a == b && b == c, "{ops:?}");
    let declared = |task| program.declared(TaskId(task));
    let numbers = |task| (declared(task).size.map(|b| b.0), declared(task).strand.map(|b| b.0));
    let expected = [(None, None), (Some(64), None), (Some(128), Some(32))];
    assert_eq!([1, 2, 3].map(numbers), expected);
}

/// The number of the line of the probe that contains `text`, from 1.
fn line_of(text: &str) -> u32 {
    let probe = include_str!("../fixtures/probe/src/main.rs");
    let at = probe.lines().position(|line| line.contains(text));
    at.unwrap_or_else(|| panic!("no line with {text}")) as u32 + 1
}

#[test]
fn a_site_is_a_closure_its_index_and_its_line_in_the_program_s_own_source() {
    let program = program("halves");
    let site = |task| program.sites()[program.site(TaskId(task)).0 as usize];
    assert_eq!(program.site(TaskId(0)), SiteId(0));
    // The region's task, a half, its two halves, the other half.
    assert_eq!([1, 2, 3, 4, 5].map(|task| site(task).index), [0, 0, 0, 1, 1]);
    assert_eq!((site(2), site(4)), (site(3), site(5)));
    assert_eq!([1, 2, 4].map(|task| site(task).bytes), [0, 32, 24]);
    assert!(program.place(site(2).place).starts_with("probe::halves"));
    let fork = line_of("join(|| halves(");
    for (task, line, function) in
        [(1, line_of("Some(\"halves\")"), "main"), (2, fork, "halves"), (4, fork, "halves")]
    {
        let source = program.source(program.site(TaskId(task))).unwrap();
        assert_eq!((&*source.file, source.line), ("src/main.rs", line));
        assert_eq!(&*source.function, function);
    }
}

/// The same program, recorded with the spots of touches.
fn spotted(name: &str) -> Program {
    let mut command = Command::new(&*PROBE);
    command.arg(name);
    let mut options = options();
    options.spots = true;
    record(command, name, &options, &|_| {}).unwrap_or_else(|error| panic!("{error}")).program
}

#[test]
fn touches_have_the_line_that_makes_them_and_blocks_the_line_that_takes_them() {
    let program = spotted("map");
    assert!(program.has_spots());
    let mut by_line = std::collections::BTreeMap::<u32, (u64, u64)>::new();
    for strand in strands(&program) {
        let mut spots = program.touch_spots(strand);
        for touch in program.touches(strand).filter(|touch| !touch.stack) {
            let spot = spots.next_spot();
            let line = program.spots()[spot.0 as usize].as_ref().map_or(0, |spot| spot.line);
            let (reads, writes) = by_line.entry(line).or_default();
            *if touch.write { writes } else { reads } += 1;
        }
    }
    let line = line_of("*y = *x + 1.0");
    let (reads, writes) = by_line[&line];
    assert!(reads.abs_diff(125_000) < 100 && writes.abs_diff(125_000) < 100, "{by_line:?}");
    // The two vectors.
    let blocks = program.blocks();
    let of = |text: &str| {
        let line = line_of(text);
        let at = |spot: u32| program.spots()[spot as usize].as_ref().map(|spot| spot.line);
        blocks.iter().filter(|block| at(block.spot.0) == Some(line)).map(|b| b.lines).sum::<u32>()
    };
    for vector in ["let a = vec![1.0; MILLION]", "let mut b = vec![0.0; MILLION]"] {
        assert!(of(vector).abs_diff(125_000) < 200, "{vector}: {blocks:?} {:?}", program.spots());
    }
}

#[test]
fn spots_change_nothing_else_of_a_recording() {
    let (with, without) = (spotted("mixed"), program("mixed"));
    assert_eq!(shape(&with, 0), shape(&without, 0));
    assert_eq!(work(&with), work(&without));
    assert_eq!(lines(&with, |_| true), lines(&without, |_| true));
}

#[test]
fn lengths_in_closures_and_variables_are_recorded_and_addresses_are_not() {
    let program = program("halves");
    let has = |task, expected: &[u64]| {
        // Of the closure itself, and what its references point to first.
        let words = program.captured(TaskId(task)).into_iter();
        let words: Vec<u64> = words.filter(|w| w.0 < 16 || w.0 % 16 == 0).map(|w| w.1).collect();
        assert!(words.iter().all(|word| *word < 1 << 40), "{words:?}");
        assert!(expected.iter().all(|word| words.contains(word)), "{task}: {words:?}");
    };
    // The first half also has the middle.
    [(2, [7, 48]), (3, [6, 24]), (4, [6, 24]), (5, [7, 48]), (7, [5, 24])]
        .iter()
        .for_each(|(task, expected)| has(*task, expected));
    assert!(program.captured(TaskId(1)).is_empty());
}

#[test]
fn regression_what_a_region_in_a_region_captures_is_not_known_of_the_region_after() {
    let program = program("nested");
    assert_eq!((program.tasks(), shape(&program, 0).as_str()), (3, "fsfs"));
    assert_eq!([1, 2].map(|task| program.captured(TaskId(task))), [vec![], vec![]]);
}

#[test]
fn tasks_of_a_scope_may_spawn_into_it() {
    let program = program("scope");
    assert_eq!([1, 2, 3].map(|task| shape(&program, task)), ["fffs", "f", ""]);
    assert_eq!(program.tasks(), 8);
    assert_eq!(program.declared(TaskId(2)).size.map(|b| b.0), Some(8));
}

#[test]
fn nobody_waits_for_a_detached_task_and_an_outermost_join_is_a_region() {
    for (name, region) in [("spawn", "f"), ("outermost", "ffs")] {
        let program = program(name);
        assert_eq!([0, 1].map(|task| shape(&program, task)), ["fs", region], "{name}");
    }
}

#[test]
fn a_panic_goes_through_and_leaves_a_tree() {
    let program = program("panic");
    assert_eq!(shape(&program, 0), "fsfsfs", "three regions");
    assert_eq!(program.tasks(), 1 + 5 + 2 + 3);
}

#[test]
fn of_two_regions_at_once_one_is_skipped_and_counted() {
    let recording = run("overlap").unwrap();
    assert_eq!(recording.skipped_regions, 1);
    assert_eq!(recording.program.tasks(), 4);
}

#[test]
fn regression_a_region_that_begins_while_the_one_before_is_sent_is_counted() {
    // Its stdout is the stream, which nobody reads until the second region is over.
    let mut command = Command::new(&*PROBE);
    command.arg("late").env("BEFIT_RECORD_FD", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut late = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(late.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "late\n");
    let recording = read_stream(late.stdout.take().unwrap(), "late").unwrap();
    assert!(late.wait().unwrap().success());
    assert_eq!((shape(&recording.program, 0).as_str(), recording.skipped_regions), ("fs", 1));
}

#[test]
fn regression_a_region_in_which_the_process_ends_well_is_an_error() {
    // By its own thread, by another one, and without what the C library does at the end.
    for name in ["exits", "exited", "quits"] {
        let error = run(name).expect_err(name);
        let ended = matches!(error, RecordError::Stream(StreamError::Truncated(_), _));
        assert!(ended, "{name}: {error}");
    }
}

#[test]
fn a_program_without_a_region_is_an_error() {
    let error = run("nothing").unwrap_err();
    assert!(matches!(error, RecordError::Stream(StreamError::NoRegion, _)), "{error}");
}

#[test]
fn a_program_that_is_not_instrumented_is_an_error() {
    let error = record(Command::new("true"), "true", &options(), &|_| {}).unwrap_err();
    assert!(matches!(error, RecordError::Stream(StreamError::Empty, _)), "{error}");
}

/// The folder of befit's form of rayon-core.
fn rayon_core() -> PathBuf {
    let from_here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../compat/rayon-core");
    from_here.canonicalize().unwrap()
}

#[test]
fn a_program_that_does_not_use_befit_is_an_error() {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stranger");
    fs::create_dir_all(to.join("src")).unwrap();
    let manifest = "[package]\nname = \"stranger\"\nedition = \"2024\"\n[workspace]\n";
    put(&to.join("Cargo.toml"), manifest);
    put(&to.join("src/main.rs"), "fn main() { println!(\"{}\", std::env::args().count()) }");
    let target = Target { manifest_path: Some(to.join("Cargo.toml")), ..Target::default() };
    // Of the second cargo says that befit's rayon-core was not used.
    for rayon_core in [None, Some(rayon_core())] {
        let build = Build { target: target.clone(), rayon_core, ..Build::default() };
        let error = build.run(&|_| {}).unwrap_err();
        assert!(matches!(error, BuildError::WithoutBefit), "{error}");
    }
}

#[test]
fn regression_a_program_whose_rayon_core_is_not_replaced_learns_why() {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fork");
    for (package, more, file, text) in [
        ("rayon-core", "", "lib.rs", "pub fn join() -> usize { std::env::args().count() }"),
        (
            "forked",
            "[dependencies]\nrayon-core = { path = \"../rayon-core\" }\n[workspace]",
            "main.rs",
            "fn main() { println!(\"{}\", rayon_core::join()) }",
        ),
    ] {
        fs::create_dir_all(to.join(package).join("src")).unwrap();
        let manifest = format!("[package]\nname = {package:?}\nversion = \"1.0.0\"\n{more}\n");
        put(&to.join(package).join("Cargo.toml"), &manifest);
        put(&to.join(package).join("src").join(file), text);
    }
    let target = Target { manifest_path: Some(to.join("forked/Cargo.toml")), ..Target::default() };
    let rayon_core = Some(rayon_core());
    let error = Build { target, rayon_core, ..Build::default() }.run(&|_| {}).unwrap_err();
    assert!(matches!(error, BuildError::NotReplaced(_)) && error.is_usage(), "{error}");
    assert!(error.to_string().contains("which is 1.0.0 (a folder);"), "{error}");
}

#[test]
fn a_program_that_fails_is_reported_with_its_last_words() {
    let error = run("fails").unwrap_err().to_string();
    let said = ["exit status: 3", "these are my last words"];
    assert!(said.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_program_that_dies_while_recorded_is_reported() {
    let error = run("dies").unwrap_err();
    assert!(matches!(error, RecordError::Failed(..)), "{error}");
    assert!(error.to_string().contains("signal: 6"), "{error}");
}

#[test]
fn a_program_that_does_not_exist_is_an_error() {
    let nothing = Command::new("/nowhere/nothing");
    let error = record(nothing, "nothing", &options(), &|_| {}).unwrap_err();
    assert!(error.to_string().contains("/nowhere/nothing"), "{error}");
}

#[test]
fn an_instrumented_program_runs_unrecorded_too() {
    let status =
        Command::new(&*PROBE).arg("panic").stderr(std::process::Stdio::null()).status().unwrap();
    assert!(status.success());
}

#[test]
fn strands_know_the_places_of_their_tasks() {
    let program = program("join");
    let Some(Op::Strand(strand)) = program.ops(TaskId(2)).next() else { panic!("one strand") };
    let class = program.classes()[program.class(strand).0 as usize];
    assert!(program.place(class.begin.place()).starts_with("probe::main::"), "{class:?}");
    assert_eq!(class.begin.place(), class.end.place());
}
