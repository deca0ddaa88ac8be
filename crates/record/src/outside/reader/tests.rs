//! Streams by hand: good ones, and ones that no recorder writes.

use befit_program::{Op, StrandId, TaskId};

use super::{
    super::stream::{EVENT, KIND_SHIFT},
    *,
};

/// A task's size and its largest strand's follow its fork.
const SIZED: u64 = 0b11 << 40;

fn event(kind: u64, argument: u64) -> u64 {
    EVENT | kind << KIND_SHIFT | argument
}

fn touch(line: u64, write: bool, stack: bool) -> u64 {
    RawTouch::new(line, write, stack).0
}

/// With site 0: closures of 24 bytes, the second of their forks; with one caller.
fn hello() -> [u64; 6] {
    let name = u64::from_ne_bytes(*b"a::place");
    let hello = event(stream::HELLO, u64::from(VERSION) | 8 << 8 | 6 << 16);
    [hello, MAGIC, event(stream::SITE, 8 << 16 | 1 << 32), 24 | 1 << 32, name, 0x1234]
}

fn fork(scope: u64) -> u64 {
    event(stream::FORK, scope)
}

const END: u64 = EVENT | stream::END << KIND_SHIFT;

fn sync(scope: u64) -> u64 {
    event(stream::SYNC, scope)
}

fn work(loads: u64, stores: u64, blocks: u64) -> [u64; 4] {
    [event(stream::WORK, 0), loads, stores, blocks]
}

/// A region with a child that touches three lines.
fn good() -> Vec<u64> {
    let touches = [touch(100, false, false), touch(101, true, false), touch(2, true, true)];
    let parts: [&[u64]; 8] = [
        &hello(),
        &[fork(1)],
        // Words 1 and 300 follow, too.
        &[fork(2) | SIZED | 2 << 32, 4096, 64, 1 << 40 | 7, 300 << 40 | 99],
        &touches,
        &work(5, 4, 3),
        &[END, sync(2)],
        &[END, sync(1)],
        &[event(stream::SKIPPED, 7)],
    ];
    parts.concat()
}

fn read_words(words: &[u64]) -> Result<Recording, StreamError> {
    read(&bytes_of(words)[..], "by hand", &|_| {}, &mut source)
}

/// A source for each caller.
fn source(callers: &[u64]) -> Option<Source> {
    let line = u32::try_from(*callers.first()?).ok()?;
    Some(Source { file: "src/main.rs".into(), line, function: "function".into() })
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

/// Gives one byte at a time, as a pipe may.
struct Drops<'a>(&'a [u8]);

impl io::Read for Drops<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let one = self.0.len().min(to.len()).min(1);
        to[..one].copy_from_slice(&self.0[..one]);
        self.0 = &self.0[one..];
        Ok(one)
    }
}

#[test]
fn a_good_stream_becomes_its_program() {
    let Recording { program, skipped_regions, other_threads } = read_words(&good()).unwrap();
    assert_eq!((program.tasks(), program.strands(), skipped_regions), (3, 1, 7));
    assert!(!other_threads);
    let meta = program.meta();
    assert_eq!((meta.name.as_str(), meta.filter, meta.line_size), ("by hand", 8, Bytes(64)));
    let declared = Declared { size: Some(Bytes(4096)), strand: Some(Bytes(64)) };
    assert_eq!(program.declared(TaskId(2)), declared);
    assert_eq!(program.declared(TaskId(1)), Declared::default());
    assert_eq!(program.ops(TaskId(2)).collect::<Vec<_>>(), [Op::Strand(StrandId(0))]);
    let touches: Vec<_> = program.touches(StrandId(0)).map(|t| (t.write, t.stack)).collect();
    assert_eq!(touches, [(false, false), (true, false), (true, true)]);
    let class = program.classes()[program.class(StrandId(0)).0 as usize];
    assert_eq!(program.place(class.begin.place()), "a::place");
    let site = program.site(TaskId(2));
    let Site { place, bytes, index } = program.sites()[site.0 as usize];
    assert_eq!((program.place(place), bytes, index), ("a::place", 24, 1));
    assert_eq!(program.source(site).unwrap().line, 0x1234);
    assert_eq!(program.captured(TaskId(2)), [(1, 7), (300, 99)]);
    assert_eq!((program.site(TaskId(1)), program.captured(TaskId(1))), (site, vec![]));
    let work = program.work(StrandId(0));
    assert_eq!((work.loads, work.stores, work.blocks, work.touches), (5, 4, 3, 3));
}

