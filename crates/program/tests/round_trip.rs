//! What is recorded is what is read back.

mod common;

use std::io::{self, Read, Write};

use befit_machine::Bytes;
use befit_program::{
    Class, ClassId, ClassWork, Declared, Op, PlaceId, Program, ProgramBuilder, RawTouch, ScopeId,
    Site, SiteId, Source, SpotId, StrandId, TaskId, Work, WorkRun,
};
use common::{
    LAST_VERSION, all, build, events, file, forge_of, meta, sections, small, small_of, spotted,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(common::config())]

    #[test]
    fn a_program_read_back_is_the_one_written(events in events()) {
        let program = build(&events);
        let bytes = file(&program);
        let read = Program::read(&bytes[..]).unwrap();
        prop_assert_eq!(all(&read), all(&program));
        prop_assert_eq!(file(&read), bytes, "the same program is the same file");
    }

    #[test]
    fn a_task_comes_after_its_parent_and_before_its_next_sibling(events in events()) {
        let program = build(&events);
        for task in 1..program.tasks() {
            let parent = program.parent(TaskId(task)).unwrap();
            prop_assert!(parent.0 < task);
            let is_it = |op: &Op| matches!(op, Op::Fork { child, .. } if child.0 == task);
            prop_assert_eq!(program.ops(parent).filter(is_it).count(), 1);
        }
    }
}

#[test]
fn a_saved_file_replaces_the_old_one_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.befit");
    std::fs::write(&path, "old").unwrap();
    let mut builder = ProgramBuilder::new(meta());
    builder.declare_root(Declared { size: None, strand: Some(Bytes(u64::MAX)) });
    let program = builder.finish().unwrap();
    program.save(&path).unwrap();
    assert_eq!(all(&Program::load(&path).unwrap()), all(&program));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let nowhere = folder.path().join("nowhere/p.befit");
    let error = program.save(&nowhere).unwrap_err().to_string();
    assert!(error.contains("nowhere/p.befit"), "{error}");
    let error = Program::load(&nowhere).unwrap_err().to_string();
    assert!(error.starts_with("cannot open") && error.contains("nowhere/p.befit"), "{error}");
}

/// Version 1 of the file format is still read: a program of one class, without work.
#[test]
fn version_1_stays_as_it_is() {
    let sections: [(&[u8; 4], &[u8]); 8] = [
        // 64 B lines, a filter of 4, 1240 stack lines; the root declares nothing; the name.
        (b"META", b"\x40\x04\xd8\x09\x00\x17a test \xe2\x80\x94 nothing else"),
        // Pages 15 … 17, and 2^34.
        (b"SPAN", &[15, 3, 238, 255, 255, 255, 63, 1]),
        // 640 bytes.
        (b"DECL", &[1, 128, 5]),
        (b"COST", &[40, 1, 2]),
        (b"INDX", &[16, 41, 17, 41, 17, 41]),
        (
            b"BLOB",
            &[
                // Far, recent and next, near and next twice, 36 times more, far.
                238, 208, 254, 64, 32, 32, 252, 1, 36, 249, 176, 240, 255, 255, 255, 63, //
                // The same with stores.
                97, 152, 8, 255, 64, 33, 33, 252, 1, 36, 249, 232, 238, 255, 255, 255, 63, //
                // The same on the stack.
                250, 176, 9, 254, 64, 32, 32, 252, 1, 36, 249, 128, 128, 128, 128, 128, 64,
            ],
        ),
        // Fork, strand, end; twice the same with what is known by then; sync, end.
        (b"TREE", &[3, 0, 2, 0, 0, 7, 1, 2, 1, 0, 7, 1, 2, 1, 0, 5, 0]),
        (b"END\0", &[4, 3, 2, 128, 2, 216, 9, 1, 1, 3, 123]),
    ];
    let forged = forge_of(1, &sections.map(|(tag, raw)| (*tag, raw.to_vec())));
    let program = Program::read(&forged[..]).unwrap();
    assert_eq!((program.tasks(), program.strands(), program.total_touches()), (4, 3, 123));
    assert_eq!(program.classes(), [Class::UNKNOWN]);
    assert_eq!((program.class(StrandId(2)), program.work_run()), (ClassId(0), None));
    let expected = Work { loads: 40, stores: 1, blocks: 2, touches: 41 };
    assert_eq!(program.work(StrandId(2)), expected);
    assert_eq!(all(&Program::read(&file(&program)[..]).unwrap()), all(&program));
}

