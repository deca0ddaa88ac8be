//! The memory of spawned tasks, which lies in the caches beside the program's data.
//!
//! Where thousands of tasks wait, their blocks take the place of the program's lines. A worker
//! writes a block as it spawns, and reads it as it starts the task. Blocks follow one another as
//! they were allocated, so they come as lines of a stream.
//!
//! Only machines that tell what a task's first memory costs (`job=`, as `befit calibrate` does)
//! have such lines, and not in samples: what a preset's caches count is the program's.

use befit_cache::Found;
use befit_machine::{Machine, WorkerId};
use befit_program::{Program, Sample};

use super::{Hardware, PAGE_LINES};
use crate::{
    clock::Ticks,
    jobs::{self, Block, MOST_BLOCKS},
    memory::Passing,
};

/// Recorded lines of a block, of 64 bytes.
const BLOCK_LINES: u32 = 2;

/// Blocks that have lines.
pub(super) fn count(program: &Program, sample: Option<&Sample>, machine: &Machine) -> u32 {
    if sample.is_some() || machine.prices.job == 0.0 {
        return 0;
    }
    let spawned = jobs::spawned(program).min(MOST_BLOCKS);
    // Whole pages.
    spawned.next_multiple_of(PAGE_LINES / BLOCK_LINES)
}

/// Lines of a block, each `1 << coarser` recorded ones long.
pub(super) fn lines(coarser: u32) -> u32 {
    (BLOCK_LINES >> coarser).max(1)
}

impl Hardware {
    /// Worker `worker` writes or reads `block` at `now`. Returns how long its lines take to come,
    /// but for those that are handed over, which is not for this to say.
    pub(crate) fn touch_block(
        &mut self,
        worker: WorkerId,
        block: Block,
        write: bool,
        now: Ticks,
    ) -> Ticks {
        if self.blocks == 0 {
            return Ticks::default();
        }
        let lines = lines(self.longer);
        let stacks = self.stack_lines * self.cores.len() as u32;
        let first = self.shared_lines + stacks + block.0 % self.blocks * lines;
        let mut time = Ticks::default();
        for line in first..first + lines {
            let access = self.caches.access(worker, self.physical(line), write);
            let passing = Passing { place: self.place(line), single: false, now };
            self.write_back(worker, &access, passing);
            self.count(worker, access.found, self.each);
            time += match access.found {
                Found::Own(cluster) => self.level(cluster).stream,
                Found::Sibling(_) => Ticks::default(),
                Found::Remote { .. } | Found::Memory => {
                    let (supplier, level) = self.source_of(worker, access.found, self.each);
                    let passed = self.pass(worker, supplier, passing);
                    match supplier {
                        Some(_) => Ticks::default(),
                        None => passed.since(now).max(level.stream),
                    }
                }
            };
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use befit_program::{Declared, ScopeId};
    use befit_sched::SchedulerKind;

    use super::*;
    use crate::{Settings, run, tests::program};

    /// Misses in the L2 of a program whose data befit it, and which spawns so many tasks between
    /// two passes over them.
    fn misses(tasks: u32, attributes: &str) -> u64 {
        let lines = 8192;
        let program = program(|b| {
            (0..lines).for_each(|line| b.touch(line, false, false));
            for _ in 0..tasks {
                b.fork(ScopeId(1), Declared::default()).unwrap();
                b.work(1, 1, 1);
                b.end().unwrap();
            }
            b.sync(ScopeId(1)).unwrap();
            (0..lines).for_each(|line| b.touch(line, false, false));
        });
        let caches = "l2:1(size=1MiB ways=16 latency=15) l1:1(size=32KiB ways=8 latency=5)";
        let machine: Machine = format!("({attributes}) {caches} core:1 pu:1").parse().unwrap();
        let settings = Settings::new(SchedulerKind::Ws, 1);
        let outcome = run(&program, &machine, &settings, &|_| {}).unwrap();
        outcome.levels[1].misses.0
    }

    #[test]
    fn a_block_is_two_recorded_lines_or_one_that_is_longer() {
        assert_eq!([0, 1, 2].map(lines), [2, 1, 1]);
    }

    #[test]
    fn tasks_that_wait_push_data_out_of_the_caches() {
        // 16384 blocks are 2 MiB.
        let [none, few, many] = [0, 64, 16_384].map(|tasks| misses(tasks, "job=1"));
        assert_eq!(none, 8192);
        assert!((8192..8400).contains(&few), "{few}");
        // The data twice; the blocks when they are written, and half of them when they are read.
        assert!(many > 2 * 8192 + 32_768 + 8192, "{many}");
        assert_eq!(misses(16_384, "job=0"), 8192);
    }

    /// Which memory a block lies in was asked of the frame that it lies in: those have higher
    /// numbers than the program has pages.
    #[test]
    fn blocks_in_frames_at_random_have_a_home_by_first_touch() {
        let attributes = "job=1 placement=firsttouch controllers=2 tlb=16 frames=random";
        assert!(misses(64, attributes) > 8192);
    }

    #[test]
    fn blocks_come_from_where_other_lines_do() {
        let program = program(|b| {
            b.fork(ScopeId(1), Declared::default()).unwrap();
            b.end().unwrap();
            b.sync(ScopeId(1)).unwrap();
        });
        for (clean, expected) in [("cache", [2, 4, 4]), ("memory", [4, 2, 2])] {
            let machine = format!("(job=1 clean={clean}) pack:3 l3:1(size=64KiB) core:1 pu:1");
            let machine = machine.parse().unwrap();
            let mut hardware = Hardware::new(&program, None, &machine, 1, true).unwrap();
            let mut touch = |w, write| {
                hardware.touch_block(WorkerId(w), Block(0), write, Ticks::default()).0 > 0
            };
            // New from memory, then modified from the other package; then clean.
            assert_eq!([touch(0, true), touch(1, false)], [true, false]);
            assert_eq!(touch(2, false), clean == "memory");
            let lines = [hardware.memory_reads(), hardware.remote_hits(), hardware.far_hits()];
            assert_eq!(lines.map(|lines| lines.0), expected, "{clean}");
        }
    }
}
