//! An engine of one thread, which plays all workers.

use std::{ops::Range, time::Duration};

use befit_machine::{Bytes, ClusterId, WorkerId};
use befit_sched::{
    Ask, Capabilities, Finds, ForkOrder, Policy, QuietEnv, Ready, Scheduler, Stage, TaskInfo,
};

use crate::Case;

/// The most tasks of a computation.
const MOST: usize = 400;

/// For how many milliseconds nothing may have happened, as an idle worker says.
const STILL_FOR: [u64; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 500];

/// Runs a random computation for each seed, one strand of a random worker at a time. As in a pool
/// of few threads, sometimes only the first workers of the machine run anything.
///
/// # Panics
/// Where a promise is broken, or nothing moves while tasks are left.
pub fn in_small_engine<P: Policy>(policy: &P, seeds: Range<u64>) {
    for seed in seeds {
        let mut case = Case::new(seed);
        let scheduler = policy.build(&case.machine, case.options);
        let all = case.machine.workers().len();
        let threads = if case.random.u8(..4) == 0 { case.random.usize(1..=all) } else { all };
        scheduler.has_threads(threads as u32);
        Engine {
            env: QuietEnv(fastrand::Rng::with_seed(seed)),
            running: vec![None; threads],
            tasks: Vec::new(),
            scheduler,
            case,
        }
        .run();
    }
}

/// A task that has not ended.
struct Live {
    notes: TaskInfo,
    parent: Option<usize>,
    children: u32,
    forks_left: u32,
    /// A strand of it is ready: it was given to the policy, and not handed out again.
    ready: bool,
    ended: bool,
}

struct Engine {
    case: Case,
    scheduler: Box<dyn Scheduler<usize>>,
    tasks: Vec<Live>,
    /// Per worker that has a thread: what it runs.
    running: Vec<Option<Ready<usize>>>,
    env: QuietEnv,
}

impl Engine {
    fn run(mut self) {
        let size = self.case.random.bool().then(|| Bytes(self.case.random.u64(1..200_000_000)));
        self.start(WorkerId(0), None, TaskInfo::root(size, None));
        let mut still = 0;
        while !self.tasks[0].ended {
            let w = WorkerId(self.case.random.u32(..self.running.len() as u32));
            let moved = match self.running[w.index()].take() {
                Some(ready) => {
                    self.end_strand(w, &ready);
                    true
                }
                None => self.look(w),
            };
            still = if moved { 0 } else { still + 1 };
            let patience = 100 * self.running.len() + 1000;
            assert!(still < patience, "{} got stuck", self.scheduler.name());
            self.scheduler.check();
        }
        assert!(self.running.iter().all(Option::is_none), "nothing runs after the root has ended");
        assert!(self.tasks.iter().all(|task| task.ended), "every task has ended");
        for w in (0..self.running.len() as u32).map(WorkerId) {
            let left = self.scheduler.get(w, Ask::ANYTHING, &mut self.env);
            assert!(left.is_none(), "nothing is handed out that was not added: {left:?}");
        }
    }

    fn start(&mut self, w: WorkerId, parent: Option<usize>, notes: TaskInfo) {
        // A root that forks nothing would be all there is.
        let forks_left = self.case.random.u32(u32::from(parent.is_none())..3);
        let (children, ready, ended) = (0, false, false);
        self.tasks.push(Live { notes, parent, children, forks_left, ready, ended });
        self.add(w, self.tasks.len() - 1, Stage::Start);
    }

    fn add(&mut self, w: WorkerId, job: usize, stage: Stage) {
        self.tasks[job].ready = true;
        let ready = Ready { job, task: self.tasks[job].notes, stage };
        self.scheduler.add(w, ready, &mut self.env);
    }

    /// Idle worker `w` asks for work, in a random way. Returns whether it was given some.
    fn look(&mut self, w: WorkerId) -> bool {
        let wanted = self.case.random.usize(..self.tasks.len());
        let accepts = |job: &usize| *job == wanted;
        let only_wanted: Option<&dyn Fn(&usize) -> bool> = Some(&accepts);
        let random = &mut self.case.random;
        let above = self.case.machine.path(w).nth(random.usize(..8));
        let ask = Ask {
            within: above.unwrap_or(ClusterId::ROOT),
            accepts: only_wanted.filter(|_| random.u8(..4) == 0),
            own_only: random.u8(..4) == 0,
            as_thief: random.u8(..4) == 0,
            still_for: Duration::from_millis(*random.choice(&STILL_FOR).expect("some")),
        };
        let Capabilities { finds, may_refuse, .. } = self.scheduler.capabilities();
        let Some(ready) = self.scheduler.get(w, ask, &mut self.env) else {
            let may_miss =
                ask.own_only || ask.within != ClusterId::ROOT || finds < Finds::Everything;
            let missed = ask.accepts.is_some() && self.tasks[wanted].ready && !may_miss;
            assert!(!missed, "what is ready and accepted is found");
            let all = ask.accepts.is_none() && !ask.own_only && ask.within == ClusterId::ROOT;
            let refused = all && self.tasks.iter().any(|task| task.ready);
            assert!(
                !refused || may_refuse,
                "a policy that may not refuse gives an idle worker what is ready"
            );
            let due = self.scheduler.due(w, &mut self.env);
            assert!(due.is_none() || may_refuse, "a policy that may not refuse keeps nothing");
            return false;
        };
        assert!(ask.accepts.is_none_or(|accepts| accepts(&ready.job)), "only what is accepted");
        let task = &mut self.tasks[ready.job];
        assert!(task.ready, "a strand is handed out once");
        let may_leave = ask.accepts.is_some() && finds == Finds::Everything;
        let is_under_anchor = self.case.machine.cluster(ready.task.anchor).has(w);
        assert!(is_under_anchor || may_leave, "anchored property");
        task.ready = false;
        task.notes = ready.task;
        self.running[w.index()] = Some(ready);
        true
    }

    fn end_strand(&mut self, w: WorkerId, ready: &Ready<usize>) {
        self.scheduler.done(w, &ready.strand(), &mut self.env);
        let job = ready.job;
        if self.tasks[job].forks_left == 0 || self.tasks.len() >= MOST {
            return self.end_task(w, job);
        }
        let (random, notes) = (&mut self.case.random, self.tasks[job].notes);
        let children = random.u32(1..4);
        let mut children: Vec<_> = (0..children)
            .map(|index| {
                let shrunk = Bytes(notes.size.0.min(200_000_000) / random.u64(1..5));
                notes.child(index, random.bool().then_some(shrunk), None)
            })
            .collect();
        self.tasks[job].forks_left -= 1;
        self.tasks[job].children = children.len() as u32;
        if self.scheduler.fork_order(&notes) == ForkOrder::ChildFirst {
            children.reverse();
        }
        children.into_iter().for_each(|child| self.start(w, Some(job), child));
    }

    fn end_task(&mut self, w: WorkerId, job: usize) {
        let notes = self.tasks[job].notes;
        self.scheduler.task_ended(w, &notes, &mut self.env);
        self.tasks[job].ended = true;
        let Some(parent) = self.tasks[job].parent else { return };
        self.tasks[parent].children -= 1;
        if self.tasks[parent].children == 0 {
            self.add(w, parent, Stage::Continuation);
        }
    }
}
