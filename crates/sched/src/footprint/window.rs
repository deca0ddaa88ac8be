//! The window of tasks that are considered together.

use std::{collections::VecDeque, fmt};

use super::{
    Budget,
    order::{Chosen, Order, by_key, exact, greedy},
};

/// The three numbers of footprint-based scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Settings {
    /// N_decide: how many tasks are considered together.
    pub decide: usize,
    /// N_execute: how many of them run before the next decision, from 1 up to N_decide.
    pub execute: usize,
    /// A task that has been considered so often without running is due: it runs at the next
    /// decision. 0 is arrival order but for the order within each N_execute.
    pub age: u32,
}

/// N_decide 64, N_execute 32, age 16: for every program that does not say otherwise, and with a
/// [`Budget`].
///
/// Half of the window, so that a decision has as many tasks that waited as new ones: with fewer
/// each task is looked at more often for little, with all of them the last of each window have
/// little choice. A task that came as number i then runs as number i + 543 at the latest.
impl Default for Settings {
    fn default() -> Self {
        Self { decide: 64, execute: 32, age: 16 }
    }
}

/// Settings that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettingsError(Settings);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { decide, execute, .. } = self.0;
        write!(f, "N_execute is {execute} and N_decide {decide}; ")?;
        f.write_str("N_execute must be 1 or more, and N_decide no less")
    }
}

impl std::error::Error for SettingsError {}

/// Tasks that wait, in the order in which they came, and the rule by which they go.
///
/// The task that came as number i (from 0) runs as number i − (N_decide − 1) at the earliest and as
/// number i + (age + 1) × N_execute − 1 at the latest, whatever the affinities: proved in
/// `docs/footprint.md`.
#[derive(Clone, Debug)]
pub struct Window<T> {
    settings: Settings,
    /// Oldest first; the first N_decide are in the window. With each, how often it was considered
    /// in vain: never less than for those behind it.
    waiting: VecDeque<(T, u32)>,
}

impl<T> Window<T> {
    /// An empty one.
    ///
    /// # Errors
    /// Where N_execute is 0 or above N_decide.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let can_be = (1..=settings.decide).contains(&settings.execute);
        let window = Self { settings, waiting: VecDeque::new() };
        can_be.then_some(window).ok_or(SettingsError(settings))
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Decides: the tasks that are to run now are put behind `out`, in order. `previous` is the
    /// task that ran last. Returns how many affinities were looked at.
    ///
    /// `affinity(before, next)` is what `next` gains from running right after `before`. Greedily,
    /// a `budget` limits how many are looked at; the rest of the N_execute goes by arrival.
    /// O(N_decide × N_execute) where the order is greedy.
    pub fn decide(
        &mut self,
        previous: Option<&T>,
        order: Order,
        affinity: impl Fn(&T, &T) -> i64,
        budget: Option<&mut Budget>,
        out: &mut Vec<T>,
    ) -> u64 {
        let (considered, due) = (self.considered(), self.due());
        let tasks = &self.waiting.make_contiguous()[..considered];
        let look = |before: Option<usize>, next: usize| {
            let before = before.map(|before| &tasks[before].0).or(previous);
            before.map_or(0, |before| affinity(before, &tasks[next].0))
        };
        let execute = self.settings.execute;
        let chosen = match order {
            Order::Greedy => greedy(considered, execute, due, look, budget),
            Order::Exact => exact(considered, execute, due, look),
        };
        self.take(chosen, out)
    }

    /// As [`Self::decide`], in the order of the tasks' keys from that of `previous` up
    /// (`by_key`). O(N_decide × log N_decide).
    pub fn decide_by_key<K: Ord + Copy>(
        &mut self,
        previous: Option<&T>,
        key: impl Fn(&T) -> K,
        out: &mut Vec<T>,
    ) -> u64 {
        let keys: Vec<K> =
            self.waiting.iter().take(self.settings.decide).map(|(task, _)| key(task)).collect();
        let chosen = by_key(&keys, previous.map(key), self.settings.execute, self.due());
        self.take(chosen, out)
    }

    fn considered(&self) -> usize {
        self.waiting.len().min(self.settings.decide)
    }

    /// How many of the oldest must run now.
    fn due(&self) -> usize {
        let old = |(_, age): &&(T, u32)| *age >= self.settings.age;
        self.waiting.iter().take(self.settings.execute).take_while(old).count()
    }

