//! What deciding may cost.

use super::Settings;

/// What deciding costs and what it is good for, in one unit of time: cycles, say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Price {
    /// A look at the affinity of one pair of tasks. Above 0.
    pub look: f64,
    /// What one more in affinity saves: half of what a Shared Hit saves against a Shared Miss, as these count 1 and −1.
    pub affinity: f64,
}

/// Keeps deciding from costing more than it gains, by more than a small share of the time that tasks take.
///
/// An account of time. Looks at affinities are paid from it. What they are thought to gain is paid in, and so is 1/128 of the time that tasks run.
/// Before each step of a decision (the choice of one task) it is asked whether it affords the looks ([`may`](Self::may)); if not, what is
/// left of the decision goes by arrival. So where tasks share nothing, and nothing is gained, at most 1/128 of the time goes into
/// finding that out; and it goes on being found out, so that a program whose tasks begin to share is noticed.
///
/// It opens with four looks at each task of the window, so that the first decision can begin, and never holds more than one whole
/// decision costs, so that gains of long ago pay for nothing today. Hence in any stretch of time, the first or a later one,
///
/// time spent on looks ≤ one decision + gains of that stretch + 1/128 of the time that tasks ran in it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    price: Price,
    /// Time that is in the account.
    held: f64,
    /// What it may hold: N_decide × N_execute looks.
    most: f64,
}

impl Budget {
    /// The share of the tasks' time that may be spent in vain: one part in so many. At the 2 % that a user may be thought not to notice, it leaves
    /// more than half for affinities that promise what does not come true.
    pub const SHARE: u32 = 128;

    /// Looks at each task of the window that it opens with. The first task has none before it, and the next best of the second need not be
    /// better than the oldest; four steps find a gain where there are gains to be found often.
    const OPENING: f64 = 4.0;

    /// An account for windows with these settings.
    pub fn new(price: Price, settings: Settings) -> Self {
        let step = settings.decide as f64 * price.look;
        let most = step * settings.execute as f64;
        Self { price, held: (step * Self::OPENING).min(most), most }
    }

    /// Whether so many looks can be paid.
    pub fn may(&self, looks: u64) -> bool {
        looks as f64 * self.price.look <= self.held
    }

    /// Tasks ran for so long.
    pub fn ran(&mut self, time: f64) {
        self.pay_in(time / f64::from(Self::SHARE));
    }

    /// So many affinities were looked at, and found so much more (or less) than arrival order has.
    pub fn looked(&mut self, looks: u64, gain: i64) {
        self.held -= looks as f64 * self.price.look;
        self.pay_in(gain as f64 * self.price.affinity);
    }

    fn pay_in(&mut self, time: f64) {
        self.held = (self.held + time).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICE: Price = Price { look: 3.0, affinity: 6.0 };
    const SETTINGS: Settings = Settings { decide: 64, execute: 32, age: 16 };

    proptest! {
        #[test]
        fn in_any_stretch_what_is_spent_is_covered_by_one_decision_and_gains_and_a_share_of_the_time(
            steps in prop::collection::vec((0..10_000u32, 0..65u64, 0..40i64), 1..200), from in 0..200usize,
        ) {
            let mut budget = Budget::new(PRICE, SETTINGS);
            let (mut covered, mut spent) = (64.0 * 32.0 * PRICE.look, 0.0);
            let from = from % steps.len();
            for (at, (time, looks, gain)) in steps.into_iter().enumerate() {
                let may = budget.may(looks);
                if may {
                    budget.looked(looks, gain);
                }
                budget.ran(f64::from(time));
                if at >= from {
                    spent += if may { looks as f64 * PRICE.look } else { 0.0 };
                    covered += f64::from(time) / 128.0 + if may { gain as f64 * PRICE.affinity } else { 0.0 };
                    prop_assert!(spent <= covered + 1e-6, "{spent} of {covered}");
                }
            }
        }
    }

    #[test]
    fn where_nothing_is_gained_deciding_goes_on_now_and_then() {
        let mut budget = Budget::new(PRICE, SETTINGS);
        let mut steps = 0;
        for _ in 0..1000 {
            if budget.may(64) {
                budget.looked(64, 0);
                steps += 1;
            }
            budget.ran(64.0 * PRICE.look * 12.8);
        }
        // Four that it opens with, and one in ten.
        assert!((103..=104).contains(&steps), "{steps}");
    }

    #[test]
    fn what_is_gained_is_spent_at_once() {
        let mut budget = Budget::new(PRICE, SETTINGS);
        for _ in 0..1000 {
            assert!(budget.may(64));
            budget.looked(64, 32);
        }
    }
}
