//! Tests of programs whose scheduling policy, or what counts for it, calls befit.

use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::{
    Ask, Capabilities, Env, Handle, Options, Policy, Ready, Scheduler, WorkerCounts,
};

use crate::{threads::testing::*, *};

/// Work stealing that calls a function, on a thread of the pool, before it gives anything.
#[derive(Clone, Copy, Debug)]
struct Calling {
    f: fn(),
    /// It asks for its counts.
    counts: bool,
}

#[derive(Debug)]
struct Called<T>(Box<dyn Scheduler<T>>, Calling);

impl Policy for Calling {
    fn build<T: Handle>(&self, machine: &Machine, options: Options) -> Box<dyn Scheduler<T>> {
        Box::new(Called(SchedulerKind::Ws.build(machine, options), *self))
    }
}

impl<T: Handle> Scheduler<T> for Called<T> {
    fn name(&self) -> &'static str {
        "calling"
    }
    fn capabilities(&self) -> Capabilities {
        // Others get no counts.
        Capabilities { sees_forks: self.1.counts, ..self.0.capabilities() }
    }
    fn add(&self, w: WorkerId, ready: Ready<T>, env: &mut dyn Env) -> ClusterId {
        self.0.add(w, ready, env)
    }
    fn get(&self, w: WorkerId, ask: Ask<'_, T>, env: &mut dyn Env) -> Option<Ready<T>> {
        (self.1.f)();
        if self.1.counts {
            env.counts();
        }
        self.0.get(w, ask, env)
    }
}

/// What builds a pool of one thread under such a policy.
fn under(policy: Calling) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(1).machine("pu:1".parse().unwrap()).policy(policy)
}

/// `run`, which `test` calls in a process of its own, must end that with the reason.
fn is_refused<T: Fn()>(test: T, run: impl FnOnce()) {
    let Some(output) = alone(test) else { return run() };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("befit is not called by a scheduling policy"), "{said}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn regression_a_policy_that_opens_a_scope_between_jobs_is_told_that_it_may_not() {
    is_refused(regression_a_policy_that_opens_a_scope_between_jobs_is_told_that_it_may_not, || {
        let policy = Calling { f: || scope(|_| ()), counts: false };
        under(policy).build().unwrap().install(|| ());
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn regression_a_policy_that_forks_and_yields_between_jobs_is_told_that_it_may_not() {
    is_refused(
        regression_a_policy_that_forks_and_yields_between_jobs_is_told_that_it_may_not,
        || {
            let f = || {
                join(yield_now, || ());
            };
            under(Calling { f, counts: false }).build().unwrap().install(|| ());
        },
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn regression_what_counts_for_a_policy_is_told_that_it_may_not_fork() {
    is_refused(regression_what_counts_for_a_policy_is_told_that_it_may_not_fork, || {
        let builder = under(Calling { f: || (), counts: true });
        let builder = builder.count_with(|_| {
            || {
                if current_thread_index().is_some() {
                    join(fit(1, || ()), fit(1, || ()));
                }
                Some(WorkerCounts::default())
            }
        });
        builder.build().unwrap().install(|| ());
    });
}
