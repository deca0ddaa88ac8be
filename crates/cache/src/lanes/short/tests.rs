//! Vector lanes do what portable ones do.

use proptest::prelude::*;

use super::*;
use crate::lanes::{Avx2, Avx512};

/// `full` of `ways` places hold distinct lines with some flags; their lines.
fn lines(most: usize) -> impl Strategy<Value = (Vec<u32>, usize)> {
    (1..=most).prop_flat_map(|ways| {
        (prop::collection::vec(0u32..3, 0..=ways), Just(ways)).prop_map(|(flags, ways)| {
            let entries = flags.iter().zip(0..).map(|(f, i)| f << 30 | (i * 37 + 5));
            (entries.collect(), ways)
        })
    })
}

fn same_entries(lanes: impl Short, entries: &[u32], ways: usize, line: u32, flags: u32) {
    let mut set = Entries([EMPTY; ENTRIES]);
    set.0[..entries.len()].copy_from_slice(entries);
    let hits = Portable.find(&set, line);
    assert_eq!(lanes.find(&set, line), hits);
    let same = |a: &dyn Fn(&mut Entries) -> u32, b: &dyn Fn(&mut Entries) -> u32| {
        let (mut x, mut y) = (set, set);
        assert_eq!((a(&mut x), x), (b(&mut y), y));
    };
    if hits != 0 {
        same(&|s| lanes.to_front(s, hits, flags), &|s| Portable.to_front(s, hits, flags));
    }
    same(&|s| lanes.push(s, &Ways::new(ways), line | flags), &|s| {
        Portable.push(s, &Ways::new(ways), line | flags)
    });
    same(&|s| lanes.flag(s, line, flags), &|s| Portable.flag(s, line, flags));
    same(&|s| lanes.remove(s, line), &|s| Portable.remove(s, line));
    let mut rest = set;
    lanes.remove(&mut rest, line);
    let kept: Vec<u32> = entries.iter().copied().filter(|e| e & LINE != line).collect();
    assert_eq!(rest.0[..kept.len()], kept);
}

fn same_tags(lanes: impl Short, tags: &[u16], last: usize, tag: u16) {
    let mut set = Tags([NO_TAG; TAGS]);
    set.0[..tags.len()].copy_from_slice(tags);
    let (mut x, mut y) = (set, set);
    assert_eq!((lanes.touch(&mut x, last, tag), x), (Portable.touch(&mut y, last, tag), y));
    let (mut x, mut y) = (set, set);
    lanes.take_out(&mut x, tag);
    Portable.take_out(&mut y, tag);
    assert_eq!(x, y);
}

/// Sets and rows looked at together, at any places.
fn same_together(lanes: impl Short, length: u32, at: [u32; BATCH], way: usize) {
    let within = at.map(|at| at % length);
    let sets: Vec<_> =
        (0..length).map(|i| Entries(std::array::from_fn(|way| i * 8 + way as u32))).collect();
    assert_eq!(lanes.entries(&sets, &within, way), Portable.entries(&sets, &within, way));
    let tags: Vec<_> = (0..length)
        .map(|i| Tags(std::array::from_fn(|way| (i * 37 + way as u32) as u16)))
        .collect();
    assert_eq!(lanes.tags(&tags, &within, way), Portable.tags(&tags, &within, way));
    let rows: Vec<_> = (0..u64::from(length)).map(|i| [i << 40 | (i + 1), u64::MAX]).collect();
    assert_eq!(lanes.words(&rows, &within), Portable.words(&rows, &within));
    let table = std::array::from_fn(|i| i as u32 * 3);
    assert_eq!(lanes.pick(&table, &at), Portable.pick(&table, &at));
    // Out of range is not out of bounds; and nothing is anywhere where there is nothing.
    lanes.entries(&sets, &at, way);
    lanes.tags(&tags, &at, way);
    lanes.words(&rows, &at);
    assert_eq!(lanes.entries(&[], &at, way), [EMPTY; BATCH]);
    assert_eq!(lanes.tags(&[], &at, way), [u32::from(NO_TAG); BATCH]);
    assert_eq!(lanes.words(&[], &at), [0; BATCH]);
}

proptest! {
    #[test]
    fn vector_lanes_look_at_many_sets_as_portable_ones_do(
        length in 1u32..100,
        at: [u32; BATCH],
        way in 0usize..TAGS,
    ) {
        Avx2::detect().inspect(|lanes| same_together(*lanes, length, at, way));
        Avx512::detect().inspect(|lanes| same_together(*lanes, length, at, way));
    }

    #[test]
    fn vector_lanes_do_with_entries_what_portable_ones_do(
        (entries, ways) in lines(ENTRIES),
        at in 0u32..9,
        flags in 0u32..3,
    ) {
        let flags = flags << 30;
        for line in [at * 37 + 5, 3] {
            same_entries(Portable, &entries, ways, line, flags);
            Avx2::detect().inspect(|lanes| same_entries(*lanes, &entries, ways, line, flags));
            Avx512::detect().inspect(|lanes| same_entries(*lanes, &entries, ways, line, flags));
        }
    }

    #[test]
    fn vector_lanes_do_with_tags_what_portable_ones_do(
        (entries, ways) in lines(TAGS),
        at in 0u32..33,
    ) {
        let tags: Vec<u16> = entries.iter().map(|e| (e & LINE) as u16).collect();
        for tag in [(at * 37 + 5) as u16, 3] {
            Avx2::detect().inspect(|lanes| same_tags(*lanes, &tags, ways - 1, tag));
            Avx512::detect().inspect(|lanes| same_tags(*lanes, &tags, ways - 1, tag));
        }
    }
}
