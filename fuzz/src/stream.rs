//! The stream that a recorded program writes.

use befit_record::{STREAM_VERSION, read_stream};

use crate::{recording, within};

/// The reader's buffer, and tables that a first event makes.
const CONSTANT: u64 = 4 << 20;

pub(crate) fn run(input: &[u8]) -> bool {
    // A word of eight bytes may be a task, with what it declares and an entry of each table.
    let read = || read_stream(input, "fuzzing");
    let Ok(found) = within(200, CONSTANT, input, read) else { return false };
    recording::read_again(&found.program);
    true
}

/// Regions with nested forks, sized and not, touches, work and a line of atomics.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let event = |kind: u64, argument: u64| 1 << 63 | kind << 56 | argument;
    let hello = event(0, u64::from(STREAM_VERSION) | 8 << 8 | 6 << 16);
    let name = u64::from_le_bytes(*b"a::place");
    let mark = u64::from_le_bytes(*b"befitrec");
    let site = event(7, 8 << 16 | 1 << 32);
    let begin = [hello, mark, site, 24 | 1 << 32, name, 0x1234];
    let (end, work) = (event(2, 0), event(4, 0));
    let small = [event(1, 1), 100 << 2, 101 << 2 | 1, work, 5, 4, 3, end, event(3, 1)];
    // With a size, a strand's, and two captured words: 1 and 7.
    let sized = event(1, 2 | 3 << 40 | 2 << 32);
    let nested = [
        event(1, 1),
        sized,
        4096,
        64,
        1 << 40 | 7,
        7 << 40 | 99,
        2 << 2 | 3,
        event(10, 0),
        100,
        end,
    ];
    let closed = [event(3, 2), end, event(3, 1), event(5, 7)];
    [[&begin[..], &small].concat(), [&begin[..], &nested, &closed].concat()]
        .map(|words| words.iter().flat_map(|word| word.to_ne_bytes()).collect())
        .into()
}
