//! Picks the compiled copy of the access path that suits the host's lanes and the machine.

use befit_machine::ClusterId;

use super::{
    Hierarchy, Model, Touch,
    general::General,
    layout::{Layout, MAX_WORDS},
    usual::{Plan, Usual},
};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::{
    Access, Found,
    lanes::{Host, Lanes, Short},
};

/// How many touches ahead [`run`] prefetches, and how many ahead it prepares, in the general model.
const AHEAD: (usize, usize) = (16, 6);

/// How many touches [`run_usual`] plans at once and takes through the usual machine's caches at once: what it does between two
/// batches takes as long as an access.
const BATCH: usize = 16;
/// How many touches ahead it prefetches, and prepares: whole batches.
const FAR: usize = 2 * BATCH;
const NEAR: usize = BATCH;

/// Plans of the touches to come, in batches, each at its number modulo the length.
type Plans = [[Plan; BATCH]; PLANS];
const PLANS: usize = 2 * FAR / BATCH;

/// [`Hierarchy::access`]. Not inlined: each copy of the path takes seconds to compile, and one crate's are enough.
#[inline(never)]
pub(super) fn access(hierarchy: &mut Hierarchy, touch: Touch) -> Access {
    let Hierarchy { layout, model, host, .. } = hierarchy;
    on_host(*host, One(layout, model, touch))
}

/// [`Hierarchy::run`].
pub(super) fn run(hierarchy: &mut Hierarchy, touches: &[Touch], mut each: impl FnMut(&Touch, Access)) {
    let Hierarchy { layout, model, host, .. } = hierarchy;
    match model {
        Model::Usual(usual) => run_usual(usual, *host, touches, each),
        Model::General(general) => on_host(*host, Many(layout, general, touches, &mut each)),
    }
}

/// [`Hierarchy::run`] of the usual machine. The places of an access are found a batch ahead, in a loop of its own that leaves
/// the accesses their registers. What they will look at is asked for access by access: the host can wait for some sixteen
/// lines of memory at a time, and a burst of requests would stall it.
fn run_usual(usual: &mut Usual, host: Host, touches: &[Touch], mut each: impl FnMut(&Touch, Access)) {
    let mut plans = Plans::default();
    let mut outcomes = [Access { found: Found::Own(ClusterId::ROOT), invalidated: false, written_back: 0 }; BATCH];
    let mut far = touches.chunks(BATCH).enumerate();
    for (number, batch) in far.by_ref().take(FAR / BATCH) {
        usual.plan_all(batch, &mut plans[number % PLANS]);
    }
    for (number, batch) in touches.chunks(BATCH).enumerate() {
        if let Some((number, batch)) = far.next() {
            usual.plan_all(batch, &mut plans[number % PLANS]);
        }
        // (Behind the last touch these are plans of earlier ones: what they bring near is not needed, and does no harm.)
        let plans = [0, NEAR / BATCH, FAR / BATCH].map(|ahead| &plans[(number + ahead) % PLANS]);
        access_all(usual, host, batch, plans, &mut outcomes);
        for (touch, access) in batch.iter().zip(&outcomes) {
            each(touch, *access);
        }
    }
}

/// The accesses of some touches, prefetching for others: the plans are of these touches, of those near, and of those far.
#[inline(never)]
fn access_all(
    usual: &mut Usual,
    host: Host,
    touches: &[Touch],
    plans: [&[Plan; BATCH]; 3],
    outcomes: &mut [Access; BATCH],
) {
    on_host(host, Batch(usual, touches, plans, outcomes));
}

/// Something to do, compiled for each kind of lanes.
trait Job {
    type Answer;
    fn run<L: Lanes + Short>(self, lanes: L) -> Self::Answer;
}

/// One access.
struct One<'a>(&'a Layout, &'a mut Model, Touch);

impl Job for One<'_> {
    type Answer = Access;

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) -> Access {
        let Self(layout, model, touch) = self;
        match model {
            Model::Usual(usual) => usual.access(lanes, &touch, &usual.plan(&touch)),
            Model::General(general) => match layout.words {
                1 => general.access::<L, 1>(layout, lanes, touch),
                2..=4 => general.access::<L, 4>(layout, lanes, touch),
                _ => general.access::<L, MAX_WORDS>(layout, lanes, touch),
            },
        }
    }
}

/// Some accesses of the usual machine.
struct Batch<'a>(&'a mut Usual, &'a [Touch], [&'a [Plan; BATCH]; 3], &'a mut [Access; BATCH]);

impl Job for Batch<'_> {
    type Answer = ();

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) {
        let Self(usual, touches, [plans, near, far], outcomes) = self;
        let ahead = near.iter().zip(far);
        for (((touch, plan), outcome), (near, far)) in touches.iter().zip(plans).zip(outcomes).zip(ahead) {
            usual.prefetch(far);
            usual.prepare(near);
            *outcome = usual.access(lanes, touch, plan);
        }
    }
}

/// An access of any other machine for each touch, with prefetching ahead.
struct Many<'a, F>(&'a Layout, &'a mut General, &'a [Touch], F);

impl<F: FnMut(&Touch, Access)> Job for Many<'_, F> {
    type Answer = ();

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) {
        match self.0.words {
            1 => self.words::<L, 1>(lanes),
            2..=4 => self.words::<L, 4>(lanes),
            _ => self.words::<L, MAX_WORDS>(lanes),
        }
    }
}

impl<F: FnMut(&Touch, Access)> Many<'_, F> {
    /// For a directory of `H` words a row, at most.
    #[inline(always)]
    fn words<L: Lanes, const H: usize>(self, lanes: L) {
        let Self(layout, general, touches, mut each) = self;
        let (far, near) = AHEAD;
        touches.iter().take(far).for_each(|t| general.prefetch(layout, t.worker, t.line));
        for (i, touch) in touches.iter().enumerate() {
            if let Some(next) = touches.get(i + far) {
                general.prefetch(layout, next.worker, next.line);
            }
            if let Some(next) = touches.get(i + near) {
                general.prepare(layout, next.worker, next.line, next.write);
            }
            each(touch, general.access::<L, H>(layout, lanes, *touch));
        }
    }
}

#[inline(always)]
fn on_host<J: Job>(host: Host, job: J) -> J::Answer {
    match host {
        // SAFETY: the function asks for the features that `lanes` proves: one is made only where the processor was found
        // to have them.
        #[cfg(target_arch = "x86_64")]
        Host::Avx512(lanes) => unsafe { on_avx512(lanes, job) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Host::Avx2(lanes) => unsafe { on_avx2(lanes, job) },
        Host::Portable(lanes) => job.run(lanes),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn on_avx2<J: Job>(lanes: Avx2, job: J) -> J::Answer {
    job.run(lanes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx2,bmi1,bmi2,lzcnt")]
fn on_avx512<J: Job>(lanes: Avx512, job: J) -> J::Answer {
    job.run(lanes)
}
