//! Picks the compiled copy of the access path that suits the host's lanes and the machine.

use super::{Hierarchy, Touch, layout::MAX_WORDS};
use crate::{
    Access,
    lanes::{Host, Lanes},
};

/// How many touches ahead [`run`] prefetches.
const FAR: usize = 16;
/// How many touches ahead it prepares.
const NEAR: usize = 6;

/// Caches on each path of the usual machine, see [`super::usual`].
const USUAL: usize = 3;

/// [`Hierarchy::access`]. Not inlined: each copy of the path takes seconds to compile, and one crate's are enough.
#[inline(never)]
pub(super) fn access(hierarchy: &mut Hierarchy, touch: Touch) -> Access {
    on_host(hierarchy, One(touch))
}

/// [`Hierarchy::run`].
pub(super) fn run(hierarchy: &mut Hierarchy, touches: &[Touch], each: impl FnMut(&Touch, Access)) {
    on_host(hierarchy, Many(touches, each));
}

/// Something to do with a hierarchy, compiled for each kind of lanes, each width `H` of the
/// directory, and for paths of `D` caches (any number of them where `D` is 0).
trait Job {
    type Answer;
    fn work<L: Lanes, const H: usize, const D: usize>(self, hierarchy: &mut Hierarchy, lanes: L) -> Self::Answer;
}

/// One access.
struct One(Touch);

impl Job for One {
    type Answer = Access;
    #[inline(always)]
    fn work<L: Lanes, const H: usize, const D: usize>(self, hierarchy: &mut Hierarchy, lanes: L) -> Access {
        let Hierarchy { layout, usual, state, .. } = hierarchy;
        if D == USUAL {
            return state.access_usual(layout, &usual[self.0.worker.index()], lanes, self.0);
        }
        state.access::<L, H, D>(layout, lanes, self.0)
    }
}

/// An access for each touch, with prefetching ahead.
struct Many<'a, F>(&'a [Touch], F);

impl<F: FnMut(&Touch, Access)> Job for Many<'_, F> {
    type Answer = ();
    #[inline(always)]
    fn work<L: Lanes, const H: usize, const D: usize>(self, hierarchy: &mut Hierarchy, lanes: L) {
        let Self(touches, mut each) = self;
        let Hierarchy { layout, usual, state, .. } = hierarchy;
        if D == USUAL {
            let of = |touch: &Touch| &usual[touch.worker.index()];
            touches.iter().take(FAR).for_each(|t| state.prefetch_usual(of(t), t.line));
            for (i, touch) in touches.iter().enumerate() {
                if let Some(next) = touches.get(i + FAR) {
                    state.prefetch_usual(of(next), next.line);
                }
                if let Some(next) = touches.get(i + NEAR) {
                    state.prepare_usual(layout, of(next), next);
                }
                each(touch, state.access_usual(layout, of(touch), lanes, *touch));
            }
            return;
        }
        touches.iter().take(FAR).for_each(|t| state.prefetch(layout, t.worker, t.line));
        for (i, touch) in touches.iter().enumerate() {
            if let Some(next) = touches.get(i + FAR) {
                state.prefetch(layout, next.worker, next.line);
            }
            if let Some(next) = touches.get(i + NEAR) {
                state.prepare(layout, next.worker, next.line, next.write);
            }
            each(touch, state.access::<L, H, D>(layout, lanes, *touch));
        }
    }
}

#[inline(always)]
fn on_host<J: Job>(hierarchy: &mut Hierarchy, job: J) -> J::Answer {
    match hierarchy.host {
        #[cfg(target_arch = "x86_64")]
        Host::Avx512(lanes) => x86::on_avx512(hierarchy, lanes, job),
        #[cfg(target_arch = "x86_64")]
        Host::Avx2(lanes) => x86::on_avx2(hierarchy, lanes, job),
        Host::Portable(lanes) => match hierarchy.layout.words {
            1 if !hierarchy.usual.is_empty() => job.work::<_, 1, USUAL>(hierarchy, lanes),
            1 => job.work::<_, 1, 0>(hierarchy, lanes),
            2..=4 => job.work::<_, 4, 0>(hierarchy, lanes),
            _ => job.work::<_, MAX_WORDS, 0>(hierarchy, lanes),
        },
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Hierarchy, Job, MAX_WORDS, USUAL};
    use crate::lanes::{Avx2, Avx512};

    macro_rules! on {
        ($name:ident, $compiled:ident, $lanes:ty, $features:literal) => {
            #[inline(always)]
            pub(super) fn $name<J: Job>(hierarchy: &mut Hierarchy, lanes: $lanes, job: J) -> J::Answer {
                match hierarchy.layout.words {
                    // SAFETY: the function asks for the features that `lanes` proves: one is made only where the
                    // processor was found to have them.
                    1 if !hierarchy.usual.is_empty() => unsafe { $compiled::<J, 1, USUAL>(hierarchy, lanes, job) },
                    // SAFETY: as above.
                    1 => unsafe { $compiled::<J, 1, 0>(hierarchy, lanes, job) },
                    // SAFETY: as above.
                    2..=4 => unsafe { $compiled::<J, 4, 0>(hierarchy, lanes, job) },
                    // SAFETY: as above.
                    _ => unsafe { $compiled::<J, MAX_WORDS, 0>(hierarchy, lanes, job) },
                }
            }

            #[target_feature(enable = $features)]
            fn $compiled<J: Job, const H: usize, const D: usize>(
                hierarchy: &mut Hierarchy,
                lanes: $lanes,
                job: J,
            ) -> J::Answer {
                job.work::<_, H, D>(hierarchy, lanes)
            }
        };
    }

    on!(on_avx2, compiled_for_avx2, Avx2, "avx2,bmi1,bmi2,lzcnt");
    on!(on_avx512, compiled_for_avx512, Avx512, "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt");
}
