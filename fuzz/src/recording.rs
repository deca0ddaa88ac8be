//! Recordings: files as they are, and files whose checksums are right whatever they hold.

// The tests of the format use the rest.
#[allow(dead_code)]
#[path = "../../crates/program/tests/common/forge.rs"]
mod forge;

#[path = "../../crates/program/tests/common/all.rs"]
mod all;

use befit_program::{Program, StrandId};
use forge::{LAST_VERSION, file, forge_of, sections, small, small_of, spotted};

use crate::{simulation, within};

/// As FORMAT.md promises, of a file of so many bytes.
const TIMES: u64 = 8192;
const CONSTANT: u64 = 4 << 20;

/// Programs with more touches are not looked at: few bytes can say very many.
const MOST_TOUCHES: u64 = 20_000;
/// Nor those with more tasks.
const MOST_TASKS: u32 = 2000;
/// Programs with more touches are simulated once only.
const FEW_TOUCHES: u64 = 1000;

pub(crate) fn raw(input: &[u8]) -> bool {
    look_at(input, input)
}

/// The file's bytes, whole.
pub(crate) fn raw_seeds() -> Vec<Vec<u8>> {
    vec![file(&small())]
}

/// The tags of all sections: those of a program without spots, and then those of spots.
fn tags() -> Vec<[u8; 4]> {
    let mut tags = Vec::new();
    for (tag, _) in [small(), spotted()].iter().flat_map(|program| sections(&file(program))) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// `input` is the version of a file, from 0 for the first, and a list of the file's sections: the
/// number of a tag, the length in two bytes, and what the section holds.
pub(crate) fn forged(input: &[u8]) -> bool {
    let tags = tags();
    let (version, mut rest) =
        input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    let mut made = Vec::new();
    while let [tag, low, high, after @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
        let (raw, next) = after.split_at(length);
        if !raw.is_empty() {
            made.push((tags[usize::from(*tag) % tags.len()], raw.to_vec()));
        }
        rest = next;
    }
    look_at(&forge_of(1 + version % LAST_VERSION, &made), input)
}

pub(crate) fn forged_seeds() -> Vec<Vec<u8>> {
    let old = (1..=LAST_VERSION).map(|version| (version, small_of(version)));
    let all = old.chain([(LAST_VERSION, sections(&file(&spotted())))]);
    let tags = tags();
    let mut seeds = Vec::new();
    for (version, sections) in all {
        let mut seed = vec![version - 1];
        for (tag, raw) in sections {
            let number = tags.iter().position(|known| *known == tag).expect("one of the tags");
            let length = u16::try_from(raw.len()).expect("a small program").to_le_bytes();
            seed.extend([&[number as u8][..], &length, &raw].concat());
        }
        seeds.push(seed);
    }
    seeds
}

/// Reads the file, asks the program all that can be asked, writes and reads it again, and simulates
/// it.
fn look_at(file: &[u8], input: &[u8]) -> bool {
    let read = || Program::read(file);
    let Ok(program) = within(TIMES, CONSTANT, file, read) else { return false };
    let Some(same) = read_again(&program) else { return true };
    let found = simulation::simulate(&program, input);
    if program.total_touches() <= FEW_TOUCHES {
        assert_eq!(simulation::simulate(&same, input), found, "the same simulation");
    }
    true
}

/// Writes the program, and reads it again: none where it is too large to be looked at.
///
/// # Panics
/// Where it does not come back as it was.
pub(crate) fn read_again(program: &Program) -> Option<Program> {
    let mut written = Vec::new();
    program.write(&mut written).expect("a program that was read can be written");
    let same = Program::read(&written[..]).expect("and read again");
    assert_eq!((same.stats(), same.tasks()), (program.stats(), program.tasks()));
    if program.total_touches() > MOST_TOUCHES || program.tasks() > MOST_TASKS {
        return None;
    }
    assert!(all::all(&same) == all::all(program), "it is read as it was written");
    assert_eq!(same.atomics(), program.atomics());
    // What is not asked for above is in the file, too: spots and blocks.
    assert!(file(&same) == written, "the same program is the same file");
    let touches = (0..program.strands()).map(|strand| program.touches(StrandId(strand)).count());
    assert_eq!(touches.sum::<usize>() as u64, program.total_touches(), "as many as it says");
    Some(same)
}
