//! What deciding may cost.

/// What deciding costs and what it is good for, in one unit of time: cycles, say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Price {
    /// A look at the affinity of one pair of tasks. Above 0.
    pub look: f64,
    /// What one more in affinity saves: half of what a Shared Hit saves against a Shared Miss, as
    /// these count 1 and −1.
    pub affinity: f64,
}

/// Keeps deciding from costing more than it gains, by more than a small share of the time that
/// tasks take.
///
/// An account of time. Looks at affinities are paid from it. Their expected gains are paid in, and
/// so is 1/128 of the time that tasks run. Each step of a decision (the choice of one task) first
/// asks whether the account affords its looks ([`may`](Self::may)); if not, the rest of the
/// decision goes by arrival. The looks never stop altogether, so a program whose tasks begin to
/// share is noticed.
///
/// The account opens with 16 steps, each a look at each task of the window, and never holds more
/// than 32, so that gains of long ago pay for nothing today. `docs/footprint.md` has the bound on
/// the time spent that follows.
///
/// A step may find less than arrival order has by luck. Such a loss empties the account at most: as
/// it is capped above, a debt without end would make it forget gains and remember losses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    price: Price,
    /// Time that is in the account.
    held: f64,
    /// What it may hold.
    most: f64,
}

impl Budget {
    /// The share of the tasks' time that may be spent in vain: one part in so many. At the 2 % that
    /// a user may be thought not to notice, it leaves more than half for affinities that promise
    /// what does not come true.
    pub const SHARE: u32 = 128;

    /// Steps that it opens with. What a step gains varies from nothing to several times what it
    /// costs on average; a few steps more than the first need not run out where gains are good, and
    /// cost nothing to speak of where there are none.
    const OPENING: f64 = 16.0;

    /// Steps that it may hold: a decision with the usual N_execute.
    const MOST: f64 = 32.0;

    /// An account for windows of N_decide tasks.
    pub fn new(price: Price, decide: usize) -> Self {
        let step = decide as f64 * price.look;
        Self { price, held: step * Self::OPENING, most: step * Self::MOST }
    }

    /// Whether so many looks can be paid.
    pub fn may(&self, looks: u64) -> bool {
        looks as f64 * self.price.look <= self.held
    }

    /// Tasks ran for so long.
    pub fn ran(&mut self, time: f64) {
        self.pay_in(time / f64::from(Self::SHARE));
    }

    /// So many affinities were looked at, and found so much more (or less) than arrival order has,
    /// in affinity.
    pub fn looked(&mut self, looks: u64, gain: i64) {
        self.held -= looks as f64 * self.price.look;
        self.pay_in(gain as f64 * self.price.affinity);
        self.held = self.held.max(0.0);
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

    proptest! {
        #[test]
        fn in_any_stretch_what_is_spent_is_covered_by_32_steps_and_gains_and_a_share_of_the_time(
            steps in prop::collection::vec((0..10_000u32, 0..65u64, -40..80i64), 1..200),
            from in 0..200usize,
        ) {
            let mut budget = Budget::new(PRICE, 64);
            let (mut covered, mut spent) = (32.0 * 64.0 * PRICE.look, 0.0);
            let from = from % steps.len();
            for (at, (time, looks, gain)) in steps.into_iter().enumerate() {
                let may = budget.may(looks);
                if may {
                    budget.looked(looks, gain);
                }
                budget.ran(f64::from(time));
                if at >= from && may {
                    // When it is spent its gain is not known yet.
                    spent += looks as f64 * PRICE.look;
                    prop_assert!(spent <= covered + 1e-6, "{spent} of {covered}");
                    covered += gain.max(0) as f64 * PRICE.affinity;
                }
                covered += if at >= from { f64::from(time) / 128.0 } else { 0.0 };
            }
        }
    }

    #[test]
    fn where_nothing_is_gained_deciding_goes_on_now_and_then() {
        let mut budget = Budget::new(PRICE, 64);
        let mut steps = 0;
        for _ in 0..1000 {
            if budget.may(64) {
                budget.looked(64, 0);
                steps += 1;
            }
            budget.ran(64.0 * PRICE.look * 12.8);
        }
        // Those that it opens with, and one in ten.
        assert!((114..=116).contains(&steps), "{steps}");
    }

    #[test]
    fn one_great_loss_does_not_outweigh_many_gains() {
        let mut budget = Budget::new(PRICE, 8);
        budget.looked(8, -1000);
        assert!(!budget.may(8));
        // Two steps' worth of 1/128.
        budget.ran(2.0 * 8.0 * PRICE.look * 128.0);
        assert!(budget.may(16));
    }

    #[test]
    fn what_is_gained_is_spent_at_once() {
        let mut budget = Budget::new(PRICE, 64);
        for _ in 0..1000 {
            assert!(budget.may(64));
            budget.looked(64, 32);
        }
    }
}
