//! Files that are damaged, cut off or made to harm.

mod common;

use befit_program::{Program, ReadError};
use common::{
    LAST_VERSION, all, build, chunk, events, file, forge, forge_of, packed, sections, since, small,
    spotted, with_work,
};
use proptest::prelude::*;

#[test]
fn every_flipped_bit_is_an_error() {
    let good = file(&small());
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert!(Program::read(&bad[..]).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn every_truncation_is_an_error_that_says_where() {
    let good = file(&small());
    for len in 0..good.len() {
        match Program::read(&good[..len]).unwrap_err() {
            ReadError::NotAProgram => assert!(len < 8),
            ReadError::Truncated { offset, .. } => assert!(offset <= len as u64),
            other => panic!("{len} bytes: {other}"),
        }
    }
}

#[test]
fn bytes_after_the_end_are_an_error() {
    let mut long = file(&small());
    let offset = long.len() as u64;
    long.push(0);
    assert!(matches!(Program::read(&long[..]), Err(ReadError::Trailing(at)) if at == offset));
}

#[test]
fn another_file_or_another_version_says_what_to_do() {
    refused(b"\x7fELF, or whatever else", "not a recorded program");
    let mut newer = file(&small());
    newer[8] = 8;
    ["version 8", "reads versions 1 to 7"].iter().for_each(|why| refused(&newer, why));
}

#[test]
fn a_section_that_a_version_does_not_have_yet_is_refused_there() {
    let both = [with_work(small()), spotted()].map(|program| sections(&file(&program)));
    let mut refused = 0;
    for (meta, section) in both.iter().flat_map(|all| all[1..].iter().map(|one| (&all[0], one))) {
        for version in 1..=LAST_VERSION {
            let file = forge_of(version, &[meta.clone(), section.clone()]);
            let error = Program::read(&file[..]).unwrap_err().to_string();
            let is_unknown = error.contains("has no such section");
            assert_eq!(
                is_unknown,
                version < since(&section.0),
                "{:?} {version}: {error}",
                section.0
            );
            refused += u32::from(is_unknown);
        }
    }
    assert!(refused >= 10, "{refused}");
}

#[test]
fn damage_names_its_section_and_offset() {
    let good = file(&small());
    let begin = good.windows(4).position(|tag| tag == b"TREE").unwrap();
    let mut bad = good.clone();
    bad[begin + 40] ^= 1;
    let error = Program::read(&bad[..]).unwrap_err().to_string();
    let expected = format!(
        "the program is damaged in its tree section, in the chunk at byte {begin}: \
         its stored bytes do not match their checksum"
    );
    assert_eq!(error, expected);
}

fn refused(file: &[u8], why: &str) {
    let error = Program::read(file).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn hostile_headers_are_refused() {
    let begin = b"\x89BEFIT\r\n\x03\0\0\0".to_vec();
    let with = |chunk: Vec<u8>| [begin.clone(), chunk].concat();
    refused(&with(chunk(b"META", u32::MAX, b"", b"x", 0)), "length is out of bounds");
    refused(&with(chunk(b"META", 1 << 20, b"", b"x", 0)), "more than 64 times");
    refused(&with(chunk(b"META", 0, b"", b"x", 0)), "length is out of bounds");
    refused(&with(chunk(b"NEWS", 1, b"", b"x", 0)), "unknown name");
    refused(&with(chunk(b"META", 1, b"", b"x", 1)), "header that follows it does not match");
    refused(&with(chunk(b"META", 1, b"", b"x", 0)), "does not unpack");
    // More than it says, and less.
    let stored = packed(&[7; 4000]);
    refused(&with(chunk(b"META", 100, &[7; 100], &stored, 0)), "does not unpack");
    refused(&with(chunk(b"META", 1000, &[7; 1000], &packed(&[7; 999]), 0)), "does not unpack");
    refused(&with(chunk(b"META", 3, b"abc", &packed(b"abd"), 0)), "unpacked bytes");
}

#[test]
fn sections_in_the_wrong_order_or_number_are_refused() {
    let good = sections(&file(&small()));
    let pick = |order: &[usize]| {
        forge(&order.iter().map(|&section| good[section].clone()).collect::<Vec<_>>())
    };
    let order: Vec<usize> = (0..good.len()).collect();
    assert_eq!(all(&Program::read(&pick(&order)[..]).unwrap()), all(&small()));
    let without = |section: usize| pick(&[&order[..section], &order[section + 1..]].concat());
    refused(&pick(&[&[0], &order[..]].concat()), "one chunk of the meta section");
    refused(&without(0), "one chunk of the meta section");
    refused(&pick(&[good.len() - 1]), "there is none");
    refused(&pick(&[&[0, 2, 1], &order[3..]].concat()), "must precede");
    for (section, why) in [
        (1, "a line of atomics is in no touched stretch"),
        (3, "an origin names a declared size that there is not"),
        (4, "place that there is not"),
        (5, "site that there is not"),
        (6, "origin that there is not"),
        (7, "more entries than there are classes"),
        (9, "cost that there is not"),
        (10, "blob that there is not"),
        (11, "not as long as the index says"),
        (12, "the root task does not end"),
        (13, "cut off"),
    ] {
        refused(&without(section), why);
    }
    assert!(Program::read(&without(8)[..]).unwrap().work_run().is_none());
    // Without lines of atomics too.
    let order: Vec<usize> = order.into_iter().filter(|section| ![1, 2].contains(section)).collect();
    refused(&pick(&order), "outside the touched pages");
}

/// The sections, with `raw` in the place of what the one with `tag` holds.
fn with(good: &[([u8; 4], Vec<u8>)], tag: &[u8; 4], raw: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let raw = |(old, own): &([u8; 4], Vec<u8>)| if old == tag { raw.to_vec() } else { own.clone() };
    good.iter().map(|section| (section.0, raw(section))).collect()
}

#[test]
fn sections_that_lie_are_refused() {
    let good = sections(&file(&small()));
    let lies: &[(&[u8; 4], &[u8], &str)] = &[
        (b"META", &[0, 4, 0, 0, 1, b'x'], "lines of 0 bytes: no power of two"),
        (b"META", &[48, 4, 0, 0, 1, b'x'], "lines of 48 bytes: no power of two"),
        (b"META", &[0x80, 0x80, 4, 4, 0, 0, 1, b'x'], "lines of 65536 bytes: too long"),
        (
            b"META",
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 4, 0, 0, 1, b'x'],
            "lines of 9223372036854775808 bytes: too long",
        ),
        (b"META", &[64, 4, 0, 4, 0], "unknown kind"),
        (b"META", &[64, 4, 0, 0, 9, b'x'], "cut off"),
        (b"META", &[64, 4, 0, 0, 0xff, 0xff, 3], "too long"),
        (b"META", &[64, 4, 0, 0, 1, 0xff], "UTF-8"),
        (b"META", &[64, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0], "does not fit 32 bits"),
        (b"META", &[64, 4, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0], "does not fit 32 bits"),
        (b"META", &[64, 4, 0, 0, 0, 64, 4, 0, 0, 0], "bytes follow the name"),
        (b"ATOM", &[0xff, 0xff, 0xff, 0xff, 0x10], "a line of atomics does not fit 32 bits"),
        (b"ATOM", &[0, 0xff, 0xff, 0xff, 0xff, 0xf], "a line of atomics does not fit 32 bits"),
        (b"META", &[64, 4, 0, 0, 0], "below the deepest stack line"),
        (b"SPAN", &[0, 1, 0, 1], "touches the one before"),
        (b"SPAN", &[0, 0], "is empty"),
        (b"SPAN", &[0, 0x80], "cut off"),
        (
            b"SPAN",
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1],
            "beyond the last address",
        ),
        (b"SPAN", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 7, 2], "beyond the last address"),
        (b"SPAN", &[0, 0xff, 0xff, 0xff, 0xff, 1], "more than 2^32 lines"),
        (
            b"INDX",
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 1],
            "longer than any memory",
        ),
        (b"PLAC", &[2, b'x'], "cut off"),
        (b"PLAC", &[0xff, 0xff, 3], "more than 2048 bytes"),
        (b"PLAC", &[1, 0xff], "UTF-8"),
        (b"SITE", &[9, 8, 0, 0], "a site names a place that there is not"),
        (b"SITE", &[0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0], "does not fit 32 bits"),
        (b"SITE", &[0, 8, 0, 2], "unknown kind of source"),
        (b"SITE", &[0, 8, 0, 1, 0xff, 0x7f], "more than 512 bytes"),
        (b"SITE", &[0, 8, 0, 1, 1, 0xff, 1, 0], "UTF-8"),
        (b"SITE", &[0, 8, 0], "cut off"),
        (b"ORIG", &[9, 0, 0], "declared size that there is not"),
        (b"ORIG", &[0, 9, 0], "a site that there is not"),
        (b"ORIG", &[0, 0, 1], "captured words are cut off"),
        (b"ORIG", &[0, 0, 1, 0, 0], "or 0"),
        (b"ORIG", &[0, 0, 1, 0xff, 0xff, 7, 1], "or have no number"),
        (b"CLAS", &[9, 0, 0], "unknown kind"),
        (b"CLAS", &[0, 0, 9], "place that there is not"),
        (b"COST", &[0, 0, 0, 9], "class that there is not"),
        (b"WORK", &[0xff, 0xff, 0xff, 0xff, 0x10], "does not fit 32 bits"),
        (b"WORK", &[0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f], "not finite"),
        (b"WORK", &[0, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf], "negative"),
        (b"WORK", &[&[0; 9][..], &1e7_f64.to_le_bytes()].concat(), "page faults"),
        (b"WORK", &[0; 26], "no entry for some classes"),
        (b"WORK", &[&[0; 26][..], &[2]].concat(), "unknown kind"),
        (b"WORK", &[0; 38], "more entries than there are classes"),
        (b"TREE", &[0, 0], "follow the root task's end"),
        (b"TREE", &[4], "unknown step"),
        (b"TREE", &[3, 0], "the root task does not end"),
        (b"TREE", &[9], "before the first"),
        (b"TREE", &[3, 0, 5, 0, 0], "waits for scope 1"),
        // A sibling of a task that has waited forks into its scope.
        (b"TREE", &[7, 0, 1, 0, 11, 1, 7, 1], "task 2 forks into scope 1"),
        (b"TREE", &[2, 1], "cost that there is not"),
        (b"TREE", &[0], "totals"),
        (b"END\0", &[1], "totals"),
    ];
    for &(tag, raw, why) in lies {
        refused(&forge(&with(&good, tag, raw)), why);
    }
}

