//! Runs accesses on the copy of the access path that is compiled for the host's lanes.

use befit_machine::ClusterId;

use super::{
    Hierarchy, LineAccess, Model, PrefetchPlan,
    general::{General, On},
    inclusive::{Batch, Inclusive},
    layout::{Layout, MAX_WORDS},
};
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::{
    Access, Found,
    lanes::{BATCH, Host, Lanes, Short},
};

/// How many accesses ahead [`run`] prefetches, and how many ahead it prepares, in the general
/// model.
const AHEAD: (usize, usize) = (16, 6);

/// How many batches ahead [`run_inclusive`] plans and prefetches; it prepares one ahead.
const FAR: usize = 3;

/// Where an outcome will be.
const NOTHING: Access =
    Access { found: Found::Own(ClusterId::ROOT), invalidated: false, written_back: 0 };

/// The batches to come, each at its number modulo the length.
type Ring = [Batch; FAR + 1];

/// [`Hierarchy::access`]. Not inlined: each copy of the path takes seconds to compile, and one
/// crate's are enough.
#[inline(never)]
pub(super) fn access(hierarchy: &mut Hierarchy, plan: &PrefetchPlan) -> Access {
    let Hierarchy { layout, model, host, .. } = hierarchy;
    on_host(*host, PlannedAccess(layout, model, plan))
}

/// [`Hierarchy::run`].
pub(super) fn run(
    hierarchy: &mut Hierarchy,
    accesses: &[LineAccess],
    mut each: impl FnMut(&LineAccess, Access),
) {
    let Hierarchy { layout, model, host, .. } = hierarchy;
    match model {
        Model::Inclusive(inclusive) => run_inclusive(inclusive, *host, accesses, each),
        Model::General(general) => on_host(*host, GeneralRun(layout, general, accesses, &mut each)),
    }
}

/// [`Hierarchy::run`] of the inclusive model. Memory is asked for line by line, between accesses:
/// the host can wait for some sixteen lines at a time, and a burst of requests would stall it.
fn run_inclusive(
    model: &mut Inclusive,
    host: Host,
    accesses: &[LineAccess],
    mut each: impl FnMut(&LineAccess, Access),
) {
    let mut ring = Ring::default();
    let mut outcomes = [NOTHING; BATCH];
    let mut ahead = accesses.chunks(BATCH);
    // The first have none before them.
    let batches = [&[][..]; FAR].into_iter().chain(accesses.chunks(BATCH));
    for (number, now) in batches.enumerate() {
        let coming = ahead.next().unwrap_or_default();
        let (ring, outcomes) = (&mut ring, &mut outcomes);
        run_batch(host, BatchStep { model, ring, number, coming, now: now.len(), outcomes });
        now.iter().zip(outcomes).for_each(|(access, outcome)| each(access, *outcome));
    }
}

/// One step of [`run_inclusive`]: makes the `now` accesses planned as batch `number` less [`FAR`],
/// and plans those `coming`.
struct BatchStep<'a> {
    model: &'a mut Inclusive,
    ring: &'a mut Ring,
    number: usize,
    coming: &'a [LineAccess],
    now: usize,
    outcomes: &'a mut [Access; BATCH],
}

#[inline(never)]
fn run_batch(host: Host, step: BatchStep) {
    on_host(host, step);
}

impl OnLanes for BatchStep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) {
        let Self { model, ring, number, coming, now, outcomes } = self;
        let place = |ahead| (number + ahead) % (FAR + 1);
        // Behind the last access these are plans of earlier ones, whose prefetches do no harm.
        ring[place(0)].plan(model, lanes, coming);
        ring[place(2)].prepare(model, lanes);
        let [plans, near, far] = [1, 2, 0].map(|ahead| &ring[place(ahead)]);
        // A copy that nothing else can change: it stays in registers.
        let shape = *model.shape();
        for (i, outcome) in outcomes.iter_mut().enumerate() {
            far.prefetch(model, i);
            near.prefetch_near(model, i);
            if i < now {
                model.access(lanes, &shape, plans.at(i), outcome);
            }
        }
    }
}

/// Work that is compiled for each kind of lanes.
trait OnLanes {
    type Output;
    fn run<L: Lanes + Short>(self, lanes: L) -> Self::Output;
}

/// One access of any machine.
struct PlannedAccess<'a>(&'a Layout, &'a mut Model, &'a PrefetchPlan);

impl OnLanes for PlannedAccess<'_> {
    type Output = Access;

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) -> Access {
        let Self(layout, model, plan) = self;
        match model {
            Model::Inclusive(inclusive) => {
                let mut outcome = NOTHING;
                let shape = *inclusive.shape();
                inclusive.access(lanes, &shape, *plan, &mut outcome);
                outcome
            }
            Model::General(general) => match layout.words {
                0 => On::<L, 0> { layout, lanes }.access(general, plan.access()),
                1 => On::<L, 1> { layout, lanes }.access(general, plan.access()),
                2..=4 => On::<L, 4> { layout, lanes }.access(general, plan.access()),
                _ => On::<L, MAX_WORDS> { layout, lanes }.access(general, plan.access()),
            },
        }
    }
}

/// Accesses through the general model, with prefetching ahead.
struct GeneralRun<'a, F>(&'a Layout, &'a mut General, &'a [LineAccess], F);

impl<F: FnMut(&LineAccess, Access)> OnLanes for GeneralRun<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes + Short>(self, lanes: L) {
        match self.0.words {
            0 => self.words::<L, 0>(lanes),
            1 => self.words::<L, 1>(lanes),
            2..=4 => self.words::<L, 4>(lanes),
            _ => self.words::<L, MAX_WORDS>(lanes),
        }
    }
}

impl<F: FnMut(&LineAccess, Access)> GeneralRun<'_, F> {
    /// For a directory of `H` words a row, at most.
    #[inline(always)]
    fn words<L: Lanes, const H: usize>(self, lanes: L) {
        let Self(layout, general, accesses, mut each) = self;
        let (far, near) = AHEAD;
        accesses.iter().take(far).for_each(|a| general.prefetch(layout, a));
        for (i, access) in accesses.iter().enumerate() {
            if let Some(next) = accesses.get(i + far) {
                general.prefetch(layout, next);
            }
            if let Some(next) = accesses.get(i + near) {
                general.prepare(layout, next);
            }
            each(access, On::<L, H> { layout, lanes }.access(general, *access));
        }
    }
}

#[inline(always)]
fn on_host<W: OnLanes>(host: Host, work: W) -> W::Output {
    match host {
        // SAFETY: `on_avx512` asks for the features in its attribute. `lanes` proves that the
        // processor has them: `Avx512::detect` is its only constructor.
        #[cfg(target_arch = "x86_64")]
        Host::Avx512(lanes) => unsafe { on_avx512(lanes, work) },
        // SAFETY: `on_avx2` asks for the features in its attribute. `lanes` proves that the
        // processor has them: `Avx2::detect` is its only constructor.
        #[cfg(target_arch = "x86_64")]
        Host::Avx2(lanes) => unsafe { on_avx2(lanes, work) },
        Host::Portable(lanes) => work.run(lanes),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn on_avx2<W: OnLanes>(lanes: Avx2, work: W) -> W::Output {
    work.run(lanes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx2,bmi1,bmi2,lzcnt")]
fn on_avx512<W: OnLanes>(lanes: Avx512, work: W) -> W::Output {
    work.run(lanes)
}
