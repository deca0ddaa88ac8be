//! What no schedule can beat: a program's work and its span.
//!
//! The *work* T₁ is the time of all its operations, the *span* T∞ that of the longest chain of them
//! that must run one after another; neither has any wait for caches or schedulers in it. On P
//! workers no schedule takes less than T₁ / P or T∞ (R. D. Blumofe and C. E. Leiserson,
//! "Scheduling multithreaded computations by work stealing", JACM 46(5), 1999, section 2).

use befit_machine::{Cycles, Machine};
use befit_program::{Program, Step};

use crate::{Outcome, SimError, clock::Ticks, execution::operations_time, work};

/// The longest work that is simulated: four days of a core.
const LONGEST: Cycles = Cycles(1 << 50);

/// Work and span of a program on the fastest core of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The work T₁.
    pub work: Cycles,
    /// The span T∞.
    pub span: Cycles,
}

impl Bounds {
    /// Those of `program` on `machine`.
    ///
    /// Takes time linear in the tasks and strands.
    pub fn of(program: &Program, machine: &Machine) -> Self {
        let paces = work::cycles_per_operation(program, machine);
        let mut total = Ticks::default();
        // Each open task's time if all that may run at once does.
        let mut open = vec![Ticks::default()];
        let mut scopes_of_open = vec![0];
        let mut scopes = vec![Ticks::default(); program.scopes() as usize];
        let mut end = Ticks::default();
        for step in program.steps() {
            let Some(now) = open.last_mut() else { break };
            match step {
                Step::Strand(strand) => {
                    let time =
                        operations_time(program, strand, paces[work::class(program, strand)]);
                    *now = now.saturating_add(time);
                    total = total.saturating_add(time);
                }
                Step::Fork { scope, .. } => {
                    let begin = *now;
                    open.push(begin);
                    scopes_of_open.push(scope.0 as usize);
                }
                Step::Sync(scope) => *now = (*now).max(scopes[scope.0 as usize]),
                Step::End(_) => {
                    let ended = *now;
                    open.pop();
                    if let Some(scope) = scopes_of_open.pop() {
                        scopes[scope] = scopes[scope].max(ended);
                    }
                    end = end.max(ended);
                }
            }
        }
        Self { work: total.whole(), span: end.whole() }
    }

    /// An error where the work is more than virtual time has room for, waits included. No program
    /// that has run anywhere works for so long: the recording is wrong.
    pub(crate) fn check_length(self) -> Result<(), SimError> {
        if self.work > LONGEST {
            return Err(SimError::TooLong { work: self.work.0, most: LONGEST.0 });
        }
        Ok(())
    }