#[test]
fn spots_and_blocks_that_lie_are_refused() {
    let good = sections(&file(&spotted()));
    let lies: &[(&[u8; 4], &[u8], &str)] = &[
        (b"SPOT", &[2], "unknown kind of source"),
        (b"SPOT", &[1, 0, 0xff, 0xff, 0xff, 0xff, 0x10, 0], "does not fit 32 bits"),
        (b"BLCK", &[0xff, 0xff, 0xff, 0xff, 0x10, 1, 0], "it is too large"),
        (b"BLCK", &[0, 0xff, 0xff, 0xff, 0xff, 0x10, 0], "it is too large"),
        (b"BLCK", &[0, 0, 0], "a block is empty, or beyond all lines"),
        (b"BLCK", &[1, 0xff, 0xff, 0xff, 0xff, 0xf, 0], "a block is empty, or beyond all lines"),
        (b"BLCK", &[0, 1, 3], "a block names a spot that there is not"),
        // Of 256 lines.
        (b"BLCK", &[0, 1, 0, 0, 1, 0, 3, 252, 1, 0], "a block is in no touched stretch"),
        (b"SPIX", &[6], "some blobs have no spots"),
        (b"SPIX", &[6, 5], "the spots are not as long as their index says"),
        (b"SPIX", &[6, 6, 0], "it has more entries than there are blobs"),
        (
            b"SPIX",
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1],
            "the spots are longer than any memory",
        ),
        (b"SPTS", &[0, 1, 1, 2, 1, 0x81, 0, 2, 1, 1, 1, 2], "the spots of a blob are cut off"),
    ];
    for &(tag, raw, why) in lies {
        refused(&forge(&with(&good, tag, raw)), why);
    }
    let to_the_last_line = [0, 1, 0, 0, 1, 0, 3, 251, 1, 0];
    assert!(Program::read(&forge(&with(&good, b"BLCK", &to_the_last_line))[..]).is_ok());
}

