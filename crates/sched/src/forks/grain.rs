//! How deep below a program's start its forks are worth their price: learned by the clock, for each
//! `join` in the source.
//!
//! A fork pays off if its halves take much longer than it costs to publish one, about a
//! microsecond. Programs that fork down to single calls need no cut-off here: a worker times how
//! long the tasks take that a `join` makes, and from the depth on where that falls below [`GRAIN`],
//! `join` is two inlined calls. The depth is learned from below (from tasks that have been seen
//! whole, with all their forks), so a program that the worker knows nothing of loses nothing. What
//! was learned holds until it no longer does: tasks that take far longer than predicted make the
//! worker forget it at once, shorter ones raise the depth by degrees.
//!
//! Granularity control by prediction of running times: U. A. Acar, A. Charguéraud, M. Rainey,
//! *Oracle scheduling: controlling granularity in implicitly parallel languages*, OOPSLA 2011.
//! There the predictions come from cost functions that the program declares.

use std::{cell::Cell, time::Duration};

/// What a region of inlined calls should take: long against the two looks at the clock and the fork
/// that it costs (a tenth of a microsecond), and short enough to keep hundreds of workers busy for
/// a millisecond's work each.
const GRAIN: Duration = Duration::from_micros(8);

/// The regions after which their mean is compared with [`GRAIN`].
const WINDOW: u32 = 16;

/// A region that takes this many times [`GRAIN`] was predicted wrongly.
const SURPRISE: u32 = 16;

/// From so many forks above the depth at which regions begin, tasks are *short*: they take some
/// eight times [`GRAIN`].
const SHORT: u32 = 3;

/// Slots for what was learned. Two sites that meet in one make each other forget, which costs time
/// only.
const SLOTS: usize = 64;

/// What one worker has learned.
#[derive(Debug)]
pub struct Grain {
    sites: [Cell<Site>; SLOTS],
}

/// One `join` of the source: the address of what is made once for each type of its second half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteId(pub usize);

#[derive(Clone, Copy, Debug)]
struct Site {
    id: SiteId,
    /// Forks at this depth and below are inlined calls; `None` while that is not known.
    depth: Option<u32>,
    /// A region has ended since that is known, and had not been predicted wrongly.
    holds: bool,
    /// The regions since the depth last changed, and what they took; while none has ended, the
    /// tasks just above that were checked. While the depth is not known: the short tasks that were
    /// watched, and the shallowest of them.
    regions: u32,
    taken: Duration,
    shallowest: u32,
}

impl Site {
    const fn unknown(id: SiteId) -> Self {
        Self {
            id,
            depth: None,
            holds: false,
            regions: 0,
            taken: Duration::ZERO,
            shallowest: u32::MAX,
        }
    }

    /// One more has taken `taken`. At the end of a window, their mean; then the next one begins.
    fn mean_with(&mut self, taken: Duration) -> Option<Duration> {
        self.regions += 1;
        self.taken += taken;
        let mean = (self.regions == WINDOW).then(|| self.taken / WINDOW)?;
        (self.regions, self.taken) = (0, Duration::ZERO);
        Some(mean)
    }
}

/// What is to be done with a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// It is a fork.
    Fork,
    /// It is a fork, and [`Grain::learn`] should be called with its time.
    Watch,
    /// The same, though it was worth a fork before. Tasks are slow when their memory is touched for
    /// the first time; without a second look their forks would be kept for good.
    Check,
    /// What it makes should be inlined calls, and [`Grain::learn`] should be called with the time
    /// of both halves.
    Inline,
}

