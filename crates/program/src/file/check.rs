//! Whether the blobs of a file are what an encoder may have written.

use std::ops::Range;

use crate::codec;
use crate::lines::Spans;
use crate::spot;
use crate::tables::Blobs;

/// Checks all blobs, on several threads when that is worth it. Which of several faults is reported
/// does not depend on them.
pub(super) fn check_blobs(blobs: &Blobs, spans: &Spans, stack_lines: u32) -> Result<(), String> {
    let check = |range: Range<u32>| {
        for index in range {
            let (blob, touches) = blobs.get(index);
            codec::check(blob, touches, spans, stack_lines).map_err(|fault| {
                format!("blob {index} at its byte {}: {}", fault.at, fault.what)
            })?;
        }
        Ok(())
    };
    let count = blobs.table.len() as u32;
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(blobs.bytes.len() >> 22);
    if threads < 2 {
        return check(0..count);
    }
    // Ranges of blobs with about as many bytes each.
    let share = blobs.bytes.len() as u64 / threads as u64 + 1;
    let cut = |part: u64| blobs.table.partition_point(|blob| blob.end <= part * share) as u32;
    let ranges: Vec<Range<u32>> = (0..threads as u64)
        .map(|part| if part == 0 { 0 } else { cut(part) }..cut(part + 1))
        .collect();
    std::thread::scope(|scope| {
        let running: Vec<_> =
            ranges.into_iter().map(|range| scope.spawn(|| check(range))).collect();
        // A checker does not panic; if it did, so must this.
        running.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
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