/// It is cut in the middle of a record, or the tables no longer fit one another.
#[test]
fn a_section_that_is_cut_off_anywhere_is_refused() {
    // In how many places each of these lies between two records.
    let small_between: [(&[u8; 4], usize); 12] = [
        (b"META", 0),
        (b"SPAN", 1),
        (b"ATOM", 1),
        (b"DECL", 0),
        (b"PLAC", 1),
        (b"SITE", 1),
        (b"ORIG", 2),
        (b"CLAS", 1),
        (b"WORK", 2),
        (b"COST", 1),
        (b"INDX", 3),
        (b"TREE", 11),
    ];
    let spotted_between: [(&[u8; 4], usize); 4] =
        [(b"SPOT", 1), (b"BLCK", 2), (b"SPIX", 1), (b"TREE", 7)];
    for (program, between) in [(small(), &small_between[..]), (spotted(), &spotted_between)] {
        let good = sections(&file(&program));
        for (at, (tag, raw)) in good.iter().enumerate() {
            let whole = (1..raw.len()).filter(|len| {
                let mut cut = good.clone();
                cut[at].1.truncate(*len);
                !Program::read(&forge(&cut)[..]).unwrap_err().to_string().contains("cut off")
            });
            let whole = whole.count();
            if let Some((_, expected)) = between.iter().find(|(known, _)| *known == tag) {
                assert_eq!(whole, *expected, "{}", tag.escape_ascii());
            }
        }
    }
}

