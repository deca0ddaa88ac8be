//! What finding a page takes: the TLB's size, and walks through the page tables.
//!
//! Loads of one line in each of P pages, each of which waits for the one before, are held against
//! loads of as many lines side by side, in a 64th of the pages. Caches have as much of the one set
//! as of the other, so what the first take longer is the finding of their pages, less what that
//! takes of a 64th as many:
//!
//! finding(P) = one a page(P) − side by side(P) + finding(P / 64)

use crate::{Figure, fit};

/// Sets grow by √2, so P / 64 comes so many before P.
const A_64TH: usize = 12;
/// First-level TLBs have at most a fourth as many entries: from here on they find little.
const LEAST: f64 = 256.0;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Pages that the TLB holds, and nanoseconds of a walk; none where no walk was seen.
    pub(crate) tlb: Option<(f64, f64)>,
    /// By number of pages, from 64 on, each √2 times the one before: how much longer a load takes
    /// in the mean than where the TLB has all pages.
    pub(crate) walked: Vec<f64>,
}

impl Found {
    /// From the nanoseconds of a load of one line a page, and of lines side by side: by number of
    /// lines, from 64 on, each √2 times the one before. The TLB is fitted to those of up to `most`
    /// lines.
    pub(crate) fn new(one_a_page: &[f64], side_by_side: &[f64], most: f64) -> Self {
        let mut finding: Vec<f64> = Vec::new();
        for (at, (one, side)) in one_a_page.iter().zip(side_by_side).enumerate() {
            let of_a_64th = at.checked_sub(A_64TH).map_or(0.0, |at| finding[at]);
            finding.push(one - side + of_a_64th);
        }
        let hit = side_by_side.first().copied().unwrap_or_default();
        let pages = |at: usize| 64.0 * 2_f64.powf(at as f64 / 2.0);
        let points: Vec<(f64, f64)> = finding
            .iter()
            .enumerate()
            .map(|(at, time)| (pages(at), hit + time))
            .filter(|(pages, _)| (LEAST..=most).contains(&pages.round()))
            .collect();
        let level = fit::level(&points, &[], LEAST, most / 2.0);
        let Some(level) = level else {
            return Self { tlb: None, walked: vec![0.0; finding.len()] };
        };
        let beyond = |(at, time): (usize, &f64)| {
            if pages(at) <= level.capacity { 0.0 } else { (hit + time - level.latency).max(0.0) }
        };
        Self {
            tlb: Some((level.capacity, level.beyond - level.latency)),
            walked: finding.iter().enumerate().map(beyond).collect(),
        }
    }

    /// The same for loads of lines side by side, by their number: they are in a 64th of the pages.
    /// Of more pages than were tried, as of the most.
    pub(crate) fn walked_side_by_side(&self, at: usize) -> f64 {
        let at = at.checked_sub(A_64TH).map(|at| at.min(self.walked.len().saturating_sub(1)));
        at.and_then(|at| self.walked.get(at)).copied().unwrap_or_default()
    }

    /// The share of loads of one line in each of so many pages that walk.
    pub(crate) fn share(&self, pages: f64) -> f64 {
        self.tlb.map_or(0.0, |(tlb, _)| (1.0 - tlb / pages).max(0.0))
    }
}

/// The fits of all samples, of thirds of them for the quartiles, and of halves, of which one that
/// shows no walk has nothing.
pub(crate) fn figures(all: &Found, halves: &[Found], thirds: &[Found]) -> Option<(Figure, Figure)> {
    let figure = |value: f64, of: &dyn Fn((f64, f64)) -> f64| {
        let thirds: Vec<f64> = thirds.iter().filter_map(|f| f.tlb).map(of).collect();
        let half = |half: Option<&Found>| half.and_then(|f| f.tlb).map_or(0.0, of);
        let halves = (half(halves.first()), half(halves.last()));
        let quartiles =
            if thirds.is_empty() { (value, value) } else { Figure::time(&thirds).quartiles };
        Figure { value, median: value, quartiles, halves }
    };
    let (tlb, walk) = all.tlb?;
    Some((figure(tlb, &|f| f.0), figure(walk, &|f| f.1)))
}

/// Lines of the lowest level of page tables that a walk reads: of a virtual machine's the guest's
/// and the host's.
pub(crate) fn tables() -> u32 {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpu.lines().find(|line| line.starts_with("flags"));
    let is_virtual = flags.is_some_and(|f| f.split_whitespace().any(|flag| flag == "hypervisor"));
    if is_virtual { 2 } else { 1 }
}

/// Whether the system gives ordinary programs their pages one by one: so do all but Linux where it
/// makes huge pages of whatever it can. Those of 2 MiB have their frames side by side.
pub(crate) fn have_random_frames() -> bool {
    let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    !huge.is_ok_and(|choice| choice.contains("[always]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TLB of 1400 pages that finds one in 2.5 ns, after a first-level one of 96; walks of 16 ns.
    fn finding(pages: f64) -> f64 {
        let share = |tlb: f64| f64::min(1.0, tlb / pages);
        2.5 * (share(1400.0) - share(96.0)) + 18.5 * (1.0 - share(1400.0))
    }

    #[test]
    fn tlb_and_walk_come_back_from_the_times_of_loads() {
        let lines = |at: usize| 64.0 * 2_f64.powf(at as f64 / 2.0);
        // Lines in a first-level cache of 512, in a second-level one, and beyond.
        let line = |lines: f64| {
            let share = |cache: f64| f64::min(1.0, cache / lines);
            1.5 * share(512.0)
                + 4.5 * (share(32_768.0) - share(512.0))
                + 60.0 * (1.0 - share(32_768.0))
        };
        let one: Vec<f64> = (0..26).map(|at| line(lines(at)) + finding(lines(at))).collect();
        let side: Vec<f64> =
            (0..38).map(|at| line(lines(at)) + finding(lines(at) / 64.0)).collect();
        let found = Found::new(&one, &side, 16_384.0);
        let (tlb, walk) = found.tlb.unwrap();
        assert!((tlb / 1400.0 - 1.0).abs() < 0.05, "{tlb}");
        assert!((walk / 16.0 - 1.0).abs() < 0.05, "{walk}");
        // Of 65,536 pages nearly all are walked to.
        assert!((found.walked[20] / 16.0 - 1.0).abs() < 0.05, "{:?}", found.walked);
        assert_eq!(found.walked_side_by_side(12), 0.0);
        assert!((found.share(2.0 * tlb) - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_tlb_that_one_half_only_shows_is_noisy() {
        let seen = Found { tlb: Some((1400.0, 16.0)), walked: Vec::new() };
        let noisy = |halves: [Found; 2]| {
            let (tlb, walk) = figures(&seen, &halves, std::slice::from_ref(&seen)).unwrap();
            (tlb.is_noisy(), walk.is_noisy())
        };
        assert_eq!(noisy([seen.clone(), seen.clone()]), (false, false));
        assert_eq!(noisy([seen.clone(), Found::default()]), (true, true));
        assert_eq!(noisy([Found::default(), seen.clone()]), (true, true));
    }

    #[test]
    fn without_walks_there_is_no_tlb() {
        let times = [2.0; 20];
        assert_eq!(Found::new(&times, &times, 16_384.0).tlb, None);
    }
}
