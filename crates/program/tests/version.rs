//! Version 1 of the file format stays what FORMAT.md says.

mod common;

use befit_program::Program;
use common::{all, file, sections, small};

/// A change here is a new version: see FORMAT.md.
#[test]
fn version_1_stays_as_it_is() {
    let expected: [(&[u8; 4], &[u8]); 8] = [
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
    let program = small();
    let written = sections(&file(&program));
    assert_eq!(written.len(), expected.len());
    for ((tag, raw), (expected_tag, expected_raw)) in written.iter().zip(expected) {
        assert_eq!(tag, expected_tag);
        assert_eq!(raw, expected_raw, "{}", tag.escape_ascii());
    }
    let forged = common::forge(&expected.map(|(tag, raw)| (tag, raw.to_vec())));
    assert_eq!(all(&Program::read(&forged[..]).unwrap()), all(&program));
}