proptest! {
    #![proptest_config(common::config())]

    #[test]
    fn any_bytes_in_any_section_are_an_error_or_a_program(
        events in events(),
        section in 0..13usize,
        at: prop::sample::Index,
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0..8u8], 1..9),
        cut: bool,
    ) {
        let mut forged = sections(&file(&with_work(build(&events))));
        let section = section % forged.len();
        let raw = &mut forged[section].1;
        let at = at.index(raw.len());
        raw.splice(at..if cut { raw.len() } else { (at + bytes.len()).min(raw.len()) }, bytes);
        if let Ok(program) = Program::read(&forge(&forged)[..])
            && program.total_touches() < 10_000_000
        {
            all(&program);
        }
    }

    #[test]
    fn random_bytes_after_a_good_beginning_are_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        keep: prop::sample::Index,
    ) {
        let good = file(&small());
        let keep = 12 + keep.index(good.len() - 12);
        let random = [&good[..keep], &bytes].concat();
        prop_assert!(Program::read(&random[..]).is_err() || good.starts_with(&random));
    }
}

/// A file of this version with one short record in each section but those of bytes, or with what
/// `floods` has instead: the section's tag, how it begins, and 2^20 + 2 times the same record.
fn flooded(version: u8, floods: &[(&[u8; 4], &[u8], &[u8])]) -> Vec<u8> {
    /// One more than a table has room for that has doubled twenty times, and one that it began
    /// with.
    const RECORDS: usize = (1 << 20) + 2;
    let work_head: &[u8] = if version < 5 { &[0; 18] } else { &[0; 26] };
    let one_each: [(&[u8; 4], &[u8], &[u8]); 18] = [
        (b"META", &[64, 4, 0, 0, 0], &[]),
        (b"SPAN", &[], &[1, 1]),
        (b"ATOM", &[], &[0]),
        (b"DECL", &[], &[0]),
        (b"PLAC", &[], &[0]),
        (b"SITE", &[], &[0, 0, 0, 0]),
        (b"ORIG", &[], &[0, 0, 0]),
        (b"SPOT", &[], &[0]),
        (b"BLCK", &[], &[0, 1, 0]),
        (b"CLAS", &[], &[0, 0, 0]),
        (b"WORK", work_head, &[0]),
        (b"COST", &[], if version == 1 { &[0, 0, 0] } else { &[0, 0, 0, 0] }),
        (b"INDX", &[], &[0, 0]),
        (b"BLOB", &[], &[]),
        (b"SPIX", &[], &[0]),
        (b"SPTS", &[], &[]),
        (b"TREE", &[0], &[]),
        (b"END\0", &[0], &[]),
    ];
    let mut all = Vec::new();
    for (tag, first, record) in one_each.into_iter().filter(|(tag, ..)| since(tag) <= version) {
        let Some((_, begin, again)) = floods.iter().find(|(flood, ..)| *flood == tag) else {
            all.push((*tag, [first, record].concat()));
            continue;
        };
        // A section's own beginning and record, where no other is told.
        let begin = if begin.is_empty() && again.is_empty() { first } else { *begin };
        let again = if again.is_empty() { record } else { *again };
        let (mut raw, mut left) = (begin.to_vec(), RECORDS);
        while left > 0 {
            let fit = left.min(((1 << 20) - raw.len()) / again.len());
            raw.extend(again.repeat(fit));
            left -= fit;
            all.push((*tag, std::mem::take(&mut raw)));
        }
    }
    all.retain(|(_, raw)| !raw.is_empty());
    forge_of(version, &all)
}