#[test]
fn the_small_program_is_read_in_each_version() {
    for version in 1..=LAST_VERSION {
        let program = Program::read(&forge_of(version, &small_of(version))[..]).unwrap();
        assert_eq!((program.tasks(), program.strands()), (4, 4), "{version}");
    }
}

/// Version 2 is still read: a program of which only places and classes are known. It is version 3
/// without two sections and two totals; where that names origins, it names declared sizes.
#[test]
fn version_2_stays_as_it_is() {
    let forged = forge_of(2, &small_of(2));
    let program = Program::read(&forged[..]).unwrap();
    assert_eq!((program.tasks(), program.strands()), (4, 4));
    assert_eq!((program.sites(), program.source(SiteId(0))), (&[Site::default()][..], None));
    for task in (0..4).map(TaskId) {
        assert_eq!((program.site(task), program.captured(task)), (SiteId(0), vec![]));
        assert_eq!(program.declared(task), small().declared(task));
    }
    assert_eq!(all(&Program::read(&file(&program)[..]).unwrap()), all(&program));
}

/// Version 3 is still read: a program of whose atomics nothing is known. It is version 4 without a
/// section and a total.
#[test]
fn version_3_stays_as_it_is() {
    let forged = forge_of(3, &small_of(3));
    let program = Program::read(&forged[..]).unwrap();
    assert_eq!((program.tasks(), program.atomics()), (4, &[][..]));
    assert_eq!(program.sites(), small().sites());
}

/// Version 4 is still read: a program without spots, of which the process's time is not known.
#[test]
fn version_4_stays_as_it_is() {
    let forged = forge_of(4, &small_of(4));
    let program = Program::read(&forged[..]).unwrap();
    let run = program.work_run().unwrap().clone();
    assert_eq!((program.has_spots(), run.recorded), (false, 0.0));
    assert_eq!(all(&program.with_work(WorkRun { recorded: 0.75, ..run })), all(&small()));
}

/// Version 5 is still read: a program of which no touch is known to depend on another. So is
/// version 6: one with the first eight words of closures.
#[test]
fn versions_5_and_6_stay_as_they_are() {
    for version in [5, 6] {
        let old = forge_of(version, &small_of(version));
        assert_eq!(all(&Program::read(&old[..]).unwrap()), all(&small()));
    }
}

/// The token of dependent touches stays what FORMAT.md says. A change here is a new version.
#[test]
fn dependent_touches_are_marked_and_stay_as_they_are() {
    let mut builder = ProgramBuilder::new(meta());
    for line in [1000, 1001, 1002] {
        builder.touch(line, false, false);
    }
    // A far line, and the next one of the walk.
    builder.touches(&[1100, 1003].map(RawTouch::dependent_on_last));
    (1004..1040).for_each(|line| builder.touch(line, false, false));
    let program = builder.finish().unwrap();
    let expected = [238, 208, 254, 64, 32, 253, 224, 200, 253, 32, 32, 252, 1, 35];
    let mut sections = sections(&file(&program));
    let blob = sections.iter_mut().find(|(tag, _)| tag == b"BLOB").unwrap();
    assert_eq!(blob.1, expected);
    let marked = program.touches(StrandId(0)).map(|touch| touch.dependent);
    assert_eq!((0..).zip(marked).filter(|mark| mark.1).map(|mark| mark.0).sum::<u32>(), 3 + 4);
    // Behind a mark stands another token.
    for bad in [253, 252] {
        let blob = sections.iter_mut().find(|(tag, _)| tag == b"BLOB").unwrap();
        blob.1[9] = bad;
        let error = Program::read(&common::forge(&sections)[..]).unwrap_err().to_string();
        assert!(error.contains("dependent touch without a token"), "{error}");
    }
}

#[test]
fn spots_and_blocks_are_read_back() {
    let program = spotted();
    let read = Program::read(&file(&program)[..]).unwrap();
    assert_eq!(file(&read), file(&program));
    for program in [&program, &read] {
        assert!(program.has_spots());
        for strand in 0..2 {
            let mut spots = program.touch_spots(StrandId(strand));
            for touch in 0..200 {
                let expected = if touch % 2 == 1 { 0 } else { 1 + (touch / 2 + strand) % 2 };
                assert_eq!(spots.next_spot(), SpotId(expected), "{strand} {touch}");
            }
        }
        let lines: Vec<_> = program.spots().iter().flatten().map(|spot| spot.line).collect();
        assert_eq!(lines, [7, 9]);
        let blocks = program.blocks().iter().map(|b| (b.first, b.lines, b.spot.0));
        assert_eq!(blocks.collect::<Vec<_>>(), [(10, 10, 1), (20, 5, 2), (128, 64, 2)]);
    }
}

