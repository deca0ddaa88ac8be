//! A strand on its way through the caches.

use befit_cache::PrefetchPlan;
use befit_machine::WorkerId;
use befit_program::{KeptTouch, Program, Sample, StrandId, Touch, Touches};

use crate::{
    clock::Ticks,
    hardware::Hardware,
    ledger::Codes,
    waits::{InFlight, Now, Waits},
    work,
};

/// Touches decoded ahead: a power of two.
const AHEAD: usize = 64;
/// More are decoded when no more than these are left, and planned that many touches ahead: what one
/// looks at has that long to be brought near by the simulating machine.
const FAR: usize = 16;
/// So many are planned at a time.
const PLANNED: usize = 8;
/// So many touches ahead, what depends on what was brought near is prepared.
const NEAR: usize = 6;
/// Operations are counted in fractions of this, so that what lies between two touches adds up to
/// the strand's.
pub(crate) const OPERATION: u64 = 1 << 16;
/// A strand that has more than this left, and no touch in it, takes steps longer than a slice: how
/// workers interleave matters little then, and by slices it would never end.
const LONG: Ticks = Ticks::cycles(1 << 28);
/// Such a step is what is left divided by this.
const LONG_STEPS: u64 = 64;
const NO_TOUCH: Touch =
    Touch { line: 0, write: false, stack: false, streaming: false, dependent: false };

/// The time of a strand's operations at so many cycles each, rounded as [`Execution::run`] does;
/// the longest that there is where it would be longer.
pub(crate) fn operations_time(program: &Program, strand: StrandId, cycles: f64) -> Ticks {
    let cost = program.work(strand);
    let Some(operations) = cost.operations().checked_mul(OPERATION) else {
        return Ticks(u64::MAX);
    };
    let stride = operations.checked_div(cost.touches).unwrap_or(0);
    let ticks = Ticks::cycles(1).0 as f64 * cycles / OPERATION as f64;
    let rest = operations - stride * cost.touches;
    let strides = ((stride as f64 * ticks) as u64).saturating_mul(cost.touches);
    Ticks(strides.saturating_add((rest as f64 * ticks) as u64))
}

/// The touches of a strand that are still to be made.
#[derive(Debug)]
enum Source<'a> {
    Recorded(Box<Touches<'a>>),
    Kept(std::slice::Iter<'a, KeptTouch>),
}

impl Source<'_> {
    fn next_batch(&mut self, out: &mut [Touch]) -> usize {
        match self {
            Self::Recorded(touches) => touches.next_batch(out),
            Self::Kept(touches) => {
                let count = out.len().min(touches.len());
                out.iter_mut().zip(touches).for_each(|(out, kept)| *out = kept.touch());
                count
            }
        }
    }
}

/// A strand that a worker runs.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    touches: Source<'a>,
    /// Touches decoded ahead, each at its number modulo the length, as are their plans.
    ahead: [Touch; AHEAD],
    plans: [PrefetchPlan; AHEAD],
    /// The number of the next touch; those below `planned` have plans, those below `filled` are
    /// decoded.
    at: usize,
    planned: usize,
    filled: usize,
    /// Operations between two touches of all lines, in fractions of [`OPERATION`].
    stride: u64,
    /// The strand's operations that are left, in the same unit.
    left: u64,
    /// All of the strand's operations.
    operations: u64,
    class: usize,
    codes: Option<Codes<'a>>,
}

impl<'a> Execution<'a> {
    /// Of a sampled program, all of the strand's operations are spread over the touches that the
    /// sample has of it.
    pub(crate) fn new(program: &'a Program, sample: Option<&'a Sample>, strand: StrandId) -> Self {
        let cost = program.work(strand);
        let operations = cost.operations();
        let left = operations * OPERATION;
        let (touches, count) = match sample {
            None => (Source::Recorded(Box::new(program.touches(strand))), cost.touches),
            Some(sample) => {
                let kept = sample.touches(program, strand);
                (Source::Kept(kept.iter()), sample.stands_for(kept))
            }
        };
        Self {
            touches,
            ahead: [NO_TOUCH; AHEAD],
            plans: [PrefetchPlan::default(); AHEAD],
            at: 0,
            planned: 0,
            filled: 0,
            stride: left.checked_div(count).unwrap_or(0),
            left,
            operations,
            class: work::class(program, strand),
            codes: None,
        }
    }

    /// Has the hardware book its touches by these lines of the source.
    pub(crate) fn book(&mut self, codes: Codes<'a>) {
        self.codes = Some(codes);
    }

    /// Runs on `worker` from `now` until the clock has passed `until` or the strand has ended;
    /// lines of atomics are touched before `turn` only. Returns the clock, whether it ended, and
    /// how many touches were made.
    pub(crate) fn run(
        &mut self,
        hardware: &mut Hardware,
        worker: WorkerId,
        now: Ticks,
        turn: Ticks,
        until: Ticks,
    ) -> (Ticks, bool, u64) {
        if hardware.has_hot() {
            self.run_on::<true>(hardware, worker, now, turn, until)
        } else {
            self.run_on::<false>(hardware, worker, now, turn, until)
        }
    }