#[test]
fn however_the_bytes_arrive_progress_adds_up_to_all_touches() {
    let bytes = bytes_of(&good());
    for input in [&mut &bytes[..] as &mut dyn io::Read, &mut Drops(&bytes)] {
        let sum = std::cell::Cell::new(0);
        let recording = read(input, "by hand", &|n| sum.set(sum.get() + n), &mut source).unwrap();
        assert_eq!((recording.program.total_touches(), sum.get()), (3, 3));
    }
}

#[test]
fn a_stream_cut_off_anywhere_is_an_error() {
    let bytes = bytes_of(&good());
    // what follows are the last sync and the count of skipped regions
    let region_ends = bytes.len() - 2 * 8;
    for length in 0..bytes.len() {
        let result = read(&bytes[..length], "by hand", &|_| {}, &mut source);
        let may_end_here = length >= region_ends && length % 8 == 0;
        assert_eq!(result.is_ok(), may_end_here, "{length} bytes");
    }
    assert!(matches!(read(&[][..], "", &|_| {}, &mut source), Err(StreamError::Empty)));
    assert!(matches!(read_words(&hello()), Err(StreamError::NoRegion)));
    assert!(matches!(read_words(&good()[..9]), Err(StreamError::Truncated(9))));
}

#[test]
fn a_stream_of_something_else_is_an_error() {
    let text = read(&b"hello world, this is not it"[..], "", &|_| {}, &mut source);
    assert!(matches!(text, Err(StreamError::NotARecording)));
    let without_magic = read_words(&[event(stream::HELLO, VERSION.into()), 0]);
    assert!(matches!(without_magic, Err(StreamError::NotARecording)));
    let newer = read_words(&[event(stream::HELLO, 99), MAGIC]);
    assert!(matches!(newer, Err(StreamError::Version(99))));
}

#[test]
fn events_in_the_wrong_place_are_errors_that_say_where() {
    // A task cannot wait for another's children.
    let of_sibling = [fork(1), fork(2), END, END, fork(1), sync(2)];
    for (words, expected) in [
        (&[END][..], "an end without a task at word 6"),
        (&[touch(1, true, false)], "a touch outside a region"),
        (&[event(stream::SITE, 1025 << 16), 0], "a name that is too long at word 6"),
        (&[event(stream::SITE, 1025 << 32), 0], "too many callers at word 6"),
        (&[event(stream::SITE, 0), 256 << 32], "a closure with a large index at word 6"),
        (&[fork(99 << 42 | 1)], "a fork at an unknown site at word 6"),
        (&[event(stream::REGION, 0)], "an event of a work run at word 6"),
        (&hello(), "a second beginning at word 6"),
        (&[event(99, 0)], "word 6 (0xe3"),
        (&[sync(1 << 40)], "a scope beyond 32 bits at word 6"),
        (&[event(stream::FAILED, 1)], "8 GiB"),
        (&[event(stream::FAILED, 2)], "malloc is not the recorder's; build it without"),
        (&of_sibling, "damaged at word 11"),
    ] {
        let error = read_words(&[&hello(), words].concat()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn random_words_are_errors_and_never_panics() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    let mut ended_well = 0;
    for _ in 0..3000 {
        let mut words = good();
        for _ in 0..=random() % 3 {
            let at = random() as usize % words.len();
            words[at] = match random() % 3 {
                0 => event(random() % 10, random() % 4),
                1 => words[random() as usize % words.len()],
                _ => words[at] ^ 1 << (random() % 64),
            };
        }
        ended_well += u32::from(read_words(&words).is_ok());
    }
    assert!(ended_well > 0, "some damage makes another good stream");
}
