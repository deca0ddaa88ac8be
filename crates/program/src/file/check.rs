//! Whether the blobs of a file are what an encoder may have written.

use std::ops::Range;

use crate::codec;
use crate::lines::Spans;
use crate::spot;
use crate::tables::{Blob, Blobs};

/// Checks all blobs, on several threads when that is worth it. Which of several faults is reported
/// does not depend on them.
pub(super) fn check_blobs(blobs: &Blobs, spans: &Spans, stack_lines: u32) -> Result<(), String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    check_on(threads.min(blobs.bytes.len() >> 22), blobs, spans, stack_lines)
}

fn check_on(threads: usize, blobs: &Blobs, spans: &Spans, stack_lines: u32) -> Result<(), String> {
    let check = |range: Range<u32>| {
        for index in range {
            let (blob, touches) = blobs.get(index);
            codec::check(blob, touches, spans, stack_lines).map_err(|fault| {
                format!("blob {index} at its byte {}: {}", fault.at, fault.what)
            })?;
        }
        Ok(())
    };
    if threads < 2 {
        return check(0..blobs.table.len() as u32);
    }
    std::thread::scope(|scope| {
        let running: Vec<_> =
            parts(&blobs.table, threads as u64).map(|range| scope.spawn(|| check(range))).collect();
        // A checker does not panic; if it did, so must this.
        running.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// All blobs of `table` in so many ranges, of about as many bytes each.
fn parts(table: &[Blob], parts: u64) -> impl Iterator<Item = Range<u32>> {
    let share = table.last().map_or(0, |last| last.end) / parts + 1;
    let cut = move |part: u64| table.partition_point(|blob| blob.end <= part * share) as u32;
    (0..parts).map(move |part| if part == 0 { 0 } else { cut(part) }..cut(part + 1))
}

/// Checks the spots of all blobs: there are `count`.
pub(super) fn check_spots(blobs: &Blobs, count: usize) -> Result<(), &'static str> {
    let (blobs_with, blobs_of_all) = (blobs.spot_ends.len(), blobs.table.len());
    if blobs_with != 0 && blobs_with != blobs_of_all {
        return Err("some blobs have no spots");
    }
    if blobs.spot_ends.last().map_or(0, |end| *end) != blobs.spots.len() as u64 {
        return Err("the spots are not as long as their index says");
    }
    (0..blobs_with as u32).try_for_each(|blob| spot::check(blobs.spots_of(blob), count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Span;

    #[test]
    fn on_any_number_of_threads_the_first_blob_that_is_wrong_is_named() {
        let spans = Spans::number(vec![Span { first: 0, lines: 64, dense: 0 }]).unwrap();
        // Each touches the line of its number, and some say that they touch more.
        let blobs = |wrong: &[u32]| Blobs {
            bytes: (0..40).flat_map(|blob| [224, 2 * blob]).collect(),
            table: (0..40)
                .map(|blob| Blob {
                    end: u64::from(2 * blob + 2),
                    touches: 1 + u64::from(wrong.contains(&blob)),
                })
                .collect(),
            ..Blobs::default()
        };
        for threads in 0..9 {
            let check = |wrong: &[u32]| check_on(threads, &blobs(wrong), &spans, 0);
            assert_eq!(check(&[]), Ok(()));
            for wrong in [&[0][..], &[17, 18, 39], &[39]] {
                let what = "it holds fewer touches than announced";
                let expected = format!("blob {} at its byte 2: {what}", wrong[0]);
                assert_eq!(check(wrong), Err(expected), "{threads} threads");
            }
        }
    }

    #[test]
    fn the_parts_of_a_table_have_each_blob_once_and_as_many_bytes_each() {
        let mut end = 0;
        let lengths = (0..1000).map(|i| i % 17);
        let table: Vec<Blob> = lengths
            .map(|length| {
                end += length;
                Blob { end, touches: 1 }
            })
            .collect();
        for count in 1..9 {
            let parts: Vec<_> = parts(&table, count).collect();
            let each: Vec<u32> = parts.iter().cloned().flatten().collect();
            assert_eq!(each, Vec::from_iter(0..1000), "{parts:?}");
            let end = |blobs: u32| blobs.checked_sub(1).map_or(0, |last| table[last as usize].end);
            for part in &parts {
                let bytes = end(part.end) - end(part.start);
                assert!(bytes.abs_diff(table[999].end / count) <= 17, "{bytes} in {part:?}");
            }
        }
    }
}