    /// The same, on hardware that has hot lines or none.
    fn run_on<const HOT: bool>(
        &mut self,
        hardware: &mut Hardware,
        worker: WorkerId,
        now: Ticks,
        turn: Ticks,
        until: Ticks,
    ) -> (Ticks, bool, u64) {
        let (core, slowness) = hardware.cores[worker.index()];
        let sharers = hardware.busy[core as usize].max(1);
        let cycles_per_op =
            hardware.cycles_per_operation[self.class] * slowness * f64::from(sharers);
        let ticks_per_op = Ticks::cycles(1).0 as f64 * cycles_per_op / OPERATION as f64;
        let alone = 1.0 / (slowness * f64::from(sharers));
        let pace = |stride: u64| (stride, Ticks((stride as f64 * ticks_per_op) as u64));
        let (single, whole) = (pace(self.stride), pace(self.stride * hardware.each));
        let (waits, behind) = &mut hardware.waits[worker.index()];
        // The position at which the strand ends.
        let end = *behind + self.operations * OPERATION;
        let mut waits = std::mem::take(waits);
        let flight = hardware.flight.shared_by(sharers);
        let flights = [flight, flight.single()].map(|flight| flight.at_pace(ticks_per_op));
        let (mut clock, mut made, mut worked) = (now, 0, Ticks::default());
        while clock <= until {
            if self.planned - self.at < FAR {
                if self.filled - self.at <= FAR {
                    self.decode();
                }
                if self.at == self.filled {
                    let (mut goes_on, ended) = self.tail(clock, until, ticks_per_op);
                    hardware.worked(worker, worked + goes_on.since(clock), alone);
                    if ended {
                        // A window may have ended behind the last touch.
                        let now = Now { clock: goes_on, position: end, pace: ticks_per_op };
                        let wait = waits.before(now);
                        hardware.charge(worker, wait, &waits.waited);
                        goes_on += wait;
                        if HOT {
                            goes_on += hardware.before_hot(worker, Now { clock: goes_on, ..now });
                        }
                        hardware.waits[worker.index()].1 = end;
                        hardware.counts[worker.index()].instructions += self.operations;
                    }
                    hardware.waits[worker.index()].0 = waits;
                    return (goes_on, ended, made);
                }
                self.plan::<HOT>(hardware, worker);
            }
            let next = (self.at + NEAR) % AHEAD;
            if self.at + NEAR < self.planned && !hardware.is_hot::<HOT>(self.ahead[next]) {
                hardware.caches.prepare(&self.plans[next]);
            }
            let (plan, touch) = (&self.plans[self.at % AHEAD], self.ahead[self.at % AHEAD]);
            let ahead = clock.since(turn);
            if clock > turn && hardware.awaits_its_turn::<HOT>(worker, plan, touch, ahead) {
                break;
            }
            if let Some(codes) = &mut self.codes
                && let Some(booking) = &mut hardware.booking
            {
                booking.code = codes.next();
            }
            let (stride, step) = if hardware.is_hot::<HOT>(touch) { single } else { whole };
            self.left -= stride;
            let position = end - self.left;
            worked += step;
            let now = Now { clock: clock + step, position, pace: ticks_per_op };
            clock = wait_for::<HOT>(hardware, worker, &mut waits, &flights, now, plan, touch);
            self.at += 1;
            made += 1;
        }
        hardware.waits[worker.index()].0 = waits;
        hardware.worked(worker, worked, alone);
        (clock, false, made)
    }

    /// Decodes touches behind those still to be made, as many as lie side by side.
    fn decode(&mut self) {
        let (start, room) = (self.filled % AHEAD, AHEAD - (self.filled - self.at));
        let fresh = &mut self.ahead[start..AHEAD.min(start + room)];
        self.filled += self.touches.next_batch(fresh);
    }

    /// Plans some touches, and has the simulating machine fetch what they will look at: a few at a
    /// time, as it can wait for some sixteen lines only.
    #[inline(always)]
    fn plan<const HOT: bool>(&mut self, hardware: &Hardware, worker: WorkerId) {
        let start = self.planned % AHEAD;
        let end = AHEAD.min(start + PLANNED.min(self.filled - self.planned));
        let (touches, plans) = (&self.ahead[start..end], &mut self.plans[start..end]);
        hardware.plan::<HOT>(worker, touches, plans);
        self.planned += end - start;
    }

    /// Runs the operations after the last touch: all of them, for a strand that touches nothing.
    /// Until no more than [`LONG`] is left, a step passes `until` by as much as it must for the
    /// number of steps to grow with the logarithm of the time.
    fn tail(&mut self, clock: Ticks, until: Ticks, ticks_per_op: f64) -> (Ticks, bool) {
        let rest = Ticks((self.left as f64 * ticks_per_op) as u64);
        let mut slice = until.since(clock) + Ticks(1);
        if rest > LONG {
            slice = slice.max(Ticks(rest.0 / LONG_STEPS));
        }
        // At least one fraction of an operation, however long it takes: else this never ends.
        slice = slice.max(Ticks(ticks_per_op.ceil() as u64));
        if rest <= slice {
            return (clock + rest, true);
        }
        // What is left of a long strand may be less than what its time is rounded to.
        self.left = self.left.saturating_sub((slice.0 as f64 / ticks_per_op) as u64);
        (clock + slice, false)
    }
}

/// Makes one touch of `worker`, which has come to `now`, where a line or a single one flies so.
/// Returns when the worker goes on.
#[inline(always)]
fn wait_for<const HOT: bool>(
    hardware: &mut Hardware,
    worker: WorkerId,
    waits: &mut Waits,
    [flight, single]: &[InFlight; 2],
    mut now: Now,
    plan: &PrefetchPlan,
    touch: Touch,
) -> Ticks {
    let before = waits.before(now);
    hardware.charge(worker, before, &waits.waited);
    now.clock += before;
    if HOT {
        now.clock += hardware.before_hot(worker, now);
        if let Some(wait) = hardware.touch_hot(worker, single, now, plan, touch) {
            return now.clock + wait;
        }
    }
    now.clock + hardware.touch(worker, waits, flight, now, plan, touch)
}
