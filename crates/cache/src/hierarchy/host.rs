//! Picks the compiled copy of the access path that suits the host's lanes and the width of the directory.

use super::{Hierarchy, Touch, layout::MAX_WORDS};
use crate::{
    Access,
    lanes::{Host, Lanes},
};

/// How many touches ahead [`run`] prefetches.
const FAR: usize = 16;
/// How many touches ahead it prepares.
const NEAR: usize = 6;

/// [`Hierarchy::access`].
#[inline]
pub(super) fn access(hierarchy: &mut Hierarchy, touch: Touch) -> Access {
    on_host(hierarchy, One(touch))
}

/// [`Hierarchy::run`].
pub(super) fn run(hierarchy: &mut Hierarchy, touches: &[Touch], each: impl FnMut(&Touch, Access)) {
    on_host(hierarchy, Many(touches, each));
}

/// Something to do with a hierarchy, compiled once for each kind of lanes and each width `H` of the directory.
trait Job {
    type Answer;
    fn work<L: Lanes, const H: usize>(self, hierarchy: &mut Hierarchy, lanes: L) -> Self::Answer;
}

/// One access.
struct One(Touch);

impl Job for One {
    type Answer = Access;
    #[inline(always)]
    fn work<L: Lanes, const H: usize>(self, hierarchy: &mut Hierarchy, lanes: L) -> Access {
        let Touch { worker, line, write } = self.0;
        hierarchy.access_with::<L, H>(lanes, worker, line, write)
    }
}

/// An access for each touch, with prefetching ahead.
struct Many<'a, F>(&'a [Touch], F);

impl<F: FnMut(&Touch, Access)> Job for Many<'_, F> {
    type Answer = ();
    #[inline(always)]
    fn work<L: Lanes, const H: usize>(self, hierarchy: &mut Hierarchy, lanes: L) {
        let Self(touches, mut each) = self;
        touches.iter().take(FAR).for_each(|t| hierarchy.prefetch(t.worker, t.line));
        for (i, touch) in touches.iter().enumerate() {
            if let Some(next) = touches.get(i + FAR) {
                hierarchy.prefetch(next.worker, next.line);
            }
            if let Some(next) = touches.get(i + NEAR) {
                hierarchy.prepare(next.worker, next.line, next.write);
            }
            let access = hierarchy.access_with::<L, H>(lanes, touch.worker, touch.line, touch.write);
            each(touch, access);
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
            1 => job.work::<_, 1>(hierarchy, lanes),
            2 => job.work::<_, 2>(hierarchy, lanes),
            4 => job.work::<_, 4>(hierarchy, lanes),
            _ => job.work::<_, MAX_WORDS>(hierarchy, lanes),
        },
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Hierarchy, Job, MAX_WORDS};
    use crate::lanes::{Avx2, Avx512};

    macro_rules! on {
        ($name:ident, $compiled:ident, $lanes:ty, $features:literal) => {
            #[inline(always)]
            pub(super) fn $name<J: Job>(hierarchy: &mut Hierarchy, lanes: $lanes, job: J) -> J::Answer {
                match hierarchy.layout.words {
                    // SAFETY: the function asks for the features that `lanes` proves: one is made only where the
                    // processor was found to have them.
                    1 => unsafe { $compiled::<J, 1>(hierarchy, lanes, job) },
                    // SAFETY: as above.
                    2 => unsafe { $compiled::<J, 2>(hierarchy, lanes, job) },
                    // SAFETY: as above.
                    4 => unsafe { $compiled::<J, 4>(hierarchy, lanes, job) },
                    // SAFETY: as above.
                    _ => unsafe { $compiled::<J, MAX_WORDS>(hierarchy, lanes, job) },
                }
            }

            #[target_feature(enable = $features)]
            fn $compiled<J: Job, const H: usize>(hierarchy: &mut Hierarchy, lanes: $lanes, job: J) -> J::Answer {
                job.work::<_, H>(hierarchy, lanes)
            }
        };
    }

    on!(on_avx2, compiled_for_avx2, Avx2, "avx2,bmi1,bmi2,lzcnt");
    on!(on_avx512, compiled_for_avx512, Avx512, "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt");
}