    /// An error where `outcome`, of a run on so many workers, is faster than can be.
    pub(crate) fn check(self, outcome: &Outcome, workers: usize) -> Result<(), SimError> {
        let least = self.span.0.max(self.work.0 / workers.max(1) as u64);
        if outcome.time.0 < least {
            return Err(SimError::TooFast { time: outcome.time.0, least });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use befit_program::ScopeId;

    use super::*;
    use crate::tests::{program, task};

    #[test]
    fn work_is_the_sum_and_span_the_longest_chain() {
        let program = program(|b| {
            b.work(10, 0, 0);
            task(b, 1, None, |b| b.work(100, 0, 0));
            task(b, 1, None, |b| {
                b.work(50, 0, 0);
                task(b, 2, None, |b| b.work(70, 0, 0));
                b.work(30, 0, 0);
                b.sync(ScopeId(2)).unwrap();
                b.work(5, 0, 0);
            });
            b.sync(ScopeId(1)).unwrap();
            b.work(1, 0, 0);
            // Nobody waits for it but the end of the program.
            task(b, 0, None, |b| b.work(20, 0, 0));
        });
        let mut machine: Machine = "core:2 l1:1(size=32768) pu:1".parse().unwrap();
        machine.cycles_per_operation = 2.0;
        let bounds = Bounds::of(&program, &machine);
        assert_eq!(bounds, Bounds { work: Cycles(2 * 286), span: Cycles(2 * (10 + 125 + 1 + 20)) });
    }

    #[test]
    fn work_beyond_virtual_time_is_refused() {
        let program = program(|b| {
            b.work(u64::MAX, u64::MAX, 0);
            b.touch(1, false, false);
            task(b, 1, None, |b| b.work(u64::MAX, 0, 0));
            b.sync(ScopeId(1)).unwrap();
        });
        let machine: Machine = "core:2 l1:1(size=32768) pu:1".parse().unwrap();
        let settings = crate::Settings::new(befit_sched::SchedulerKind::Ws, 1);
        let refused = crate::run(&program, &machine, &settings, &|_| ());
        assert!(matches!(refused, Err(SimError::TooLong { .. })), "{refused:?}");
    }

    /// It was not: the last fractions of an operation took longer than any step.
    #[test]
    fn regression_a_program_of_slow_operations_is_simulated_to_its_end() {
        let program = program(|b| {
            task(b, 1, None, |b| b.work(3, 0, 0));
            b.work(3, 0, 0);
            b.sync(ScopeId(1)).unwrap();
        });
        let mut machine: Machine = "core:2 l1:1(size=32768) pu:1".parse().unwrap();
        machine.cycles_per_operation = (1_u64 << 40) as f64;
        let outcome = crate::tests::simulate(&program, &machine, befit_sched::SchedulerKind::Ws, 1);
        let time = outcome.time.0;
        assert!((3 << 40..13 << 38).contains(&time), "{time}: the two run beside one another");
    }

    #[test]
    fn a_time_below_the_bounds_is_an_error() {
        let program = program(|b| b.work(1000, 0, 0));
        let machine: Machine = "core:2 l1:1(size=32768) pu:1".parse().unwrap();
        let mut outcome =
            crate::tests::simulate(&program, &machine, befit_sched::SchedulerKind::Ws, 1);
        let bounds = Bounds::of(&program, &machine);
        assert_eq!((outcome.work, outcome.span), (Cycles(1000), Cycles(1000)));
        bounds.check(&outcome, 2).unwrap();
        outcome.time = Cycles(999);
        let error = bounds.check(&outcome, 2).unwrap_err().to_string();
        assert!(error.contains("999") && error.contains("1000"), "{error}");
    }

    fn bounds(work: u64, span: u64) -> Bounds {
        Bounds { work: Cycles(work), span: Cycles(span) }
    }

    #[test]
    fn work_of_2_to_the_50_is_the_longest_that_is_simulated() {
        bounds(1 << 50, 1).check_length().unwrap();
        let error = bounds((1 << 50) + 1, 1).check_length().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the recording's operations take 1125899906842625 cycles, and at most \
             1125899906842624 are simulated: it is damaged, or its times are wrong; record it again"
        );
    }

    #[test]
    fn no_run_is_faster_than_the_span_and_than_the_workers_share_of_the_work() {
        let program = program(|b| b.work(1000, 0, 0));
        let machine: Machine = "core:2 l1:1(size=32768) pu:1".parse().unwrap();
        let mut outcome =
            crate::tests::simulate(&program, &machine, befit_sched::SchedulerKind::Ws, 1);
        for (bounds, workers, least) in
            [(bounds(1001, 400), 2, 500), (bounds(1000, 700), 2, 700), (bounds(90, 0), 0, 90)]
        {
            outcome.time = Cycles(least);
            bounds.check(&outcome, workers).unwrap();
            outcome.time = Cycles(least - 1);
            assert_eq!(
                bounds.check(&outcome, workers).unwrap_err().to_string(),
                format!(
                    "simulated {} cycles, and work and span allow no fewer than {least}",
                    least - 1
                )
            );
        }
    }
}
