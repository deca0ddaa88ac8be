//! Picks the compiled copy of the access path that suits the host's lanes and the machine.

use super::{
    Hierarchy, Model, Touch,
    general::General,
    layout::{Layout, MAX_WORDS},
    usual::{Plan, Usual},
};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::{
    Access,
    lanes::{Host, Lanes, Short},
};

/// How many touches ahead [`run`] prefetches.
const FAR: usize = 16;
/// How many touches ahead it prepares.
const NEAR: usize = 8;
/// How many touches it takes at once through each of these steps, in the usual machine's model.
const BATCH: usize = 4;

/// Plans of the touches to come, in batches, each at its number modulo the length.
type Plans = [[Plan; BATCH]; PLANS];
const PLANS: usize = 2 * FAR / BATCH;

/// [`Hierarchy::access`]. Not inlined: each copy of the path takes seconds to compile, and one crate's are enough.
#[inline(never)]
pub(super) fn access(hierarchy: &mut Hierarchy, touch: Touch) -> Access {
    on_host(hierarchy, One(touch))
}

/// [`Hierarchy::run`].
pub(super) fn run(hierarchy: &mut Hierarchy, touches: &[Touch], each: impl FnMut(&Touch, Access)) {
    on_host(hierarchy, Many(touches, each));
}

/// Something to do with a hierarchy, compiled for each kind of lanes, and for each width `H` of the general model's
/// directory.
trait Job {
    type Answer;
    fn usual<L: Short>(self, usual: &mut Usual, lanes: L) -> Self::Answer;
    fn general<L: Lanes, const H: usize>(self, layout: &Layout, general: &mut General, lanes: L) -> Self::Answer;
}

/// One access.
struct One(Touch);

impl Job for One {
    type Answer = Access;

    #[inline(always)]
    fn usual<L: Short>(self, usual: &mut Usual, lanes: L) -> Access {
        let plan = usual.plan(&self.0);
        usual.access(lanes, &self.0, &plan)
    }

    #[inline(always)]
    fn general<L: Lanes, const H: usize>(self, layout: &Layout, general: &mut General, lanes: L) -> Access {
        general.access::<L, H>(layout, lanes, self.0)
    }
}

/// An access for each touch, with prefetching ahead.
struct Many<'a, F>(&'a [Touch], F);

impl<F: FnMut(&Touch, Access)> Job for Many<'_, F> {
    type Answer = ();

    #[inline(always)]
    fn usual<L: Short>(self, usual: &mut Usual, lanes: L) {
        let Self(touches, mut each) = self;
        let mut plans = Plans::default();
        let mut far = touches.chunks(BATCH).enumerate();
        let mut near = touches.chunks(BATCH).enumerate();
        for (number, batch) in far.by_ref().take(FAR / BATCH) {
            usual.plan_all(batch, &mut plans[number % PLANS]);
        }
        for (number, batch) in near.by_ref().take(NEAR / BATCH) {
            usual.prepare_all(batch, &plans[number % PLANS]);
        }
        for (number, batch) in touches.chunks(BATCH).enumerate() {
            if let Some((number, batch)) = far.next() {
                usual.plan_all(batch, &mut plans[number % PLANS]);
            }
            if let Some((number, batch)) = near.next() {
                usual.prepare_all(batch, &plans[number % PLANS]);
            }
            for (touch, plan) in batch.iter().zip(&plans[number % PLANS]) {
                each(touch, usual.access(lanes, touch, plan));
            }
        }
    }

    #[inline(always)]
    fn general<L: Lanes, const H: usize>(self, layout: &Layout, general: &mut General, lanes: L) {
        let Self(touches, mut each) = self;
        touches.iter().take(FAR).for_each(|t| general.prefetch(layout, t.worker, t.line));
        for (i, touch) in touches.iter().enumerate() {
            if let Some(next) = touches.get(i + FAR) {
                general.prefetch(layout, next.worker, next.line);
            }
            if let Some(next) = touches.get(i + NEAR) {
                general.prepare(layout, next.worker, next.line, next.write);
            }
            each(touch, general.access::<L, H>(layout, lanes, *touch));
        }
    }
}

/// The copy for the machine, of those for `lanes`.
#[inline(always)]
fn on_lanes<J: Job, L: Lanes + Short>(hierarchy: &mut Hierarchy, lanes: L, job: J) -> J::Answer {
    let Hierarchy { layout, model, .. } = hierarchy;
    match model {
        Model::Usual(usual) => job.usual(usual, lanes),
        Model::General(general) => match layout.words {
            1 => job.general::<L, 1>(layout, general, lanes),
            2..=4 => job.general::<L, 4>(layout, general, lanes),
            _ => job.general::<L, MAX_WORDS>(layout, general, lanes),
        },
    }
}

#[inline(always)]
fn on_host<J: Job>(hierarchy: &mut Hierarchy, job: J) -> J::Answer {
    match hierarchy.host {
        // SAFETY: the function asks for the features that `lanes` proves: one is made only where the processor was found
        // to have them.
        #[cfg(target_arch = "x86_64")]
        Host::Avx512(lanes) => unsafe { on_avx512(hierarchy, lanes, job) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Host::Avx2(lanes) => unsafe { on_avx2(hierarchy, lanes, job) },
        Host::Portable(lanes) => on_lanes(hierarchy, lanes, job),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn on_avx2<J: Job>(hierarchy: &mut Hierarchy, lanes: Avx2, job: J) -> J::Answer {
    on_lanes(hierarchy, lanes, job)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx2,bmi1,bmi2,lzcnt")]
fn on_avx512<J: Job>(hierarchy: &mut Hierarchy, lanes: Avx512, job: J) -> J::Answer {
    on_lanes(hierarchy, lanes, job)
}