#[test]
fn a_table_of_more_than_a_chunk_is_written_in_several() {
    let mut builder = ProgramBuilder::new(meta());
    let name = |number: u32| format!("{number:02048}");
    (1..700).for_each(|number| assert_eq!(builder.place(&name(number)), Ok(PlaceId(number))));
    let bytes = file(&builder.finish().unwrap());
    let chunks = sections(&bytes).into_iter().filter(|(tag, _)| tag == b"PLAC");
    let lengths: Vec<usize> = chunks.map(|(_, raw)| raw.len()).collect();
    // As many whole names as leave room for another one in 1 MiB; a name has two bytes of length.
    assert_eq!((lengths.len(), lengths.iter().sum()), (2, 1 + 699 * 2050), "{lengths:?}");
    assert!((1020 << 10..=1 << 20).contains(&lengths[0]), "{lengths:?}");
    assert_eq!(lengths[0] % 2050, 1, "the empty name has a byte");
    let read = Program::read(&bytes[..]).unwrap();
    (1..700).for_each(|number| assert_eq!(read.place(PlaceId(number)), name(number)));
}

#[test]
fn any_figures_of_work_are_read_back_as_the_program_has_them() {
    let program = small();
    let run = program.work_run().unwrap().clone();
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 5e-324, 1e7] {
        let work = ClassWork { ps_per_operation: number, strands: 1, spread: 0.0 };
        let spread = ClassWork { ps_per_operation: 1.0, strands: 1, spread: number };
        let program = program.clone().with_work(WorkRun {
            host_operation: number,
            faults_per_page: number,
            recorded: number,
            classes: vec![Some(work), Some(spread)],
            ..run.clone()
        });
        let read = Program::read(&file(&program)[..]).unwrap();
        assert_eq!(read.work_run(), program.work_run(), "{number}");
        let kept = program.work_run().unwrap().classes.iter().flatten().count();
        assert_eq!(kept, if number >= 0.0 && number.is_finite() { 2 } else { 0 }, "{number}");
    }
}

#[test]
fn origins_with_all_words_that_have_a_number_are_read_back() {
    let mut builder = ProgramBuilder::new(meta());
    let all_words = |last: u64| (0..=u16::MAX).map(move |number| (number, u64::MAX - last));
    for task in 0..2 {
        let forked = (ScopeId(0), Declared::default(), SiteId(0));
        builder.fork_from(forked.0, forked.1, forked.2, all_words(task)).unwrap();
        builder.end().unwrap();
    }
    let bytes = file(&builder.finish().unwrap());
    let chunks = sections(&bytes).into_iter().filter(|(tag, _)| tag == b"ORIG");
    assert_eq!(chunks.map(|(_, raw)| raw.len() / 11).collect::<Vec<_>>(), [1 << 16; 2]);
    let read = Program::read(&bytes[..]).unwrap();
    for task in 0..2 {
        let words = all_words(task.into()).collect::<Vec<_>>();
        assert_eq!(read.captured(TaskId(1 + task)), words);
    }
}

/// Counts down the calls, and fails in the one that finds 0 left.
struct Fails(usize);

impl Fails {
    fn call(&mut self) -> io::Result<()> {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(usize::MAX);
        left.map(drop).ok_or(io::Error::other("full"))
    }
}

impl Write for Fails {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call().map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call()
    }
}

#[test]
fn a_disk_that_fails_once_is_an_error() {
    for program in [small(), spotted()] {
        // Magic and version, header and content of each chunk, and what a buffer keeps back.
        let calls = 2 + 2 * sections(&file(&program)).len() + 1;
        for call in 0..calls {
            let error = program.write(Fails(call)).unwrap_err().to_string();
            assert_eq!(error, "cannot write the program: full", "{call} of {calls}");
        }
        program.write(Fails(calls)).unwrap();
    }
}

/// Gives its bytes, and then fails.
struct Torn<'a>(&'a [u8]);

impl Read for Torn<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::Error::other("torn")) } else { self.0.read(out) }
    }
}

