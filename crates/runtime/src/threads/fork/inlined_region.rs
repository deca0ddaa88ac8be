//! Inlined regions: parts of a program that run without forks, and how they begin and end.
//!
//! A region begins at a fork whose halves are predicted to take less than is worth a fork
//! ([`Grain`]), and lasts until both have ended; or it is a whole job that forks nothing
//! that any other worker may run. A steal request meanwhile is served by the next `join`,
//! which publishes the oldest pending fork, if need be its own; then the region goes on.
//!
//! The second halves of inlined calls cannot be published afterwards. So a region reaches only
//! [`REACH`] bytes down the stack, and forks below are forks again; and one that turns out to be
//! long is given up at the next fork. Where a prediction is wrong, others may have to wait for the
//! calls on that much of the stack, and for no more.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use befit_sched::forks::{self, Advice, Grain, SiteId};

use super::{StealRequests, steal_request::stack_pointer};

/// How far down the stack a region reaches, in bytes: some 64 small frames. A balanced tree of
/// calls that takes little time is less deep.
const REACH: usize = 8 << 10;

/// What one worker knows of its regions.
#[derive(Debug)]
pub(crate) struct InlinedRegions {
    active: Cell<Option<Active>>,
    /// How many nested forks enclose the running code, from the program's start on, other workers'
    /// included.
    depth: Cell<u32>,
    /// Counts the waits. Other tasks may run in a wait, so a time that spans one is not learned.
    waits: Cell<u32>,
    grain: Grain,
    /// When this worker last published because a fork was wanted.
    published: Cell<Option<Instant>>,
}

/// The region that is active.
#[derive(Clone, Copy, Debug)]
struct Active {
    /// How far down the stack it reaches.
    inline_limit: usize,
    /// Why it was predicted to be short, and since when it lasts; `None` if it does not end before
    /// its job.
    predicted: Option<(SiteId, Instant)>,
}

/// What [`InlinedRegions::interrupt`] keeps for [`InlinedRegions::go_on`].
#[derive(Debug)]
pub(crate) struct Interrupted {
    active: Option<Active>,
    depth: u32,
}

/// A fork between its push and its end.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub(crate) struct Forked<'a> {
    inlined_regions: &'a InlinedRegions,
    depth: u32,
    region: Option<InlinedRegion<'a>>,
    watch: Option<Watch>,
}

/// A region that began here, and ends when this is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub(crate) struct InlinedRegion<'a> {
    inlined_regions: &'a InlinedRegions,
    requests: &'a StealRequests,
}

/// A measurement.
#[derive(Debug)]
struct Watch {
    site: SiteId,
    advice: Advice,
    waits: u32,
    since: Instant,
    /// What the first half took, if the worker did not wait in it.
    first: Option<Duration>,
}

impl InlinedRegions {
    pub(crate) fn new() -> Self {
        Self {
            active: Cell::new(None),
            depth: Cell::new(0),
            waits: Cell::new(0),
            grain: Grain::new(),
            published: Cell::new(None),
        }
    }

    /// How deep below the program's start the running code is, counted in forks; inlined calls do
    /// not count.
    pub(crate) fn depth(&self) -> u32 {
        self.depth.get()
    }

    /// Whether the next fork, by `site`, is not known to be worth its price. `known`: it is known
    /// not to be.
    pub(crate) fn may_be_short(&self, site: SiteId, known: bool) -> bool {
        self.active.get().is_none()
            && match self.grain.advice(site, self.depth.get()) {
                Advice::Inline => true,
                Advice::Watch => !known,
                Advice::Fork | Advice::Check => false,
            }
    }

    /// A fork is wanted, and the worker is at one by `site`: whether it keeps its forks for now
    /// ([`forks::pauses`]). If not, it publishes.
    pub(crate) fn keeps_forks(&self, site: Option<SiteId>) -> bool {
        let is_short = site.is_some_and(|site| self.grain.is_short(site, self.depth.get()));
        let now = Instant::now();
        let pauses = forks::pauses(is_short, || Some(now.duration_since(self.published.get()?)));
        if !pauses {
            self.published.set(Some(now));
        }
        pauses
    }

    /// A job begins, forked at `depth`.
    pub(crate) fn begin_at(&self, depth: u32) {
        self.depth.set(depth);
    }

    /// The worker waits.
    pub(crate) fn waits(&self) {
        self.waits.set(self.waits.get().wrapping_add(1));
    }

