//! Which frames of physical memory a program's pages lie in.
//!
//! Caches beyond the innermost are indexed by physical addresses, and a system gives a program
//! whatever frame is free. So pages that follow one another do not fall into sets that follow one
//! another: the sets of a page are one of so many *colours* of the cache, at random. Of data as
//! large as a cache some colours get more pages than the cache has ways, and others fewer; and
//! strides of many pages do not all meet in the same sets. R. E. Kessler and M. D. Hill, "Page
//! placement algorithms for large real-indexed caches", ACM TOCS 10(4), 1992, section 2.

use befit_machine::{Frames, Machine};

use crate::hardware::PAGE_LINES;

/// Colours that frames are drawn from, at least as many as those of a private cache: 16 MiB of 16
/// ways have 256. Beyond, in caches of more sets, pages are spread evenly.
const COLOURS: u32 = 256;

/// The frames of all pages.
#[derive(Clone, Debug)]
pub(crate) struct PageFrames {
    /// Lines of a page, as a power of two.
    page_shift: u32,
    /// Per page, its frame.
    frames: Vec<u32>,
    /// Lines of all frames, those between that nobody uses included.
    lines: u32,
}

impl PageFrames {
    /// Random frames for a program with so many lines, each `1 << coarser` recorded ones long, of
    /// which one stands for `each`. `None` where pages lie side by side, or are shorter than a
    /// line.
    pub(crate) fn new(
        machine: &Machine,
        lines: u32,
        coarser: u32,
        each: u64,
        seed: u64,
    ) -> Option<Self> {
        machine.memory.pages.filter(|pages| pages.frames == Frames::Random)?;
        let lines_of_page = (u64::from(PAGE_LINES) >> coarser) / each;
        if lines_of_page == 0 {
            return None;
        }
        let page_shift = lines_of_page.ilog2();
        // The same frames with and without a sample.
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6672_616d_6573);
        let mut next: Vec<u32> = (0..COLOURS).collect();
        let frames: Vec<u32> = (0..=lines >> page_shift)
            .map(|_| {
                let colour = &mut next[random.usize(..COLOURS as usize)];
                let frame = *colour;
                *colour += COLOURS;
                frame
            })
            .collect();
        let last = frames.iter().max().map_or(0, |last| last + 1);
        let lines = last.checked_mul(1 << page_shift)?;
        Some(Self { page_shift, frames, lines })
    }

    /// Lines of all frames.
    pub(crate) fn lines(&self) -> u32 {
        self.lines
    }

    /// Where `line` of the program lies in physical memory.
    #[inline]
    pub(crate) fn of(&self, line: u32) -> u32 {
        let within = line & ((1 << self.page_shift) - 1);
        self.frames[(line >> self.page_shift) as usize] << self.page_shift | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, run, tests::program};
    use befit_sched::SchedulerKind;

    fn machine(attributes: &str) -> Machine {
        let caches = "l2:1(size=2MiB ways=16 latency=15) l1:1(size=32KiB ways=8 latency=5)";
        format!("({attributes}) {caches} core:1 pu:1").parse().unwrap()
    }

    #[test]
    fn pages_have_frames_of_their_own_and_lines_stay_in_place_within_them() {
        let machine = machine("tlb=1024 frames=random");
        let frames = PageFrames::new(&machine, 6400, 0, 1, 7).unwrap();
        let mut all: Vec<u32> = (0..6400).map(|line| frames.of(line)).collect();
        assert!(all.iter().zip(0..).all(|(physical, line)| physical % 64 == line % 64));
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == 6400 && all.iter().all(|line| *line < frames.lines()));
        // Few colours have more than twice the mean of them.
        assert!(frames.lines() < 4 * COLOURS * 64, "{}", frames.lines());
    }

    #[test]
    fn a_sample_has_the_frames_of_the_whole() {
        let machine = machine("tlb=1024 frames=random");
        let [whole, sample] =
            [(64_000, 1), (16_000, 4)].map(|(n, each)| PageFrames::new(&machine, n, 0, each, 7));
        let (whole, sample) = (whole.unwrap(), sample.unwrap());
        assert!((0..1000).all(|page| whole.of(page * 64) / 64 == sample.of(page * 16) / 16));
    }

    #[test]
    fn pages_have_frames_where_they_have_a_line_or_more() {
        let machine = machine("tlb=1024 frames=random");
        let shift = |coarser, each| {
            PageFrames::new(&machine, 100, coarser, each, 7).map(|frames| frames.page_shift)
        };
        assert_eq!([shift(0, 1), shift(0, 32), shift(5, 1), shift(2, 4)], [6, 1, 1, 2].map(Some));
        assert_eq!([shift(0, 64), shift(6, 1), shift(4, 4)], [Some(0); 3]);
        assert_eq!([shift(0, 128), shift(7, 1), shift(4, 8)], [None; 3]);
    }

    /// Of data as large as a cache, read in order again and again, the share that it holds.
    #[test]
    fn data_as_large_as_a_cache_do_not_fit_it_at_random() {
        let lines = (2 << 20) / 64;
        let program = program(|b| {
            for _ in 0..10 {
                (0..lines).for_each(|line| b.touch(line, false, false));
            }
        });
        let hits = |attributes: &str| {
            let settings = Settings::new(SchedulerKind::Ws, 1);
            let outcome = run(&program, &machine(attributes), &settings, &|_| {}).unwrap();
            1.0 - outcome.memory_reads.0 as f64 / (10 * lines) as f64
        };
        assert!(hits("tlb=1024") > 0.85 && hits("") > 0.85, "{}", hits(""));
        // 512 pages of 32 colours, 16 ways: those of colours with more than 16 pages miss always.
        // The mean number of pages beside one is 15.5, so nearly half of them do not.
        let random = hits("tlb=1024 frames=random");
        assert!((0.3..0.6).contains(&random), "{random}");
    }
}
