//! Why workers are idle, over time.
//!
//! Idle time is divided by the state of the machine while it passes: what is ready and what runs,
//! and to which caches that is bound. Each change of the state first adds the time since the last
//! one, times the workers that were idle, to the reason of that state. Changes come nearly in the
//! order of time.

use befit_machine::{ClusterId, Machine, WorkerId};

use crate::{
    account::{Account, Part},
    clock::Ticks,
};

/// The state of the machine, and the idle time so far.
#[derive(Debug)]
pub(crate) struct Idle {
    /// Whether reasons are asked for.
    on: bool,
    since: Ticks,
    account: Account<Ticks>,
    workers: usize,
    /// Everything together.
    all: Group,
    /// What is bound to no last-level cache, with no idle workers.
    unbound: Group,
    /// Per last-level cache: its idle workers, and what is bound to it or below.
    groups: Vec<Group>,
    /// Per cluster and per worker, which of `groups`.
    group_of: Vec<Option<u32>>,
    group_of_worker: Vec<u32>,
    /// Whether the policy binds tasks to caches.
    binds: bool,
    /// Workers by what they run: leaves, strands of tasks that fork, neither.
    running: [usize; 3],
    /// Whether there have been as many tasks as workers since the last serial strand.
    had_enough: bool,
}

/// What a worker runs that is not idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runs {
    /// A strand of a task that forks nothing.
    Leaf,
    /// A strand of a task that forks.
    Forking,
    /// No strand: it forks, waits or ends.
    Between,
}

/// Workers and tasks of one last-level cache.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    idle: usize,
    ready: usize,
    running: usize,
}

impl Idle {
    /// All workers are idle. Nothing is noted unless `on`.
    pub(crate) fn new(machine: &Machine, binds: bool, on: bool) -> Self {
        let outermost = &machine.cluster(ClusterId::ROOT).children;
        let group = |cluster: ClusterId| {
            let workers = &machine.cluster(cluster).workers;
            let under = |id: &ClusterId| machine.cluster(*id).has(WorkerId(workers.start));
            outermost.iter().position(under).map(|group| group as u32)
        };
        let clusters = (0..machine.clusters().len() as u32).map(ClusterId);
        let mut group_of: Vec<_> = clusters.map(group).collect();
        group_of[ClusterId::ROOT.index()] = None;
        let mut groups = vec![Group::default(); outermost.len().max(1)];
        let of_worker = |w: u32| {
            outermost.iter().position(|id| machine.cluster(*id).has(WorkerId(w))).unwrap_or(0)
        };
        let workers = machine.workers().len();
        let group_of_worker: Vec<_> = (0..workers as u32).map(|w| of_worker(w) as u32).collect();
        for group in &group_of_worker {
            groups[*group as usize].idle += 1;
        }
        Self {
            on,
            since: Ticks::default(),
            account: Account::default(),
            workers,
            all: Group { idle: workers, ..Group::default() },
            unbound: Group::default(),
            groups,
            group_of,
            group_of_worker,
            binds,
            running: [0; 3],
            had_enough: false,
        }
    }

    #[inline]
    fn bound_to(&mut self, anchor: ClusterId) -> &mut Group {
        match self.group_of[anchor.index()] {
            Some(group) => &mut self.groups[group as usize],
            None => &mut self.unbound,
        }
    }

    /// Something bound to `anchor` is ready.
    pub(crate) fn ready(&mut self, now: Ticks, anchor: ClusterId) {
        if !self.on {
            return;
        }
        self.until(now);
        self.all.ready += 1;
        self.bound_to(anchor).ready += 1;
        self.had_enough |= self.all.ready + self.all.running >= self.workers;
    }

    /// Worker `w` starts what was ready, bound to `was`, and is bound to `anchor` now.
    pub(crate) fn starts(&mut self, now: Ticks, w: WorkerId, was: ClusterId, anchor: ClusterId) {
        if !self.on {
            return;
        }
        self.until(now);
        self.all.ready -= 1;
        self.bound_to(was).ready -= 1;
        self.all.running += 1;
        self.running[Runs::Between as usize] += 1;
        self.bound_to(anchor).running += 1;
        self.all.idle -= 1;
        self.groups[self.group_of_worker[w.index()] as usize].idle -= 1;
        self.had_enough |= self.all.ready + self.all.running >= self.workers;
    }

    /// Worker `w` has stopped running what is bound to `anchor`, of which it `ran` this last.
    pub(crate) fn stops(&mut self, now: Ticks, w: WorkerId, anchor: ClusterId, ran: Runs) {
        if !self.on {
            return;
        }
        self.until(now);
        self.all.running -= 1;
        self.running[ran as usize] -= 1;
        self.bound_to(anchor).running -= 1;
        self.all.idle += 1;
        self.groups[self.group_of_worker[w.index()] as usize].idle += 1;
    }

