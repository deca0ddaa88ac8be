//! What a run has found, once it has ended.

use befit_machine::{ClusterId, Cycles, Lines};
use befit_sched::Breakdown;

use super::{Engine, Worker};
use crate::{LevelCounts, Outcome, Part, account::Account, clock::Ticks, trace::Trace};

impl Engine<'_> {
    pub(super) fn trace(&mut self) -> Option<Trace> {
        let tracing = self.tracing.take()?;
        let misses = (0..).zip(self.machine.clusters()).map(|(i, cluster)| {
            let read = || self.hardware.memory_reads();
            cluster.cache.map_or_else(read, |_| self.hardware.counts(ClusterId(i))[1])
        });
        let misses = misses.collect();
        let steals = self.prices.traced.take().unwrap_or_default();
        Some(tracing.finish(self.last_end, steals, self.claims.changes(), misses))
    }

    pub(super) fn outcome(self) -> Outcome {
        let (time, steals) = (self.last_end, self.prices.steals);
        let levels = self.machine.levels().into_iter().map(|level| {
            let none = Lines(0);
            let mut sum = LevelCounts {
                level,
                accesses: none,
                misses: none,
                coherence_misses: none,
                fought_misses: none,
            };
            for (i, cluster) in (0..).zip(self.machine.clusters()) {
                if cluster.cache.is_some_and(|c| c.level == level) {
                    let [accesses, misses, coherence] = self.hardware.counts(ClusterId(i));
                    sum.accesses += accesses;
                    sum.misses += misses;
                    sum.coherence_misses += coherence;
                    sum.fought_misses += self.hardware.fought_misses(ClusterId(i));
                }
            }
            sum
        });
        let workers = self.workers.iter().map(|worker| {
            let mut parts = worker.spent.map(Ticks::whole);
            // Idle is what is left: rounding included, so that the parts sum to the whole.
            parts.idle = Cycles(time.whole().0.saturating_sub(parts.total().0));
            parts
        });
        let idle = self.reasons.finish(time);
        let accounts = self.workers.iter().zip(&self.hardware.accounts);
        let account = match self.accounted {
            true => account(accounts, time, idle),
            false => Account::default(),
        };
        Outcome {
            time: time.whole(),
            work: Cycles(0),
            span: Cycles(0),
            levels: levels.collect(),
            memory_reads: self.hardware.memory_reads(),
            memory_writes: self.hardware.memory_writes(),
            remote_hits: self.hardware.remote_hits(),
            far_hits: self.hardware.far_hits(),
            sibling_hits: self.hardware.sibling_hits(),
            workers: workers.collect(),
            steals: steals.near + steals.far,
            near_steals: steals.near,
            failed_steals: steals.failed,
            anchors: self.anchors,
            occupancy: self.claims.finish(time),
            tasks: u64::from(self.program.tasks()),
            strands: self.strands,
            started_on: self.tasks.started_on(),
            tiers: self.scheduler.tiers(),
            account,
            contended: self.hardware.worst_contended(self.sample),
        }
    }
}

/// Where the time of all workers went, of whom each ran for `time`, with `idle` time divided as
/// that is.
fn account<'a>(
    workers: impl Iterator<Item = (&'a Worker<'a>, &'a Account<Ticks>)>,
    time: Ticks,
    idle: Account<Ticks>,
) -> Account {
    let (mut sum, mut booked, mut whole) = (Account::<Ticks>::default(), 0, 0);
    for (worker, account) in workers {
        let Breakdown { add, get, done, active, .. } = worker.spent;
        for part in Part::ALL {
            sum.charge(part, account.get(part));
        }
        sum.charge(Part::Forks, worker.forking);
        sum.charge(Part::Locks, worker.locks);
        let policy = add + get + done;
        sum.charge(Part::Policy, policy.since(worker.locks));
        booked += (active + policy).0;
        whole += time.0;
    }
    // Changes come nearly in the order of time only: the sum of the reasons is nearly the idle
    // time.
    let (left, reasons) = (whole.saturating_sub(booked), idle.total().0.max(1));
    let share = left as f64 / reasons as f64;
    for part in Part::IDLE {
        sum.charge(part, Ticks((idle.get(part).0 as f64 * share) as u64));
    }
    sum.map(Ticks::whole)
}