    /// A fork has been pushed, and steal requests have been served. The fork lasts until the result
    /// is dropped. `site` is the `join` by which a region may begin; `None` if none may.
    pub(super) fn begin_fork<'a>(
        &'a self,
        requests: &'a StealRequests,
        site: Option<SiteId>,
    ) -> Forked<'a> {
        let depth = self.depth.replace(self.depth.get() + 1);
        let mut fork = Forked { inlined_regions: self, depth, region: None, watch: None };
        let Some(site) = site.filter(|_| !self.goes_on(requests)) else { return fork };
        let advice = self.grain.advice(site, depth);
        if advice == Advice::Fork {
            return fork;
        }
        // After the fork was published, if it was: that may take longer than the task.
        let since = Instant::now();
        fork.watch = Some(Watch { site, advice, waits: self.waits.get(), since, first: None });
        fork.region = (advice == Advice::Inline).then(|| self.begin(requests, site, since));
        fork
    }

    /// A region begins that lasts to the end of the job, as no other worker may run what the job
    /// forks.
    pub(crate) fn unshared<'a>(&'a self, requests: &'a StealRequests) -> InlinedRegion<'a> {
        // All of the stack. A request that is missed could not be served.
        self.active.set(Some(Active { inline_limit: 0, predicted: None }));
        requests.set_inline_limit(0);
        InlinedRegion { inlined_regions: self, requests }
    }

    fn begin<'a>(
        &'a self,
        requests: &'a StealRequests,
        site: SiteId,
        since: Instant,
    ) -> InlinedRegion<'a> {
        let inline_limit = stack_pointer().saturating_sub(REACH);
        self.active.set(Some(Active { inline_limit, predicted: Some((site, since)) }));
        requests.lower_inline_limit(inline_limit);
        InlinedRegion { inlined_regions: self, requests }
    }

    /// Whether a region is active and goes on; it does not if it takes much longer than predicted.
    /// Steal requests have been served before.
    fn goes_on(&self, requests: &StealRequests) -> bool {
        let Some(Active { inline_limit, predicted }) = self.active.get() else { return false };
        if let Some((site, since)) = predicted
            && Grain::is_surprised(since.elapsed())
        {
            self.grain.forget(site);
            self.active.set(None);
            requests.raise_inline_limit();
            return false;
        }
        requests.lower_inline_limit(inline_limit);
        true
    }

    /// Another job begins, on top of what runs.
    pub(crate) fn interrupt(&self, requests: &StealRequests) -> Interrupted {
        requests.raise_inline_limit();
        Interrupted { active: self.active.take(), depth: self.depth.replace(0) }
    }

    /// That job has ended. The interrupted region, if there was one, goes on at the next fork.
    pub(crate) fn go_on(&self, interrupted: &Interrupted) {
        self.active.set(interrupted.active);
        self.depth.set(interrupted.depth);
    }
}

impl Forked<'_> {
    /// The first half has ended.
    pub(super) fn first_has_ended(&mut self) {
        if let Some(watch) = &mut self.watch
            && watch.waits == self.inlined_regions.waits.get()
        {
            watch.first = Some(watch.since.elapsed());
        }
    }
}

impl Drop for InlinedRegion<'_> {
    fn drop(&mut self) {
        self.requests.raise_inline_limit();
        self.inlined_regions.active.set(None);
    }
}

impl Drop for Forked<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        let inlined_regions = self.inlined_regions;
        inlined_regions.depth.set(self.depth);
        drop(self.region.take());
        let Some(watch) = &self.watch else { return };
        let taken = if watch.waits == inlined_regions.waits.get() {
            Some(watch.since.elapsed())
        } else {
            // Another worker may have run the second half: it is taken to be like the first.
            watch.first.map(|first| first * 2)
        };
        if let Some(taken) = taken {
            inlined_regions.grain.learn(watch.site, self.depth, watch.advice, taken);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_job_goes_on_at_its_own_depth() {
        let (regions, requests) = (InlinedRegions::new(), StealRequests::new());
        regions.begin_at(3);
        let fork = regions.begin_fork(&requests, None);
        assert_eq!(regions.depth(), 4);
        let interrupted = regions.interrupt(&requests);
        assert_eq!(regions.depth(), 0, "a job that is no fork");
        regions.begin_at(7);
        regions.go_on(&interrupted);
        assert_eq!(regions.depth(), 4);
        drop(fork);
        assert_eq!(regions.depth(), 3);
    }
}