impl Grain {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self { sites: [const { Cell::new(Site::unknown(SiteId(0))) }; SLOTS] }
    }

    #[inline]
    fn slot(&self, id: SiteId) -> &Cell<Site> {
        // Tables are some tens of bytes apart.
        &self.sites[(id.0 >> 4 ^ id.0 >> 10) % SLOTS]
    }

    /// What to do with a fork of `id`, `depth` forks below the program's start.
    #[inline]
    pub fn advice(&self, id: SiteId, depth: u32) -> Advice {
        let site = self.slot(id).get();
        match site.depth {
            Some(inlined_from) if site.id == id => {
                if depth >= inlined_from {
                    Advice::Inline
                } else if depth + 1 == inlined_from && !site.holds {
                    Advice::Check
                } else {
                    Advice::Fork
                }
            }
            _ => Advice::Watch,
        }
    }

    /// Whether a task that forks by `id`, `depth` forks below the program's start, is known to take
    /// no longer than a few regions, so that its worker comes to another fork, or to its end, soon.
    /// A `join` whose leaves are long has no regions, and its tasks are never short.
    #[inline]
    pub fn is_short(&self, id: SiteId, depth: u32) -> bool {
        let site = self.slot(id).get();
        site.id == id && site.holds && site.depth.is_some_and(|from| depth + SHORT >= from)
    }

    /// Whether a region that has taken `taken` was predicted wrongly.
    #[inline]
    pub fn is_surprised(taken: Duration) -> bool {
        taken >= GRAIN * SURPRISE
    }

    /// Knows nothing of `id` any more.
    #[inline]
    pub fn forget(&self, id: SiteId) {
        self.slot(id).set(Site::unknown(id));
    }

    /// What `advice` was given for took `taken`.
    #[inline]
    pub fn learn(&self, id: SiteId, depth: u32, advice: Advice, taken: Duration) {
        let slot = self.slot(id);
        let mut site = slot.get();
        if site.id != id {
            site = Site::unknown(id);
        }
        match advice {
            Advice::Fork => return,
            Advice::Watch if site.depth.is_some() => return,
            Advice::Watch if taken >= GRAIN => (site.depth, site.regions) = (Some(depth + 1), 0),
            // All of the program takes less than is worth a fork.
            Advice::Watch if depth == 0 => site.depth = Some(0),
            Advice::Watch => {
                site.regions += 1;
                site.shallowest = site.shallowest.min(depth);
                if site.regions == WINDOW {
                    // Nothing but short tasks. If those further up are as well, the next windows
                    // will show it.
                    (site.depth, site.regions) = (Some(site.shallowest), 0);
                }
            }
            Advice::Check if site.holds || site.depth != Some(depth + 1) => return,
            Advice::Check => {
                if let Some(mean) = site.mean_with(taken).filter(|mean| *mean <= GRAIN) {
                    site.depth = Some(corrected(depth, mean));
                }
            }
            Advice::Inline if Self::is_surprised(taken) => site = Site::unknown(id),
            Advice::Inline => {
                if !site.holds {
                    (site.holds, site.regions, site.taken) = (true, 0, Duration::ZERO);
                }
                if let Some(mean) = site.mean_with(taken) {
                    site.depth = site.depth.map(|depth| corrected(depth, mean));
                }
            }
        }
        slot.set(site);
    }
}

impl Default for Grain {
    fn default() -> Self {
        Self::new()
    }
}

