//! Why a figure is out of range, calculated from the recording and the runs that made it. A reason
//! is given only if the calculation shows that the range was out of reach.

use befit_machine::{Bytes, Lines, Machine, WorkerId};
use befit_program::{Op, Program, TaskId};
use befit_sched::Options;

use super::{Lab, SHRINK, measure::overhead};
use crate::{Summary, reproduce::Range};

/// Why sb changes the last level's misses by `value` percent: under sb a part of the program stays
/// in a cache if it befits the cache, under ws if it fits in the share of one worker.
pub(super) fn misses(lab: &Lab<'_>, program: &str, value: f64, range: Range) -> Option<String> {
    let program = lab.program(program);
    let machine = lab.machine.clone().shrunk(SHRINK).ok()?;
    let cluster = machine.cluster(machine.last_level(WorkerId(0)));
    let size = cluster.cache?.size.0;
    let under_sb = Bytes((size as f64 * Options::default().sigma) as u64);
    let under_ws = Bytes(size / (cluster.workers.end - cluster.workers.start) as u64);
    let [sb, ws] = [under_sb, under_ws].map(|limit| complexity(program, limit).0 as f64);
    let bound = 100.0 * (sb / ws - 1.0);
    let out_of_reach = if value > range.high { bound > range.high } else { bound < range.low };
    out_of_reach.then(|| {
        format!(
            "by the recording: with each task that befits an L3 ({under_sb}) read in once, it \
             reads {:.2} M lines, and {:.2} M with each that fits in a worker's share \
             ({under_ws}), so {bound:+.0} % is what sb can change",
            sb / 1e6,
            ws / 1e6
        )
    })
}

/// The lines that a program reads in if each maximal task that touches at most `limit` is read in
/// once, and larger tasks read in all that they touch themselves: the parallel cache complexity of
/// Blelloch, Fineman, Gibbons, Simhadri (*Scheduling irregular parallel computations on
/// hierarchical caches*, SPAA 2011, section 3), with each strand of a larger task read in touch by
/// touch.
fn complexity(program: &Program, limit: Bytes) -> Lines {
    let footprints = program.footprints(&|_| {});
    let limit = limit.0 / program.meta().line_size.0;
    let mut lines = 0;
    // Parents have smaller numbers than their children.
    let mut is_inside = vec![false; footprints.len()];
    for task in (0..program.tasks()).map(TaskId) {
        let (at, own) = (task.0 as usize, footprints[task.0 as usize].task.0);
        let inside = program.parent(task).is_some_and(|parent| is_inside[parent.0 as usize]);
        is_inside[at] = inside || own <= limit;
        if inside {
            continue;
        }
        lines += if is_inside[at] {
            own
        } else {
            let strands = program.ops(task).filter_map(|op| match op {
                Op::Strand(strand) => Some(program.work(strand).touches),
                _ => None,
            });
            strands.sum()
        };
    }
    Lines(lines)
}

/// Why sb does not gain `range` of the time: the strands' own time changes as it should, but the
/// policy and idle workers take more than that gains.
pub(super) fn time(machine: &Machine, ws: &Summary, sb: &Summary, range: Range) -> Option<String> {
    let change = 100.0 * (sb.time.median.0 as f64 / ws.time.median.0 as f64 - 1.0);
    let beside = overhead(ws, sb);
    let memory = &machine.memory;
    let line = machine.clusters().iter().find_map(|c| c.cache).map_or(64, |cache| cache.line.0);
    let busy = |of: &Summary| {
        let bytes = ((of.memory_reads.median + of.memory_writes.median).0 * line) as f64;
        let most = memory.bandwidth * f64::from(memory.controllers) * of.time.median.0 as f64;
        100.0 * bytes / most
    };
    range.contains(change - beside).then(|| {
        format!(
            "running strands takes {:+.1} % of the time under ws, the scheduler and idle workers \
             {beside:+.1} %; memory is in use {:.0} % of the time under ws, {:.0} % under sb",
            change - beside,
            busy(ws),
            busy(sb)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_task_that_fits_is_read_in_once_and_a_larger_one_touch_by_touch() {
        // Eight tasks of 256 lines each, twice.
        let program = testing::program();
        let lines = |limit: u64| complexity(&program, Bytes(64 * limit)).0;
        assert_eq!(lines(8 * 256), 8 * 256);
        assert_eq!(lines(256), 16 * 256);
        assert_eq!(lines(255), 16 * 256);
    }
}
