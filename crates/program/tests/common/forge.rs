//! A small program, its file, and files whose checksums are right whatever they hold. The fuzz
//! targets use this, too.

use befit_machine::Bytes;
use befit_program::{
    ClassWork, Declared, Meta, Program, ProgramBuilder, ScopeId, Site, Source, SpotId, WorkRun,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub(crate) fn meta() -> Meta {
    Meta { name: "a test — nothing else".into(), line_size: Bytes(64), filter: 4 }
}

/// The program as a file.
pub(crate) fn file(program: &Program) -> Vec<u8> {
    let mut file = Vec::new();
    program.write(&mut file).unwrap();
    file
}

/// Has something in every section but those of spots, which [`spotted`] has.
pub(crate) fn small() -> Program {
    let mut builder = ProgramBuilder::new(meta());
    for child in 0..3 {
        let place = builder.place("small::{{closure}}").unwrap();
        let declared = Declared { size: Some(Bytes(640)), strand: None };
        let site = builder.site(Site { place, bytes: 16, index: u8::from(child == 2) }).unwrap();
        if child == 2 {
            let (file, function) = ("src/small.rs".into(), "run".into());
            builder.source(site, Source { file, line: 300, function });
        }
        let words = [0, 0, child, 0, 40, 0, 0, 0];
        builder.fork_from(ScopeId(1), declared, site, (0..).zip(words)).unwrap();
        (0..40).for_each(|i| builder.touch(1000 + child * 100 + i, child == 1, child == 2));
        builder.touch(1 << 40, true, false);
        builder.work(40, 1, 2);
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    builder.work(1, 1, 1);
    // Two lines that are touched, and one in no touched page.
    [1 << 40, 1005, 5].into_iter().for_each(|line| builder.atomic(line));
    with_work(builder.finish().unwrap())
}

/// Two tasks that touch the same lines at different spots, of which one is unknown, and blocks.
pub(crate) fn spotted() -> Program {
    let mut builder = ProgramBuilder::new(meta());
    let source = |line| Source { file: "src/a.rs".into(), line, function: "f".into() };
    let spots = [SpotId(0), builder.spot(source(7)).unwrap(), builder.spot(source(9)).unwrap()];
    for child in 0..2 {
        builder.fork(ScopeId(1), Declared::default()).unwrap();
        for line in 0..100 {
            builder.touch_at(6400 + line, false, false, spots[1 + (line as usize + child) % 2]);
            builder.touch_at(64_000 + line, true, false, spots[0]);
        }
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    // From the middle of the first stretch to nowhere; a later one in it; one that is not touched.
    builder.block(6410, 1000, spots[1]);
    builder.block(6420, 5, spots[2]);
    builder.block(20_000, 5, spots[2]);
    builder.block(64_000, 64, spots[2]);
    builder.finish().unwrap()
}

/// With some work, of every second class.
pub(crate) fn with_work(program: Program) -> Program {
    let work = ClassWork { ps_per_operation: 123.5, strands: 300, spread: 0.25 };
    let classes = (0..program.classes().len()).map(|class| (class % 2 == 0).then_some(work));
    let classes = classes.collect();
    program.with_work(WorkRun {
        host_mhz: 3350,
        host_operation: 0.25,
        host: "a host".into(),
        faults_per_page: 0.5,
        recorded: 0.75,
        classes,
    })
}

/// A chunk as the writer would make it, of any claimed lengths and contents.
pub(crate) fn chunk(
    tag: &[u8; 4],
    raw_len: u32,
    raw: &[u8],
    stored: &[u8],
    number: u64,
) -> Vec<u8> {
    let mut chunk = tag.to_vec();
    chunk.extend(raw_len.to_le_bytes());
    chunk.extend((stored.len() as u32).to_le_bytes());
    chunk.extend(xxh3_64(stored).to_le_bytes());
    chunk.extend(xxh3_64(raw).to_le_bytes());
    chunk.extend(xxh3_64_with_seed(&chunk, number).to_le_bytes());
    chunk.extend(stored);
    chunk
}

/// A chunk's stored bytes, without padding.
pub(crate) fn packed(raw: &[u8]) -> Vec<u8> {
    let block = lz4_flex::block::compress(raw);
    [&(block.len() as u32).to_le_bytes()[..], &block].concat()
}

/// A file whose checksums are right, whatever its sections hold.
pub(crate) fn forge(sections: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    forge_of(LAST_VERSION, sections)
}

/// The version that is written.
pub(crate) const LAST_VERSION: u8 = 7;

/// The same of any version.
pub(crate) fn forge_of(version: u8, sections: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = [&b"\x89BEFIT\r\n"[..], &[version, 0, 0, 0]].concat();
    for (number, (tag, raw)) in sections.iter().enumerate() {
        let mut stored = packed(raw);
        // Padding to the least that is accepted.
        stored.resize(stored.len().max(raw.len().div_ceil(64)), 0);
        file.extend(chunk(tag, raw.len() as u32, raw, &stored, number as u64));
    }
    file
}

/// The first version of the format that has the section with this tag.
pub(crate) fn since(tag: &[u8; 4]) -> u8 {
    match tag {
        b"PLAC" | b"CLAS" | b"WORK" => 2,
        b"SITE" | b"ORIG" => 3,
        b"ATOM" => 4,
        b"SPOT" | b"BLCK" | b"SPIX" | b"SPTS" => 5,
        _ => 1,
    }
}

/// The raw sections of a good file.
pub(crate) fn sections(file: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let mut sections = Vec::new();
    let mut rest = &file[12..];
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        let raw = lz4_flex::block::decompress(&rest[40..40 + word(36)], word(4)).unwrap();
        sections.push((rest[..4].try_into().unwrap(), raw));
        rest = &rest[36 + word(8)..];
    }
    sections
}

/// The sections of [`small`] as this version has them, without what it cannot say.
pub(crate) fn small_of(version: u8) -> Vec<([u8; 4], Vec<u8>)> {
    let mut sections = sections(&file(&small()));
    sections.retain(|(tag, _)| since(tag) <= version);
    // Of places and classes, sites and origins, atomics, spots, blocks and their bytes.
    let missing_totals = [8, 6, 4, 3].get(usize::from(version) - 1).copied().unwrap_or(0);
    for (tag, raw) in &mut sections {
        match &*tag {
            b"END\0" => raw.truncate(raw.len() - missing_totals),
            // Bits say which of eight captured words follow.
            b"ORIG" if version < 7 => {
                *raw = vec![0, 1, 0b1_0000, 40, 0, 1, 0b1_0100, 1, 40, 0, 2, 0b1_0100, 2, 40];
            }
            // Without the process's time, behind two bytes of MHz and two numbers.
            b"WORK" if version < 5 => drop(raw.drain(18..26)),
            // Names declared sizes instead of origins: fork, strand, end; twice the same with what
            // is known by then; sync, strand, end.
            b"TREE" if version < 3 => {
                *raw = vec![3, 0, 2, 0, 0, 7, 1, 2, 1, 0, 7, 1, 2, 1, 0, 5, 2, 0, 0];
            }
            // Without classes.
            b"COST" if version < 2 => *raw = vec![40, 1, 2, 1, 1, 1],
            _ => {}
        }
    }
    sections
}
