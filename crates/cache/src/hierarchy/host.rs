//! Picks the compiled copy of the access path that suits the host and the width of the directory.

use super::{Hierarchy, Touch, layout::MAX_WORDS};
use crate::{Access, lanes::Host};

/// [`Hierarchy::access`] on the host's widest lanes.
#[inline]
pub(super) fn access(hierarchy: &mut Hierarchy, touch: Touch) -> Access {
    match hierarchy.host {
        #[cfg(target_arch = "x86_64")]
        Host::Avx512(lanes) => x86::on_avx512(hierarchy, lanes, touch),
        #[cfg(target_arch = "x86_64")]
        Host::Avx2(lanes) => x86::on_avx2(hierarchy, lanes, touch),
        Host::Portable(lanes) => {
            let Touch { worker, line, write } = touch;
            match hierarchy.layout.words {
                1 => hierarchy.access_with::<_, 1>(lanes, worker, line, write),
                2 => hierarchy.access_with::<_, 2>(lanes, worker, line, write),
                4 => hierarchy.access_with::<_, 4>(lanes, worker, line, write),
                _ => hierarchy.access_with::<_, MAX_WORDS>(lanes, worker, line, write),
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::lanes::{Avx2, Avx512};

    macro_rules! on {
        ($name:ident, $compiled:ident, $lanes:ty, $features:literal) => {
            #[inline]
            pub(super) fn $name(hierarchy: &mut Hierarchy, lanes: $lanes, touch: Touch) -> Access {
                match hierarchy.layout.words {
                    // SAFETY: the function asks for the features that `lanes` proves: it is made only where the
                    // processor was found to have them. (So in the other arms.)
                    1 => unsafe { $compiled::<1>(hierarchy, lanes, touch) },
                    // SAFETY: as above.
                    2 => unsafe { $compiled::<2>(hierarchy, lanes, touch) },
                    // SAFETY: as above.
                    4 => unsafe { $compiled::<4>(hierarchy, lanes, touch) },
                    // SAFETY: as above.
                    _ => unsafe { $compiled::<MAX_WORDS>(hierarchy, lanes, touch) },
                }
            }

            #[target_feature(enable = $features)]
            fn $compiled<const H: usize>(hierarchy: &mut Hierarchy, lanes: $lanes, touch: Touch) -> Access {
                hierarchy.access_with::<_, H>(lanes, touch.worker, touch.line, touch.write)
            }
        };
    }

    on!(on_avx2, compiled_for_avx2, Avx2, "avx2,bmi1,bmi2,lzcnt");
    on!(on_avx512, compiled_for_avx512, Avx512, "avx512f,avx512vl,avx2,bmi1,bmi2,lzcnt");
}
