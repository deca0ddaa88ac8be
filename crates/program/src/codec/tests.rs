//! The decoder gives back every touch that the encoder took, from as few bytes as promised.

use proptest::prelude::*;

use super::check::count;
use super::code::{self, HISTORY, History, REPEAT, STEPPED_LIMIT};
use super::{Encoder, Touches, check};
use crate::Touch;
use crate::lines::{Span, Spans};
use crate::varint::Cursor;

type Raw = (u64, bool, bool);

struct Done {
    blobs: Vec<Vec<u8>>,
    spans: Spans,
    stack_lines: u32,
}

fn encode(strands: &[Vec<Raw>]) -> Done {
    let mut encoder = Encoder::new();
    let mut blobs = Vec::new();
    for strand in strands {
        let begin = encoder.out.len();
        strand.iter().for_each(|&(line, write, stack)| encoder.touch(line, write, stack));
        assert_eq!(encoder.touches(), strand.len() as u64);
        encoder.end();
        blobs.push(encoder.out[begin..].to_vec());
    }
    assert_eq!(encoder.bad, None);
    let spans = Spans::number(encoder.pages.stretches()).unwrap();
    Done { blobs, spans, stack_lines: encoder.stack_lines() as u32 }
}

/// Decodes in batches of changing size.
fn decode(blob: &[u8], touches: usize, spans: &Spans) -> Vec<Touch> {
    let mut out = Vec::new();
    let mut decoder = Touches::new(blob, touches as u64, spans);
    for size in (1..).map(|i| i % 97 + 1) {
        assert_eq!(decoder.size_hint().0, touches - out.len());
        let mut batch = vec![Touch::default(); size];
        let n = decoder.next_batch(&mut batch);
        out.extend_from_slice(&batch[..n]);
        if n < size {
            return out;
        }
    }
    unreachable!()
}

fn round_trip(strands: &[Vec<Raw>]) -> Done {
    let done = encode(strands);
    let mut hint = 0;
    for (strand, blob) in strands.iter().zip(&done.blobs) {
        check(blob, strand.len() as u64, &done.spans, done.stack_lines).unwrap();
        let touches = decode(blob, strand.len(), &done.spans);
        assert_eq!(touches.len(), strand.len());
        for (&(line, write, stack), touch) in strand.iter().zip(touches) {
            let dense = if stack {
                line as u32
            } else {
                done.spans.find(line, &mut hint).unwrap().dense(line).unwrap()
            };
            assert_eq!((touch.line, touch.write, touch.stack), (dense, write, stack), "{line}");
        }
    }
    let deepest =
        strands.iter().flatten().filter(|touch| touch.2).map(|touch| touch.0 as u32 + 1).max();
    assert_eq!(done.stack_lines, deepest.unwrap_or(0));
    done
}

/// Walks of several streams in turn, as loops make them.
fn walks() -> impl Strategy<Value = Vec<Raw>> {
    let base = prop_oneof![0..300u64, (1u64 << 34)..(1 << 34) + 5000, Just((1 << 58) - 1000)];
    let stream = (base, -2..3i64, any::<bool>(), prop::bool::weighted(0.1));
    (prop::collection::vec(stream, 1..20), 0..400usize).prop_map(|(streams, rounds)| {
        let mut touches = Vec::new();
        for round in 0..rounds as i64 {
            for &(base, step, write, stack) in &streams {
                let base = if stack { base % 300 } else { base };
                touches.push((base.saturating_add_signed(step * round), write, stack));
            }
        }
        touches
    })
}

fn scattered() -> impl Strategy<Value = Vec<Raw>> {
    let line = prop_oneof![0..200u64, 0..1u64 << 22, 0..1u64 << 58];
    prop::collection::vec((line, any::<bool>(), any::<bool>()), 0..300).prop_map(|mut touches| {
        touches.iter_mut().filter(|touch| touch.2).for_each(|touch| touch.0 %= 1 << 32);
        touches.retain(|touch| !touch.2 || touch.0 < u64::from(u32::MAX));
        touches
    })
}

