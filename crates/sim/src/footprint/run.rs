//! What an order of tasks costs.

use befit_cache::footprint::Frames;
use befit_machine::{ClusterId, Machine, WorkerId};
use befit_sched::footprint::{Budget, Learned, Order, Price, Settings, Window};

use super::{Core, Oracle, Tasks};
use crate::latency;

/// What deciding costs, in cycles, charged to the core that runs the tasks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Charge {
    /// Looking at the affinity of one pair, or at one key in a comparison.
    pub look: f64,
    /// What a Shared Hit saves against a Shared Miss: what the budget turns affinities into cycles
    /// with.
    pub saved: f64,
}

impl Charge {
    /// Four instructions a look (load, compare, branch, count) at the core's issue width, and an
    /// access to its innermost cache; a hit saves half of the way from the innermost cache to the
    /// next, as affinities count a hit as one and a miss as minus one.
    pub fn on(machine: &Machine, width: f64) -> Self {
        let mut latencies = machine.path(WorkerId(0)).map(|c| latency(machine, c) as f64);
        let inner = latencies.next().unwrap_or(0.0);
        let outer = latencies.next().unwrap_or(inner);
        Self { look: 4.0 / width + inner, saved: (outer - inner) / 2.0 }
    }
}

/// Where affinities come from.
#[derive(Clone, Debug)]
pub enum How<'a> {
    /// Known beforehand, for every pair of tasks.
    Oracle(&'a Oracle, Order),
    /// Learned while running, per pair of classes, from the cells measured in the cache of this
    /// cluster; the slice gives each task's class.
    Learned(&'a [u32], ClusterId, Order),
    /// Given beforehand, per pair of classes; the slice gives each task's class.
    Given(&'a [u32], &'a Learned, Order),
    /// By a key: the task's number.
    Key,
    /// By the caches' contents at that moment, one task at a time (N_execute is 1): the upper
    /// reference.
    Contents,
}

/// Footprint-based scheduling, as set.
#[derive(Clone, Debug)]
pub struct Fbs<'a> {
    /// N_decide, N_execute, age.
    pub settings: Settings,
    /// Where affinities come from.
    pub how: How<'a>,
    /// What deciding costs.
    pub charge: Charge,
    /// Whether a [`Budget`] limits how many affinities are looked at, greedily: the default.
    pub budget: bool,
}

/// What running tasks gave.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ran {
    /// Cycles of the tasks.
    pub cycles: f64,
    /// Cycles that deciding is charged.
    pub deciding: f64,
    /// The most places that a task ran later than it came.
    pub latest: usize,
    /// Affinities or keys looked at.
    pub looks: u64,
}

impl Ran {
    /// Cycles of tasks and deciding.
    pub fn total(&self) -> f64 {
        self.cycles + self.deciding
    }
}

/// Runs tasks in this order, deciding nothing. O(touches).
pub fn in_order(core: &mut Core, tasks: &Tasks, order: impl IntoIterator<Item = u32>) -> Ran {
    let cycles = order.into_iter().map(|task| core.run(tasks, task as usize, None)).sum();
    Ran { cycles, ..Ran::default() }
}

/// A task that waits: its place among the arrivals, and its number.
type Arrived = (u32, u32);

impl Fbs<'_> {
    /// Runs the tasks that come in the order `arrival`, all of them there from the start. O(touches
    /// + looks).
    pub fn run(&self, machine: &Machine, core: &mut Core, tasks: &Tasks, arrival: &[u32]) -> Ran {
        let mut settings = self.settings;
        if matches!(self.how, How::Contents) {
            // One at a time, within the same bound on displacement.
            let execute = u32::try_from(settings.execute).unwrap_or(u32::MAX);
            let passed = settings.age.saturating_add(1).saturating_mul(execute);
            settings = Settings { execute: 1, age: passed.saturating_sub(1), ..settings };
        }
        let Ok(mut window) = Window::new(settings) else {
            return in_order(core, tasks, arrival.iter().copied());
        };
        window.extend((0..).zip(arrival.iter().copied()));
        let class = |classes: &[u32], task: &Arrived| classes[task.1 as usize] as usize;
        let (mut learned, mut frames) = match self.how {
            How::Learned(classes, cluster, _) => {
                let count = classes.iter().max().map_or(0, |most| *most as usize + 1);
                (Learned::new(count), Frames::new(core.caches(), machine, cluster))
            }
            _ => (Learned::new(0), None),
        };
        let price = Price { look: self.charge.look, affinity: self.charge.saved };
        let mut budget = self.budget.then(|| Budget::new(price, settings.decide));
        let mut ran = Ran::default();
        let mut previous: Option<Arrived> = None;
        let (mut now, mut place) = (Vec::new(), 0usize);
        while !window.is_empty() {
            let before = previous.as_ref();
            let affinity = |a: &Arrived, b: &Arrived| match self.how {
                How::Oracle(oracle, _) => oracle.affinity(a.1 as usize, b.1 as usize),
                How::Learned(of, ..) => learned.affinity(class(of, a), class(of, b)),
                How::Given(of, given, _) => given.affinity(class(of, a), class(of, b)),
                How::Key | How::Contents => 0,
            };
            let looks = match self.how {
                How::Key => window.decide_by_key(before, |task| task.1, &mut now),
                How::Contents => {
                    let wait = |_: &Arrived, next: &Arrived| {
                        -(core.would_wait(machine, tasks, next.1 as usize) as i64)
                    };
                    window.decide(before, Order::Greedy, wait, None, &mut now)
                }
                How::Oracle(_, order) | How::Learned(_, _, order) | How::Given(_, _, order) => {
                    window.decide(before, order, affinity, budget.as_mut(), &mut now)
                }
            };
            ran.looks += looks;
            ran.deciding += looks as f64 * self.charge.look;
            let mut cycles = 0.0;
            for task in now.drain(..) {
                cycles += core.run(tasks, task.1 as usize, frames.as_mut());
                if let (Some(frames), How::Learned(classes, ..)) = (&mut frames, &self.how) {
                    let affinity = frames.end_task().affinity();
                    if let Some(before) = &previous {
                        learned.note(class(classes, before), class(classes, &task), affinity);
                    }
                }
                ran.latest = ran.latest.max(place.saturating_sub(task.0 as usize));
                place += 1;
                previous = Some(task);
            }
            ran.cycles += cycles;
            if let Some(budget) = &mut budget {
                budget.ran(cycles);
            }
        }
        ran
    }
}