    /// A running worker goes from one kind of work to another.
    pub(crate) fn changes(&mut self, now: Ticks, from: Runs, to: Runs) {
        if from == to || !self.on {
            return;
        }
        self.until(now);
        self.running[from as usize] -= 1;
        self.running[to as usize] += 1;
        if to == Runs::Forking && self.all.running == 1 && self.all.ready == 0 {
            self.had_enough = false;
        }
    }

    /// The idle time up to `end`, by reason.
    pub(crate) fn finish(mut self, end: Ticks) -> Account<Ticks> {
        self.until(end);
        self.account
    }

    fn until(&mut self, now: Ticks) {
        let time = now.since(self.since);
        if time == Ticks::default() || !self.on {
            return;
        }
        self.since = now;
        if self.all.idle == 0 {
            return;
        }
        let mut without = self.all.idle;
        if self.binds {
            for group in &self.groups {
                let reachable = self.unbound.ready + group.ready;
                let running = self.unbound.running + group.running;
                if group.idle > 0 && (reachable > 0 || running == 0) {
                    without -= group.idle;
                    self.account.charge(Part::Bound, Ticks(time.0 * group.idle as u64));
                }
            }
        }
        let time = Ticks(time.0 * without as u64);
        if self.all.ready > 0 {
            self.account.charge(Part::Search, time);
            return;
        }
        let share = |runs: Runs| {
            let running = self.running[runs as usize] as f64;
            Ticks((time.0 as f64 * running / self.all.running.max(1) as f64) as u64)
        };
        let (serial, search) = (share(Runs::Forking), share(Runs::Between));
        let part = if self.had_enough { Part::Stragglers } else { Part::FewTasks };
        self.account.charge(Part::Serial, serial);
        self.account.charge(Part::Search, search);
        self.account.charge(part, time.since(serial + search));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: ClusterId = ClusterId::ROOT;

    fn machine() -> Machine {
        "pack:2 l3:1(size=1048576) core:2 l1:1(size=8192) pu:1".parse().unwrap()
    }

    fn at(cycles: u64) -> Ticks {
        Ticks::cycles(cycles)
    }

    fn found(idle: Idle, end: u64) -> Vec<(&'static str, u64)> {
        let account = idle.finish(at(end));
        let each = Part::ALL.into_iter().map(|p| (p.name(), account.get(p).whole().0));
        each.filter(|(_, time)| *time > 0).collect()
    }

    #[test]
    fn time_goes_to_the_reason_of_the_state() {
        let mut idle = Idle::new(&machine(), false, true);
        idle.ready(at(0), ROOT);
        // Four workers look for 10 cycles; then one runs a strand of a task that forks.
        idle.starts(at(10), WorkerId(0), ROOT, ROOT);
        idle.changes(at(10), Runs::Between, Runs::Forking);
        // Its leaves: two at first, then four, of which one goes on alone.
        idle.changes(at(20), Runs::Forking, Runs::Leaf);
        idle.ready(at(20), ROOT);
        idle.starts(at(20), WorkerId(1), ROOT, ROOT);
        idle.changes(at(20), Runs::Between, Runs::Leaf);
        for w in [2, 3] {
            idle.ready(at(30), ROOT);
            idle.starts(at(30), WorkerId(w), ROOT, ROOT);
            idle.changes(at(30), Runs::Between, Runs::Leaf);
        }
        for w in [1, 2, 3] {
            idle.stops(at(40), WorkerId(w), ROOT, Runs::Leaf);
        }
        let expected =
            [("serial", 3 * 10), ("few_tasks", 2 * 10), ("stragglers", 3 * 10), ("search", 40)];
        assert_eq!(found(idle, 50), expected);
    }

    #[test]
    fn what_is_bound_elsewhere_keeps_a_socket_idle() {
        let machine = machine();
        let mut idle = Idle::new(&machine, true, true);
        let socket = machine.cluster(ROOT).children[0];
        idle.ready(at(0), ROOT);
        idle.starts(at(0), WorkerId(0), ROOT, socket);
        idle.changes(at(0), Runs::Between, Runs::Leaf);
        idle.ready(at(10), socket);
        idle.starts(at(10), WorkerId(1), socket, socket);
        // For 10 cycles the other worker of its own socket is idle for want of tasks.
        assert_eq!(found(idle, 20), [("few_tasks", 10), ("bound", 40)]);
    }
}