/// The depth at which regions should begin if those that begin at `depth` take `mean`. In a
/// balanced tree, tasks one fork deeper take half the time.
fn corrected(depth: u32, mean: Duration) -> u32 {
    if mean > GRAIN * 2 {
        return depth + 1;
    }
    let times = GRAIN.as_nanos() / mean.as_nanos().max(1);
    depth.saturating_sub(times.max(1).ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SiteId = SiteId(0x1000);
    const SHORT: Duration = Duration::from_nanos(200);
    const LONG: Duration = Duration::from_millis(1);

    /// Whether inlined calls begin at this depth.
    fn begin_at(grain: &Grain, depth: u32) -> bool {
        grain.advice(HERE, depth - 1) != Advice::Inline
            && grain.advice(HERE, depth) == Advice::Inline
    }

    #[test]
    fn a_site_is_watched_until_one_of_its_tasks_takes_as_long_as_a_grain() {
        let grain = Grain::new();
        assert_eq!(grain.advice(HERE, 20), Advice::Watch);
        grain.learn(HERE, 20, Advice::Watch, SHORT);
        assert_eq!(grain.advice(HERE, 20), Advice::Watch);
        grain.learn(HERE, 14, Advice::Watch, GRAIN);
        // What is above it ends later, and is longer still.
        grain.learn(HERE, 13, Advice::Watch, LONG);
        assert!(begin_at(&grain, 15));
    }

    #[test]
    fn from_a_fork_that_was_worth_it_nothing_is_learned() {
        let grain = Grain::new();
        for depth in 0..2 * WINDOW {
            grain.learn(HERE, depth, Advice::Fork, LONG);
            assert_eq!(grain.advice(HERE, depth), Advice::Watch);
        }
        grain.learn(HERE, 20, Advice::Watch, GRAIN);
        (0..2 * WINDOW).for_each(|_| grain.learn(HERE, 19, Advice::Fork, SHORT));
        assert!(begin_at(&grain, 21));
    }

    #[test]
    fn a_site_that_makes_nothing_but_short_tasks_is_inlined_soon() {
        let grain = Grain::new();
        for depth in 20..20 + WINDOW {
            assert_eq!(grain.advice(HERE, 20), Advice::Watch);
            grain.learn(HERE, depth, Advice::Watch, SHORT);
        }
        assert!(begin_at(&grain, 20));
    }

    #[test]
    fn a_site_whose_first_tasks_were_slow_is_inlined_once_they_are_not() {
        let grain = Grain::new();
        // Pages that nobody has touched, say.
        grain.learn(HERE, 6, Advice::Watch, 2 * GRAIN);
        assert_eq!(grain.advice(HERE, 5), Advice::Fork);
        for _ in 0..WINDOW {
            assert_eq!(grain.advice(HERE, 6), Advice::Check);
            grain.learn(HERE, 6, Advice::Check, GRAIN / 4);
        }
        assert!(begin_at(&grain, 4), "four such tasks make a grain");
        // Once regions end, they tell.
        assert_eq!(grain.advice(HERE, 3), Advice::Check);
        grain.learn(HERE, 4, Advice::Inline, GRAIN);
        assert_eq!(grain.advice(HERE, 3), Advice::Fork);
    }

    #[test]
    fn tasks_that_stay_long_stay_forks() {
        let grain = Grain::new();
        grain.learn(HERE, 6, Advice::Watch, 2 * GRAIN);
        for _ in 0..3 * WINDOW {
            assert_eq!(grain.advice(HERE, 6), Advice::Check);
            grain.learn(HERE, 6, Advice::Check, LONG);
        }
    }

    #[test]
    fn regions_that_are_too_short_begin_earlier_and_long_ones_later() {
        let grain = Grain::new();
        grain.learn(HERE, 20, Advice::Watch, GRAIN);
        for _ in 0..WINDOW {
            grain.learn(HERE, 21, Advice::Inline, GRAIN / 16);
        }
        assert!(begin_at(&grain, 17));
        for _ in 0..WINDOW {
            grain.learn(HERE, 17, Advice::Inline, GRAIN * 3);
        }
        assert!(begin_at(&grain, 18));
    }

    #[test]
    fn tasks_are_short_near_regions_that_hold_what_was_predicted_and_nowhere_else() {
        let grain = Grain::new();
        let short_at = |depths: [u32; 3]| depths.map(|depth| grain.is_short(HERE, depth));
        grain.learn(HERE, 20, Advice::Watch, GRAIN);
        assert_eq!(short_at([17, 18, 21]), [false; 3], "its leaves may be long");
        grain.learn(HERE, 21, Advice::Inline, GRAIN / 2);
        assert_eq!(short_at([17, 18, 21]), [false, true, true]);
        assert!(!grain.is_short(SiteId(0x2000), 21), "another join");
        grain.learn(HERE, 21, Advice::Inline, LONG);
        assert_eq!(short_at([17, 18, 21]), [false; 3], "it was predicted wrongly");
    }

    #[test]
    fn a_short_program_is_inlined_from_its_start_until_one_region_takes_far_too_long() {
        let grain = Grain::new();
        grain.learn(HERE, 0, Advice::Watch, SHORT);
        assert_eq!(grain.advice(HERE, 0), Advice::Inline);
        grain.learn(HERE, 0, Advice::Inline, LONG);
        assert_eq!(grain.advice(HERE, 30), Advice::Watch);
    }

    #[test]
    fn two_sites_in_one_slot_do_not_take_each_other_s_depth() {
        let grain = Grain::new();
        let other = SiteId(HERE.0 ^ (1 << 4) ^ (1 << 10));
        assert!(std::ptr::eq(grain.slot(HERE), grain.slot(other)));
        grain.learn(HERE, 0, Advice::Watch, SHORT);
        assert_eq!(grain.advice(other, 0), Advice::Watch);
    }
}
