//! A small program, its file, and files whose checksums are right whatever they hold. The fuzz
//! targets use this, too.

use befit_machine::Bytes;
use befit_program::{
    ClassWork, Declared, Meta, Program, ProgramBuilder, ScopeId, Site, Source, WorkRun,
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

/// Has something in every section.
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
    let mut file = b"\x89BEFIT\r\n\x07\0\0\0".to_vec();
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