    /// Takes what was chosen out of the window; what stays grows older.
    fn take(&mut self, chosen: Chosen, out: &mut Vec<T>) -> u64 {
        let mut window: Vec<_> = self.waiting.drain(..self.considered()).map(Some).collect();
        let order = chosen.order.into_iter();
        out.extend(order.filter_map(|task| window[task].take()).map(|(task, _)| task));
        for (task, age) in window.into_iter().rev().flatten() {
            self.waiting.push_front((task, age.saturating_add(1)));
        }
        chosen.looks
    }
}

impl<T> Extend<T> for Window<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, tasks: I) {
        self.waiting.extend(tasks.into_iter().map(|task| (task, 0)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::footprint::Price;

    /// Runs tasks 0, 1, … that come in bursts, and returns the order in which they ran.
    fn run(
        settings: Settings,
        bursts: &[u32],
        order: Option<Order>,
        seed: u64,
        mut budget: Option<Budget>,
    ) -> Vec<u32> {
        let mut window = Window::new(settings).unwrap();
        let (mut next, mut ran) = (0, Vec::new());
        let affinity = |a: &u32, b: &u32| {
            (u64::from(*a) * 31 + u64::from(*b) * 17 + seed).wrapping_mul(seed | 1) as i64 % 97
        };
        let key = |task: &u32| task.wrapping_mul(seed as u32 | 1) % 101;
        let mut decide = |window: &mut Window<u32>, ran: &mut Vec<u32>| {
            let previous = ran.last().copied();
            let previous = previous.as_ref();
            match order {
                Some(order) => window.decide(previous, order, affinity, budget.as_mut(), ran),
                None => window.decide_by_key(previous, key, ran),
            };
        };
        for burst in bursts {
            window.extend(next..next + burst);
            next += burst;
            decide(&mut window, &mut ran);
        }
        while !window.is_empty() {
            decide(&mut window, &mut ran);
        }
        ran
    }

    fn orders() -> impl Strategy<Value = Option<Order>> {
        prop_oneof![Just(None), Just(Some(Order::Greedy)), Just(Some(Order::Exact))]
    }

    proptest! {
        #[test]
        fn no_task_runs_earlier_or_later_than_the_bound(
            decide in 1..20usize, part in 1..20usize, age in 0..6u32, seed: u64, order in orders(),
            bursts in prop::collection::vec(0..60u32, 1..12), worth in prop::option::of(0..4u32),
        ) {
            let settings = Settings { decide, execute: part.min(decide), age };
            // Which runs out at once, or now and then, or never.
            let price = |worth| Price { look: 20.0, affinity: f64::from(worth) };
            let budget = worth.map(|worth| Budget::new(price(worth), decide / 8));
            let ran = run(settings, &bursts, order, seed, budget);
            let mut sorted = ran.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..bursts.iter().sum::<u32>()), "each runs once");
            let late = (i64::from(age) + 1) * settings.execute as i64 - 1;
            for (place, task) in ran.iter().enumerate() {
                let displacement = place as i64 - i64::from(*task);
                let bound = 1 - decide as i64..=late;
                prop_assert!(bound.contains(&displacement), "{task} ran as {place}");
            }
        }
    }

    #[test]
    fn the_latest_place_is_reached() {
        // Task 0 is liked least: it runs when it is due, and last.
        let settings = Settings { decide: 8, execute: 4, age: 3 };
        let mut window = Window::new(settings).unwrap();
        window.extend(0..100);
        let mut ran = Vec::new();
        while !window.is_empty() {
            let previous = ran.last().copied().unwrap_or(1);
            let dislike = |_: &u32, next: &u32| -i64::from(*next == 0);
            window.decide(Some(&previous), Order::Greedy, dislike, None, &mut ran);
        }
        assert_eq!(ran.iter().position(|task| *task == 0), Some(4 * 4 - 1));
    }

    /// docs/footprint.md names the three, and the bound that follows from them.
    #[test]
    fn by_default_half_of_64_run_and_each_543_places_late_at_the_latest() {
        let Settings { decide, execute, age } = Settings::default();
        assert_eq!((decide, execute, (age as usize + 1) * execute - 1), (64, 32, 543));
        assert!(Window::<()>::new(Settings::default()).unwrap().is_empty());
    }

    #[test]
    fn settings_that_cannot_be_say_why() {
        for (decide, execute) in [(0, 0), (5, 0), (4, 5)] {
            let error = Window::<u32>::new(Settings { decide, execute, age: 1 }).unwrap_err();
            let rule = "N_execute must be 1 or more, and N_decide no less";
            let expected = format!("N_execute is {execute} and N_decide {decide}; {rule}");
            assert_eq!(error.to_string(), expected);
        }
    }
}