/// The most bytes that are allocated at a time while it is read.
fn held(file: &[u8]) -> u64 {
    allocation_counter::measure(|| drop(Program::read(file))).bytes_max
}

#[test]
fn a_file_of_an_odd_version_cannot_make_the_reader_allocate_more_than_it_warrants() {
    flood((1..=LAST_VERSION).step_by(2));
}

#[test]
fn a_file_of_an_even_version_cannot_make_the_reader_allocate_more_than_it_warrants() {
    flood((2..=LAST_VERSION).step_by(2));
}

#[test]
fn lengths_that_nothing_follows_cannot_make_the_reader_allocate() {
    let promise =
        [&b"\x89BEFIT\r\n\x03\0\0\0"[..], &chunk(b"META", 1 << 20, b"", &[0; 1 << 20], 0)[..100]]
            .concat();
    assert!(held(&promise) < 1 << 20, "{}", held(&promise));
}

/// Reads files of these versions that have very many records in a section or two.
fn flood(versions: impl Iterator<Item = u8>) {
    /// What FORMAT.md promises.
    fn bound(file: &[u8]) -> u64 {
        (4 << 20) + 8192 * file.len() as u64
    }
    type Flood<'a> = (&'a [u8; 4], &'a [u8], &'a [u8]);
    let floods: [&[Flood]; 22] = [
        // Forks, each into a new scope, that never end or end at once; new scopes; strands like one
        // another.
        &[(b"TREE", &[3, 0], &[3, 1])],
        &[(b"TREE", &[3, 0, 0], &[3, 1, 0])],
        &[(b"TREE", &[], &[1])],
        &[(b"TREE", &[2, 0], &[6, 1])],
        &[(b"INDX", &[], &[])],
        &[(b"COST", &[], &[])],
        &[(b"PLAC", &[], &[])],
        &[(b"SITE", &[], &[])],
        &[(b"ORIG", &[], &[])],
        &[(b"SPOT", &[], &[])],
        &[(b"BLCK", &[], &[])],
        &[(b"CLAS", &[], &[])],
        // There may be no more of one than there are of the other.
        &[(b"CLAS", &[], &[]), (b"WORK", &[], &[])],
        &[(b"INDX", &[], &[]), (b"SPIX", &[], &[])],
        &[(b"DECL", &[], &[])],
        &[(b"DECL", &[], &[3, 0, 0])],
        &[(b"SPAN", &[], &[])],
        &[(b"ATOM", &[], &[])],
        &[(b"BLOB", &[], &[0])],
        &[(b"SPTS", &[], &[0])],
        &[(b"META", &[64, 4, 0, 0, 0], &[0])],
        &[(b"END\0", &[], &[0])],
    ];
    for version in versions {
        // Versions 5 and 6 have the tables of version 7, but for captured words.
        let known = |(tag, ..): &Flood| {
            since(tag) <= version && (![5, 6].contains(&version) || *tag == b"ORIG")
        };
        for flood in floods.iter().filter(|flood| flood.iter().all(known)) {
            let file = flooded(version, flood);
            let (held, tag) = (held(&file), flood[flood.len() - 1].0);
            assert!(held < bound(&file), "{version} {} {held}", tag.escape_ascii());
        }
    }
}