fn strand() -> impl Strategy<Value = Vec<Raw>> {
    prop::collection::vec(prop_oneof![walks(), scattered()], 0..4).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn every_touch_comes_back(strands in prop::collection::vec(strand(), 1..5)) {
        round_trip(&strands);
    }

    #[test]
    fn a_blob_with_a_byte_changed_is_refused_or_stays_inside(
        strand in strand(),
        at: prop::sample::Index,
        xor in 1..=255u8,
    ) {
        let mut done = encode(&[strand]);
        let mut blob = done.blobs.remove(0);
        if !blob.is_empty() {
            let at = at.index(blob.len());
            blob[at] ^= xor;
            decode_what_checks(&blob, &done.spans, done.stack_lines);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_stay_inside(
        blob in prop::collection::vec(prop_oneof![any::<u8>(), 0..34u8, Just(REPEAT)], 0..60),
    ) {
        let done = encode(&[vec![(64, false, false), (1000, true, false), (3, true, true)]]);
        decode_what_checks(&blob, &done.spans, done.stack_lines);
        // Begun with a line that exists, the rest has a better chance.
        let begun = [&done.blobs[0], &blob[..]].concat();
        decode_what_checks(&begun, &done.spans, done.stack_lines);
    }
}

/// Whatever the checker lets pass decodes inside the spans, to the number of touches announced.
fn decode_what_checks(blob: &[u8], spans: &Spans, stack_lines: u32) {
    if let Ok(touches) = count(blob, 100_000, spans, stack_lines) {
        let decoded = decode(blob, touches as usize, spans);
        assert_eq!(decoded.len() as u64, touches);
        for touch in decoded {
            assert!(touch.line < if touch.stack { stack_lines } else { spans.lines });
        }
    }
}

/// Checks that a strand comes back from less than `most` bytes; returns its streaming touches.
fn packed(strand: Vec<Raw>, most: usize) -> usize {
    let touches = strand.len();
    let Done { blobs, spans, .. } = round_trip(&[strand]);
    assert!(blobs[0].len() < most, "{} bytes for {touches} touches", blobs[0].len());
    decode(&blobs[0], touches, &spans).iter().filter(|touch| touch.streaming).count()
}

#[test]
fn jumps_of_every_length_come_back() {
    let (middle, around) = (1_u64 << 40, [-3_i64, -1, 0, 1]);
    let mut strand = Vec::new();
    for length in (0..40).flat_map(|bits| around.map(|off| (1_i64 << bits) + off)) {
        for there in [middle.wrapping_add_signed(length), middle.wrapping_add_signed(-length)] {
            strand.extend([(middle, false, false), (there, length % 2 == 0, false)]);
        }
    }
    round_trip(&[strand]);
}

#[test]
fn a_long_map_takes_a_few_bytes_and_streams() {
    let map = (0..100_000)
        .flat_map(|i| [(5_000_000 + i, false, false), (9_000_000 + i, true, false)])
        .collect();
    assert_eq!(packed(map, 30), 200_000 - 2);
}

#[test]
fn a_stencil_takes_a_few_bytes_per_row() {
    let row = |i: u64, j: u64| 1_000_000 + i * 64 + j;
    let stencil = (1..100u64)
        .flat_map(|i| {
            (0..64).flat_map(move |j| {
                [-1i64, 0, 1, 8000].map(|d| (row(i.wrapping_add_signed(d), j), d == 8000, false))
            })
        })
        .collect();
    packed(stencil, 99 * 20);
}

#[test]
fn a_walk_down_columns_takes_a_few_bytes_per_thousand_lines() {
    let columns: Vec<Raw> = (0..50_000)
        .flat_map(|i| [(i * 640, false, false), ((1 << 30) + i * 640, true, false)])
        .collect();
    let most = 30 + columns.len() / STEPPED_LIMIT as usize * 5;
    packed(columns, most);
}

#[test]
fn a_gather_takes_three_bytes_a_touch_and_keeps_its_streams() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut gather: Vec<Raw> = Vec::new();
    for i in 0..160_000u64 {
        if i % 16 == 0 {
            gather.push((3_000_000 + i / 16, false, false));
        }
        if i % 8 == 0 {
            gather.push((4_000_000 + i / 8, true, false));
        }
        gather.push((10_000_000 + random.u64(..1_250_000), false, false));
    }
    let most = gather.len() * 31 / 10;
    let streaming = packed(gather, most);
    assert!((29_900..30_100).contains(&streaming), "{streaming}");
}

#[test]
fn a_repeat_of_far_touches_that_is_too_long_is_refused() {
    let done = encode(&[(0..3000).map(|i| (i % 2 * 1000, false, false)).collect()]);
    let mut blob = done.blobs[0].clone();
    check(&blob, 3000, &done.spans, 0).unwrap();
    // The two lines settle in slots only when found near; make the repeat of the two far tokens
    // itself.
    blob.truncate(4);
    blob.extend([REPEAT, 1, 0x81, 0x08]);
    let fault = check(&blob, 1027, &done.spans, 0).unwrap_err();
    assert_eq!(fault.what, "a repeat with far touches is too long");
}

#[test]
fn a_touch_outside_is_named_with_its_place() {
    let done = encode(&[vec![(64, false, false)]]);
    let good = &done.blobs[0][..];
    let fault = check(&[good, &[64 | 16]].concat(), 2, &done.spans, 0).unwrap_err();
    assert_eq!(fault.at, good.len() + 1);
    let fault = check(good, 2, &done.spans, 0).unwrap_err();
    assert_eq!(fault.what, "it holds fewer touches than announced");
}

/// FORMAT.md has the table of tokens.
#[test]
fn a_token_is_read_as_the_format_says_and_not_before_its_last_byte_is_there() {
    let tokens: [(&[u8], u8, i64); 10] = [
        (&[96, 4, 0], 248, 2),
        (&[97, 5, 0], 249, -3),
        (&[222, 0, 1], 248, (63 << 16 | 1 << 8) / 2),
        (&[224, 6], 248, 3),
        (&[239, 255], 249, -1024),
        (&[240, 2, 0, 1], 248, (1 << 16 | 2) / 2),
        (&[247, 1, 2, 3], 249, -((3 << 24 | 0x03_0201) + 1) / 2),
        (&[248, 0x80, 1], 248, 64),
        (&[251, 0x85, 2], 251, 5 + 2 * 128),
        (&[255, 0xc7], 255, 0xc7),
    ];
    for (bytes, code, number) in tokens {
        let read = |len: usize| code::read(&mut Cursor::new(&bytes[1..len]), bytes[0]);
        assert_eq!(read(bytes.len()), Some((code, number as u64)), "{bytes:?}");
        (1..bytes.len()).for_each(|len| assert_eq!(read(len), None, "{len} of {bytes:?}"));
    }
    assert_eq!(code::read(&mut Cursor::new(&[1, 1]), REPEAT), None);
}

#[test]
fn what_no_encoder_makes_is_refused_with_its_reason() {
    const CUT: &str = "a token is cut off, or unknown";
    const BACK: &str = "a repeat reaches back before the strand's beginning, or too far";
    const COUNT: &str = "a repeat makes more touches than announced, or none";
    let spans = Spans::number(vec![Span { first: 0, lines: 64, dense: 0 }]).unwrap();
    // The lines 62 and, in a kept slot, 63; then this many more touches are announced.
    let check = |more: u64, tail: &[u8]| {
        let blob = [&[224, 124, 254, 64], tail].concat();
        check(&blob, 2 + more, &spans, 2).map_err(|fault| fault.what)
    };
    for (more, tail) in [
        (0, &[][..]),
        (1, &[64]),              // the line before
        (63, &[64, 252, 1, 62]), // down to line 0
        (2, &[64, 32]),
        (6, &[64, 64, 32, 32, 252, 3, 2]), // a third touch would be of line 64
        (1, &[250, 1]),
        (1, &[224, 2]),
        (1, &[253, 224, 2]),
    ] {
        assert_eq!(check(more, tail), Ok(()), "{tail:?}");
    }
    for (more, tail, what) in [
        (1, &[32][..], "a near touch leaves the touched pages"),
        (1, &[254, 0x81], "a near touch leaves the touched pages"),
        (64, &[64, 252, 1, 63], "a repeat leaves the touched pages"),
        (7, &[64, 64, 32, 32, 252, 3, 3], "a repeat leaves the touched pages"),
        (3, &[64, 32, 252, 1, 1], "a repeat leaves the touched pages"),
        (1, &[224, 4], "a touch lies outside the touched pages"),
        (1, &[250, 2], "a touch lies below the deepest stack line"),
        (1, &[254, 0xc0], "unknown token"),
        (1, &[253], "a mark of a dependent touch without a token"),
        (1, &[64, 32], "it holds more touches than announced"),
        (2, &[64], "it holds fewer touches than announced"),
        (1, &[252, 0, 1], BACK),
        (1, &[252, 3, 1], BACK),
        (1, &[252, 2, 0], COUNT),
        (1, &[252, 2, 2], COUNT),
        (1, &[252], CUT),
        (1, &[252, 1], CUT),
        (1, &[224], CUT),
        (1, &[254], CUT),
    ] {
        assert_eq!(check(more, tail), Err(what), "{tail:?}");
    }
}

/// Recordings of earlier versions are read with what a repeat leaves behind.
#[test]
fn a_repeat_leaves_what_its_tokens_leave_one_by_one() {
    let recent = |history: &History, at: u64| -> Vec<u8> {
        (1..=HISTORY as u64).map(|back| history.code(at - back)).collect()
    };
    for period in 1..=7 {
        for count in [1, 5, 60, 64, 65, 70, 71, 100, 131, 1000] {
            let (mut at_once, mut each) = (History::new(), History::new());
            let begin = HISTORY as u64;
            for at in 0..begin {
                at_once.put(at, at as u8);
                each.put(at, at as u8);
            }
            at_once.repeat(begin, period, count);
            (begin..begin + count).for_each(|at| each.put(at, each.code(at - period)));
            let end = begin + count;
            assert_eq!(recent(&at_once, end), recent(&each, end), "{period} {count}");
        }
    }
}
