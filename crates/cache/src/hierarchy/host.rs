//! Picks the compiled copy of the access path that suits the host's lanes and the machine.

use befit_machine::ClusterId;

use super::{
    Hierarchy, Model, Touch,
    general::General,
    layout::{Layout, MAX_WORDS},
    usual::{Batch, Plan, Usual},
};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::{
    Access, Found,
    lanes::{BATCH, Host, Lanes, Short},
};

/// How many touches ahead [`run`] prefetches, and how many ahead it prepares, in the general model.
const AHEAD: (usize, usize) = (16, 6);

/// How many batches ahead [`run_usual`] plans and prefetches; it prepares one ahead.
const FAR: usize = 3;

/// Where an outcome will be.
const NOTHING: Access =
    Access { found: Found::Own(ClusterId::ROOT), invalidated: false, written_back: 0 };

/// The batches to come, each at its number modulo the length.
type Ring = [Batch; FAR + 1];

/// [`Hierarchy::access`]. Not inlined: each copy of the path takes seconds to compile, and one
/// crate's are enough.
#[inline(never)]
pub(super) fn access(hierarchy: &mut Hierarchy, plan: &Plan) -> Access {
    let Hierarchy { layout, model, host, .. } = hierarchy;
    on_host(*host, One(layout, model, plan))
}

/// [`Hierarchy::run`].
pub(super) fn run(
    hierarchy: &mut Hierarchy,
    touches: &[Touch],
    mut each: impl FnMut(&Touch, Access),
) {
    let Hierarchy { layout, model, host, .. } = hierarchy;
    match model {
        Model::Usual(usual) => run_usual(usual, *host, touches, each),
        Model::General(general) => on_host(*host, Many(layout, general, touches, &mut each)),
    }
}

/// [`Hierarchy::run`] of the usual machine. What accesses will look at is asked for one by one,
/// between those before them: the host can wait for some sixteen lines of memory at a time, and a
/// burst of requests would stall it.
fn run_usual(
    usual: &mut Usual,
    host: Host,
    touches: &[Touch],
    mut each: impl FnMut(&Touch, Access),
) {
    let mut ring = Ring::default();
    let mut outcomes = [NOTHING; BATCH];
    let mut ahead = touches.chunks(BATCH);
    // The first have none before them.
    let batches = [&[][..]; FAR].into_iter().chain(touches.chunks(BATCH));
    for (number, now) in batches.enumerate() {
        let coming = ahead.next().unwrap_or_default();
        step(
            usual,
            host,
            Step { ring: &mut ring, number, coming, now: now.len(), outcomes: &mut outcomes },
        );
        now.iter().zip(&outcomes).for_each(|(touch, access)| each(touch, *access));
    }
}

/// One step of [`run_usual`]: makes the `now` accesses planned as batch `number` less [`FAR`], and
/// plans those `coming`.
struct Step<'a> {
    ring: &'a mut Ring,
    number: usize,
    coming: &'a [Touch],
    now: usize,
    outcomes: &'a mut [Access; BATCH],
}

#[inline(never)]
fn step(usual: &mut Usual, host: Host, step: Step) {
    on_host(host, (usual, step));
}

impl Job for (&mut Usual, Step<'_>) {
    type Answer = ();

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) {
        let (usual, Step { ring, number, coming, now, outcomes }) = self;
        let place = |ahead| (number + ahead) % (FAR + 1);
        // (Behind the last touch these are plans of earlier ones: what they bring near is not
        // needed, and does no harm.)
        ring[place(0)].plan(usual, lanes, coming);
        ring[place(2)].prepare(usual, lanes);
        let [plans, near, far] = [1, 2, 0].map(|ahead| &ring[place(ahead)]);
        // A copy that nothing else can change: it stays in registers.
        let shape = *usual.shape();
        for (i, outcome) in outcomes.iter_mut().enumerate() {
            far.prefetch(usual, i);
            near.prefetch_near(usual, i);
            if i < now {
                usual.access(lanes, &shape, plans.at(i), outcome);
            }
        }
    }
}

/// Something to do, compiled for each kind of lanes.
trait Job {
    type Answer;
    fn run<L: Lanes + Short>(self, lanes: L) -> Self::Answer;
}

/// One access.
struct One<'a>(&'a Layout, &'a mut Model, &'a Plan);

impl Job for One<'_> {
    type Answer = Access;

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) -> Access {
        let Self(layout, model, plan) = self;
        match model {
            Model::Usual(usual) => {
                let mut outcome = NOTHING;
                let shape = *usual.shape();
                usual.access(lanes, &shape, *plan, &mut outcome);
                outcome
            }
            Model::General(general) => match layout.words {
                1 => general.access::<L, 1>(layout, lanes, plan.touch()),
                2..=4 => general.access::<L, 4>(layout, lanes, plan.touch()),
                _ => general.access::<L, MAX_WORDS>(layout, lanes, plan.touch()),
            },
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
        // SAFETY: the function asks for the features that `lanes` proves: one is made only where
        // the processor was found to have them.
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