#[test]
fn a_disk_that_fails_anywhere_is_an_error_that_says_where() {
    let good = file(&small());
    // What is read at a time begins at these bytes: headers, and what they announce.
    let (mut begins, mut at) = (vec![0, 12], 12);
    while at < good.len() {
        let stored = u32::from_le_bytes(good[at + 8..at + 12].try_into().unwrap());
        begins.push(at + 36);
        at += 36 + stored as usize;
        begins.push(at);
    }
    for len in 0..=good.len() {
        let begin = begins.iter().rfind(|begin| **begin <= len).unwrap();
        let error = Program::read(Torn(&good[..len])).unwrap_err().to_string();
        assert_eq!(error, format!("cannot read the program at byte {begin}: torn"), "{len}");
    }
}

#[test]
fn a_block_whose_rest_holds_no_touched_line_is_left_out() {
    let mut builder = ProgramBuilder::new(meta());
    let source = Source { file: "src/a.rs".into(), line: 7, function: "f".into() };
    let spot = builder.spot(source).unwrap();
    builder.touch_at(64, true, false, spot);
    // The second begins before the first line that is touched, and has none of its own.
    builder.block(50, 20, spot);
    builder.block(60, 2, spot);
    let program = builder.finish().unwrap();
    assert_eq!(program.blocks().len(), 0);
    let read = Program::read(&file(&program)[..]).unwrap();
    assert_eq!(file(&read), file(&program));
}

/// The sections of spots stay what FORMAT.md says. A change here is a new version.
#[test]
fn the_sections_of_spots_stay_as_they_are() {
    let expected: [(&[u8; 4], &[u8]); 4] = [
        (b"SPOT", b"\x01\x08src/a.rs\x07\x01f\x01\x08src/a.rs\x09\x01f"),
        (b"BLCK", &[10, 10, 1, 0, 5, 2, 103, 64, 2]),
        (b"SPIX", &[6, 6]),
        (b"SPTS", &[0, 1, 1, 2, 1, 1, 0, 2, 1, 1, 1, 2]),
    ];
    let written = sections(&file(&spotted()));
    for (tag, expected) in expected {
        let (_, raw) = written.iter().find(|(written, _)| written == tag).unwrap();
        assert_eq!(raw, expected, "{}", tag.escape_ascii());
    }
    let mut bad = written.clone();
    for (_, raw) in bad.iter_mut().filter(|(tag, _)| tag == b"SPTS") {
        raw[1] = 3;
    }
    let error = Program::read(&common::forge(&bad)[..]).unwrap_err().to_string();
    assert!(error.contains("a touch names a spot that there is not"), "{error}");
}

/// The format stays what FORMAT.md says. A change here is a new version.
#[test]
fn the_sections_stay_as_they_are() {
    let expected: [(&[u8; 4], &[u8]); 8] = [
        // The line 45 of the first stretch, which begins with page 15; the first of the second.
        (b"ATOM", &[45, 146, 1]),
        // Place 1, 16 bytes, the first and the third; line 300.
        (b"SITE", b"\x01\x10\0\0\x01\x10\x01\x01\x0csrc/small.rs\xac\x02\x03run"),
        // Words 2 and 4: 40; 1 and 40; 2 and 40, at the third.
        (b"ORIG", &[0, 1, 1, 4, 40, 0, 1, 2, 2, 1, 1, 40, 0, 2, 2, 2, 2, 1, 40]),
        // Fork, strand, end; twice the same cost, with origins and blobs of their own; sync, strand,
        // end.
        (b"TREE", &[3, 0, 2, 0, 0, 7, 0, 2, 1, 0, 7, 0, 2, 1, 0, 5, 2, 0, 0]),
        (b"PLAC", b"\0\x12small::{{closure}}"),
        // From a task's start to its end; from a sync to the root's end.
        (b"CLAS", &[6, 1, 1, 8, 0, 0]),
        // 3350 MHz, 0.25 cycles, 0.5 faults, a share of 0.75; 123.5 ps, a spread of 0.25,
        // 300 strands; none.
        (
            b"WORK",
            &[
                150, 26, 0, 0, 0, 0, 0, 0, 208, 63, 0, 0, 0, 0, 0, 0, 224, 63, 0, 0, 0, 0, 0, 0,
                232, 63, 6, b'a', b' ', b'h', b'o', b's', b't', 1, 0, 0, 0, 0, 0, 224, 94, 64, 0,
                0, 0, 0, 0, 0, 208, 63, 172, 2, 0,
            ],
        ),
        (b"COST", &[40, 1, 2, 0, 1, 1, 1, 1]),
    ];
    let written = sections(&file(&small()));
    for (tag, expected) in expected {
        let (_, raw) = written.iter().find(|(written, _)| written == tag).unwrap();
        assert_eq!(raw, expected, "{}", tag.escape_ascii());
    }
}
